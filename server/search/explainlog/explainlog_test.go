package explainlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// openStore opens a store on a database.
func openStore(t *testing.T, at string) *store.Store {
	t.Helper()
	opened, err := store.Open(t.Context(), postgres.Options{URL: at, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened
}

// newLog returns a log with short intervals, the settings of berth serve, and changes to them.
func newLog(t *testing.T, on *store.Store, change func(*Options)) *Log {
	t.Helper()
	options := Options{
		Settings: Settings{Keep: 24 * time.Hour, Rows: 100_000, Rate: 6, Timeout: time.Second},
		Store:    on, Log: slog.New(slog.DiscardHandler), interval: 20 * time.Millisecond,
	}
	if change != nil {
		change(&options)
	}
	return New(options)
}

// record returns an empty result of a query for VCPUs.
func record(amount int) Record {
	return Record{
		RequestID: "req-" + uuid.NewString(), At: time.Now(), Kind: Candidates, Version: microversion.V(36),
		Values:  querystring.Of(querystring.Pair{Name: "resources", Value: fmt.Sprintf("VCPU:%d", amount)}, querystring.Pair{Name: "explain", Value: "empty"}),
		Options: SearchOptions{Max: -1, Strategy: "depth-first"}, Reason: explain.NoTree,
	}
}

// count returns the value of a counter with a label, or of all its labels.
func count(t *testing.T, l *Log, name, label string) (sum float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(l.Collectors()...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name && (label == "" || metric.GetLabel()[0].GetValue() == label) {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// recorded returns the number of recorded requests.
func recorded(t *testing.T, db *dbtest.DB) (rows int) {
	t.Helper()
	if err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM explanation_requests").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// stub returns a computation that counts its calls.
func stub(calls *atomic.Int64) func(context.Context, Query) (*explain.Explanation, error) {
	return func(_ context.Context, question Query) (*explain.Explanation, error) {
		calls.Add(1)
		return &explain.Explanation{Kind: question.Kind, Reason: question.Reason, Summary: question.Text}, nil
	}
}

func TestExplain_EqualRecords_ExplainedOnce(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	var calls atomic.Int64
	l := newLog(t, openStore(t, db.URL), func(o *Options) { o.Explain = stub(&calls) })
	l.Start()
	defer l.Close(t.Context())
	records := []Record{record(8), record(8), record(8)}
	records[1].GlobalRequestID = "req-" + uuid.NewString()
	for _, one := range records {
		l.Add(one)
	}
	id, _ := ParseRequestID(records[0].RequestID)
	var found []store.RecordedResult
	await(t, "an explanation", func() (done bool) {
		var err error
		if found, err = l.Store.ExplanationShow(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return len(found) == 1 && found[0].Content != nil
	})
	row := found[0]
	if row.Requests != 3 || row.Text != "resources=VCPU:8" || row.Microversion != "1.36" || row.Extension != nil || row.Reason != "no_tree" {
		t.Errorf("row = %+v, want three requests of one query", row)
	}
	if row.MadeAt == nil || calls.Load() != 1 || count(t, l, "berth_explanations_total", "background") != 1 {
		t.Errorf("made at %v, %d computations, want one", row.MadeAt, calls.Load())
	}
	global, _ := ParseRequestID(records[1].GlobalRequestID)
	if chained, err := l.Show(t.Context(), global); err != nil || len(chained) != 1 || chained[0].Stored != row.Stored {
		t.Errorf("by global request id = %+v, %v, want the same row", chained, err)
	}
}

func TestExplain_LookupUnexplained_ExplainsAndStores(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	var calls atomic.Int64
	recorder := newLog(t, openStore(t, db.URL), nil)
	recorder.Start()
	one := record(8)
	one.Version = microversion.Berth(2)
	recorder.Add(one)
	recorder.Close(t.Context())
	// Another server answers the look-up.
	l := newLog(t, openStore(t, db.URL), func(o *Options) { o.Explain = stub(&calls) })
	id, _ := ParseRequestID(one.RequestID)
	for range 2 {
		found, err := l.Show(t.Context(), id)
		if err != nil || len(found) != 1 {
			t.Fatalf("found = %+v, %v, want one", found, err)
		}
		var made explain.Explanation
		if err := json.Unmarshal(found[0].Content, &made); err != nil || made.Summary != "resources=VCPU:8" || found[0].MadeAt == nil {
			t.Errorf("content = %s at %v, want the explanation", found[0].Content, found[0].MadeAt)
		}
	}
	if calls.Load() != 1 || count(t, l, "berth_explanations_total", "lookup") != 1 {
		t.Errorf("computations = %d, want 1", calls.Load())
	}
}

func TestExplain_LookupFails_ReturnsShortForm(t *testing.T) {
	t.Parallel()
	l := newLog(t, openStore(t, dbtest.New(t).URL), func(o *Options) {
		o.Rate = 0
		o.Explain = func(context.Context, Query) (*explain.Explanation, error) { return nil, errors.New("broken") }
	})
	l.Start()
	one := record(8)
	l.Add(one)
	l.Close(t.Context())
	id, _ := ParseRequestID(one.RequestID)
	found, err := l.Show(t.Context(), id)
	const want = `{"kind":"candidates","reason":"no_tree","summary":"No tree has a provider for every group.","incomplete":true}`
	if err != nil || len(found) != 1 || string(found[0].Content) != want || found[0].MadeAt != nil {
		t.Errorf("found = %+v, %v, want %s", found, err, want)
	}
}

func TestExplain_ThirdExplanation_GetsNoPlace(t *testing.T) {
	t.Parallel()
	m := NewMaker(time.Second)
	hold, begun := make(chan struct{}), make(chan struct{})
	for range maxExplanations {
		go func() {
			_, _ = m.Make(context.Background(), OnRequest, func(context.Context) (*explain.Explanation, error) {
				begun <- struct{}{}
				<-hold
				return &explain.Explanation{}, nil
			})
		}()
	}
	for range maxExplanations {
		<-begun
	}
	for _, when := range []When{OnRequest, Background, OnLookup} {
		if _, err := m.Make(t.Context(), when, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", when, err)
		}
	}
	close(hold)
}

// TestExplain_ComputationPanics_PlaceGivenBack: in the background, a panic would end the process.
func TestExplain_ComputationPanics_PlaceGivenBack(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	var calls atomic.Int64
	l := newLog(t, openStore(t, db.URL), func(o *Options) {
		o.Explain = func(context.Context, Query) (*explain.Explanation, error) {
			calls.Add(1)
			panic("broken")
		}
	})
	l.Start()
	defer l.Close(t.Context())
	one := record(8)
	for i := range maxExplanations + 1 {
		l.Add(record(i + 1))
	}
	l.Add(one)
	await(t, "computations", func() bool { return calls.Load() > maxExplanations })
	id, _ := ParseRequestID(one.RequestID)
	found, err := l.Show(t.Context(), id)
	if err != nil || len(found) != 1 || !strings.Contains(string(found[0].Content), `"incomplete":true`) || found[0].MadeAt != nil {
		t.Errorf("found = %+v, %v, want the short form", found, err)
	}
	await(t, "free places", func() bool { return len(l.maker.places) == 0 })
	if _, err := l.maker.Make(t.Context(), OnRequest, func(context.Context) (*explain.Explanation, error) { panic("broken") }); err == nil ||
		!strings.HasPrefix(err.Error(), "panic: broken\n") {
		t.Errorf("error = %v, want the panic", err)
	}
}

func TestExplain_QueueFull_CountsDropped(t *testing.T) {
	t.Parallel()
	l := newLog(t, nil, nil) // not started: nothing reads the queue
	for range queueLength + 5 {
		l.Add(record(1))
	}
	if got := count(t, l, "berth_explanations_dropped_total", "queue"); got != 5 {
		t.Errorf("dropped = %v, want 5", got)
	}
	big := newLog(t, nil, nil)
	long := record(1)
	long.Kind, long.Text = Claim, strings.Repeat("a", maxText-100)
	for range 100 {
		big.Add(long)
	}
	long.Text += strings.Repeat("a", 200)
	big.Add(long)
	if kept := len(big.queue); kept > maxQueueBytes/(maxText-100) || big.queued.Load() > maxQueueBytes || kept == 0 {
		t.Errorf("queued = %d records, %d bytes, want at most %d bytes", kept, big.queued.Load(), maxQueueBytes)
	}
	if got := count(t, big, "berth_explanations_dropped_total", "queue"); int(got)+len(big.queue) != 101 {
		t.Errorf("dropped = %v and queued = %d, want 101", got, len(big.queue))
	}
}

func TestExplain_AboveRate_CountsDropped(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	l := newLog(t, openStore(t, db.URL), func(o *Options) { o.interval = time.Second })
	const sent = 500
	for range sent {
		l.Add(record(1))
	}
	l.running.Go(l.write)
	await(t, "an empty queue", func() bool { return len(l.queue) == 0 })
	l.Close(t.Context())
	got, rate := recorded(t, db), count(t, l, "berth_explanations_dropped_total", "rate")
	if got != maxRecorded[Candidates] || got+int(rate) != sent || l.queued.Load() != 0 {
		t.Errorf("recorded = %d, dropped = %v, want %d in total", got, rate, sent)
	}
}

func TestExplain_DatabaseFails_CountsDropped(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"read-only": "ALTER DATABASE %s SET default_transaction_read_only = on",
		"gone":      "DROP TABLE explanations",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			opened := openStore(t, db.URL) // a server does not start on a read-only database
			if strings.Contains(broken, "%s") {
				broken = fmt.Sprintf(broken, db.Name)
			}
			if _, err := db.Pool.Exec(t.Context(), broken); err != nil {
				t.Fatal(err)
			}
			l := newLog(t, opened, nil)
			l.Start()
			for range 7 {
				l.Add(record(1))
			}
			l.Close(t.Context())
			if got := count(t, l, "berth_explanations_dropped_total", "database"); got != 7 {
				t.Errorf("dropped = %v, want 7", got)
			}
		})
	}
}

func TestExplain_Close_WritesQueue(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	l := newLog(t, openStore(t, db.URL), func(o *Options) { o.interval = time.Hour })
	for i := range 700 {
		l.Add(record(i % 300))
	}
	l.Start()
	l.Close(t.Context())
	l.Add(record(1))
	dropped := count(t, l, "berth_explanations_dropped_total", "")
	if got := recorded(t, db); got != 700 || dropped != 1 || l.queued.Load() != 0 {
		t.Errorf("recorded = %d, dropped = %v, want 700 and the one after Close", got, dropped)
	}
}

func TestExplain_KeepNothing_RecordsNothingAndDeletes(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s := openStore(t, db.URL)
	l := newLog(t, s, nil)
	l.Start()
	l.Add(record(1))
	l.Close(t.Context())
	none := newLog(t, s, func(o *Options) { o.Keep = 0 })
	none.Start()
	defer none.Close(t.Context())
	none.Add(record(1))
	await(t, "empty tables", func() bool { return recorded(t, db) == 0 })
	if dropped := count(t, none, "berth_explanations_dropped_total", ""); dropped != 0 || len(none.queue) != 0 {
		t.Errorf("dropped = %v, want 0: nothing is recorded on purpose", dropped)
	}
}

// TestExplain_KeepNothingWhileAnotherCleans_DeletesLater holds the lock of the cleaning.
func TestExplain_KeepNothingWhileAnotherCleans_DeletesLater(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	t.Parallel()
	db := dbtest.New(t)
	s := openStore(t, db.URL)
	l := newLog(t, s, nil)
	l.Start()
	l.Add(record(1))
	l.Close(t.Context())
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }() // it changes nothing
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('berth explanations', 0))"); err != nil {
		t.Fatal(err)
	}
	none := newLog(t, s, func(o *Options) { o.Keep, o.cleanInterval = 0, 5*time.Millisecond })
	ended := make(chan struct{})
	go func() {
		none.clean(t.Context())
		close(ended)
	}()
	select {
	case <-ended:
		t.Error("the cleaning ended while another server cleaned")
	case <-time.After(200 * time.Millisecond):
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
	if got := recorded(t, db); got != 0 {
		t.Errorf("recorded = %d, want 0", got)
	}
}

func TestExplain_Rate_PermitsOnlyMaxInMinute(t *testing.T) {
	t.Parallel()
	r, now, allowed := rate{max: 6}, time.Now(), 0
	for i := range 120 { // two minutes
		if r.allow(now.Add(time.Duration(i) * time.Second)) {
			allowed++
		}
	}
	if allowed != 12 {
		t.Errorf("allowed = %d, want 12", allowed)
	}
}

// TestExplain_Add_DoesNotAllocate: a request pays for nothing but a copy of the record.
func TestExplain_Add_DoesNotAllocate(t *testing.T) {
	l := newLog(t, nil, nil)
	one := record(1)
	if allocations := testing.AllocsPerRun(500, func() { l.Add(one) }); allocations > 0 {
		t.Errorf("allocations = %v, want 0", allocations)
	}
}
