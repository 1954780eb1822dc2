package admin

import (
	"slices"
	"testing"
)

func TestCLI_UpgradeCheckDetails_WrappedAtWords(t *testing.T) {
	t.Parallel()
	if got := wrapped("Details: aaa bbb ccccccccc dd", 12); !slices.Equal(got, []string{"Details: aaa", "  bbb", "  ccccccccc", "  dd"}) {
		t.Errorf("got %q", got)
	}
}
