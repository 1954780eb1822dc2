package candidates_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

// abandon starts a query and leaves it in one of several ways.
func abandon(t *testing.T, s *candidates.Search, query candidates.Query, way int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if way == 0 {
		cancel()
	}
	result, err := s.List(ctx, query)
	if err != nil {
		if way != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("way %d: %v", way, err)
		}
		return
	}
	count := 0
	switch way {
	case 1: // read nothing
	case 2: // some candidates, and no summary
		for range result.All() {
			if count++; count == 3 {
				break
			}
		}
	case 3: // some candidates, and some summaries
		for range result.All() {
			if count++; count == 5 {
				break
			}
		}
		for range result.Summaries() {
			if count++; count == 8 {
				break
			}
		}
	case 4: // cancel in between
		for range result.All() {
			if count++; count == 2 {
				cancel()
			}
		}
		for range result.Summaries() {
			count++
		}
	case 5: // summaries alone
		for range result.Summaries() {
			count++
		}
	case 6: // close while reading
		for range result.All() {
			_ = result.Close()
			break
		}
	}
	if err := result.Close(); err != nil && way != 0 && way != 4 {
		t.Errorf("way %d: close: %v", way, err)
	}
	if err := result.Close(); err != nil && way != 0 && way != 4 {
		t.Errorf("way %d: second close: %v", way, err)
	}
	if result.UsesOnePage() { // its page may belong to another query by now
		for range result.All() {
			t.Errorf("way %d: a candidate after Close", way)
		}
		for range result.Summaries() {
			t.Errorf("way %d: a summary after Close", way)
		}
	}
}

// Queries of all shapes run at once; some are abandoned. Each complete result equals that of the query alone.
func TestCandidates_ConcurrentAndAbandoned_ResultsAreThoseOfEachAlone(t *testing.T) {
	t.Parallel()
	cloud := &cloud{DB: dbtest.NewLoaded(t, smallForest), t: t}
	search := cloud.open(func(options *postgres.Options) { options.MaxConns = 6 })
	text := cloud.open(throughPooler)
	var all []shaped
	for name, asked := range questions() {
		query := asked.query
		query.Limit, query.Randomize = 0, false
		complete := mustRead(t, search, query)
		known := map[string]bool{}
		for _, text := range slices.Concat(complete.candidates, complete.summaries) {
			known[text] = true
		}
		for _, limit := range []int{1, 7, 1001} {
			query.Limit = limit
			all = append(all, shaped{name, query, known, len(mustRead(t, search, query).candidates)})
		}
	}
	var clients sync.WaitGroup
	for client := range 6 {
		clients.Go(func() {
			order := rand.New(rand.NewPCG(1, uint64(client)))
			for range max(10, counts.Of(30)) {
				one := &all[order.IntN(len(all))]
				switch order.IntN(4) {
				case 0, 1:
					abandon(t, search, one.query, order.IntN(7))
				case 2:
					one.check(t, search)
				case 3:
					one.check(t, text)
				}
			}
		})
	}
	clients.Wait()
	for i := range all {
		all[i].check(t, search)
	}
}

// shaped is a query with the candidates and summaries that its result can have, and the number of candidates.
type shaped struct {
	name  string
	query candidates.Query
	known map[string]bool
	count int
}

// check compares a result. Which candidates it has depends on the queries before.
func (s *shaped) check(t *testing.T, with *candidates.Search) {
	t.Helper()
	got, err := read(t.Context(), with, s.query)
	if err != nil || len(got.candidates) != s.count {
		t.Errorf("%s, limit %d: error = %v, %d candidates, want %d", s.name, s.query.Limit, err, len(got.candidates), s.count)
	}
	seen := map[string]bool{}
	for _, text := range slices.Concat(got.candidates, got.summaries) {
		if !s.known[text] || seen[text] {
			t.Errorf("%s, limit %d: %s is wrong or repeated", s.name, s.query.Limit, text)
		}
		seen[text] = true
	}
}

// A result that is closed twice, with either path, and whose connection is used by another query in between.
func TestCandidates_ClosedTwice_ReleasesConnectionOnce(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 50)
	search := cloud.open(func(options *postgres.Options) { options.MaxConns = 1 })
	for _, limit := range []int{0, 5, 5, 5} {
		result, err := search.List(t.Context(), slots(1, limit))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := result.Close(); err != nil {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		compare(t, "afterwards", mustRead(t, search, slots(1, 0)), slotOutcome("CUSTOM_SLOT", 1, 0, nil, hostRange(1, 50)...))
	}
}
