package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// recordedAt is a time in whole microseconds, as in the database.
var recordedAt = time.Date(2026, 11, 20, 10, 2, 0, 123456000, time.UTC)

// recordedQuery returns a query that one request has sent at recordedAt.
func recordedQuery(number byte) store.RecordedQuery {
	return store.RecordedQuery{
		Digest: store.Digest{number}, WindowStart: recordedAt.Truncate(5 * time.Minute), Kind: "candidates", API: "placement",
		Microversion: "1.36", Text: fmt.Sprintf("resources=VCPU:%d", number), Options: json.RawMessage(`{}`), Reason: "no_tree",
		Requests: 1, FirstAskedAt: recordedAt, LastAskedAt: recordedAt,
	}
}

func openExplanations(t *testing.T, cloud *dbtest.DB) *store.Store {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: cloud.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened
}

func TestExplain_RecordEqualQueries_ShareRow(t *testing.T) {
	t.Parallel()
	s := openExplanations(t, dbtest.New(t))
	ids := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	global := uuid.New()
	record := func(query store.RecordedQuery, requests ...store.RecordedRequest) (store.StoredQuery, bool) {
		t.Helper()
		stored, isNew, err := s.ExplanationRecord(t.Context(), []store.RecordedQuery{query}, requests)
		if err != nil {
			t.Fatal(err)
		}
		return stored[0], isNew[0]
	}
	first, isNew := record(recordedQuery(1), store.RecordedRequest{ID: ids[0], AskedAt: recordedAt})
	if !isNew {
		t.Error("is new = false, want true for the first request")
	}
	later := recordedQuery(1)
	later.Requests, later.FirstAskedAt, later.LastAskedAt = 2, recordedAt.Add(time.Second), recordedAt.Add(2*time.Second)
	second, isNew := record(later, store.RecordedRequest{ID: ids[1], GlobalID: &global, AskedAt: later.FirstAskedAt},
		store.RecordedRequest{ID: ids[2], GlobalID: &global, AskedAt: later.LastAskedAt})
	if isNew || second != first {
		t.Errorf("second record = %v, new %v, want the row %v", second, isNew, first)
	}
	for id, want := range map[uuid.UUID][]uuid.UUID{ids[0]: ids[:1], ids[1]: ids[1:2], global: ids[1:], uuid.New(): nil} {
		found, err := s.ExplanationShow(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var got []uuid.UUID
		for _, row := range found {
			got = append(got, row.ID)
			if row.Requests != 3 || !row.FirstAskedAt.Equal(recordedAt) || !row.LastAskedAt.Equal(later.LastAskedAt) || row.Stored != first {
				t.Errorf("row = %+v, want three requests of %v", row, first)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("requests of %s = %v, want %v", id, got, want)
		}
	}
}

func TestExplain_SetContent_FirstOneStays(t *testing.T) {
	t.Parallel()
	s := openExplanations(t, dbtest.New(t))
	id := uuid.New()
	stored, _, err := s.ExplanationRecord(t.Context(), []store.RecordedQuery{recordedQuery(1)}, []store.RecordedRequest{{ID: id, AskedAt: recordedAt}})
	if err != nil {
		t.Fatal(err)
	}
	for _, attempt := range []struct {
		of      store.StoredQuery
		summary string
	}{{store.StoredQuery{ID: stored[0].ID, Digest: store.Digest{9}}, "other"}, {stored[0], "first"}, {stored[0], "second"}} {
		content := json.RawMessage(`{"summary": "` + attempt.summary + `"}`)
		if err := s.ExplanationSetContent(t.Context(), attempt.of, content, recordedAt); err != nil {
			t.Fatal(err)
		}
	}
	found, err := s.ExplanationShow(t.Context(), id)
	if err != nil || len(found) != 1 || string(found[0].Content) != `{"summary": "first"}` {
		t.Errorf("found = %+v, %v, want the first content", found, err)
	}
	listed, err := s.ExplanationList(t.Context(), store.ExplanationFilter{Max: 10})
	if err != nil || len(listed) != 1 || listed[0].Summary != "first" || !slices.Equal(listed[0].RequestIDs, []uuid.UUID{id}) {
		t.Errorf("listed = %+v, %v, want the summary of the first content", listed, err)
	}
}

// manyExplanations adds 300 explanations, 100 requests each, of the last 300 minutes. Every third is of another kind.
const manyExplanations = `
INSERT INTO explanations (digest, window_start, kind, api, microversion, question, options, reason, requests, first_asked_at, last_asked_at)
SELECT decode(lpad(to_hex(n), 64, '0'), 'hex'), now(), CASE WHEN n % 3 = 0 THEN 'claim' ELSE 'candidates' END, 'placement', '1.36',
    'resources=VCPU:' || n, '{}', CASE WHEN n % 2 = 0 THEN 'no_tree' ELSE 'amount' END, n % 7, now() - n * interval '1 minute', now() - n * interval '1 minute'
FROM generate_series(1, 300) AS n;
INSERT INTO explanation_requests
SELECT gen_random_uuid(), gen_random_uuid(), e.id, e.last_asked_at - n * interval '1 millisecond' FROM explanations AS e, generate_series(0, 99) AS n;
UPDATE explanations SET first_asked_at = last_asked_at - interval '99 milliseconds';
ANALYZE explanations, explanation_requests;`

func newExplanations(t *testing.T) *dbtest.DB {
	t.Helper()
	made := dbtest.New(t)
	if _, err := made.Pool.Exec(t.Context(), manyExplanations); err != nil {
		t.Fatal(err)
	}
	return made
}

func TestExplain_ListPages_HaveEveryRowOnce(t *testing.T) {
	t.Parallel()
	s := openExplanations(t, newExplanations(t))
	claim, amount, since := "claim", "amount", time.Now().Add(-30*time.Minute-30*time.Second)
	for name, c := range map[string]struct {
		filter store.ExplanationFilter
		want   int
	}{
		"newest": {store.ExplanationFilter{}, 300}, "frequent": {store.ExplanationFilter{ByRequests: true}, 300},
		"kind": {store.ExplanationFilter{Kind: &claim}, 100}, "reason": {store.ExplanationFilter{Reason: &amount, ByRequests: true}, 150},
		"since": {store.ExplanationFilter{Since: &since}, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[int64]bool{}
			var last *store.ListedExplanation
			for c.filter.Max = 7; ; {
				page, err := s.ExplanationList(t.Context(), c.filter)
				if err != nil {
					t.Fatal(err)
				}
				for i := range page {
					one := &page[i]
					if last != nil && (c.filter.ByRequests && one.Requests > last.Requests || !c.filter.ByRequests && one.LastAskedAt.After(last.LastAskedAt)) {
						t.Errorf("%+v comes after %+v", one, last)
					}
					if seen[one.ID] || len(one.RequestIDs) != 3 {
						t.Errorf("row = %+v, want it once, with three request ids", one)
					}
					seen[one.ID], last = true, one
				}
				if len(page) < 7 {
					break
				}
				c.filter.After = &store.ExplanationPosition{ID: last.ID, Requests: last.Requests, Time: last.LastAskedAt}
			}
			if len(seen) != c.want {
				t.Errorf("rows = %d, want %d", len(seen), c.want)
			}
		})
	}
}

func TestExplain_Clean_KeepsNewestWithinBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keep                          time.Duration
		rows                          int64
		requests, candidates, claimed int
	}{
		"time": {100*time.Minute + 30*time.Second, 1 << 30, 10_000, 67, 33},
		"rows": {24 * time.Hour, 500, 500, 50, 50},
		"all":  {0, 500, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newExplanations(t)
			s := openExplanations(t, cloud)
			if isDone, err := s.ExplanationClean(t.Context(), c.keep, c.rows); err != nil || !isDone {
				t.Fatalf("done = %v, %v, want true", isDone, err)
			}
			var requests, candidates, claims int
			var oldest bool
			if err := cloud.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM explanation_requests),
				(SELECT count(*) FROM explanations WHERE kind = 'candidates'), (SELECT count(*) FROM explanations WHERE kind = 'claim'),
				EXISTS (SELECT FROM explanations WHERE question = 'resources=VCPU:300')`).Scan(&requests, &candidates, &claims, &oldest); err != nil {
				t.Fatal(err)
			}
			if requests != c.requests || candidates != c.candidates || claims != c.claimed || oldest {
				t.Errorf("kept = %d requests, %d and %d explanations, the oldest: %v; want %+v", requests, candidates, claims, oldest, c)
			}
		})
	}
}

func TestExplain_CleanByTwoServers_DoesNotWait(t *testing.T) {
	t.Parallel()
	cloud := newExplanations(t)
	tx, err := cloud.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // it changes nothing
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('berth explanations', 0))"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 2 {
		s := openExplanations(t, cloud)
		group.Go(func() {
			if isDone, err := s.ExplanationClean(t.Context(), 0, 1); err != nil || isDone {
				t.Errorf("done = %v, %v, want false", isDone, err)
			}
		})
	}
	group.Wait() // while the lock is held
	var left int
	if err := cloud.Pool.QueryRow(t.Context(), "SELECT count(*) FROM explanation_requests").Scan(&left); err != nil || left != 30_000 {
		t.Errorf("requests = %d, %v, want all, because another server cleans", left, err)
	}
}

// TestExplain_CleanDuringRecord_SkipsRow cleans while a server counts requests in the oldest row. A wait for that row would
// be a deadlock if the server then needed one that the cleaning has locked.
func TestExplain_CleanDuringRecord_SkipsRow(t *testing.T) {
	t.Parallel()
	cloud := newExplanations(t)
	s := openExplanations(t, cloud)
	tx, err := cloud.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // it changes nothing
	if _, err := tx.Exec(t.Context(), "UPDATE explanations SET requests = requests + 1 WHERE question = 'resources=VCPU:300'"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if isDone, err := s.ExplanationClean(ctx, 0, 0); err != nil || !isDone {
		t.Fatalf("done = %v, %v, want true", isDone, err)
	}
	var left []string
	if err := cloud.Pool.QueryRow(t.Context(), "SELECT array_agg(question) FROM explanations").Scan(&left); err != nil || !slices.Equal(left, []string{"resources=VCPU:300"}) {
		t.Errorf("left = %v, %v, want the locked row", left, err)
	}
}

// requestsOfOneDay adds explanations of the last day, and ten requests of each.
const requestsOfOneDay = `
INSERT INTO explanations (digest, window_start, kind, api, microversion, question, options, reason, requests, first_asked_at, last_asked_at)
SELECT decode(lpad(to_hex(n), 64, '0'), 'hex'), now(), 'candidates', 'placement', '1.36', 'resources=VCPU:' || n, '{}', 'no_tree', 10, asked.at, asked.at
FROM generate_series(1, %d) AS n, LATERAL (SELECT now() - n * interval '500 milliseconds') AS asked (at);
INSERT INTO explanation_requests SELECT gen_random_uuid(), NULL, e.id, e.last_asked_at FROM explanations AS e, generate_series(1, 10);
ANALYZE explanations, explanation_requests;`

// TestExplain_MillionRequests_CleanedByTwoServers has two servers clean a million requests, or the share of counts, at the same time. Neither waits for the other, so
// that each may see the other's lock; both together keep the bounds.
func TestExplain_MillionRequests_CleanedByTwoServers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	cloud, rows := dbtest.New(t), counts.Of(100_000)
	if _, err := cloud.Pool.Exec(t.Context(), fmt.Sprintf(requestsOfOneDay, rows)); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 2 {
		s := openExplanations(t, cloud)
		group.Go(func() {
			for isDone := false; !isDone; {
				var err error
				if isDone, err = s.ExplanationClean(t.Context(), 24*time.Hour, int64(rows)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	var requests, explanations int
	var newest bool
	if err := cloud.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM explanation_requests), (SELECT count(*) FROM explanations),
		NOT EXISTS (SELECT FROM explanation_requests AS r LEFT JOIN explanations AS e ON e.id = r.explanation_id WHERE e.id IS NULL)`).
		Scan(&requests, &explanations, &newest); err != nil {
		t.Fatal(err)
	}
	if requests != rows || explanations != rows/10 || !newest {
		t.Errorf("kept = %d requests of %d explanations, all of them kept: %v; want the newest %d of %d", requests, explanations, newest, rows, rows/10)
	}
}

// TestExplain_Plans_UseIndexes pins the plans of the statements that run for requests or once a second.
func TestExplain_Plans_UseIndexes(t *testing.T) {
	t.Parallel()
	cloud := newExplanations(t)
	queries, _ := json.Marshal([]any{map[string]any{
		"place": 0, "digest": fmt.Sprintf("%064x", 7), "window_start": recordedAt, "kind": "candidates", "api": "placement",
		"microversion": "1.36", "question": "", "options": map[string]any{}, "reason": "no_tree", "requests": 1,
		"first_asked_at": recordedAt, "last_asked_at": recordedAt,
	}})
	requests, _ := json.Marshal([]any{map[string]any{"request_id": uuid.New(), "asked_at": recordedAt, "place": 0}})
	for name, c := range map[string]struct {
		query     string
		arguments []string
		indexes   []string
	}{
		"record": {db.ExplanationRecord, []string{"'" + string(queries) + "'", "'" + string(requests) + "'"}, nil},
		"show": {db.ExplanationShow, []string{"'" + uuid.NewString() + "'"}, []string{
			"explanation_requests_global_request_id_idx", "explanation_requests_pkey"}},
		"content": {db.ExplanationSetContent, []string{"'{}'", "now()", "7", `'\x00'`}, nil},
		"clean":   {db.ExplanationRequestClean, []string{"1000000", "3600", "10"}, []string{"explanation_requests_asked_at_idx"}},
	} {
		for _, mode := range []string{"force_generic_plan", "force_custom_plan"} {
			// One after the other: of two that clean at once, one only finds that it is not its turn.
			t.Run(name+" with "+mode, func(t *testing.T) {
				conn, err := cloud.Pool.Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Release()
				indexes := map[string]bool{}
				dbtest.Explain(t, conn.Conn(), mode, c.query, c.arguments...).Walk(func(n *dbtest.PlanNode) {
					indexes[n.Index] = true
					if n.Type == "Seq Scan" && name != "clean" {
						t.Errorf("sequential scan of %s", n.Relation)
					}
				})
				for _, want := range c.indexes {
					if !indexes[want] {
						t.Errorf("indexes = %v, want %s", indexes, want)
					}
				}
			})
		}
	}
}
