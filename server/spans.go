package server

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/berthd/berth/server/wire/request"
)

// The attributes of Berth; the others are OpenTelemetry's conventions for HTTP.
const (
	spanRequestID       = attribute.Key("openstack.request_id")
	spanGlobalRequestID = attribute.Key("openstack.global_request_id")
	spanMicroversion    = attribute.Key("openstack.microversion")
)

// startSpan starts the span of a request, as a child of the client's if the request has the header
// traceparent. It returns nil if tracing is disabled, and for probes and scrapes, which would outnumber
// all other spans.
//
// Examined library: otelhttp names spans by path, whose operation is known here only at the end, and has
// no request ids; this code is the part of it that is needed.
func (f *frontHandler) startSpan(ctx context.Context, r *http.Request, info *request.Info) (context.Context, trace.Span) {
	if f.spans == nil {
		return ctx, nil
	}
	if path, _ := f.trimMountPrefix(r.URL.Path); f.open.find(path) != nil {
		return ctx, nil
	}
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	ctx, span := f.spans.Start(ctx, methodLabel(r.Method), trace.WithSpanKind(trace.SpanKindServer))
	if !span.IsRecording() {
		return ctx, span
	}
	span.SetAttributes(
		semconv.HTTPRequestMethodKey.String(methodLabel(r.Method)), sent(semconv.URLPathKey, r.URL.Path),
		semconv.NetworkProtocolVersion(strconv.Itoa(r.ProtoMajor)+"."+strconv.Itoa(r.ProtoMinor)),
		spanRequestID.String(info.ID))
	for key, value := range map[attribute.Key]string{
		semconv.URLQueryKey: r.URL.RawQuery, semconv.ClientAddressKey: info.Client,
		semconv.UserAgentOriginalKey: r.UserAgent(), spanGlobalRequestID: info.GlobalID,
	} {
		if value != "" {
			span.SetAttributes(sent(key, value))
		}
	}
	if host, port, err := net.SplitHostPort(r.Host); err == nil {
		span.SetAttributes(sent(semconv.ServerAddressKey, host))
		if number, err := strconv.Atoi(port); err == nil {
			span.SetAttributes(semconv.ServerPort(number))
		}
	} else {
		span.SetAttributes(sent(semconv.ServerAddressKey, r.Host))
	}
	return ctx, span
}

// maxAttribute is the maximum size in bytes of an attribute with a value that a client chose: spans wait in a queue.
const maxAttribute = 8 << 10

// sent returns an attribute with a value that a client chose, up to maxAttribute. OTLP accepts only valid UTF-8: one
// invalid span loses all spans of its batch.
func sent(key attribute.Key, value string) attribute.KeyValue {
	return key.String(strings.ToValidUTF8(truncated(value, maxAttribute), "\uFFFD"))
}

// methodLabel maps unknown methods to one value.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
		http.MethodTrace, http.MethodConnect:
		return method
	}
	return "_OTHER"
}

// endSpan names the span by the operation of the request.
func endSpan(span trace.Span, w *responseRecorder) {
	if span == nil {
		return
	}
	defer span.End()
	if !span.IsRecording() {
		return
	}
	span.SetName(cmp.Or(w.info.Operation, methodLabel(w.info.HTTP.Method)))
	span.SetAttributes(semconv.HTTPResponseStatusCode(w.status), semconv.HTTPResponseBodySize(int(w.bytes)))
	if w.info.Microversion != "" {
		span.SetAttributes(spanMicroversion.String(w.info.Microversion))
	}
	if w.info.ErrorCode != "" {
		span.SetAttributes(attribute.String("openstack.error_code", w.info.ErrorCode))
	}
	if w.status >= http.StatusInternalServerError {
		span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(w.status)))
		span.SetStatus(codes.Error, "")
	}
}
