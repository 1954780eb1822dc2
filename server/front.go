package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/forwarded"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// front is what every request passes before the route table.
type front struct {
	table *route.Table
	// baremetal is nil where that API is off.
	baremetal *route.Table
	// extended serves those of its clients that ask for more than the API has.
	extended  *route.Table
	prefix    string
	log       *slog.Logger
	accessLog bool
	// osloLines writes the access log in the words of OpenStack's services.
	osloLines bool
	// spans is nil where requests are not traced.
	spans   trace.Tracer
	timeout time.Duration
	open    *openPaths
	metrics *metrics
	limiter *limiter
	proxies *forwarded.Proxies
	// authenticate is nil where callers are believed.
	authenticate auth.Authenticate
}

// observe is the outermost layer: the request's id, its deadline, its log line, and
// the end of the connection for an answer that broke off.
func (f *front) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		info := request.New(r, f.proxies.Read(r), f.prefix, f.log)
		ctx, trips := store.CountRoundTrips(request.With(r.Context(), info))
		ctx, span := f.startSpan(ctx, r, info)
		if f.timeout > 0 {
			limited, cancel := context.WithTimeout(ctx, f.timeout)
			defer cancel()
			ctx = limited
		}
		r = r.WithContext(ctx)
		info.HTTP = r
		watched := &watcher{ResponseWriter: w, info: info}
		w.Header().Set("X-Openstack-Request-Id", info.ID)
		f.metrics.inFlight.Inc()
		defer func() {
			cut := f.cutOff(watched, r, recover())
			took := time.Since(start)
			f.metrics.observe(watched, trips.Count(), took)
			f.logLine(watched, info, trips.Count(), took)
			endSpan(span, watched)
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(watched, r)
	})
}

// guard answers 500 to a panic below it if nothing was written yet. It stands inside
// CORS, as all that answers does: a page may read that error too.
func guard(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch value := recover(); {
			case value == nil:
			case value == http.ErrAbortHandler || watcherOf(w).status != 0:
				panic(value)
			default:
				apierr.Write(w, r, fmt.Errorf("panic: %v\n%s", value, debug.Stack()))
			}
		}()
		next(w, r)
	})
}

// cutOff says whether a panic came through: half an answer must not be taken for a
// whole one, so the connection is to be cut.
func (f *front) cutOff(w *watcher, r *http.Request, value any) bool {
	if value == nil {
		return false
	}
	f.log.ErrorContext(r.Context(), "answer cut off", "request_id", w.info.ID, "cause", fmt.Sprint(value))
	return true
}

// serve is everything below CORS, in the order in which clients see the errors.
func (f *front) serve(w http.ResponseWriter, r *http.Request) {
	path, mounted := f.below(r.URL.Path)
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
		admitted, ok := f.admit(w, r)
		if !ok {
			return
		}
		caller = admitted
	}
	r.URL.Path = path
	version, err := microversion.Negotiate(microversion.Parse(r.Header.Values(microversion.Header)))
	if err != nil {
		apierr.Write(w, called(r, caller), err)
		return
	}
	version.SetHeaders(w.Header())
	r = known(r, caller, version)
	if err = checkLength(r); err == nil {
		err = fault.New(fault.NotFound, "")
		if mounted {
			err = f.limiter.run(f.table, w, r)
		}
	}
	if err != nil {
		apierr.Write(w, r, err)
	}
}

// called is a request of which only the caller has been found out, for the log.
func called(r *http.Request, caller auth.Caller) *http.Request {
	info := request.From(r.Context())
	info.HTTP = r.WithContext(auth.With(r.Context(), caller))
	return info.HTTP
}

// known is a request whose caller and version have been found out.
func known(r *http.Request, caller auth.Caller, version microversion.Version) *http.Request {
	info := request.From(r.Context())
	info.Microversion = version.String()
	r = r.WithContext(microversion.With(auth.With(r.Context(), caller), version))
	info.HTTP = r
	return r
}

// below is a path as seen from where the API is mounted, and whether it is there
// at all.
func (f *front) below(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, f.prefix)
	if !ok || rest != "" && !strings.HasPrefix(rest, "/") {
		return path, false
	}
	return rest, true
}

// checkLength refuses a body without a type before anything is routed. A length
// that is no number is refused by net/http.
func checkLength(r *http.Request) error {
	if r.ContentLength > 0 && r.Header.Get("Content-Type") == "" {
		return fault.New(fault.Invalid, "content-type header required when content-length > 0")
	}
	return nil
}

// watcher notes what was answered, for the log.
type watcher struct {
	http.ResponseWriter
	info   *request.Info
	status int
	bytes  int64
}

func (w *watcher) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
		// The API does not serve HEAD; such a refusal has no body, and says so with
		// the type that the reference gives it.
		if w.info.HTTP.Method == http.MethodHead && status >= http.StatusBadRequest {
			if w.info.Service != request.Baremetal {
				w.Header().Set("Content-Type", apierr.FormatHTML)
			}
			w.Header().Set("Content-Length", strconv.Itoa(0))
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *watcher) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// watcherOf finds the watcher below what else is around an answer.
func watcherOf(w http.ResponseWriter) *watcher {
	for {
		if found, ok := w.(*watcher); ok {
			return found
		}
		w = w.(interface{ Unwrap() http.ResponseWriter }).Unwrap()
	}
}

// Unwrap lets http.ResponseController reach the connection.
func (w *watcher) Unwrap() http.ResponseWriter { return w.ResponseWriter }
