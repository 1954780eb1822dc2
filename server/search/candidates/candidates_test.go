package candidates_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

// answer reads all candidates: each as text, and the hosts that they use.
func answer(ctx context.Context, s *candidates.Search, query candidates.Query) (found, hosts []string, err error) {
	result, err := s.List(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	for one, err := range result.All() {
		if err != nil {
			return nil, nil, err
		}
		found = append(found, fmt.Sprint(*one))
	}
	for one, err := range result.Summaries() {
		if err != nil {
			return nil, nil, err
		}
		if one.Parent == nil {
			hosts = append(hosts, one.UUID.String())
		}
	}
	return found, hosts, nil
}

func TestCandidates_SeededTrees_OrderedLimitedAndCancelable(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	made := dbtest.NewLoaded(t, forest)
	opened, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	search := candidates.New(opened)
	// Parallel subtests end before the pool is closed.
	t.Run("", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *candidates.Search){
			"candidates on the first page take one round trip":   candidatesTakeOneRoundTrip,
			"the same query returns the same candidates":         candidatesAreDeterministic,
			"depth first takes all of a tree, breadth first one": candidatesGoDeepOrBroad,
			"randomized candidates differ each time":             candidatesAreShuffled,
			"limited candidates are a prefix of all candidates":  candidatesAreAPrefix,
			"randomized candidates without a limit are complete": candidatesAreAllThere,
			"a canceled query is canceled in PostgreSQL":         func(t *testing.T, _ *candidates.Search) { candidatesAreCanceled(t, made) },
			"closing an unread result releases the connection":   candidatesAreLeft,
			"the largest limit equals no limit":                  candidatesAreAllUnderAnyLimit,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, search)
			})
		}
	})
}

func forestQuery(limit int) candidates.Query {
	query := questions()["a nested request"].query
	query.Limit = limit
	return query
}

func candidatesTakeOneRoundTrip(t *testing.T, s *candidates.Search) {
	for range 10 { // a connection that has not prepared the statements takes more
		ctx, trips := postgres.CountRoundTrips(t.Context())
		if _, _, err := answer(ctx, s, forestQuery(10)); err != nil {
			t.Fatal(err)
		}
		if trips.Count() == 1 {
			return
		}
	}
	t.Error("never 1 round trip: one page")
}

func candidatesAreDeterministic(t *testing.T, s *candidates.Search) {
	first, _, err := answer(t.Context(), s, forestQuery(100))
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := answer(t.Context(), s, forestQuery(100))
	if err != nil || !reflect.DeepEqual(first, again) || len(first) != 100 {
		t.Errorf("error = %v: %d candidates, then %d different ones", err, len(first), len(again))
	}
}

func candidatesGoDeepOrBroad(t *testing.T, s *candidates.Search) {
	// Each tree has 3 candidates.
	query := forestQuery(30)
	_, deep, err := answer(t.Context(), s, query)
	if err != nil {
		t.Fatal(err)
	}
	query.BreadthFirst = true
	_, broad, err := answer(t.Context(), s, query)
	if err != nil || len(deep) != 10 || len(broad) != 30 {
		t.Errorf("error = %v: 30 candidates of %d trees depth first and of %d breadth first", err, len(deep), len(broad))
	}
}

func candidatesAreShuffled(t *testing.T, s *candidates.Search) {
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
	// These are 200 draws of 5,000 hosts.
	if len(seen) < 150 {
		t.Errorf("20 results have only %d different hosts", len(seen))
	}
}

func candidatesAreAPrefix(t *testing.T, s *candidates.Search) {
	many, _, err := answer(t.Context(), s, forestQuery(700))
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{1, 2, 3, 7, 50, 333} {
		some, _, err := answer(t.Context(), s, forestQuery(limit))
		if err != nil || !reflect.DeepEqual(some, many[:limit]) {
			t.Errorf("error = %v: the first %d are not the first of 700", err, limit)
		}
	}
}

func candidatesAreAllThere(t *testing.T, s *candidates.Search) {
	query := forestQuery(0)
	ordered, _, err := answer(t.Context(), s, query)
	if err != nil || len(ordered) != 15000 {
		t.Fatalf("candidates = %d, error = %v", len(ordered), err)
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
			t.Errorf("breadth first = %t: %d candidates, want the same %d", broad, len(shuffled), len(ordered))
		}
	}
}

func candidatesAreAllUnderAnyLimit(t *testing.T, s *candidates.Search) {
	for _, query := range []candidates.Query{
		{Limit: math.MaxInt}, {Limit: math.MaxInt, BreadthFirst: true}, {Limit: math.MaxInt - 1, Randomize: true},
	} {
		query.Groups = questions()["everything, with a rare root"].query.Groups
		query.RootRequired = []string{"CUSTOM_RARE"}
		found, _, err := answer(t.Context(), s, query)
		if err != nil || len(found) != 100 {
			t.Errorf("candidates = %d, error = %v", len(found), err)
		}
	}
}

func candidatesAreCanceled(t *testing.T, made *dbtest.DB) {
	pool, err := postgres.Open(t.Context(), postgres.Options{URL: made.URL + "&application_name=leaver", MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := candidates.New(pool)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	found, err := s.List(ctx, forestQuery(0))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, err := range found.All() {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want the cancellation", err)
			}
			break
		}
		if read++; read == 10 {
			cancel() // the database executes the query of the next page
		}
	}
	if read > 14000 {
		t.Errorf("read %d candidates although the query was canceled after 10", read)
	}
	_ = found.Close() // the connection has failed
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
			t.Fatalf("PostgreSQL still executes %d canceled statements", working)
		}
	}
}

func candidatesAreLeft(t *testing.T, s *candidates.Search) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for range 30 { // more often than there are connections
		found, err := s.List(ctx, forestQuery(0))
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
