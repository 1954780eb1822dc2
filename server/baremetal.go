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
