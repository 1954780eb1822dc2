package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/observe/requestlog"
	"github.com/berthd/berth/server/observe/tracing"
)

// newTraced returns a server that stores its spans in memory.
func newTraced(t *testing.T, ratio float64) (*watched, *tracetest.InMemoryExporter) {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	traces, err := tracing.New(t.Context(), tracing.Options{Ratio: ratio, Version: "1"}, sdktrace.WithSyncer(kept))
	if err != nil {
		t.Fatal(err)
	}
	return newWatched(t, func(opening *postgres.Options, options *server.Options) {
		opening.Spans, options.Observability.Spans = traces.Tracer(), traces.Tracer()
	}), kept
}

func attributes(span tracetest.SpanStub) map[string]string {
	found := map[string]string{}
	for _, kv := range span.Attributes {
		found[string(kv.Key)] = kv.Value.String()
	}
	return found
}

// tree returns a span and its descendants, by name, in the order of their start.
func tree(spans tracetest.SpanStubs, of tracetest.SpanStub, depth int) []string {
	named := []string{strings.Repeat("  ", depth) + of.Name}
	for _, span := range spans {
		if span.Parent.SpanID() == of.SpanContext.SpanID() {
			named = append(named, tree(spans, span, depth+1)...)
		}
	}
	return named
}

func TestTracing_Request_HasSpanWithStatements(t *testing.T) {
	t.Parallel()
	s, kept := newTraced(t, 1)
	s.exercise()
	for _, c := range []struct {
		method, path, body string
		status             int
		want               []string
	}{
		{"GET", "/allocation_candidates?resources=VCPU:1&limit=10", "", 200, []string{"candidate-list", "  CandidatePage"}},
		{"GET", "/allocation_candidates?resources=VCPU:1", "", 200, []string{
			"candidate-list", "  BATCH", "    BEGIN", "    CandidateNames", "  BATCH", "    CandidateSelectivity", "  BATCH", "    CandidatePage",
		}},
		{"PUT", "/allocations/20000000-0000-4000-8000-000000000003", claim("VCPU", "1"), 204, []string{"allocation-replace", "  AllocationReplace"}},
		{"PUT", "/allocations/20000000-0000-4000-8000-000000000004", claim("VCPU", "100"), 409, []string{"allocation-replace", "  AllocationReplace"}},
		{"GET", "/v1/nodes", "", 200, []string{"node-list", "  NodeList"}},
		{"GET", "/nowhere", "", 404, []string{"GET"}},
	} {
		s.write(c.method, c.path, c.body) // the first execution prepares statements
		kept.Reset()
		answer := s.write(c.method, strings.Replace(c.path, "0003", "0013", 1), c.body)
		spans := kept.GetSpans()
		slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
		root := spans[0]
		if answer.Code != c.status || !slices.Equal(tree(spans, root, 0), c.want) {
			t.Errorf("%s %s: status %d and spans\n%s", c.method, c.path, answer.Code, strings.Join(tree(spans, root, 0), "\n"))
		}
		got := attributes(root)
		if got["openstack.request_id"] != answer.Header().Get("X-Openstack-Request-Id") || got["http.request.method"] != c.method {
			t.Errorf("%s %s has attributes %v", c.method, c.path, got)
		}
		for _, span := range spans {
			for key, value := range attributes(span) {
				if key != "url.path" && key != "url.query" && (strings.Contains(value, "20000000-0000") || strings.Contains(value, aProvider)) {
					t.Errorf("%s of %s contains a value of the request: %s", key, span.Name, value)
				}
			}
		}
	}
}

func TestTracing_Span_HasVersionStatusAndErrorCode(t *testing.T) {
	t.Parallel()
	s, kept := newTraced(t, 1)
	s.exercise()
	kept.Reset()
	s.write("PUT", "/allocations/"+anotherOne, claim("VCPU", "100"), "X-Openstack-Request-Id", "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60",
		"User-Agent", "nova")
	var request, statement tracetest.SpanStub
	for _, span := range kept.GetSpans() {
		switch span.Name {
		case "allocation-replace":
			request = span
		case "AllocationReplace":
			statement = span
		}
	}
	for key, want := range map[string]string{
		"openstack.microversion": "1.39", "http.response.status_code": "409", "openstack.error_code": "", "user_agent.original": "nova",
		"openstack.global_request_id": "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60", "url.path": "/allocations/" + anotherOne,
		"server.address": "example.com", "network.protocol.version": "1.1",
	} {
		if got := attributes(request)[key]; got != want {
			t.Errorf("%s is %q, not %q", key, got, want)
		}
	}
	// A rejected claim is a response and not an error.
	if request.Status.Code == codes.Error || statement.Status.Code == codes.Error || attributes(statement)["db.response.status_code"] != "PL012" {
		t.Errorf("status of the request = %v, of the statement = %v, attributes = %v", request.Status, statement.Status, attributes(statement))
	}
	if got := attributes(statement); got["db.system.name"] != "postgresql" || got["db.query.text"] != "" {
		t.Errorf("attributes of the statement = %v", got)
	}
}

func TestTracing_InvalidUTF8InRequest_SpanIsValidUTF8(t *testing.T) {
	t.Parallel()
	s, kept := newTraced(t, 1)
	s.write("GET", "/traits/%FF?name=a", "", "User-Agent", "nova\xff")
	spans := kept.GetSpans()
	span := spans[len(spans)-1]
	for key, value := range attributes(span) {
		if !utf8.ValidString(value) {
			t.Errorf("%s = %q, which is not valid UTF-8", key, value)
		}
	}
	if got := attributes(span); got["url.path"] != "/traits/\uFFFD" || got["user_agent.original"] != "nova\uFFFD" {
		t.Errorf("attributes of the request = %v", got)
	}
}

func TestTracing_TraceparentHeader_Continued(t *testing.T) {
	t.Parallel()
	s, kept := newTraced(t, 0)
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	ask := func(flags string) tracetest.SpanStubs {
		kept.Reset()
		s.write("GET", "/resource_classes", "", "traceparent", "00-"+id+"-"+parent+"-"+flags, "tracestate", "vendor=1")
		return kept.GetSpans()
	}
	spans := ask("01")
	if len(spans) < 2 {
		t.Fatalf("sampled trace: %d spans", len(spans))
	}
	for _, span := range spans {
		if span.SpanContext.TraceID().String() != id || span.SpanContext.TraceState().String() != "vendor=1" {
			t.Errorf("%s: trace = %s, state = %s", span.Name, span.SpanContext.TraceID(), span.SpanContext.TraceState())
		}
		if span.Name == "resource-class-list" && span.Parent.SpanID().String() != parent {
			t.Errorf("parent of the request = %s", span.Parent.SpanID())
		}
	}
	if spans := ask("00"); len(spans) != 0 {
		t.Errorf("unsampled trace: %d spans", len(spans))
	}
	kept.Reset()
	if s.write("GET", "/resource_classes", ""); len(kept.GetSpans()) != 0 {
		t.Error("a span was recorded with ratio 0")
	}
}

func TestTracing_ProbesAndScrapes_NotTraced(t *testing.T) {
	t.Parallel()
	s, kept := newTraced(t, 1)
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/docs"} {
		s.get(path)
	}
	if spans := kept.GetSpans(); len(spans) != 0 {
		t.Errorf("%d spans, the first = %s", len(spans), spans[0].Name)
	}
}

func TestTracing_ServerError_SpanHasErrorStatus(t *testing.T) {
	t.Parallel()
	s, kept := newTraced(t, 1)
	s.refuseConnections()
	answer := s.write("GET", "/resource_classes", "")
	for _, span := range kept.GetSpans() {
		if span.Name == "resource-class-list" {
			if answer.Code < 500 || span.Status.Code != codes.Error || attributes(span)["error.type"] == "" {
				t.Errorf("status = %d, status of the span = %v, attributes = %v", answer.Code, span.Status, attributes(span))
			}
			return
		}
	}
	t.Error("no span of the request")
}

func TestLog_SlowQuery_HasNameAndRequestIDWithoutValues(t *testing.T) {
	t.Parallel()
	var log lines
	s := newWatched(t, func(opening *postgres.Options, options *server.Options) {
		opening.SlowQuery = time.Nanosecond
		opening.Log = slog.New(requestlog.WithRequestID(slog.NewJSONHandler(&log, nil)))
	})
	s.exercise()
	answer := s.write("PUT", "/allocations/20000000-0000-4000-8000-000000000009", claim("VCPU", "1"))
	id := answer.Header().Get("X-Openstack-Request-Id")
	told := 0
	for line := range strings.Lines(log.String()) {
		var said struct {
			Level, Msg, Query string
			ID                string `json:"request_id"`
			Duration, Rows    int64
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatal(err)
		}
		if said.ID != id {
			continue
		}
		told++
		if said.Level != "WARN" || said.Msg != "slow query" || said.Query != "AllocationReplace" || said.Duration <= 0 || said.Rows != 1 {
			t.Errorf("log = %s", line)
		}
	}
	if told != 1 {
		t.Errorf("%d log lines about the claim", told)
	}
	if strings.Contains(log.String(), "20000000-0000") || strings.Contains(log.String(), aProvider) {
		t.Errorf("the log contains values: %s", log.String())
	}
	if !strings.Contains(log.String(), `"query":"CandidateNames"`) {
		t.Errorf("the log lacks the statements of batches: %s", log.String())
	}
}

func TestLog_OsloRequestLine_MatchesPlacement(t *testing.T) {
	t.Parallel()
	var log lines
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.AccessLog, options.Observability.OsloRequestLines = true, true
		options.Log = slog.New(requestlog.NewOslo(&log, slog.LevelInfo, "berth"))
	})
	const global = "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"
	s.get("/resource_providers?name=x", "X-Auth-Token", "admin", "OpenStack-API-Version", "placement 1.39", "X-Openstack-Request-Id", global)
	s.get("/resource_providers", "X-Auth-Token", "u1:p1")
	s.get("/resource_providers")
	s.get("/")
	s.get(`/traits/a"b`, "X-Auth-Token", "u1:p1", "OpenStack-API-Version", "placement 1.99")
	written := regexp.MustCompile(`(?m)^.* INFO berth\.requestlog .*\n`).FindAllString(log.String(), -1)
	got := regexp.MustCompile(`req-[0-9a-f-]{36}`).ReplaceAllStringFunc(strings.Join(written, ""), func(id string) string {
		if id == global {
			return "GLOBAL"
		}
		return "REQUEST"
	})
	got = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \d+ `).ReplaceAllString(got, "TIME PID ")
	got = regexp.MustCompile(`len: \d+`).ReplaceAllString(got, "len: N")
	want := `TIME PID INFO berth.requestlog [GLOBAL REQUEST admin admin - - - -] 192.0.2.1 "GET /resource_providers?name=x" status: 200 len: N microversion: 1.39
TIME PID INFO berth.requestlog [None REQUEST u1 p1 - - - -] 192.0.2.1 "GET /resource_providers" status: 403 len: N microversion: 1.0
TIME PID INFO berth.requestlog [None REQUEST - - - - - -] 192.0.2.1 "GET /resource_providers" status: 401 len: N microversion: -
TIME PID INFO berth.requestlog [None REQUEST - - - - - -] 192.0.2.1 "GET /" status: 200 len: N microversion: 1.0
TIME PID INFO berth.requestlog [None REQUEST u1 p1 - - - -] 192.0.2.1 "GET /traits/a%22b" status: 406 len: N microversion: -
`
	if got != want {
		t.Errorf("log =\n%s\nwant\n%s", got, want)
	}
}

// TestTracing_Off_NoExtraHeapAllocations checks that disabled tracing hooks allocate no memory.
func TestTracing_Off_NoExtraHeapAllocations(t *testing.T) {
	plain := newWatched(t, func(*postgres.Options, *server.Options) {})
	ask := func(s *watched) func() {
		return func() {
			r := httptest.NewRequest(http.MethodGet, "/resource_classes/VCPU", http.NoBody)
			r.Header.Set("X-Auth-Token", "admin")
			r.Header.Set("OpenStack-API-Version", "placement 1.39")
			s.handler.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	kept := tracetest.NewInMemoryExporter()
	unsampled, err := tracing.New(t.Context(), tracing.Options{Ratio: 0}, sdktrace.WithSyncer(kept))
	if err != nil {
		t.Fatal(err)
	}
	timed := newWatched(t, func(opening *postgres.Options, _ *server.Options) { opening.SlowQuery = time.Hour })
	traced := newWatched(t, func(opening *postgres.Options, options *server.Options) {
		opening.Spans, options.Observability.Spans = unsampled.Tracer(), unsampled.Tracer()
	})
	off, slow, none := testing.AllocsPerRun(200, ask(plain)), testing.AllocsPerRun(200, ask(timed)), testing.AllocsPerRun(200, ask(traced))
	t.Logf("allocations of a request: %v; %v with slow queries told; %v with a trace that is not recorded", off, slow, none)
	if slow > off+2 || none > off+12 {
		t.Error("more allocations than without hooks")
	}
}
