package history_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/history"
	"github.com/berthd/berth/internal/test/model"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var (
	duration = flag.Duration("history.duration", 5*time.Second, "duration of each history")
	seed     = flag.Uint64("history.seed", uint64(time.Now().UnixNano()), "seed of the random requests")
)

// clients is the number of concurrent clients.
const clients = 64

// traffic is the configuration of a history.
type traffic struct {
	districts int
	seed      uint64
	lasts     time.Duration
	// cut is the number of writes per thousand whose connection the client closes.
	cut int
	// favors is the kind of request that clients send more often.
	favors history.Bias
	// guarded adds the invariant triggers of package dbtest.
	guarded bool
	// whole extends the history up to eight times if its coverage is too low.
	whole bool
	// by is the only detector whose result is of interest; empty: all.
	by detector
	// pictures is the directory of the visualizations.
	pictures string
	// program is the server to run as a process; empty: the server of this test.
	program string
	// isolation is the default isolation level of the database; empty: that of PostgreSQL. pooled opens connections as
	// behind a transaction pooler.
	isolation string
	pooled    bool
}

// verdict is the result of a history.
type verdict struct {
	calls []*history.Call
	history.Findings
	// inconsistencies are those in the database afterwards.
	inconsistencies []string
	// record is what the record of changes contradicts.
	record []string
	// deadlocks is the number that PostgreSQL counted, retried the number of retries of the store.
	deadlocks, retried int64
	// exhausted is the number of writes that exhausted their retries.
	exhausted int
	checking  time.Duration
}

// by reports whether a detector has found a violation; an undecided search has not.
func (v *verdict) by(how detector) bool {
	return how == byHistory && v.Unexplained != nil || how == byAudit && v.inconsistencies != nil ||
		how == byDeadlock && v.deadlocks > 0 || how == byRetries && v.exhausted > 0
}

// String returns the number of findings and the first one, by detector.
func (v *verdict) String() string {
	first := func(of []string) string {
		if len(of) == 0 {
			return "none"
		}
		return fmt.Sprintf("%d (%s)", len(of), of[0])
	}
	return fmt.Sprintf("%d calls; unexplained: %s; undecided: %s; inconsistencies: %s; deadlocks: %d; exhausted retries: %d",
		len(v.calls), first(v.Unexplained), first(v.Undecided), first(v.inconsistencies), v.deadlocks, v.exhausted)
}

// run records a history on a new database and checks it.
func (wanted traffic) run(t *testing.T, edits []edit) *verdict {
	t.Helper()
	db := dbtest.New(t)
	if wanted.guarded {
		dbtest.AddInvariantTriggers(t, db)
	}
	if wanted.isolation != "" {
		_, err := db.Pool.Exec(t.Context(), "ALTER DATABASE "+pgx.Identifier{db.Name}.Sanitize()+" SET default_transaction_isolation = '"+wanted.isolation+"'")
		if err != nil {
			t.Fatal(err)
		}
	}
	applyMutation(t, db, edits)
	made := &verdict{}
	if wanted.program != "" {
		url, end := runProgram(t, wanted.program, db.URL)
		made.calls = wanted.record(t, url, nil, func() string { return url })
		end()
	} else {
		made.calls, made.retried = wanted.recordHere(t, db)
	}
	for _, count := range tallies(t, made.calls) {
		made.exhausted += count.RetriesExhausted
	}

	if wanted.by == "" || wanted.by == byHistory {
		began := time.Now()
		look := history.Views{Timeout: 20 * time.Second, Directory: wanted.pictures}
		if wanted.by != "" {
			// Another history shows a fault sooner than a long search.
			look.Timeout, look.First = 500*time.Millisecond, true
		}
		var err error
		if made.Findings, err = look.Check(made.calls); err != nil {
			t.Fatal(err)
		}
		made.checking = time.Since(began)
	}
	if wanted.by == "" || wanted.by == byAudit {
		var err error
		if made.inconsistencies, err = dbtest.Inconsistencies(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	if wanted.by == byRecord {
		var err error
		if made.record, err = dbtest.RecordFindings(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	made.deadlocks = deadlocks(t, db)
	return made
}

// deadlocks returns the number of deadlocks in the statistics of the database. A session reports
// its statistics when it ends, so the function waits until only sessions of the test remain.
func deadlocks(t *testing.T, db *dbtest.DB) (count int64) {
	t.Helper()
	for sessions := int32(-1); sessions != db.Pool.Stat().TotalConns(); {
		if err := db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend'`).Scan(&sessions); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Pool.QueryRow(t.Context(),
		"SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&count); err != nil {
		t.Fatal(err)
	}
	return count
}

// recordHere is record with a server of this test. It also returns the number of retries of the store.
func (wanted traffic) recordHere(t *testing.T, db *dbtest.DB) (calls []*history.Call, retried int64) {
	t.Helper()
	service := servertest.New(t, servertest.Options{DB: db, Store: postgres.Options{MaxConns: 24, Pooler: wanted.pooled}})
	listening := service.Listen(t)
	leases, end := leasesOf(t, db, service.Store)
	defer end()
	endSteps := func() {}
	if wanted.by == byRecord {
		endSteps = stepHistory(t, db, service.Store)
	}
	calls = wanted.record(t, listening.URL, leases, func() string {
		listening.Close() // waits for requests whose connections clients have closed
		listening = service.Listen(t)
		return listening.URL
	})
	if due, err := service.Store.LeaseDue(t.Context()); err != nil || due {
		t.Errorf("a lease is due after all removals: %t, %v", due, err)
	}
	retried = service.Store.Pool().Retries()
	listening.Close()
	endSteps()
	service.Store.Close()
	return calls, retried
}

// stepHistory turns the record of changes on, and puts what is committed in order until the function that it returns is called.
func stepHistory(t *testing.T, db *dbtest.DB, on *store.Store) (end func()) {
	t.Helper()
	dbtest.TurnRecordOn(t, db)
	if _, err := on.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	var steppers sync.WaitGroup
	ended := make(chan struct{})
	for range 2 { // as two servers do
		steppers.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-time.After(20 * time.Millisecond):
				}
				if _, err := on.HistoryStep(t.Context(), false); err != nil {
					t.Errorf("step: %v", err)
				}
			}
		})
	}
	return func() { close(ended); steppers.Wait() }
}

// record runs the clients for a duration and returns their calls. leases are those of the database; nil: none expires. settle waits until no request is running, and returns
// the URL for the last requests.
func (wanted traffic) record(t *testing.T, url string, leases *history.Leases, settle func() string) []*history.Call {
	t.Helper()
	connections := &http.Transport{MaxIdleConnsPerHost: clients}
	defer connections.CloseIdleConnections()
	recorder := history.NewRecorder(url, &http.Client{Transport: connections})
	districts := make([]*history.Partition, wanted.districts)
	recorder.Partitions, recorder.Leases = districts, leases
	client := func(number, district int) *history.Client {
		return &history.Client{
			Number: number, Recorder: recorder, Partition: districts[district],
			Dice: rand.New(rand.NewPCG(wanted.seed, uint64(number))), Cut: wanted.cut, Favors: wanted.favors,
		}
	}
	for i := range districts {
		districts[i] = history.NewDistrict(i)
		if err := client(clients+i, i).CreateProviders(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var group sync.WaitGroup
	failures := make([]error, clients)
	acting := make([]*history.Client, clients)
	var over atomic.Bool
	for i := range clients {
		acting[i] = client(i, i%wanted.districts)
		group.Go(func() {
			for !over.Load() && failures[i] == nil {
				failures[i] = acting[i].RandomStep(context.WithoutCancel(t.Context()))
			}
		})
	}
	wanted.wait(t, recorder)
	over.Store(true)
	group.Wait()
	recorder.URL = settle()
	for i := range acting {
		failures = append(failures, acting[i].Resolve(t.Context()))
	}
	failures = append(failures, client(clients, 0).RemoveAllExpired(t.Context()))
	for i := range districts {
		failures = append(failures, client(clients+len(districts)+i, i).ReadAll(t.Context()))
	}
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	return recorder.Calls()
}

// wait sleeps for the duration of the history. On a busy machine it waits longer, until the
// coverage is sufficient.
func (wanted traffic) wait(t *testing.T, recorder *history.Recorder) {
	const most, between = 8, 100 * time.Millisecond
	time.Sleep(wanted.lasts)
	end := time.Now().Add((most - 1) * wanted.lasts)
	for wanted.whole && time.Now().Before(end) && history.Undercovered(tallies(t, recorder.Calls())) != nil {
		time.Sleep(between)
	}
}

func tallies(t *testing.T, calls []*history.Call) []history.Coverage {
	t.Helper()
	counted, err := history.Tallies(calls)
	if err != nil {
		t.Error(err)
	}
	return counted
}

// pictures returns a directory that remains after a failed test, because the history is not
// reproducible. It is among the artifacts of the test, if go test keeps them.
func pictures(t *testing.T) string {
	t.Helper()
	if kept := flag.Lookup("test.artifacts"); kept != nil && kept.Value.String() == "true" {
		return t.ArtifactDir()
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("berth-history-%d-%s", *seed, filepath.Base(t.Name())))
}

// summary returns the number of responses by result.
func summary(calls []*history.Call) string {
	accepted, lost := 0, 0
	refused := map[model.Reason]int{}
	for _, call := range calls {
		switch {
		case call.Answer.Lost:
			lost++
		case call.Answer.Reason != "":
			refused[call.Answer.Reason]++
		default:
			accepted++
		}
	}
	return fmt.Sprintf("%d calls: %d accepted, %d lost, refused %v", len(calls), accepted, lost, refused)
}

func TestHistory_ConcurrentClients_Linearizable(t *testing.T) {
	for name, wanted := range map[string]traffic{
		"spread over 16 districts": {districts: 16, cut: 5},
		"crowded into 8":           {districts: 8, cut: 3},
	} {
		t.Run(name, func(t *testing.T) {
			wanted.seed, wanted.lasts, wanted.guarded, wanted.whole = *seed, *duration, true, true
			wanted.pictures = pictures(t)
			t.Logf("seed %d", wanted.seed)
			found := wanted.run(t, nil)
			t.Logf("%s; %d writes retried; checked in %s", summary(found.calls), found.retried, found.checking)
			counted := tallies(t, found.calls)
			for _, count := range counted {
				t.Log(count)
			}
			for _, finding := range slices.Concat(found.Unexplained, found.Undecided, found.inconsistencies, history.Undercovered(counted)) {
				t.Error(finding)
			}
			if found.deadlocks > 0 {
				t.Errorf("deadlocks = %d, want 0", found.deadlocks)
			}
		})
	}
}

// TestHistory_RecordedClients_ReplayToTheDatabase turns the record of changes on, and puts changes in order while the clients write.
func TestHistory_RecordedClients_ReplayToTheDatabase(t *testing.T) {
	for way, pooled := range map[string]bool{"direct": false, "pooler": true} {
		t.Run(way, func(t *testing.T) {
			found := traffic{districts: 8, seed: *seed, lasts: 2 * time.Second, cut: 3, guarded: true, pooled: pooled, by: byRecord}.run(t, nil)
			t.Log(summary(found.calls))
			for _, finding := range found.record {
				t.Error(finding)
			}
		})
	}
}

// TestHistory_DefaultIsolationOfDatabase_Linearizable: in these levels, a write fails whose rows another one has changed
// meanwhile, and functions decide by outdated rows.
func TestHistory_DefaultIsolationOfDatabase_Linearizable(t *testing.T) {
	for _, level := range []string{"repeatable read", "serializable"} {
		for way, pooled := range map[string]bool{"direct": false, "pooler": true} {
			t.Run(level+", "+way, func(t *testing.T) {
				found := traffic{
					districts: 8, seed: *seed, lasts: time.Second, guarded: true, pictures: pictures(t), isolation: level, pooled: pooled,
				}.run(t, nil)
				t.Logf("seed %d; %s; %d writes retried; checked in %s", *seed, summary(found.calls), found.retried, found.checking)
				for _, finding := range slices.Concat(found.Unexplained, found.Undecided, found.inconsistencies) {
					t.Error(finding)
				}
				if found.deadlocks > 0 {
					t.Errorf("deadlocks = %d, want 0", found.deadlocks)
				}
			})
		}
	}
}
