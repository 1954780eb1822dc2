package tracing

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestTracing_OutgoingRequest_CarriesTraceparent(t *testing.T) {
	t.Parallel()
	var heard http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = r.Header
		w.WriteHeader(http.StatusNotFound)
	}))
	defer other.Close()
	kept := tracetest.NewInMemoryExporter()
	traces, err := New(t.Context(), Options{Ratio: 1}, sdktrace.WithSyncer(kept))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: Transport(http.DefaultTransport, traces.Tracer())}
	ask := func(traced bool) {
		ctx := t.Context()
		if traced {
			begun, span := traces.Tracer().Start(ctx, "request")
			defer span.End()
			ctx = begun
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, other.URL+"/v3/auth/tokens?secret=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if r.Header.Get("Traceparent") != "" {
			t.Error("RoundTrip changed the request")
		}
	}
	ask(false)
	if heard.Get("Traceparent") != "" || len(kept.GetSpans()) != 0 {
		t.Errorf("without a trace: headers = %v, %d spans", heard, len(kept.GetSpans()))
	}
	ask(true)
	spans := kept.GetSpans()
	if len(spans) != 2 || !strings.HasPrefix(spans[0].Name, "GET 127.0.0.1:") || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() {
		t.Fatalf("spans = %+v", spans)
	}
	if want := "00-" + spans[0].SpanContext.TraceID().String() + "-" + spans[0].SpanContext.SpanID().String() + "-01"; heard.Get("Traceparent") != want {
		t.Errorf("traceparent = %q, want %q", heard.Get("Traceparent"), want)
	}
	for _, kv := range spans[0].Attributes {
		if strings.Contains(kv.Value.String(), "secret") {
			t.Errorf("the attribute %s contains the query", kv.Key)
		}
	}
}

func TestTracing_ExportErrors_LoggedRateLimited(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	handle := logExportErrors(slog.New(slog.NewTextHandler(&out, nil)), 50*time.Millisecond)
	for range 100 {
		handle(errors.New("connection refused"))
	}
	time.Sleep(60 * time.Millisecond)
	handle(errors.New("connection refused"))
	if strings.Count(out.String(), "\n") != 2 || !strings.Contains(out.String(), "suppressed=99") {
		t.Errorf("log = %s", out.String())
	}
}

func TestTracing_CollectorURL_Completed(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://collector:4318":           "http://collector:4318/v1/traces",
		"https://collector/":              "https://collector/v1/traces",
		"https://collector/tenant/traces": "https://collector/tenant/traces",
		"collector:4318":                  "",
		"grpc://collector:4317":           "",
		"http://":                         "",
	} {
		got, err := tracesURL(endpoint)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v", endpoint, got, err)
		}
	}
}
