package auth

import "net/http"

// Authenticate returns the caller of a request. The server calls it for every request except those to open
// paths, with the path as it arrived. It may change the headers of the request, because clients must not
// set identity headers. Its error is an *UnauthenticatedError, which leads to 401, or a *DeniedError, which
// leads to 403; any other error, such as *Unavailable, means that the identity service is unreachable and
// leads to 503.
type Authenticate func(*http.Request) (Caller, error)

// TrustHeaders is an Authenticate that trusts the identity headers of the client: it reads what Noauth2
// reads.
func TrustHeaders(r *http.Request) (Caller, error) {
	caller, ok := Noauth2(r)
	if !ok {
		return Caller{}, &UnauthenticatedError{Reason: "the header X-Auth-Token is missing"}
	}
	caller.Method = MethodNoauth2
	return caller, nil
}

// UnauthenticatedError is the error of a request that does not prove the identity of its caller.
type UnauthenticatedError struct {
	// Challenge is the value of the header WWW-Authenticate; empty: the response has no such header.
	Challenge string
	// Reason is for the log. Responses never contain it.
	Reason string
}

// Error returns the reason.
func (r *UnauthenticatedError) Error() string { return r.Reason }

// DeniedError is the error of a request whose token is valid, but lacks the claims of a caller.
type DeniedError struct {
	// Detail is the detail of the response, a sentence for the client.
	Detail string
}

// Error returns the detail.
func (d *DeniedError) Error() string { return d.Detail }

// Unavailable is the error of a token that could not be validated.
type Unavailable struct {
	// Service is the name of the identity service in the response; empty: Keystone service.
	Service string
	// Cause is one of a few constants; the rate limit of log lines is per cause.
	Cause string
	Err   error
}

// Error returns the text of the cause.
func (u *Unavailable) Error() string { return u.Err.Error() }

// Unwrap returns the cause.
func (u *Unavailable) Unwrap() error { return u.Err }
