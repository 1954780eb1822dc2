package querytext

import (
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestCLI_AggregateNamesFile_ReadsNamesOrNamesLine(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("a9900000-0000-4000-8000-000000000001")
	found, err := ReadAggregateNames(strings.NewReader("# racks\n" + id.String() + ": rack-a\n"))
	if err != nil || found[id] != "rack-a" || len(found) != 1 {
		t.Errorf("names = %v, %v", found, err)
	}
	if found, err := ReadAggregateNames(strings.NewReader("")); err != nil || len(found) != 0 {
		t.Errorf("names of an empty file = %v, %v", found, err)
	}
	for text, line := range map[string]string{
		"\nrack-a: a9900000\n":                        "line 2",
		id.String() + ":\n":                           "line 1",
		id.String() + ": [a]\n":                       "line 1",
		id.String() + ": a\n" + id.String() + ": b\n": "line 2",
		"- a\n": "line 1",
	} {
		if _, err := ReadAggregateNames(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), line) {
			t.Errorf("error of %q = %v, want %s", text, err, line)
		}
	}
}
