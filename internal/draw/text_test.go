package draw

import (
	"strings"
	"testing"
)

func drawnText(t failer, forest Forest, style Style) string {
	t.Helper()
	var out strings.Builder
	if err := Text(&out, forest, style); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCLI_TreeText_MatchesGolden(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		forest Forest
		style  Style
	}{
		"numa.txt":         {numaHost(), Style{Usages: true, UUIDs: true}},
		"numa_color.txt":   {numaHost(), Style{Usages: true, UUIDs: true, Color: true, Width: 100}},
		"numa_plain.txt":   {numaHost(), Style{ASCII: true}},
		"numa_all.txt":     {numaHost(), Style{Usages: true, UUIDs: true, All: true, Width: 120}},
		"numa_narrow.txt":  {numaHost(), Style{Usages: true, UUIDs: true, Width: 50}},
		"odd.txt":          {oddForest(), Style{Usages: true, UUIDs: true}},
		"odd_ascii.txt":    {oddForest(), Style{Usages: true, ASCII: true}},
		"empty_forest.txt": {Forest{}, Style{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkGolden(t, name, drawnText(t, test.forest, test.style))
		})
	}
}

// failer is the common part of testing.T and rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
}
