// Package request contains the properties of a request that are known before its operation runs: its ID, its URL, the
// formats that the client accepts.
//
// It is not for values that operations pass along, which are arguments. The caller is in package auth, the microversion
// in package microversion.
package request

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/wire/accept"
	"github.com/berthd/berth/server/wire/forwarded"
)

// Info are the properties of a request. Only HTTP, Service, Prefix, Operation, Route, Format and Microversion change while the
// request is served, on the way in and in the goroutine that serves it.
type Info struct {
	// ID is "req-" and a new UUID, never the ID of the client.
	ID string
	// GlobalID is the client's ID for a chain of requests, for the log.
	GlobalID string
	// Service is the API of the request: "placement" or "baremetal". Empty equals "placement".
	Service string
	// Base is the scheme and host from the view of the client, without a slash.
	Base string
	// Outer is the path prefix that a proxy removed: "" or "/cloud".
	Outer string
	// Prefix is the path prefix of the API from the view of the client: Outer, followed by the prefix under which the
	// API is mounted.
	Prefix string
	// Client is the address of the client, or a name that a proxy sends instead; empty for a Unix socket.
	Client string
	// ClientNetwork is the network whose clients share limits, see forwarded.Proxies.Network.
	ClientNetwork string
	// OfConsole reports that a page of the console sends the request, on behalf of its user. What it finds is not recorded.
	OfConsole bool
	// Accept is the Accept header; JSON if it is missing or accepts anything.
	Accept accept.Ranges
	// Format is the media type that the operation has chosen by that header; empty: JSON.
	Format string
	// RawQuery is the unparsed query.
	RawQuery string
	// HTTP is the request itself.
	HTTP *http.Request
	// Log is the logger for errors of the server.
	Log *slog.Logger
	// Operation is the operation of the request; empty if none was found.
	Operation string
	// Route is the path of that operation with the names of its variables, such as "/traits/{name}".
	Route string
	// ReadOnly reports that the operation was found and changes nothing.
	ReadOnly bool
	// DryRun reports that the operation was found and that its writes are rolled back.
	DryRun bool
	// Would is the status that the write of a dry run would have; 0 if the dry run has no result.
	Would int
	// Microversion is the negotiated microversion; empty before and after a failed negotiation.
	Microversion string
	// ErrorCode is the code of the fault in the response, even if the body does not contain it; empty without a code.
	ErrorCode string
	// Leave gives back the slot of the request before its end; nil without a limit.
	Leave func()
	// OutcomeUnknown reports that the fault in the response states an unknown outcome of a write.
	OutcomeUnknown bool
	// Candidates is the number of allocation candidates in the response.
	Candidates int
	// EmptyReason is the reason why a candidate query found nothing; empty for other responses.
	EmptyReason string
	// EmptyCause is what has to change before it finds something, the label of the metric.
	EmptyCause string
	// ConflictReason is the reason why a claim does not fit; empty for other responses.
	ConflictReason string
}

// Baremetal is the Service of the Bare Metal API.
const Baremetal = "baremetal"

type key struct{}

// With returns a context with the info.
func With(ctx context.Context, info *Info) context.Context {
	return context.WithValue(ctx, key{}, info)
}

// From returns the info of the request. Outside of a request it returns an empty one.
func From(ctx context.Context) *Info {
	if info, ok := ctx.Value(key{}).(*Info); ok {
		return info
	}
	return &Info{Log: slog.Default()}
}

// New returns the properties of a request to an API that is mounted under a prefix. seen is the URL from the view of
// the client.
func New(r *http.Request, seen forwarded.ClientView, prefix string, log *slog.Logger) *Info {
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

// globalID returns the ID only if it has the format of OpenStack services, so that nothing else is logged.
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
