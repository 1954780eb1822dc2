package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/auth"
)

// streaming is a server with a record of changes, at an address.
type streaming struct {
	t        *testing.T
	db       *dbtest.DB
	store    *store.Store
	handlers server.Handlers
	*httptest.Server
}

// newStreaming starts a server on a database. listen changes its listener; nil: plain HTTP.
func newStreaming(t *testing.T, db *dbtest.DB, change func(*server.Options), listen func(*httptest.Server)) *streaming {
	t.Helper()
	s := &streaming{t: t, db: db}
	s.store = servertest.New(t, servertest.Options{DB: db}).Store
	s.handlers = servertest.Handlers(s.store, change)
	t.Cleanup(func() { _ = s.handlers.Close() })
	s.Server = httptest.NewUnstartedServer(s.handlers.Public)
	if listen != nil {
		listen(s.Server)
	}
	if s.URL == "" {
		s.Start()
	}
	t.Cleanup(s.Close)
	t.Cleanup(s.handlers.StopStreams) // Close waits for streams
	if _, err := s.store.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// recordedDB returns a database whose record is on.
func recordedDB(t *testing.T) *dbtest.DB {
	t.Helper()
	db := dbtest.New(t)
	dbtest.TurnRecordOn(t, db)
	return db
}

// request sends a request of an administrator.
func (s *streaming) request(ctx context.Context, method, target, body string, headers ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, s.URL+target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", withHistory)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, target, err)
	}
	return answer
}

// write sends a write that succeeds.
func (s *streaming) write(method, target, body string) {
	s.t.Helper()
	answer := s.request(s.t.Context(), method, target, body)
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(answer.Body)
		s.t.Fatalf("%s %s: status = %d: %s", method, target, answer.StatusCode, text)
	}
}

// traits creates custom traits with these numbers, an event each.
func (s *streaming) traits(from, to int) {
	s.t.Helper()
	for i := from; i <= to; i++ {
		s.write("PUT", fmt.Sprintf("/traits/CUSTOM_%d", i), "")
	}
}

// line is a line of a stream.
type line struct {
	Type, Code, Detail, Log string
	Index, Oldest, Newest   int64
	At                      *time.Time
	By, Changes             json.RawMessage
	// id is that of a server-sent event.
	id string
}

// stream reads the lines of a stream.
type stream struct {
	t      *testing.T
	answer *http.Response
	cancel context.CancelFunc
	from   *bufio.Reader
}

// maxStreamTime is longer than a stream of a test lasts.
const maxStreamTime = 3 * time.Minute

// watch opens a stream, which must begin.
func (s *streaming) watch(query string, headers ...string) *stream {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), maxStreamTime)
	s.t.Cleanup(cancel)
	answer := s.request(ctx, "GET", "/events"+query, "", headers...)
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		s.t.Fatalf("GET /events%s: status = %d: %s", query, answer.StatusCode, text)
	}
	opened := &stream{s.t, answer, cancel, bufio.NewReader(answer.Body)}
	s.t.Cleanup(opened.close)
	return opened
}

// close disconnects.
func (s *stream) close() {
	s.cancel()
	_ = s.answer.Body.Close()
}

// read returns the next line, or false at the end of the stream.
func (s *stream) read() (line, bool) {
	var read line
	for {
		text, err := s.from.ReadString('\n')
		if err != nil {
			return line{}, false
		}
		text = strings.TrimSuffix(text, "\n")
		name, value, _ := strings.Cut(text, ": ")
		switch {
		case s.answer.Header.Get("Content-Type") != "text/event-stream":
			value = text
		case name == "id":
			read.id = value
			continue
		case name != "data":
			continue
		}
		if err := json.Unmarshal([]byte(value), &read); err != nil {
			s.t.Errorf("line %q: %v", text, err)
		}
		return read, true
	}
}

// next returns the next line of a type, without bookmarks before it.
func (s *stream) next(kind string) line {
	s.t.Helper()
	for {
		read, ok := s.read()
		if ok && read.Type == "bookmark" && kind != "bookmark" {
			continue
		}
		if !ok || read.Type != kind {
			s.t.Fatalf("line = %+v, %t, want %s", read, ok, kind)
		}
		return read
	}
}

// ends checks the last line and that the response is complete.
func (s *stream) ends(code string) line {
	s.t.Helper()
	last := s.next("end")
	if last.Code != code || last.Detail == "" {
		s.t.Errorf("end = %+v, want code %s", last, code)
	}
	if rest, err := io.ReadAll(s.from); err != nil || strings.TrimSpace(string(rest)) != "" {
		s.t.Errorf("behind the end: %q, %v", rest, err)
	}
	return last
}

// indexes reads this many events and returns their indexes.
func (s *stream) indexes(number int) []int64 {
	s.t.Helper()
	found := make([]int64, 0, number)
	for range number {
		found = append(found, s.next("event").Index)
	}
	return found
}

// sequence returns the indexes of a range.
func sequence(from, to int64) (all []int64) {
	for i := from; i <= to; i++ {
		all = append(all, i)
	}
	return all
}

// metric returns the value of a series of the server, such as `berth_events_watchers`.
func (s *streaming) metric(series string) string {
	s.t.Helper()
	w := httptest.NewRecorder()
	s.handlers.Admin.ServeHTTP(w, httptest.NewRequestWithContext(s.t.Context(), "GET", "/metrics", nil))
	for text := range strings.SplitSeq(w.Body.String(), "\n") {
		if value, ok := strings.CutPrefix(text, series+" "); ok {
			return value
		}
	}
	s.t.Fatalf("no series %s", series)
	return ""
}

// await waits until a series has a value.
func (s *streaming) await(series, value string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); s.metric(series) != value; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s = %s, want %s", series, s.metric(series), value)
		}
	}
}

func TestHistory_EventStream_HasEveryLine(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, recordedDB(t), nil, nil)
	s.traits(1, 2)
	opened := s.watch("?heartbeat=1")
	for name, want := range map[string]string{
		"Content-Type": "application/x-ndjson", "Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": "",
		"Openstack-Api-Version": "placement 1.39",
	} {
		if got := opened.answer.Header.Get(name); got != want {
			t.Errorf("header %s = %q, want %q", name, got, want)
		}
	}
	begin := opened.next("begin")
	if len(begin.Log) != 36 || begin.Oldest != 1 || begin.Newest != 3 {
		t.Errorf("begin = %+v", begin)
	}
	if bookmark := opened.next("bookmark"); bookmark.Index != 3 || bookmark.At == nil {
		t.Errorf("bookmark = %+v, want index 3 and a time", bookmark)
	}
	s.write("POST", "/resource_providers", `{"name": "host", "uuid": "`+aProvider+`"}`)
	event := opened.next("event")
	listed := s.request(t.Context(), "GET", "/history?limit=1", "")
	defer listed.Body.Close()
	var page struct{ Events []line }
	if err := json.NewDecoder(listed.Body).Decode(&page); err != nil {
		t.Fatal(err)
	}
	want := page.Events[0]
	if event.Index != 4 || want.Index != 4 || !event.At.Equal(*want.At) || !bytes.Equal(event.By, want.By) || !bytes.Equal(event.Changes, want.Changes) {
		t.Errorf("event = %+v, want %+v", event, want)
	}
	for {
		bookmark := opened.next("bookmark")
		if bookmark.Index == 4 && bookmark.At != nil && bookmark.At.After(*event.At) {
			break
		}
	}
	for series, want := range map[string]string{
		"berth_events_watchers": "1", "berth_events_sent_total": "1", "berth_events_behind": "0", "berth_http_requests_in_flight": "0",
	} {
		s.await(series, want)
	}
	opened.close()
	s.await("berth_events_watchers", "0")
	s.await(`berth_events_ends_total{code="none"}`, "1")
}

func TestHistory_EventStreamAsServerSentEvents_Resumes(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, recordedDB(t), nil, nil)
	s.traits(1, 5)
	opened := s.watch("?after=2&heartbeat=1", "Accept", "text/event-stream, application/x-ndjson;q=0.5")
	if got := opened.answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("Content-Type = %q", got)
	}
	for number, want := range []string{"retry: 2000", "event: begin", "id: 2"} {
		if got, err := opened.from.ReadString('\n'); err != nil || got != want+"\n" {
			t.Fatalf("line %d = %q, %v, want %q", number, got, err, want)
		}
	}
	opened.next("begin")
	for want := int64(3); want <= 6; want++ {
		if event := opened.next("event"); event.Index != want || event.id != fmt.Sprint(want) {
			t.Errorf("event = %d with id %s, want %d", event.Index, event.id, want)
		}
	}
	if bookmark := opened.next("bookmark"); bookmark.id != "6" {
		t.Errorf("id of the bookmark = %s, want 6", bookmark.id)
	}
	opened.close()
	// A client that connects again repeats its query.
	again := s.watch("?after=2", "Accept", "text/event-stream", "Last-Event-ID", "4")
	if first := again.next("begin"); first.id != "4" {
		t.Errorf("id of begin = %s, want 4", first.id)
	}
	if got, want := again.indexes(2), sequence(5, 6); !slices.Equal(got, want) {
		t.Errorf("events = %d, want %d", got, want)
	}
	s.handlers.StopStreams()
	if end := again.ends("berth.events.stopping"); end.id != "6" {
		t.Errorf("id of the end = %s, want 6", end.id)
	}
}

func TestHistory_EventStreamErrors_HaveTextAndCode(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	s := newStreaming(t, db, func(options *server.Options) { options.Events.MaxWatchers = 1 }, nil)
	fails := func(query string, status int, want string, headers ...string) http.Header {
		t.Helper()
		answer := s.request(t.Context(), "GET", "/events"+query, "", headers...)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode != status || !strings.Contains(string(text), want) {
			t.Errorf("GET /events%s: status = %d, %v, want %d with %s: %s", query, answer.StatusCode, err, status, want, text)
		}
		return answer.Header
	}
	fails("", 409, `There was a conflict when trying to complete your request.\n\n No history is kept. Turn it on with PUT /history/settings.  `)
	fails("", 409, `"code":"berth.history.off"`)
	fails("", 404, "", "OpenStack-API-Version", "placement 1.39, berth 1.6")
	fails("", 406, "Only application/x-ndjson and text/event-stream are provided", "Accept", "application/json")
	fails("", 403, "Policy does not allow berth:events:watch", "X-Roles", "reader")
	fails("?after=-1", 400, `'after' is not an index: -1.`)
	fails("?after=x", 400, `"code":"berth.bad_value"`)
	fails("", 400, `'Last-Event-ID' is not an index: x.`, "Last-Event-ID", "x")
	fails("?heartbeat=0", 400, `'heartbeat' is not a number of seconds from 1 to 60: 0.`)
	fails("?heartbeat=61", 400, `"code":"berth.bad_value"`)
	fails("?topic=color", 400, `'topic' names color; known are aggregate, allocation, history, inventory, name, node, node_allocation, provider, trait.`)
	fails("?after=1&after=2", 400, `"code":"berth.query.duplicate_key"`)
	fails("?log=x", 400, "is not a 'uuid'")
	fails("?initial=state", 400, "'initial' was unexpected")
	fails("?format=cloudevents", 400, "'format' was unexpected")
	fails("?request=x", 400, "'request' was unexpected")

	dbtest.TurnRecordOn(t, db)
	s.traits(1, 3)
	opened := s.watch("")
	begin := opened.next("begin")
	if retry := fails("", 503, "There are 1 watchers on this server already.").Get("Retry-After"); retry == "" {
		t.Error("no Retry-After")
	}
	fails("", 503, `"code":"berth.events.too_many"`)
	opened.close()
	s.await("berth_events_watchers", "0")

	fails("?after=5", 410, `The resource is no longer available.\n\n Index 5 is not known: the newest is 4.`)
	fails("?after=5", 410, `"title":"Gone"`)
	fails("?after=5", 410, `"code":"berth.history.gone"`)
	const other = "0b54fa7c-51c3-4a2e-9d0e-2a6d1c9b7f11"
	fails("?log="+other, 410, "The log is "+begin.Log+", not "+other+": indexes start over.")
	if _, err := db.Pool.Exec(t.Context(), "UPDATE history_days SET first = 3"); err != nil {
		t.Fatal(err)
	}
	fails("?after=1", 410, "Index 1 is gone: the record begins at 3.")
	s.await("berth_events_watchers", "0")
	if got := s.watch("?after=2&log=" + begin.Log); !slices.Equal([]string{got.next("begin").Log}, []string{begin.Log}) {
		t.Error("another log")
	}
	none := newStreaming(t, db, func(options *server.Options) { options.Events.MaxWatchers = 0 }, nil)
	answer := none.request(t.Context(), "GET", "/events", "")
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); answer.StatusCode != 503 || !strings.Contains(string(text), "its setting max-watchers is 0") {
		t.Errorf("without streams: status = %d: %s", answer.StatusCode, text)
	}
}

// TestHistory_EventStreamCutAtEveryByte_ResumesExactly cuts a transcript at each byte and goes on behind the last whole line.
func TestHistory_EventStreamCutAtEveryByte_ResumesExactly(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, recordedDB(t), nil, nil)
	s.traits(1, 11)
	s.write("POST", "/resource_providers", `{"name": "host", "uuid": "`+aProvider+`"}`)
	first := s.watch("?after=0")
	var transcript bytes.Buffer
	first.from = bufio.NewReader(io.TeeReader(first.answer.Body, &transcript))
	first.next("begin")
	whole := first.indexes(13)
	if want := sequence(1, 13); !slices.Equal(whole, want) {
		t.Fatalf("events = %d, want %d", whole, want)
	}
	rest := map[int64][]int64{}
	for cut := range transcript.Len() {
		var read []int64
		after := int64(0)
		text := transcript.String()[:cut]
		for each := range strings.Lines(text) {
			var decoded line
			if !strings.HasSuffix(each, "\n") {
				break
			}
			if err := json.Unmarshal([]byte(each), &decoded); err != nil {
				t.Fatal(err)
			}
			if decoded.Type == "event" {
				read, after = append(read, decoded.Index), decoded.Index
			}
		}
		if _, known := rest[after]; !known {
			resumed := s.watch(fmt.Sprintf("?after=%d", after))
			resumed.next("begin")
			rest[after] = resumed.indexes(13 - int(after))
			resumed.close()
		}
		if got := slices.Concat(read, rest[after]); !slices.Equal(got, whole) {
			t.Fatalf("cut at byte %d: events = %d, want %d", cut, got, whole)
		}
	}
}

func TestHistory_EventStreamFilters_SelectEvents(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, recordedDB(t), nil, nil)
	const child = "10000000-0000-4000-8000-000000000002"
	open := map[string]*stream{}
	s.write("PUT", "/resource_classes/CUSTOM_A", "")                                                                          // 2
	s.write("POST", "/resource_providers", `{"name": "host", "uuid": "`+aProvider+`"}`)                                       // 3
	s.write("POST", "/resource_providers", `{"name": "child", "uuid": "`+child+`", "parent_provider_uuid": "`+aProvider+`"}`) // 4
	const inventories = `{"resource_provider_generation": 0, "inventories": {"CUSTOM_A": {"total": 8}}}`
	s.write("PUT", "/resource_providers/"+child+"/inventories", inventories) // 5
	queries := map[string][]int64{
		"?after=2&resource_provider=" + aProvider: {3}, "?after=2&in_tree=" + child: {3, 4, 5, 7}, "?after=2&topic=in:inventory,name": {5, 6},
		"?after=2&consumer=" + aConsumer: {7}, "?after=2&project_id=p": {7}, "?after=2&node=in:" + aProvider + "," + aConsumer: {3},
		"?after=2&topic=allocation&resource_provider=" + child: {7}, "?after=2&topic=provider&consumer=" + aConsumer: nil,
	}
	for query := range queries {
		open[query] = s.watch(query)
	}
	s.traits(1, 1) // 6
	s.write("PUT", "/allocations/"+aConsumer, `{"allocations": {"`+child+`": {"resources": {"CUSTOM_A": 1}}}, "project_id": "p", "user_id": "u",
		"consumer_generation": null, "consumer_type": "INSTANCE"}`) // 7
	for query, want := range queries {
		opened := open[query]
		opened.next("begin")
		if got := opened.indexes(len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: events = %d, want %d", query, got, want)
		}
	}
	s.handlers.StopStreams()
	for query, opened := range open {
		if end := opened.ends("berth.events.stopping"); end.Index < 3 {
			t.Errorf("%s: end = %+v", query, end)
		}
	}
}

// TestHistory_TwoServersWithWriters_StreamsAreEqual has clients that write through two servers, and clients that read from either of them, stop
// anywhere and go on with the other one.
func TestHistory_TwoServersWithWriters_StreamsAreEqual(t *testing.T) {
	t.Parallel()
	db := recordedDB(t)
	servers := []*streaming{newStreaming(t, db, nil, nil), newStreaming(t, db, nil, nil)}
	const writers, writes, readers = 4, 60, 4
	const newest = 1 + writers*writes
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for i := range writes {
				servers[(writer+i)%2].write("PUT", fmt.Sprintf("/traits/CUSTOM_%d_%d", writer, i), "")
			}
		})
	}
	seen := make([][]line, readers)
	for reader := range readers {
		running.Go(func() {
			random := rand.New(rand.NewPCG(uint64(reader), 1))
			for after := int64(0); after < newest; {
				opened := servers[random.IntN(2)].watch(fmt.Sprintf("?after=%d&heartbeat=1", after))
				for range random.IntN(40) {
					read, ok := opened.read()
					if !ok {
						t.Error("a stream has ended")
						return
					}
					if read.Type == "event" {
						seen[reader], after = append(seen[reader], read), read.Index
					}
					if after == newest {
						break
					}
				}
				opened.close()
			}
		})
	}
	running.Wait()
	for reader, events := range seen {
		if len(events) != newest {
			t.Fatalf("reader %d has %d events, want %d", reader, len(events), newest)
		}
		for i := range events {
			if events[i].Index != int64(i+1) || !bytes.Equal(events[i].Changes, seen[0][i].Changes) || !events[i].At.Equal(*seen[0][i].At) {
				t.Fatalf("reader %d: event %d is %+v, the first reader has %+v", reader, i+1, events[i], seen[0][i])
			}
		}
	}
}

// TestHistory_EventStream_OutlivesTimeouts has timeouts of requests and connections that are shorter than a stream, and no slot for another request.
func TestHistory_EventStream_OutlivesTimeouts(t *testing.T) {
	t.Parallel()
	const timeout = 5 * time.Second
	s := newStreaming(t, recordedDB(t), func(options *server.Options) {
		options.RequestTimeout = timeout
		options.Limits = server.Limits{Requests: 1, PerCaller: 1}
	}, func(listening *httptest.Server) {
		listening.Config.ReadTimeout, listening.Config.WriteTimeout = timeout, timeout
	})
	opened := []*stream{s.watch("?heartbeat=1"), s.watch("?heartbeat=1")}
	s.traits(1, 1)
	for _, each := range opened {
		each.next("begin")
		for deadline := time.Now().Add(timeout + time.Second); time.Now().Before(deadline); {
			if read, ok := each.read(); !ok || read.Type == "end" {
				t.Fatalf("line = %+v, %t", read, ok)
			}
		}
	}
	s.traits(2, 2)
	opened[1].next("event")
}

// TestHistory_ServerShutsDown_StreamsEnd shuts a server down that has streams.
func TestHistory_ServerShutsDown_StreamsEnd(t *testing.T) {
	t.Parallel()
	var ending func()
	s := newStreaming(t, recordedDB(t), nil, func(listening *httptest.Server) {
		listening.Config.RegisterOnShutdown(func() { ending() })
	})
	ending = s.handlers.StopStreams
	opened := s.watch("?after=0")
	opened.next("begin")
	opened.next("event")
	down := make(chan error, 1)
	go func() { down <- s.Config.Shutdown(t.Context()) }()
	if end := opened.ends("berth.events.stopping"); end.Index != 1 {
		t.Errorf("end = %+v, want index 1", end)
	}
	if err := <-down; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func TestHistory_TokenExpires_StreamEnds(t *testing.T) {
	t.Parallel()
	s := newStreaming(t, recordedDB(t), func(options *server.Options) {
		options.Authenticate = func(r *http.Request) (auth.Caller, error) {
			caller, err := auth.TrustHeaders(r)
			caller.Expires = time.Now().Add(time.Second)
			return caller, err
		}
	}, nil)
	opened := s.watch("?after=1")
	opened.next("begin")
	if end := opened.ends("berth.events.token"); end.Index != 1 {
		t.Errorf("end = %+v, want index 1", end)
	}
	s.await(`berth_events_ends_total{code="berth.events.token"}`, "1")
}

// TestHistory_EventStreamOverHTTP2_EndsIfClientStalls has a client that reads slowly, and one that reads nothing.
func TestHistory_EventStreamOverHTTP2_EndsIfClientStalls(t *testing.T) {
	t.Parallel()
	db := recordedDB(t)
	s := newStreaming(t, db, func(options *server.Options) {
		options.Limits.WriteStall, options.Limits.Write = 2*time.Second, time.Second
	}, func(listening *httptest.Server) {
		listening.EnableHTTP2 = true
		listening.StartTLS()
	})
	s.traits(1, 1)
	first := s.watch("")
	first.next("begin") // what is waiting is in order now
	first.close()
	if _, err := db.Pool.Exec(t.Context(), `WITH made AS (
			INSERT INTO history (day, index, place, at, topic, class, before)
			SELECT day, number, 1, clock_timestamp(), 'class_name', 'CUSTOM_A', jsonb_build_object('name', repeat('x', 5000))
			FROM history_days, generate_series(3, 4002) AS number)
		UPDATE history_state SET newest = 4002`); err != nil {
		t.Fatal(err)
	}
	stalled := s.watch("?after=2")
	slow := s.watch("?after=2&heartbeat=1")
	if slow.answer.ProtoMajor != 2 {
		t.Fatalf("protocol %s", slow.answer.Proto)
	}
	slow.next("begin")
	for want := int64(3); want <= 4002; want++ {
		if want%400 == 0 {
			time.Sleep(500 * time.Millisecond)
		}
		if event := slow.next("event"); event.Index != want {
			t.Fatalf("event = %d, want %d", event.Index, want)
		}
	}
	s.await(`berth_events_ends_total{code="none"}`, "2") // the first and the stalled one
	// An idle stream has no deadline.
	for range 4 {
		slow.next("bookmark")
	}
	if _, err := io.Copy(io.Discard, stalled.answer.Body); err == nil {
		t.Error("the response to the client that read nothing looks complete")
	}
}
