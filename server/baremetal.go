package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// baremetalRoot is the path of the Bare Metal API, beside that of Placement. Its
// documents of versions are of two forms that cannot stand in one, so that of this
// API is here and not on the root.
const baremetalRoot = "/v1"

func isBaremetal(path string) bool {
	return path == baremetalRoot || strings.HasPrefix(path, baremetalRoot+"/")
}

// serveBaremetal is what a request to the Bare Metal API passes, in the order in
// which clients see the errors: token, version, route.
func (f *front) serveBaremetal(w http.ResponseWriter, r *http.Request, path string, mounted bool) {
	info := request.From(r.Context())
	info.Service = request.Baremetal
	if !mounted {
		// The path is served below the prefix and beside it, since clients are told
		// of one origin for this API and rarely of a path.
		info.Prefix = info.Outer
	}
	w.Header().Set(microversion.BaremetalRequestID, info.ID)
	// One slash at the end means nothing: clients send it before a query.
	path = strings.TrimSuffix(path, "/")
	caller, admitted := f.admitBaremetal(w, r, path)
	if !admitted {
		return
	}
	r.URL.Path = path
	version, err := microversion.NegotiateBaremetal(r.Header)
	var refused *microversion.BaremetalError
	if errors.As(err, &refused) {
		refused.SetHeaders(w.Header())
		apierr.Write(w, called(r, caller), err)
		return
	}
	version.SetBaremetalHeaders(w.Header())
	extended, err := microversion.Extended(r.Header)
	r = known(r, caller, version)
	switch {
	case err != nil:
		err = fault.New(fault.NotAcceptable, "%s", err)
	case extended:
		err = f.limiter.run(f.extended, w, r)
	default:
		err = f.limiter.run(f.baremetal, w, r)
	}
	if err != nil {
		apierr.Write(w, r, err)
	}
}
