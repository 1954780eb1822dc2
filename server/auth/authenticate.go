package auth

import "net/http"

// Authenticate finds out who makes a request. It is asked for every request but those
// to open paths, and may change the headers of the request: those that tell an
// identity are not the client's to send. Its error is a *Refused, which is answered
// 401, or says that nobody could be asked, which is answered 503.
type Authenticate func(*http.Request) (Caller, error)

// Refused says that a request does not prove who makes it.
type Refused struct {
	// Challenge is the value of the header WWW-Authenticate; empty: there is none.
	Challenge string
	// Reason is for the log, never for the client.
	Reason string
}

// Error is the reason.
func (r *Refused) Error() string { return r.Reason }
