package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/observe/loglimit"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/forwarded"
	"github.com/berthd/berth/server/wire/inside"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// frontHandler handles a request before the route table.
type frontHandler struct {
	table *route.Table
	// baremetal is nil if that API is disabled.
	baremetal *route.Table
	// extended serves clients that select the extensions of that API, for each of baremetal.Extensions.
	extended  map[microversion.Extension]*route.Table
	prefix    string
	log       *slog.Logger
	accessLog bool
	// audit is nil without an audit log.
	audit *auditlog.Log
	// osloLines writes the access log in the format of OpenStack services.
	osloLines bool
	// spans is nil if tracing is disabled.
	spans   trace.Tracer
	timeout time.Duration
	open    *openPaths
	metrics *metrics
	limiter *limiter
	// pages bounds the requests to the console, and forms the memory of their bodies.
	pages *limiter
	forms *route.Budget
	// stall and write are those of Limits.
	stall, write time.Duration
	proxies      *forwarded.Proxies
	// authenticate is nil if callers are trusted.
	authenticate auth.Authenticate
	// console is nil without a console.
	console func(w http.ResponseWriter, r *http.Request, path string)
	// local is nil unless callers are trusted.
	local *localGuard
	// refusedLog and unavailableLog limit the rate of log lines about unauthenticated requests. Clients
	// can cause many lines of the first kind.
	refusedLog, unavailableLog *loglimit.Limiter
}

// observe is the outermost handler: it sets the id and the deadline of the request, writes its log line,
// and ends the connection of a truncated response.
func (f *frontHandler) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		info := request.New(r, f.proxies.Read(r), f.prefix, f.log)
		info.ClientNetwork = f.proxies.Network(r)
		if of, ok := inside.ClientOf(r.Context()); ok {
			info.Client, info.ClientNetwork, info.OfConsole = of.Address, of.Network, true
		}
		ctx, trips := postgres.CountRoundTrips(request.With(r.Context(), info))
		ctx, span := f.startSpan(ctx, r, info)
		ctx = untimed(ctx)
		if f.timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, f.timeout)
			defer cancel()
			ctx = limited
		}
		r = r.WithContext(ctx)
		info.HTTP = r
		watched := &responseRecorder{ResponseWriter: w, info: info}
		if r.ProtoMajor == 2 && f.stall > 0 {
			watched.stream = &stream{stall: f.stall, end: endOf(start, f.write)}
		}
		if record := f.auditRecord(r); record != nil {
			watched.beforeHeader = func(status int) { f.endAudit(watched, record, status, trips.Count()) }
			r = r.WithContext(auditlog.With(ctx, record))
			info.HTTP = r
		}
		w.Header().Set("X-Openstack-Request-Id", info.ID)
		f.metrics.inFlight.Inc()
		// A stream has no duration to compare with those of requests: it counts as long as it begins.
		answered := sync.OnceValue(func() time.Duration {
			f.metrics.inFlight.Dec()
			return time.Since(start)
		})
		watched.beginStream = func() { answered() }
		defer func() {
			cut := f.logAbort(watched, r, recover())
			watched.end(watched.status)
			f.metrics.observe(watched, trips.Count(), answered())
			f.logLine(watched, info, trips.Count(), time.Since(start))
			endSpan(span, watched)
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(watched, r)
	})
}

// recoverPanics responds 500 to a panic of next if nothing was written yet. It runs inside CORS, so that a
// page may read that error too.
func recoverPanics(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch value := recover(); {
			case value == nil:
			case value == http.ErrAbortHandler || recorderOf(w).status != 0:
				panic(value)
			default:
				apierr.Write(w, r, fmt.Errorf("panic: %v\n%s", value, debug.Stack()))
			}
		}()
		next(w, r)
	})
}

// logAbort logs the value of a recovered panic that truncated a response. It returns false for nil; otherwise
// the caller must close the connection, so that the response does not look complete.
func (f *frontHandler) logAbort(w *responseRecorder, r *http.Request, value any) bool {
	if value == nil {
		return false
	}
	reason, level := cutInternal, slog.LevelError
	if cut, ok := value.(*cutError); ok {
		if reason = cut.reason(); reason != cutInternal {
			level = slog.LevelInfo // caused by the client
		}
	}
	f.metrics.cut.WithLabelValues(reason).Inc()
	f.log.Log(r.Context(), level, "response truncated", "request_id", w.info.ID, "reason", reason, "cause", fmt.Sprint(value))
	return true
}

// serve handles a request inside CORS. The order of its steps is the order in which clients see the
// errors.
func (f *frontHandler) serve(w http.ResponseWriter, r *http.Request) {
	path, mounted := f.trimMountPrefix(r.URL.Path)
	if f.baremetal != nil && isBaremetal(path) {
		f.serveBaremetal(w, r, path, mounted)
		return
	}
	if open := f.open.find(path); open != nil {
		open.serve(w, r, path)
		return
	}
	var caller auth.Caller
	if !auth.IsOpen(path) {
		if err := f.local.check(r); err != nil {
			apierr.Write(w, r, err)
			return
		}
		admitted, ok := f.authenticateRequest(w, r)
		if !ok {
			return
		}
		caller = admitted
	}
	r.URL.Path = path
	r, err := negotiatePlacement(w, r, caller, path)
	if err == nil {
		err = checkLength(r)
	}
	if err == nil {
		err = fault.New(fault.NotFound, "")
		if mounted {
			err = f.limiter.run(f.table, w, r)
		}
	}
	if err != nil {
		apierr.Write(w, r, err)
	}
}

// negotiatePlacement returns the request with its caller and version, and announces the version. The order of its steps
// is the order of the errors: the microversion, the version of the extensions, their combination. After the last error
// the microversion is known and announced.
func negotiatePlacement(w http.ResponseWriter, r *http.Request, caller auth.Caller, path string) (*http.Request, error) {
	requested := microversion.Parse(r.Header.Values(microversion.Header))
	version, err := microversion.Negotiate(requested)
	if err != nil {
		return withCaller(r, caller), err
	}
	extension, _, err := microversion.NegotiateExtension(requested)
	if err != nil {
		return withCaller(r, caller), err
	}
	version, err = microversion.Extend(requested, version, extension)
	if auth.IsOpen(path) {
		err = nil // the versions document has no extensions
	}
	version.SetHeaders(w.Header())
	if err == nil {
		extension.AddHeader(w.Header())
	}
	return withCallerAndVersion(r, caller, version), err
}

// withCaller returns a request with its caller, for the log, before its version is known.
func withCaller(r *http.Request, caller auth.Caller) *http.Request {
	info := request.From(r.Context())
	info.HTTP = r.WithContext(auth.With(r.Context(), caller))
	return info.HTTP
}

// withCallerAndVersion returns a request with its caller and version.
func withCallerAndVersion(r *http.Request, caller auth.Caller, version microversion.Version) *http.Request {
	info := request.From(r.Context())
	info.Microversion = version.Label()
	r = r.WithContext(microversion.With(auth.With(r.Context(), caller), version))
	info.HTTP = r
	return r
}

// trimMountPrefix returns a path without the prefix of the API, and reports whether it had that prefix.
func (f *frontHandler) trimMountPrefix(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, f.prefix)
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
		return path, false
	}
	return rest, true
}

// checkLength rejects a body without a type before routing. net/http rejects a length that is not a
// number.
func checkLength(r *http.Request) error {
	if r.ContentLength > 0 && r.Header.Get("Content-Type") == "" {
		return fault.New(fault.Invalid, "content-type header required when content-length > 0")
	}
	return nil
}

// responseRecorder records the status and length of a response, for the log.
type responseRecorder struct {
	http.ResponseWriter
	info   *request.Info
	status int
	bytes  int64
	// stream bounds the writes of HTTP/2; nil: no limit.
	stream *stream
	// admitted reports that the caller is authenticated.
	admitted bool
	// beforeHeader is called with the status before the first byte of the response, or at the end if there
	// is none; nil: it is not called.
	beforeHeader func(status int)
	// beginStream is called when a stream begins: the request no longer counts as one that is being served.
	beginStream func()
}

// end calls beforeHeader once.
func (w *responseRecorder) end(status int) {
	if call := w.beforeHeader; call != nil {
		w.beforeHeader = nil
		call(status)
	}
}

func (w *responseRecorder) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
		w.end(status)
		// The API does not serve HEAD. The response has no body, and the Content-Type that OpenStack
		// Placement sends.
		if w.info.HTTP.Method == http.MethodHead && status >= http.StatusBadRequest && w.info.Operation != consoleOperation {
			if w.info.Service != request.Baremetal {
				w.Header().Set("Content-Type", apierr.FormatHTML)
			}
			w.Header().Set("Content-Length", strconv.Itoa(0))
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseRecorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	var n int
	var err error
	if w.stream != nil {
		n, err = w.stream.write(w.ResponseWriter, p)
	} else {
		n, err = w.ResponseWriter.Write(p)
	}
	w.bytes += int64(n)
	return n, err
}

// recorderOf returns the recorder inside other wrappers of a response.
func recorderOf(w http.ResponseWriter) *responseRecorder {
	for {
		if found, ok := w.(*responseRecorder); ok {
			return found
		}
		w = w.(interface{ Unwrap() http.ResponseWriter }).Unwrap()
	}
}

// Unwrap gives http.ResponseController access to the connection.
func (w *responseRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
