package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// baremetalRoot is the path of the Bare Metal API, beside that of Placement. Its
// documents of versions are of two forms that cannot stand in one, so that of this
// API is here and not on the root.
const baremetalRoot = "/v1"

// noToken is what keystoneauth, and with it openstacksdk and the command line client,
// sends as its token where it is told to authenticate nowhere.
const noToken = "notused"

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
		info.Prefix = ""
	}
	w.Header().Set(microversion.BaremetalRequestID, info.ID)
	// One slash at the end means nothing: clients send it before a query.
	r.URL.Path = strings.TrimSuffix(path, "/")
	if tokens := r.Header.Values("X-Auth-Token"); len(tokens) == 0 || slices.Equal(tokens, []string{noToken}) {
		// Without identity service this API has clients that know of no token.
		r.Header.Set("X-Auth-Token", "admin")
	}
	caller, _ := auth.Noauth2(r)
	version, err := microversion.NegotiateBaremetal(r.Header)
	var refused *microversion.BaremetalError
	if errors.As(err, &refused) {
		refused.SetHeaders(w.Header())
		apierr.Write(w, r, err)
		return
	}
	version.SetBaremetalHeaders(w.Header())
	extended, err := microversion.Extended(r.Header)
	r = known(r, caller, version)
	switch {
	case err != nil:
		err = fault.New(fault.NotAcceptable, "%s", err)
	case extended:
		err = f.extended.Serve(w, r)
	default:
		err = f.baremetal.Serve(w, r)
	}
	if err != nil {
		apierr.Write(w, r, err)
	}
}
