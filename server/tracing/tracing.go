// Package tracing sends spans to an OpenTelemetry collector, in the background: one
// that is slow or gone costs spans and one log line a minute, and no request ever
// waits for it.
//
// It is not for what is worth a span: requests are traced by package server,
// statements by package store. Both do without where they are given no tracer.
package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Options say where spans go, and which.
type Options struct {
	// Endpoint is the base URL of a collector that takes OTLP over HTTP; empty: the
	// variables OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT
	// say it. Their companions for headers, certificates and compression hold in
	// any case.
	Endpoint string
	// Ratio is the part of the traces begun here that is recorded, from 0 to 1. Those
	// begun by a client are recorded if the client says so. Negative: the variable
	// OTEL_TRACES_SAMPLER decides.
	Ratio float64
	// Version is that of the program.
	Version string
	// Log hears when spans cannot be sent.
	Log *slog.Logger
}

// Tracing is what makes and sends spans.
type Tracing struct{ provider *sdktrace.TracerProvider }

// sendPatience is how long one delivery may take. It is also the most by which an
// absent collector delays the end of the program.
const sendPatience = 5 * time.Second

// Start begins to send spans. It asks nothing of the collector, which may be started
// later. An error is a mistake in the options.
func Start(ctx context.Context, options Options) (*Tracing, error) {
	sending := []otlptracehttp.Option{otlptracehttp.WithTimeout(sendPatience)}
	if options.Endpoint != "" {
		at, err := tracesURL(options.Endpoint)
		if err != nil {
			return nil, err
		}
		sending = append(sending, otlptracehttp.WithEndpointURL(at))
	}
	exporter, err := otlptracehttp.New(ctx, sending...)
	if err != nil {
		return nil, fmt.Errorf("sending traces: %w", err)
	}
	otel.SetErrorHandler(quietly(options.Log, time.Minute))
	return New(ctx, options, sdktrace.WithBatcher(exporter))
}

// New is Start for spans that go elsewhere.
func New(ctx context.Context, options Options, to sdktrace.TracerProviderOption) (*Tracing, error) {
	// The last one wins: what an operator says in OTEL_SERVICE_NAME and
	// OTEL_RESOURCE_ATTRIBUTES.
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("berth"), semconv.ServiceVersion(options.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && about == nil {
		return nil, fmt.Errorf("describing this process for traces: %w", err)
	}
	making := []sdktrace.TracerProviderOption{sdktrace.WithResource(about), to}
	if options.Ratio >= 0 {
		making = append(making, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(options.Ratio))))
	}
	return &Tracing{provider: sdktrace.NewTracerProvider(making...)}, nil
}

// tracesURL is where a collector takes traces, by the convention of OTLP.
func tracesURL(endpoint string) (string, error) {
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return "", fmt.Errorf("%q is not the URL of a collector; write one such as http://127.0.0.1:4318", endpoint)
	}
	if at.Path == "" || at.Path == "/" {
		at.Path = "/v1/traces"
	}
	return at.String(), nil
}

// Tracer makes spans.
func (t *Tracing) Tracer() trace.Tracer { return t.provider.Tracer("github.com/berthd/berth") }

// Stop sends what is left, until the context ends.
func (t *Tracing) Stop(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// quietly logs failures to send, at most one in a while, with the number of those
// that were not told.
func quietly(log *slog.Logger, while time.Duration) otel.ErrorHandlerFunc {
	var next, untold atomic.Int64
	return func(err error) {
		now, due := time.Now().UnixNano(), next.Load()
		if now < due || !next.CompareAndSwap(due, now+int64(while)) {
			untold.Add(1)
			return
		}
		log.Warn("traces cannot be sent; they are lost, and nothing else is", "cause", err.Error(), "untold", untold.Swap(0))
	}
}

// Transport makes requests of others part of the trace in whose course they are sent:
// each is a span, and the other side is told of it by the header traceparent. What
// stands in the request is not recorded but for method, host and path.
func Transport(next http.RoundTripper, spans trace.Tracer) http.RoundTripper {
	return transport{next, spans}
}

type transport struct {
	next  http.RoundTripper
	spans trace.Tracer
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !trace.SpanFromContext(r.Context()).SpanContext().IsValid() {
		return t.next.RoundTrip(r)
	}
	ctx, span := t.spans.Start(r.Context(), r.Method+" "+r.URL.Host, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.ServerAddress(r.URL.Hostname()),
			attribute.String("url.path", r.URL.Path)))
	defer span.End()
	r = r.Clone(ctx) // a RoundTripper leaves the request as it is
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
		return answer, err
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(answer.StatusCode))
	if answer.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, "")
	}
	return answer, nil
}
