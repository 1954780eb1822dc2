// Package route holds the table that every request goes through: operations by
// path and method, each with variants by microversion, and the checks that come
// before an operation runs, in the order that clients see (the wire contract,
// section HTTP 1).
//
// From the same table it builds one huma.API for each microversion, which reads
// path parameters, writes answers and generates the OpenAPI document.
//
// It is not for what an operation means: that is in the package of its API. Nor
// does it authenticate; the caller is in the context already.
package route

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
)

// Check is a condition that a request must meet before its operation runs.
type Check int

// The checks. Each operation lists its own, in the order of their errors.
const (
	// Version: there is a variant for the request's microversion; else 404.
	Version Check = iota
	// Accept: the client takes JSON; else 406.
	Accept
	// JSON: the body is declared as JSON; else 415.
	JSON
	// AnyType: the body is JSON, whatever type it is declared as; never fails.
	AnyType
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
	// Rule is the policy rule that is asked; empty: the operation is open.
	Rule string
	// Target is what the rule is asked about; nil: the caller's own project.
	Target func(r *http.Request) policy.Target
	// Checks are made in this order, before the policy.
	Checks []Check
	// MissingIsMethod answers 405 instead of 404 at versions without a variant.
	MissingIsMethod bool
	// Fails lists the errors beyond those that follow from the checks.
	Fails []Failure
	// Variants are in ascending order of Since.
	Variants []Variant
}

// Variant is how an operation looks from one microversion on, until the next
// variant's.
type Variant struct {
	Since microversion.Version
	// Gone marks that the operation no longer exists from Since on.
	Gone     bool
	register func(t *Table, at microversion.Version, api huma.API, op huma.Operation)
}

// variant picks the one that is valid at a version, nil if there is none.
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

// From is a variant without a request body.
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

// Until ends an operation: it does not exist from this version on.
func Until(version microversion.Version) Variant { return Variant{Since: version, Gone: true} }
