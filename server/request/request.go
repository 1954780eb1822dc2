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
	// Prefix is the path under which the API is mounted: "" or "/placement".
	Prefix string
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

// New reads the facts of a request.
func New(r *http.Request, prefix string, log *slog.Logger) *Info {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if header == "" || header == "*/*" {
		header = "application/json"
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	return &Info{
		ID:       "req-" + uuid.NewString(),
		GlobalID: globalID(r.Header.Get("X-Openstack-Request-Id")),
		Base:     scheme + "://" + r.Host,
		Prefix:   prefix,
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
