// Package route holds the route table: operations by path and method, each with variants by microversion. It makes the
// checks that precede an operation, in the order that clients observe (docs/contract/http.md#request-pipeline).
//
// From the same table it builds one huma.API for each microversion, which reads path parameters, writes responses and
// generates the OpenAPI document.
//
// It is not for the meaning of an operation, which is in the package of its API. It does not authenticate either; the
// context already contains the caller.
package route

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
)

// Check is a condition that a request must satisfy before its operation runs.
type Check int

// These are the checks. Each operation lists its checks in the order of their errors.
const (
	// Version: a variant exists for the request's microversion; else 404.
	Version Check = iota
	// Accept: the client accepts JSON; else 406.
	Accept
	// AcceptStream: the client accepts a format of streams; else 406.
	AcceptStream
	// JSON: the Content-Type of the body is JSON; else 415.
	JSON
	// LenientJSON: the body has the Content-Type that ironic's framework requires; else 400. A form is never JSON, nor
	// is the body of a POST without a Content-Type. The Content-Type of a PUT must be JSON.
	LenientJSON
	// MergePatch: the Content-Type of the body is that of a JSON merge patch (RFC 7396), or JSON; else 415.
	MergePatch
)

// Operation is one row of the table: a method on a path.
type Operation struct {
	// ID names the operation in documents and logs: "provider-show".
	ID      string
	Method  string
	Path    string
	Tag     string
	Summary string
	// Description is prose for the reference, CommonMark.
	Description string
	// Rule is the policy rule of the operation; empty: no authorization.
	Rule string
	// Further are rules that Authorize or the operation checks in addition to Rule.
	Further []string
	// Target returns the target of the rule; nil: the caller's own project.
	Target func(r *http.Request) policy.Target
	// Body is the size class of the request body.
	Body BodySize
	// Authorize checks the policy if one rule and one target are not sufficient; nil: Rule is checked. It can check
	// rules with May, and returns the context of the operation.
	Authorize func(r *http.Request) (context.Context, error)
	// Checks are made in this order before the policy.
	Checks []Check
	// MissingIsMethod returns 405 instead of 404 at versions without a variant.
	MissingIsMethod bool
	// ReadOnly marks an operation with a method other than GET that changes nothing. Options.Begin is not called for it,
	// and it has no line in the audit log.
	ReadOnly bool
	// Keyed marks a write that takes an Idempotency-Key at versions from API.StrictSince on. It has a body, and calls the
	// store with IdempotencyKey.
	Keyed bool
	// Query lists the parameters of the query string that the table checks at versions from API.StrictSince on, in
	// ascending order of Since.
	Query Params
	// Inverse returns the body of a request that leads back to the state before a write, for its dry run. Without one it
	// returns nil, with the reason unless there is nothing to lead back from. Nil: dry runs return none.
	Inverse func(before, after store.State) (body any, reason string)
	// ReadsQuery marks an operation that checks its query string itself, or ignores it at every version.
	ReadsQuery bool
	// Fails lists the failures in addition to those of the checks.
	Fails []Failure
	// Variants are in ascending order of Since.
	Variants []Variant
}

// Variant is an operation from one microversion on, until the next variant.
type Variant struct {
	Since microversion.Version
	// Gone marks that the operation no longer exists from Since on.
	Gone     bool
	register func(t *Table, at microversion.Version, api huma.API, op huma.Operation)
}

// variant returns the variant of a version, or nil if there is none.
func (op *Operation) variant(at microversion.Version) *Variant {
	var found *Variant
	for i := range op.Variants {
		if op.Variants[i].Since <= at {
			found = &op.Variants[i]
		}
	}
	if found == nil || found.Gone {
		return nil
	}
	return found
}

// writes reports whether the operation can change something.
func (op *Operation) writes() bool { return op.Method != http.MethodGet && !op.ReadOnly }

// isKnown returns false for an operation of an extension that the version does not include. An operation of another
// microversion is known: requests for it get the error of a missing version.
func (op *Operation) isKnown(at microversion.Version) bool {
	first := op.Variants[0].Since
	return first.Extension() < microversion.PlacementExtensionMin || first <= at
}

// From returns a variant without a request body.
func From[I, O any](since microversion.Version, handle func(context.Context, *I) (*O, error), docs ...Doc) Variant {
	return Variant{Since: since, register: func(_ *Table, at microversion.Version, api huma.API, op huma.Operation) {
		for _, doc := range docs {
			doc(at, api, &op)
		}
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := handle(ctx, in)
			return out, respond(ctx, err)
		})
	}}
}

// Until returns a variant that ends an operation: it does not exist from this version on.
func Until(version microversion.Version) Variant { return Variant{Since: version, Gone: true} }
