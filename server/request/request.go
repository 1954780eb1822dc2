// Package request holds what is known of the request being served before any
// operation looks at it: its id, where it was sent, what the client accepts.
//
// It is not a bag for values that operations pass along; those are arguments.
// Who calls is in package auth, the microversion in package microversion.
package request

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/accept"
	"github.com/berthd/berth/server/forwarded"
)

// Info is what is known of a request. Only HTTP, Service, Prefix, Operation and
// Microversion are set while it is served, on the way in and by the one goroutine
// that serves it.
type Info struct {
	// ID is "req-" and a fresh uuid, never the client's.
	ID string
	// GlobalID is the client's own id for a chain of requests, for the log.
	GlobalID string
	// Service is the API that the request was found to be for: "placement" or
	// "baremetal". Empty counts as "placement".
	Service string
	// Base is scheme and host as the client sees them, without a slash.
	Base string
	// Outer is what a proxy has cut off from the beginning of the path: "" or "/cloud".
	Outer string
	// Prefix is the path under which the client sees the API: Outer, and that under
	// which it is mounted here.
	Prefix string
	// Client is the address of the client, or a name that a proxy gives it instead;
	// empty for one on a Unix socket.
	Client string
	// Accept is the client's header; JSON where it says nothing or anything.
	Accept accept.Ranges
	// RawQuery is the query as it was sent.
	RawQuery string
	// HTTP is the request itself.
	HTTP *http.Request
	// Log is where failures of the server go.
	Log *slog.Logger
	// Operation names what the request was found to ask for; empty: nothing that
	// is known.
	Operation string
	// Microversion is the one negotiated; empty before, and if that failed.
	Microversion string
	// ErrorCode is that of the fault that was answered, whether or not the client was
	// told it; empty: none has a code.
	ErrorCode string
	// Candidates is how many allocation candidates were answered.
	Candidates int
}

// Baremetal is the Service of the Bare Metal API.
const Baremetal = "baremetal"

type key struct{}

// With records the info for everything below.
func With(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, key{}, info)
}

// From gives the info of the request being served. Outside of one it is empty.
func From(ctx context.Context) *Info {
	if info, ok := ctx.Value(key{}).(*Info); ok {
		return info
	}
	return &Info{Log: slog.Default()}
}

// New reads the facts of a request, which the client sees as told, to an API that is
// mounted under a prefix.
func New(r *http.Request, seen forwarded.Seen, prefix string, log *slog.Logger) *Info {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "" || header == "*/*" {
		header = "application/json"
	}
	return &Info{
		ID:       "req-" + uuid.NewString(),
		GlobalID: globalID(r.Header.Get("X-Openstack-Request-Id")),
		Base:     seen.Scheme + "://" + seen.Host,
		Outer:    seen.Prefix,
		Prefix:   seen.Prefix + prefix,
		Client:   seen.Client,
		Log:      log,
		Accept:   accept.Parse(header),
		RawQuery: r.URL.RawQuery,
		HTTP:     r,
	}
}

// globalID keeps an id only in the form that OpenStack services send, so that
// nothing else reaches the log.
func globalID(id string) string {
	digits, ok := strings.CutPrefix(id, "req-")
	if !ok || len(digits) != 36 || strings.ToLower(digits) != digits {
		return ""
	}
	if _, err := uuid.Parse(digits); err != nil {
		return ""
	}
	return id
}
