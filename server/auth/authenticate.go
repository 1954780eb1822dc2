package auth

import "net/http"

// Authenticate finds out who makes a request. It is asked for every request but those
// to open paths, with the path as it arrived, and may change the headers of the
// request: those that tell an identity are not the client's to send. Its error is a
// *Refused, which is answered 401, or says that nobody could be asked, which is
// answered 503.
type Authenticate func(*http.Request) (Caller, error)

// Believe is Authenticate where callers are believed: it reads what Noauth2 reads.
func Believe(r *http.Request) (Caller, error) {
	caller, ok := Noauth2(r)
	if !ok {
		return Caller{}, &Refused{Reason: "there is no header X-Auth-Token"}
	}
	return caller, nil
}

// Refused says that a request does not prove who makes it.
type Refused struct {
	// Challenge is the value of the header WWW-Authenticate; empty: there is none.
	Challenge string
	// Reason is for the log, never for the client.
	Reason string
}

// Error is the reason.
func (r *Refused) Error() string { return r.Reason }
