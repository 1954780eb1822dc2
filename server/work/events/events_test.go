package events

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// streams is a Hub on a database whose record is on.
type streams struct {
	*Hub
	t  *testing.T
	db *dbtest.DB
}

func newStreams(t *testing.T, settings Settings, timeout time.Duration) *streams {
	t.Helper()
	db := dbtest.New(t)
	dbtest.TurnRecordOn(t, db)
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if settings.MaxWatchers == 0 {
		settings.MaxWatchers = 10
	}
	s := &streams{t: t, db: db, Hub: New(Options{
		Settings: settings, Store: opened, Log: slog.New(slog.DiscardHandler), Timeout: timeout,
		Encode: func(event *store.HistoryEvent) ([]byte, error) {
			return fmt.Appendf(nil, "%d %s", event.Index, event.Changes[0].After), nil
		},
	})}
	t.Cleanup(s.Close)
	return s
}

// exec executes a statement.
func (s *streams) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.db.Pool.Exec(context.WithoutCancel(s.t.Context()), statement, args...); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

// record adds events of a topic to the record, each with a text of a thousand bytes.
func (s *streams) record(from, to int64, topic string) {
	s.t.Helper()
	s.exec(`WITH made AS (
			INSERT INTO history (day, index, place, at, topic, class, after)
			SELECT (SELECT max(day) FROM history_days), number, 1, clock_timestamp(), $3, 'CUSTOM_' || number, to_jsonb(repeat('x', 1000))
			FROM generate_series($1::bigint, $2::bigint) AS number)
		UPDATE history_state SET newest = $2`, from, to, topic)
}

// client is a Client that takes lines when a test lets it.
type client struct {
	mutex   sync.Mutex
	indexes []int64
	// positions are those of bookmarks, timed the number of those with a time.
	positions []int64
	timed     int
	code      string
	last      int64
	expires   time.Time
	// gate delays lines until it is closed; nil: it does not. arrived is closed when a line waits.
	gate    chan struct{}
	arrived chan struct{}
	once    sync.Once
	// failure is the error of all lines.
	failure error
}

func newClient(isBlocked bool) *client {
	made := &client{arrived: make(chan struct{})}
	if isBlocked {
		made.gate = make(chan struct{})
	}
	return made
}

func (c *client) pass() error {
	c.once.Do(func() { close(c.arrived) })
	if c.gate != nil {
		<-c.gate
	}
	c.mutex.Lock()
	return c.failure
}

func (c *client) Begin(Begin) error {
	defer c.mutex.Unlock()
	return c.pass()
}

func (c *client) Event(index int64, _ []byte) error {
	defer c.mutex.Unlock()
	err := c.pass()
	c.indexes = append(c.indexes, index)
	return err
}

func (c *client) Bookmark(index int64, at *time.Time) error {
	defer c.mutex.Unlock()
	err := c.pass()
	if c.positions = append(c.positions, index); at != nil {
		c.timed++
	}
	return err
}

func (c *client) End(code, _ string, index int64) error {
	defer c.mutex.Unlock()
	err := c.pass()
	c.code, c.last = code, index
	return err
}

func (c *client) Flush() error { return nil }

func (c *client) Expire(at time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.expires = at
}

// start runs a watcher until the test ends. It returns a channel that is closed when the watcher has ended.
func (s *streams) start(to *client, request Request) <-chan struct{} {
	s.t.Helper()
	if request.Heartbeat == 0 {
		request.Heartbeat = time.Minute
	}
	w, err := s.Watch(s.t.Context(), &request)
	if err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.Run(s.t.Context(), to)
	}()
	return ended
}

// await waits for a condition.
func (s *streams) await(what string, is func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("not in time: %s", what)
		}
	}
}

func (c *client) has(number int) func() bool {
	return func() bool {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		return len(c.indexes) >= number
	}
}

func wait(t *testing.T, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the stream has not ended")
	}
}

// all returns the indexes of a range.
func all(from, to int64) (indexes []int64) {
	for i := from; i <= to; i++ {
		indexes = append(indexes, i)
	}
	return indexes
}

// TestHistory_SlowReader_GetsEverythingFromBoundedRing has one client that takes lines at once, and one that takes none until more events have
// come than the ring has room for.
func TestHistory_SlowReader_GetsEverythingFromBoundedRing(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{Interval: 10 * time.Millisecond}, 0)
	s.exec("SELECT history_step(true)")
	quick, slow := newClient(false), newClient(true)
	s.start(quick, Request{After: new(int64(1))})
	s.start(slow, Request{After: new(int64(1))})
	<-slow.arrived
	const events, batch = 24_000, 4000
	for from := int64(2); from < events; from += batch {
		s.record(from, from+batch-1, "class_name")
		s.await("events of the quick client", quick.has(int(from)+batch-2))
		s.ring.mutex.Lock()
		if s.ring.bytes > maxBytes || len(s.ring.events) > maxEvents || cap(s.ring.events) > 4*maxEvents {
			t.Errorf("the ring has %d bytes, %d events, room for %d", s.ring.bytes, len(s.ring.events), cap(s.ring.events))
		}
		s.ring.mutex.Unlock()
	}
	close(slow.gate)
	s.await("events of the slow client", slow.has(events))
	for name, got := range map[string]*client{"quick": quick, "slow": slow} {
		if want := all(2, events+1); !slices.Equal(got.indexes, want) {
			t.Errorf("the %s client has %d events, want %d in order", name, len(got.indexes), len(want))
		}
	}
}

func TestHistory_EventsThatDoNotMatch_HaveBookmarks(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{Interval: 10 * time.Millisecond}, 0)
	s.exec("SELECT history_step(true)")
	s.record(2, 2500, "class_name")
	s.record(2501, 2501, "trait_name")
	behind, within := newClient(false), newClient(false)
	request := Request{After: new(int64(1)), Filter: store.HistoryFilter{Topics: []string{"trait_name"}}}
	s.start(behind, request)
	s.await("the event behind the ring", behind.has(1))
	request.After = nil
	s.start(within, request)
	s.record(2502, 5001, "class_name")
	s.record(5002, 5002, "trait_name")
	s.await("the event in the ring", within.has(1))
	s.await("the second event", behind.has(2))
	for name, got := range map[string]*client{"behind": behind, "within": within} {
		got.mutex.Lock()
		if len(got.positions) == 0 || !slices.IsSorted(got.positions) || got.indexes[len(got.indexes)-1] != 5002 {
			t.Errorf("%s: bookmarks at %d, events %d", name, got.positions, got.indexes)
		}
		got.mutex.Unlock()
	}
}

// TestHistory_RetentionOvertakesReader_Ends deletes the day of a client that takes nothing.
func TestHistory_RetentionOvertakesReader_Ends(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{Interval: 10 * time.Millisecond}, 0)
	s.exec("SELECT history_step(true)")
	s.exec("SELECT history_day('2090-01-01', 2)")
	s.record(2, 1400, "class_name")
	s.exec("SELECT history_day('2090-01-02', 1401)")
	s.record(1401, 1500, "class_name")
	slow := newClient(true)
	ended := s.start(slow, Request{After: new(int64(1))})
	<-slow.arrived
	s.exec("DROP TABLE history_20900101")
	s.exec("DELETE FROM history_days WHERE day < '2090-01-02'")
	close(slow.gate)
	wait(t, ended)
	if slow.code != fault.CodeHistoryGone || !slices.Equal(slow.indexes, all(2, slow.last)) {
		t.Errorf("end = %s at %d behind %d events", slow.code, slow.last, len(slow.indexes))
	}
	var gone *GoneError
	if _, err := s.Watch(t.Context(), &Request{After: &slow.last, Heartbeat: time.Minute}); !errors.As(err, &gone) || gone.KeptFrom != 1401 {
		t.Errorf("error = %v, want that events are gone before 1401", err)
	}
	next := newClient(false)
	s.start(next, Request{After: new(int64(1400))})
	s.await("the events that are left", next.has(100))
}

func TestHistory_RecordTurnedOff_StreamsEnd(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{}, 0)
	one := newClient(false)
	ended := s.start(one, Request{After: new(int64(0))})
	s.exec("INSERT INTO traits (name) VALUES ('CUSTOM_LAST')")
	s.exec("SELECT history_update('off', 7, 1)")
	wait(t, ended)
	if one.code != fault.CodeHistoryOff || !slices.Equal(one.indexes, []int64{1, 2}) || one.last != 2 {
		t.Errorf("end = %s at %d behind %d", one.code, one.last, one.indexes)
	}
	var off *OffError
	if _, err := s.Watch(t.Context(), &Request{}); !errors.As(err, &off) {
		t.Errorf("error = %v, want that the record is off", err)
	}
	dbtest.TurnRecordOn(t, s.db)
	again := newClient(false)
	s.start(again, Request{})
	s.exec("INSERT INTO traits (name) VALUES ('CUSTOM_FIRST')")
	s.await("an event of the new log", again.has(1))
}

// TestHistory_LogChanges_StreamsEnd gives the record another log, as a step does after a failover.
func TestHistory_LogChanges_StreamsEnd(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{}, 0)
	within, behind := newClient(false), newClient(true)
	endedWithin, endedBehind := s.start(within, Request{}), s.start(behind, Request{After: new(int64(0))})
	<-behind.arrived
	s.exec("UPDATE history_state SET log = $1", uuid.New())
	close(behind.gate)
	// A stream that begins now is of the new log, whether the reader of the ring knows it or not.
	next := newClient(false)
	s.start(next, Request{})
	wait(t, endedWithin)
	wait(t, endedBehind)
	if within.code != fault.CodeHistoryGone || behind.code != fault.CodeHistoryGone {
		t.Errorf("ends = %q, %q", within.code, behind.code)
	}
	s.exec("INSERT INTO traits (name) VALUES ('CUSTOM_LATER')")
	s.await("an event of the new log", next.has(1))
}

func TestHistory_DatabaseFails_StreamsEnd(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{Interval: 10 * time.Millisecond}, 500*time.Millisecond)
	s.exec("SELECT history_step(true)")
	s.record(2, 2000, "class_name")
	within, behind := newClient(false), newClient(true)
	endedWithin := s.start(within, Request{Heartbeat: 10 * time.Millisecond})
	endedBehind := s.start(behind, Request{After: new(int64(1)), Heartbeat: 10 * time.Millisecond})
	<-behind.arrived
	s.options.Store.Close()
	close(behind.gate)
	wait(t, endedWithin)
	wait(t, endedBehind)
	if within.code != codeFailed || within.last != 2000 || behind.code != codeFailed || behind.last != 1 {
		t.Errorf("ends = %q at %d, %q at %d", within.code, within.last, behind.code, behind.last)
	}
}

// TestHistory_StreamLimits_EndIt has streams at the end of their age or token.
func TestHistory_StreamLimits_EndIt(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{MaxAge: 300 * time.Millisecond}, 0)
	old, expiring, expired := newClient(false), newClient(false), newClient(false)
	ended := []<-chan struct{}{
		s.start(old, Request{}), s.start(expiring, Request{Expires: time.Now().Add(200 * time.Millisecond)}),
		s.start(expired, Request{Expires: time.Now().Add(-time.Hour)}), // accepted with the token of a service
	}
	for _, each := range ended {
		wait(t, each)
	}
	if old.code != codeAge || expiring.code != codeToken && expiring.code != codeAge || expired.code != codeAge {
		t.Errorf("ends = %q, %q, %q", old.code, expiring.code, expired.code)
	}
	w := &Watcher{hub: New(Options{})}
	for _, c := range []struct {
		left time.Duration
		want *ending
	}{{time.Minute, endToken}, {2 * time.Hour, endAge}, {-time.Minute, endAge}} {
		w.limitAge(time.Now().Add(c.left))
		if w.ended != c.want || w.lasts > 66*time.Minute || c.want == endAge && w.lasts < 54*time.Minute {
			t.Errorf("token for %s: the stream lasts %s", c.left, w.lasts)
		}
	}
	if w.limitAge(time.Time{}); w.ended != endAge {
		t.Error("without an end of the token the stream ends with it")
	}
}

func TestHistory_Stop_EndsStreamsAndExpiresWrites(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{}, 0)
	waiting, stalled := newClient(false), newClient(true)
	endedWaiting, endedStalled := s.start(waiting, Request{}), s.start(stalled, Request{})
	<-stalled.arrived
	s.Stop()
	wait(t, endedWaiting)
	s.await("the deadline of the stalled client", func() bool {
		stalled.mutex.Lock()
		defer stalled.mutex.Unlock()
		return !stalled.expires.IsZero()
	})
	stalled.mutex.Lock()
	stalled.failure = errors.New("deadline")
	stalled.mutex.Unlock()
	close(stalled.gate)
	wait(t, endedStalled)
	if waiting.code != codeStopping || stalled.code != "" {
		t.Errorf("ends = %q, %q", waiting.code, stalled.code)
	}
	s.Close()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.isReading {
		t.Error("the reader runs")
	}
}

// TestHistory_LastWatcherLeaves_ReaderStops waits for the reader to end, and starts it with the next watcher.
func TestHistory_LastWatcherLeaves_ReaderStops(t *testing.T) {
	t.Parallel()
	s := newStreams(t, Settings{MaxWatchers: 1}, 0)
	for range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		w, err := s.Watch(ctx, &Request{Heartbeat: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var many *TooManyError
		if _, err := s.Watch(ctx, &Request{}); !errors.As(err, &many) || many.Max != 1 {
			t.Errorf("error = %v", err)
		}
		one := newClient(false)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.Run(ctx, one)
		}()
		s.exec("INSERT INTO traits (name) VALUES ($1)", "CUSTOM_"+uuid.NewString())
		s.await("an event", one.has(1))
		cancel()
		wait(t, ended)
		s.await("the end of the reader", func() bool {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			return !s.isReading
		})
	}
	// A request that ends before its stream begins leaves its place.
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := s.Watch(ctx, &Request{Heartbeat: time.Minute}); err != nil {
		t.Fatal(err)
	}
	cancel()
	s.await("the place", func() bool { return s.count.Load() == 0 })
}
