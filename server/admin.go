package server

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/wire/fault"
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

// localGuard protects a server that trusts its callers (noauth2) from web pages in a browser on the same
// machine. A browser lets any page send requests to a loopback address. The guard rejects writes by pages
// of another origin, and all requests by pages whose owner points their host name to a loopback address
// (DNS rebinding).
//
// It applies only to connections to loopback addresses over TCP: pages cannot reach Unix sockets, and an
// operator who lets other machines use noauth2 has disabled every protection.
type localGuard struct {
	// hosts lists the names that the Host header may have in addition to those of the loopback interface.
	hosts []string
	// origins checks requests that write; nil: pages of every origin may write.
	origins *http.CrossOriginProtection
}

// newLocalGuard returns the guard of a server, or nil if the server authenticates its callers. Origins
// that CORS allows may write, except those that the standard library rejects as an origin.
func newLocalGuard(options Options) *localGuard {
	if options.Authenticate != nil {
		return nil
	}
	guard := &localGuard{hosts: options.AllowedHosts, origins: http.NewCrossOriginProtection()}
	for _, origin := range options.CORS.AllowedOrigins {
		if origin == "*" {
			guard.origins = nil
			break
		}
		if err := guard.origins.AddTrustedOrigin(origin); err != nil && options.Log != nil {
			options.Log.Warn("invalid origin; its pages cannot write", "origin", origin, "error", err.Error())
		}
	}
	return guard
}

// check returns the fault of a request that only a web page of another site sends.
func (g *localGuard) check(r *http.Request) error {
	if err := g.checkHost(r); err != nil || g == nil || !isLoopback(r) {
		return err
	}
	if g.origins != nil && g.origins.Check(r) != nil {
		return fault.New(fault.Forbidden, "A web page of the origin %.100q may not write here, since the server does not authenticate "+
			"its callers. The setting cors-allowed-origin names the origins that may.", r.Header.Get("Origin"))
	}
	return nil
}

// checkHost is the part of check about the Host header.
func (g *localGuard) checkHost(r *http.Request) error {
	if g != nil && isLoopback(r) && !g.isAllowedHost(r.Host) {
		return fault.New(fault.Forbidden, "The Host header names %.100q, which is neither a name of the loopback interface nor in the "+
			"setting allowed-hosts. Without authentication the server answers no other names, since a web page could use them.", r.Host)
	}
	return nil
}

// isLoopback reports whether the request came to a loopback address over TCP.
func isLoopback(r *http.Request) bool {
	address, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// isAllowedHost reports whether the Host header is missing, which no browser omits, names the loopback
// interface, or is one of the configured hosts. It ignores the port.
func (g *localGuard) isAllowedHost(header string) bool {
	host := header
	if name, _, err := net.SplitHostPort(header); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if address, err := netip.ParseAddr(host); err == nil && address.Unmap().IsLoopback() {
		return true
	}
	return slices.ContainsFunc(g.hosts, func(allowed string) bool { return allowed == "*" || strings.EqualFold(allowed, host) })
}

// ValidHost returns an error unless host is valid as an element of Options.AllowedHosts.
func ValidHost(host string) error {
	if host == "" || strings.ContainsAny(host, ":/[] ") && !isAddress(host) {
		return fmt.Errorf("invalid host %q: want a host name or an address without a port", host)
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}
