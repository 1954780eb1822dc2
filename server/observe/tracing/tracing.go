// Package tracing exports spans to an OpenTelemetry collector in the background. A slow or unreachable
// collector costs spans and one log line a minute; no request waits for it.
//
// It does not decide what is a span: package server traces requests, package postgres statements. Both
// work without a tracer.
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

// Options configures the export of spans and the sampling.
type Options struct {
	// Endpoint is the base URL of a collector that accepts OTLP over HTTP; empty: the variables
	// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_TRACES_ENDPOINT apply. The related variables for
	// headers, certificates and compression apply in any case.
	Endpoint string
	// Ratio is the fraction, from 0 to 1, of the traces started here that are recorded. Traces started by
	// a client are recorded if the client sampled them. If Ratio is negative, the variable
	// OTEL_TRACES_SAMPLER decides.
	Ratio float64
	// Version is the version of this program.
	Version string
	// Log receives a line if the export of spans fails.
	Log *slog.Logger
}

// Tracing is a tracer provider that exports spans.
type Tracing struct{ provider *sdktrace.TracerProvider }

// exportTimeout bounds one export. An unreachable collector delays the exit of the program by at most this
// time.
const exportTimeout = 5 * time.Second

// Start starts the export of spans. It sends nothing to the collector, which may start later. An error
// means that options are invalid.
func Start(ctx context.Context, options Options) (*Tracing, error) {
	sending := []otlptracehttp.Option{otlptracehttp.WithTimeout(exportTimeout)}
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
	otel.SetErrorHandler(logExportErrors(options.Log, time.Minute))
	return New(ctx, options, sdktrace.WithBatcher(exporter))
}

// New is Start with another destination for spans.
func New(ctx context.Context, options Options, to sdktrace.TracerProviderOption) (*Tracing, error) {
	// The last option wins: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES override the defaults.
	about, err := resource.New(ctx, resource.WithAttributes(semconv.ServiceName("berth"), semconv.ServiceVersion(options.Version)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && about == nil {
		return nil, fmt.Errorf("create the trace resource: %w", err)
	}
	making := []sdktrace.TracerProviderOption{sdktrace.WithResource(about), to}
	if options.Ratio >= 0 {
		making = append(making, sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(options.Ratio))))
	}
	return &Tracing{provider: sdktrace.NewTracerProvider(making...)}, nil
}

// tracesURL returns the URL at which a collector accepts traces, by the convention of OTLP.
func tracesURL(endpoint string) (string, error) {
	at, err := url.Parse(endpoint)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return "", fmt.Errorf("invalid collector URL %q: want http:// or https:// and a host, such as http://127.0.0.1:4318", endpoint)
	}
	if at.Path == "" || at.Path == "/" {
		at.Path = "/v1/traces"
	}
	return at.String(), nil
}

// Tracer returns the tracer for spans of Berth.
func (t *Tracing) Tracer() trace.Tracer { return t.provider.Tracer("github.com/berthd/berth") }

// Stop exports the remaining spans until ctx ends.
func (t *Tracing) Stop(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// logExportErrors returns a handler that logs export errors at most once per interval, with the number of
// errors suppressed since.
func logExportErrors(log *slog.Logger, while time.Duration) otel.ErrorHandlerFunc {
	var next, suppressed atomic.Int64
	return func(err error) {
		now, due := time.Now().UnixNano(), next.Load()
		if now < due || !next.CompareAndSwap(due, now+int64(while)) {
			suppressed.Add(1)
			return
		}
		log.Warn("cannot export traces; dropping spans", "cause", err.Error(), "suppressed", suppressed.Swap(0))
	}
}

// Transport returns a RoundTripper that adds outgoing requests to the trace of their context: it creates a
// span for each and sends the header traceparent. Of the request it records only method, host and path.
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
	r = r.Clone(ctx) // a RoundTripper must not change the request
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	response, err := t.next.RoundTrip(r)
	if err != nil {
		span.SetStatus(codes.Error, "no answer")
		return response, err
	}
	span.SetAttributes(semconv.HTTPResponseStatusCode(response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, "")
	}
	return response, nil
}
