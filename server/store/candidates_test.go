package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// answer reads candidates to the end: each as text, and the hosts they are on.
func answer(ctx context.Context, s *store.Store, query store.CandidateQuery) (candidates, hosts []string, err error) {
	found, err := s.CandidateList(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for one, err := range found.All() {
		if err != nil {
			return nil, nil, err
		}
		candidates = append(candidates, fmt.Sprint(*one))
	}
	for one, err := range found.Summaries() {
		if err != nil {
			return nil, nil, err
		}
		if one.Parent == nil {
			hosts = append(hosts, one.UUID.String())
		}
	}
	return candidates, hosts, nil
}

func TestCandidatesOfAForest(t *testing.T) {
	t.Parallel()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), forest); err != nil {
		t.Fatal(err)
	}
	opened, err := store.Open(t.Context(), store.Options{URL: made.URL, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	// Parallel subtests end before the pool is closed.
	t.Run("", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *store.Store){
			"what fits at once takes three round trips":             candidatesTakeThreeRoundTrips,
			"the same question has the same answer":                 candidatesAreDeterministic,
			"depth first takes all of a tree, breadth first one":    candidatesGoDeepOrBroad,
			"a shuffled answer is another each time":                candidatesAreShuffled,
			"the first of many are those of the whole answer":       candidatesAreAPrefix,
			"a shuffled answer without a limit has everything":      candidatesAreAllThere,
			"what the client no longer wants PostgreSQL forgets":    func(t *testing.T, _ *store.Store) { candidatesAreCancelled(t, made) },
			"an answer that nobody reads to the end frees the pool": candidatesAreLeft,
			"the largest limit is as good as none":                  candidatesAreAllUnderAnyLimit,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, opened)
			})
		}
	})
}

func forestQuery(limit int) store.CandidateQuery {
	query := questions()["a nested request"].query
	query.Limit = limit
	return query
}

func candidatesTakeThreeRoundTrips(t *testing.T, s *store.Store) {
	for range 10 { // a connection that has not prepared the statements takes more
		ctx, trips := store.CountRoundTrips(t.Context())
		if _, _, err := answer(ctx, s, forestQuery(10)); err != nil {
			t.Fatal(err)
		}
		if trips.Count() == 3 {
			return
		}
	}
	t.Error("never 3 round trips: names and roots, the walk, summaries")
}

func candidatesAreDeterministic(t *testing.T, s *store.Store) {
	first, _, err := answer(t.Context(), s, forestQuery(100))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := answer(t.Context(), s, forestQuery(100))
	if err != nil || !reflect.DeepEqual(first, again) || len(first) != 100 {
		t.Errorf("%v: %d candidates, then %d others", err, len(first), len(again))
	}
}

func candidatesGoDeepOrBroad(t *testing.T, s *store.Store) {
	// Each tree has 3 candidates.
	query := forestQuery(30)
	_, deep, err := answer(t.Context(), s, query)
	if err != nil {
		t.Fatal(err)
	}
	query.BreadthFirst = true
	_, broad, err := answer(t.Context(), s, query)
	if err != nil || len(deep) != 10 || len(broad) != 30 {
		t.Errorf("%v: 30 candidates of %d trees and of %d", err, len(deep), len(broad))
	}
}

func candidatesAreShuffled(t *testing.T, s *store.Store) {
	query := forestQuery(10)
	query.Randomize, query.BreadthFirst = true, true
	seen := map[string]int{}
	for range 20 {
		_, hosts, err := answer(t.Context(), s, query)
		if err != nil {
			t.Fatal(err)
		}
		for _, host := range hosts {
			seen[host]++
		}
	}
	// 200 draws of 5,000 hosts.
	if len(seen) < 150 {
		t.Errorf("20 answers have only %d different hosts", len(seen))
	}
}

func candidatesAreAPrefix(t *testing.T, s *store.Store) {
	many, _, err := answer(t.Context(), s, forestQuery(700))
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 2, 3, 7, 50, 333} {
		some, _, err := answer(t.Context(), s, forestQuery(limit))
		if err != nil || !reflect.DeepEqual(some, many[:limit]) {
			t.Errorf("%v: the first %d are not the first of 700", err, limit)
		}
	}
}

func candidatesAreAllThere(t *testing.T, s *store.Store) {
	query := forestQuery(0)
	ordered, _, err := answer(t.Context(), s, query)
	if err != nil || len(ordered) != 15000 {
		t.Fatalf("%d candidates, %v", len(ordered), err)
	}
	for _, broad := range []bool{false, true} {
		query.Randomize, query.BreadthFirst = true, broad
		shuffled, _, err := answer(t.Context(), s, query)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(ordered)
		slices.Sort(shuffled)
		if !slices.Equal(ordered, shuffled) {
			t.Errorf("breadth first %t: %d candidates, not the same %d", broad, len(shuffled), len(ordered))
		}
	}
}

func candidatesAreAllUnderAnyLimit(t *testing.T, s *store.Store) {
	for _, query := range []store.CandidateQuery{
		{Limit: math.MaxInt}, {Limit: math.MaxInt, BreadthFirst: true}, {Limit: math.MaxInt - 1, Randomize: true},
	} {
		query.Groups = questions()["everything, with a rare root"].query.Groups
		query.RootRequired = []string{"CUSTOM_RARE"}
		found, _, err := answer(t.Context(), s, query)
		if err != nil || len(found) != 100 {
			t.Errorf("%d candidates, %v", len(found), err)
		}
	}
}

func candidatesAreCancelled(t *testing.T, made *dbtest.DB) {
	s, err := store.Open(t.Context(), store.Options{URL: made.URL + "&application_name=leaver", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	found, err := s.CandidateList(ctx, forestQuery(0))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, err := range found.All() {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("ended with %v", err)
			}
			break
		}
		if read++; read == 10 {
			cancel() // the database is at work on the next page
		}
	}
	if read > 14000 {
		t.Errorf("read %d candidates although the question was taken back after 10", read)
	}
	_ = found.Close() // of a connection that is broken
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		var working int
		if err := made.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE application_name = 'leaver' AND datname = current_database() AND state <> 'idle'`).Scan(&working); err != nil {
			t.Fatal(err)
		}
		if working == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("PostgreSQL still works on %d statements that nobody waits for", working)
		}
	}
}

func candidatesAreLeft(t *testing.T, s *store.Store) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 30 { // more often than there are connections
		found, err := s.CandidateList(ctx, forestQuery(0))
		if err != nil {
			t.Fatal(err)
		}
		for range found.All() {
			break
		}
		if err := found.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
