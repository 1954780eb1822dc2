package server

import (
	"log/slog"
	"net/http"
	"net/http/pprof"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/wire/forwarded"
	"github.com/berthd/berth/server/wire/request"
)

// adminRoute is a handler for operators, with its bounds.
type adminRoute struct {
	pattern string
	handler http.Handler
	limits  *limiter
}

// adminRoutes returns the handlers for operators. Their slots are not those of the public paths, so that other clients
// cannot take them.
func adminRoutes(open *openPaths, metrics *metrics, limits *limiter, profiles bool) []adminRoute {
	routes := []adminRoute{
		{"GET /livez", http.HandlerFunc(live), limits.reserve("liveness probes", probeSlots, newReservedRoom())},
		{"GET /readyz", open.ready, limits.reserve("readiness probes", probeSlots, newReservedRoom())},
		{"GET /metrics", metrics.handler(), limits.reserve("requests for metrics", metricsSlots, newReservedRoom())},
	}
	if !profiles {
		return routes
	}
	profiling := limits.reserve("requests for profiles", profileSlots, nil)
	for path, handler := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		routes = append(routes, adminRoute{"/debug/pprof/" + path, handler, profiling})
	}
	return routes
}

// maxSymbols is the maximum size of the list of addresses whose symbols a client of the profiles requests.
const maxSymbols = 1 << 20

// adminHandler returns the handler for operators, which has an address of its own: it serves what probes
// and scrapers request, and the profiles of the process if they are enabled. It requires no token, so
// the address must not be public.
func adminHandler(routes []adminRoute) http.Handler {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.pattern, route)
	}
	return mux
}

// ServeHTTP implements http.Handler.
func (a adminRoute) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		value := recover()
		if _, isCut := value.(*cutError); isCut {
			value = http.ErrAbortHandler
		}
		if value != nil {
			panic(value)
		}
	}()
	r = r.WithContext(request.With(r.Context(), request.New(r, forwarded.ClientView{}, "", slog.Default())))
	err := a.limits.runWithBody(func(w http.ResponseWriter, r *http.Request) error {
		r.Body = http.MaxBytesReader(w, r.Body, maxSymbols)
		a.handler.ServeHTTP(w, r)
		return nil
	}, w, r, maxPrebufferedBody)
	if err != nil {
		apierr.Write(w, r, err)
	}
}
