package serve

import (
	"bytes"
	"testing"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/api/placement"
)

// TestSettings_TreesInterleaved_NoQueryForWideTree checks that a server that returns candidates of several trees runs no query
// for a wide one. The service has no store, so that a query would panic.
func TestSettings_TreesInterleaved_NoQueryForWideTree(t *testing.T) {
	t.Parallel()
	for _, options := range []placement.CandidateOptions{{Strategy: "breadth-first"}, {Strategy: "depth-first", Randomize: true}} {
		settings := &config.Settings{}
		settings.Placement.Candidates = options
		var printed bytes.Buffer
		(&service{Settings: settings}).noteWideTree(t.Context(), &printed)()
		if printed.Len() > 0 {
			t.Errorf("%+v: printed %s", options, &printed)
		}
	}
	if got := wideTreeText(nil); got != "" {
		t.Errorf("without a wide tree: %q", got)
	}
}
