package server

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/request"
)

// authRetryAfter is the Retry-After of a request that could not be authenticated: Keystone is unreachable
// for some seconds while it restarts.
const authRetryAfter = 5 * time.Second

// authLogInterval is the minimum interval between log lines about unauthenticated requests with one cause,
// so that made-up tokens do not fill a disk.
const authLogInterval = 10 * time.Second

// authenticationOperation is the operation, in metrics and logs, of requests that get 503 because their
// token could not be validated, so that alerts can select them.
const authenticationOperation = "authentication"

// authenticateRequest returns the caller of a request. If ok is false, it has sent the response.
func (f *frontHandler) authenticateRequest(w http.ResponseWriter, r *http.Request) (caller auth.Caller, ok bool) {
	ask := f.authenticate
	if ask == nil {
		ask = auth.TrustHeaders
	}
	caller, err := ask(r)
	if err == nil {
		recorderOf(w).admitted = true
		return caller, true
	}
	info := request.From(r.Context())
	var (
		refused *auth.UnauthenticatedError
		denied  *auth.DeniedError
	)
	switch {
	case errors.As(err, &refused):
		if suppressed, ok := f.refusedLog.Allow(refused.Reason, time.Now()); ok {
			f.log.InfoContext(r.Context(), "authentication failed", lineOf(info, refused.Reason, suppressed)...)
		}
		apierr.Unauthorized(w, r, refused.Challenge)
	case errors.As(err, &denied):
		if suppressed, ok := f.refusedLog.Allow(denied.Detail, time.Now()); ok {
			f.log.InfoContext(r.Context(), "the token does not describe a caller", lineOf(info, denied.Detail, suppressed)...)
		}
		apierr.Write(w, r, fault.New(fault.Forbidden, "%s", denied.Detail))
	case r.Context().Err() != nil:
		apierr.Write(w, r, r.Context().Err())
	default:
		f.sendUnavailable(w, r, err)
	}
	return auth.Caller{}, false
}

// sendUnavailable sends the 503 of a request whose token could not be validated.
func (f *frontHandler) sendUnavailable(w http.ResponseWriter, r *http.Request, err error) {
	info := request.From(r.Context())
	cause, service := "", "" // for errors other than *auth.Unavailable
	if unavailable := new(auth.Unavailable); errors.As(err, &unavailable) {
		cause, service = unavailable.Cause, unavailable.Service
	}
	if suppressed, ok := f.unavailableLog.Allow(cause, time.Now()); ok {
		f.log.ErrorContext(r.Context(), "cannot authenticate the request", lineOf(info, err.Error(), suppressed)...)
	}
	info.Operation = authenticationOperation
	away := fault.New(fault.Unavailable, "The %s is temporarily unavailable.", cmp.Or(service, "Keystone service"))
	away.RetryAfter = authRetryAfter
	apierr.Write(w, r, away)
}

// lineOf returns the attributes of a log line about an unauthenticated request, with the number of
// suppressed lines with the same cause since the last one.
func lineOf(info *request.Info, cause string, suppressed int64) []any {
	attributes := []any{"request_id", info.ID, "cause", cause}
	if suppressed > 0 {
		attributes = append(attributes, "suppressed", suppressed)
	}
	return attributes
}

// keystoneauthNoToken is the token that keystoneauth, and therefore openstacksdk and the command line
// client, sends if it is configured without authentication.
const keystoneauthNoToken = "notused"

// authenticateBaremetal is authenticateRequest for the Bare Metal API, whose version document is public.
// Without an identity service it accepts clients that send no token.
func (f *frontHandler) authenticateBaremetal(w http.ResponseWriter, r *http.Request, path string) (caller auth.Caller, ok bool) {
	if f.authenticate == nil {
		if tokens := r.Header.Values("X-Auth-Token"); len(tokens) == 0 || slices.Equal(tokens, []string{keystoneauthNoToken}) {
			r.Header.Set("X-Auth-Token", "admin")
		}
		caller, ok = f.authenticateRequest(w, r)
		return auth.Baremetal(r, caller), ok
	} else if path == baremetalRoot {
		return auth.Caller{}, true
	}
	return f.authenticateRequest(w, r)
}
