package serve

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/data/store"
)

// minWideProviders is how many providers of one class make a tree wide. A query with four groups of the class has
// 8 × 7 × 6 × 5 = 1,680 candidates in such a tree, more than the 1,000 that Nova requests.
const minWideProviders = 8

// Bounds of the query for a wide tree.
const (
	maxWideClasses  = 10_000
	wideTreeTimeout = time.Minute
)

// noteWideTree prints which setting spreads a page of candidates over hosts, if the candidates of one tree can fill it.
// The query runs in the background, so that requests need not wait for it, and its failure is only logged. The returned
// function ends it and waits for its end.
func (s *service) noteWideTree(ctx context.Context, out io.Writer) (stop func()) {
	if interleavesTrees(s.Settings) {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, wideTreeTimeout)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		found, err := s.store.TreeWidest(ctx, minWideProviders, maxWideClasses)
		if err != nil {
			s.log.Debug("cannot find the widest provider tree", "cause", err)
			return
		}
		fmt.Fprint(out, wideTreeText(found))
	}()
	return func() {
		cancel()
		<-ended
	}
}

// interleavesTrees reports whether a page of candidates has those of several trees.
func interleavesTrees(settings *config.Settings) bool {
	return settings.Placement.Candidates.Strategy != "depth-first" || settings.Placement.Candidates.Randomize
}

// wideTreeText returns the line about a wide tree; empty without one.
func wideTreeText(found *store.WideTree) string {
	if found == nil {
		return ""
	}
	return fmt.Sprintf("Wide trees:     %q has %d providers of %s, so that its candidates alone can fill the page of a query with several groups; "+
		"--allocation-candidates-generation-strategy breadth-first returns those of other hosts too\n", found.Root, found.Providers, found.Class)
}
