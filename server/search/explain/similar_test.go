package explain_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server/search/explain"
)

// TestExplain_ManyLongUnknownNames_EndsWithContext compares names that would take a minute.
func TestExplain_ManyLongUnknownNames_EndsWithContext(t *testing.T) {
	t.Parallel()
	var conflicts []explain.Conflict
	var existing []string
	for i := range 5000 {
		conflicts = append(conflicts, explain.Conflict{Name: "CUSTOM_" + strings.Repeat(fmt.Sprintf("%05d", i), 40)})
		existing = append(existing, "CUSTOM_"+strings.Repeat(fmt.Sprintf("%05d", i+5000), 40))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := explain.AddSimilar(ctx, conflicts, existing); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v, want that of the deadline", err)
	}
	if last := conflicts[len(conflicts)-1]; last.Similar != nil {
		t.Errorf("conflict = %+v, want one without similar names", last)
	}
}

func TestExplain_SimilarNames_DifferByLittle(t *testing.T) {
	t.Parallel()
	conflicts := []explain.Conflict{{Name: "GPU_BIG"}, {Name: "CUSTOM_A"}}
	existing := []string{"A", "BIG_GPU", "BIGGER_GPU", "CUSTOM_B", "CUSTOM_GPU_BIG", "CUSTOM_NUMA", "GPU_BIGGER", "GPU_BG"}
	if err := explain.AddSimilar(t.Context(), conflicts, existing); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(conflicts[0].Similar, conflicts[1].Similar), "[GPU_BG BIG_GPU CUSTOM_GPU_BIG] [CUSTOM_B A]"; got != want {
		t.Errorf("similar names = %s, want %s", got, want)
	}
}
