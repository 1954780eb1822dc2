package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// openPaths contains the paths that need neither token nor microversion: those that probes, scrapers and
// readers of the documentation request. They work with and without the prefix of the API, since probes
// rarely know it.
type openPaths struct {
	exact map[string]*openPath
	ready *readiness
	// below serves whole subtrees, whose paths never need a token, even if they do not exist.
	below []*openPath
}

// openPath is a handler with the operation name under which its requests are counted.
type openPath struct {
	name    string
	prefix  string
	handler http.Handler
	limits  *limiter
}

// newOpenPaths returns the open paths. Each probe has slots of its own: /livez does not wait for a database, as /readyz
// does, nor for a collector.
func newOpenPaths(options Options, metrics *metrics, documents *documents, limits *limiter) *openPaths {
	reference, readers := newReference(options.Authenticate == nil, options.Console != nil), limits.reserve("requests for documents", documentSlots, nil)
	paths := &openPaths{
		exact: map[string]*openPath{
			"/livez": {name: "livez", handler: http.HandlerFunc(live), limits: limits.reserve("liveness probes", probeSlots, newReservedRoom())},
			"/docs":  {name: "docs", handler: http.HandlerFunc(reference.page), limits: readers},
		},
		ready: newReadiness(options),
		below: []*openPath{
			{name: "docs", prefix: "/docs/", handler: reference, limits: readers},
			{name: "openapi", prefix: "/openapi/", handler: documents, limits: readers},
		},
	}
	paths.exact["/readyz"] = &openPath{name: "readyz", handler: paths.ready, limits: limits.reserve("readiness probes", probeSlots, newReservedRoom())}
	if options.Observability.PublicMetrics {
		paths.exact["/metrics"] = &openPath{name: "metrics", handler: metrics.handler(), limits: limits.reserve("requests for metrics", metricsSlots, newReservedRoom())}
	}
	return paths
}

// openOperations lists the operation names of open paths.
var openOperations = map[string]bool{"livez": true, "readyz": true, "metrics": true, "docs": true, "openapi": true, "console": true}

// find returns nil for paths that are not open.
func (o *openPaths) find(path string) *openPath {
	if found := o.exact[path]; found != nil {
		return found
	}
	for _, tree := range o.below {
		if strings.HasPrefix(path, tree.prefix) {
			return tree
		}
	}
	return nil
}

// serve handles GET and HEAD, and rejects other methods. The handler of a subtree gets the rest of the
// path.
func (o *openPath) serve(w http.ResponseWriter, r *http.Request, path string) {
	request.From(r.Context()).Operation = o.name
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refused := fault.New(fault.MethodNotAllowed, "")
		refused.Allow = "GET, HEAD"
		apierr.Write(w, r, refused)
		return
	}
	if !checkAddress(w, r) {
		return
	}
	r.SetPathValue(restOfPath, strings.TrimPrefix(path, o.prefix))
	if err := o.limits.runHandler(o.handler, w, r); err != nil {
		apierr.Write(w, r, err)
	}
}

// restOfPath is the wildcard for the path below a subtree.
const restOfPath = "rest"

func notFound(w http.ResponseWriter, r *http.Request) {
	apierr.Write(w, r, fault.New(fault.NotFound, ""))
}

// baremetalRoot is the path of the Bare Metal API, beside that of Placement. The version documents of the
// two APIs have different formats, so that of this API is here and not at the root.
const baremetalRoot = "/v1"

// maxHost is the maximum size in bytes of the header Host, which responses have in each link. A name has up to 253 bytes.
const maxHost = 1 << 10

func isBaremetal(path string) bool {
	return path == baremetalRoot || strings.HasPrefix(path, baremetalRoot+"/")
}

// serveBaremetal serves a request to the Bare Metal API. The order of its steps is the order in which
// clients see the errors: token, version, route.
func (f *frontHandler) serveBaremetal(w http.ResponseWriter, r *http.Request, path string, mounted bool) {
	info := request.From(r.Context())
	info.Service = request.Baremetal
	if !mounted {
		// The API is served with and without the prefix, since clients are configured with an origin for
		// this API and rarely with a path.
		info.Prefix = info.Outer
	}
	w.Header().Set(microversion.BaremetalRequestID, info.ID)
	// A trailing slash is ignored: clients send it before a query string.
	path = strings.TrimSuffix(path, "/")
	if path != baremetalRoot {
		if err := f.local.check(r); err != nil {
			apierr.Write(w, r, err)
			return
		}
	}
	caller, admitted := f.authenticateBaremetal(w, r, path)
	if !admitted {
		return
	}
	r.URL.Path = path
	version, err := microversion.NegotiateBaremetal(r.Header)
	var refused *microversion.BaremetalError
	if errors.As(err, &refused) {
		refused.SetHeaders(w.Header())
		apierr.Write(w, withCaller(r, caller), err)
		return
	}
	version.SetBaremetalHeaders(w.Header())
	extension, extended, err := microversion.NegotiateExtension(microversion.Parse(r.Header.Values(microversion.Header)))
	r = withCallerAndVersion(r, caller, version)
	if err == nil && path != baremetalRoot && len(r.Host) > maxHost {
		err = fault.New(fault.Invalid, "The header Host is longer than %d bytes.", maxHost)
	}
	if err == nil {
		table := f.baremetal
		if extended {
			table = f.extended[baremetal.NearestExtension(extension)]
			request.From(r.Context()).Microversion += ", " + extension.HeaderValue()
		}
		err = f.limiter.run(table, w, r)
	}
	if err != nil {
		apierr.Write(w, r, err)
	}
}
