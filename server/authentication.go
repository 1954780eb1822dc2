package server

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/request"
)

// identityPause is when it is worth trying again after nobody could say who calls: an
// identity service that is restarted is away for some seconds.
const identityPause = 5 * time.Second

// admit finds out who makes a request. Without ok it has answered it.
func (f *front) admit(w http.ResponseWriter, r *http.Request) (caller auth.Caller, ok bool) {
	ask := f.authenticate
	if ask == nil {
		ask = auth.Believe
	}
	caller, err := ask(r)
	if err == nil {
		return caller, true
	}
	info := request.From(r.Context())
	var refused *auth.Refused
	switch {
	case errors.As(err, &refused):
		f.log.InfoContext(r.Context(), "refused", "request_id", info.ID, "cause", refused.Reason)
		apierr.Unauthorized(w, r, refused.Challenge)
	case r.Context().Err() != nil:
		apierr.Write(w, r, r.Context().Err())
	default:
		f.log.ErrorContext(r.Context(), "cannot find out who calls", "request_id", info.ID, "cause", err.Error())
		away := fault.New(fault.Unavailable, "The Keystone service is temporarily unavailable.")
		away.RetryAfter = identityPause
		apierr.Write(w, r, away)
	}
	return auth.Caller{}, false
}

// noToken is what keystoneauth, and with it openstacksdk and the command line client,
// sends as its token where it is told to authenticate nowhere.
const noToken = "notused"

// admitBaremetal is admit for the Bare Metal API, whose document of versions is for
// everybody. Without an identity service it has clients that know of no token.
func (f *front) admitBaremetal(w http.ResponseWriter, r *http.Request, path string) (caller auth.Caller, ok bool) {
	if f.authenticate == nil {
		if tokens := r.Header.Values("X-Auth-Token"); len(tokens) == 0 || slices.Equal(tokens, []string{noToken}) {
			r.Header.Set("X-Auth-Token", "admin")
		}
	} else if path == baremetalRoot {
		return auth.Caller{}, true
	}
	return f.admit(w, r)
}
