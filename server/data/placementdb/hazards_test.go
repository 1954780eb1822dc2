package placementdb_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

func TestImport_Anomalies_ImportedAsDocumented(t *testing.T) {
	t.Parallel()
	usual := dbtest.Snapshot(t, moved(t, makeSource(t, plain)))
	for name, c := range hazards {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := difference(t, usual, c.statements)
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(c.want, "\n\t"))
			}
		})
	}
}

// difference returns the difference between the target of a changed source and that of the plain source,
// including recorded anomalies.
func difference(t *testing.T, usual *dbtest.State, statements string) []string {
	t.Helper()
	odd := dbtest.Snapshot(t, moved(t, makeSource(t, plain, statements)))
	return without(usual.Diff(odd), "import_state")
}
