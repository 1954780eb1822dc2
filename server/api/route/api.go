package route

import (
	"context"
	"net/http"
	"reflect"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// API is the properties of one API that are not part of its operations: its versions, their headers, its errors, and
// the texts of its documents. Everything else is equal for all APIs.
type API struct {
	// Service identifies requests of this API, see request.Info.
	Service string
	// Min and Max are the oldest and the newest microversion.
	Min, Max microversion.Version
	// Changes are the microversions at which something changes, in ascending order; the first is Min. A version between
	// two of them equals the lower one and has no separate document. nil: every version changes something.
	Changes []microversion.Version
	// Extensions are the versions above Max that clients opt in to, in ascending order. An operation whose first variant
	// is of one of them does not exist below it: its path is unknown, and Allow does not list its method.
	Extensions []microversion.Version
	// StrictQuery rejects query parameters that the operation does not document. Without it, each operation validates
	// its query.
	StrictQuery bool
	// StrictSince is the first version at which the table rejects query parameters that are not in Operation.Query, and
	// the headers of conditional requests on writes; 0: none.
	StrictSince microversion.Version
	// DryRuns is how the API answers dry runs of its writes; nil: it has none.
	DryRuns *DryRuns

	Title string
	// Label returns the name of a version in its document; nil: the microversion.
	Label func(at microversion.Version) string
	// Description returns the introduction of a document.
	Description func(at microversion.Version) string
	// VersionHeader is the header that selects a version, with the value that VersionValue returns.
	VersionHeader string
	VersionValue  func(at microversion.Version) string
	// VersionSchema describes that value.
	VersionSchema string
	// AnnouncedIn is the header with the version of a response; empty: VersionHeader.
	AnnouncedIn string
	// Headers returns the headers that several responses share with the same meaning.
	Headers func(at microversion.Version) map[string]*huma.Header
	// OnSuccess and OnFailure name the headers of all such responses.
	OnSuccess, OnFailure []string

	// Errors is the type of error bodies.
	Errors reflect.Type
	// Usual is a failure that all operations share, published once under the name UsualName.
	Usual     Failure
	UsualName string
	// Contended is a failure that all writes share; nil: none.
	Contended *Failure
	// Denied returns the body of a 401; DeniedWhen is its cause.
	Denied     func(context.Context) any
	DeniedWhen string
	// Unsupported is the error of an unsupported version; UnsupportedWhen states the causes of its status.
	Unsupported     error
	UnsupportedWhen string
	// ExampleBase is scheme and host of the URLs in examples.
	ExampleBase string
	// SampleRule is a policy rule for the example of a denial.
	SampleRule string
	// Finish adapts the schemas of a document to its version; nil: no change.
	Finish func(at microversion.Version, schemas map[string]*huma.Schema)
}

// Versions returns the versions with a separate document, oldest first, without Extensions.
func (a *API) Versions() []microversion.Version {
	if a.Changes != nil {
		return a.Changes
	}
	var all []microversion.Version
	for version := a.Min; version <= a.Max; version++ {
		all = append(all, version)
	}
	return all
}

// Nearest returns the version whose document describes the given one.
func (a *API) Nearest(version microversion.Version) microversion.Version {
	nearest := a.Min
	for _, change := range slices.Concat(a.Versions(), a.Extensions) {
		if change <= version {
			nearest = change
		}
	}
	return nearest
}

// label returns the name of a version in its document.
func (a *API) label(at microversion.Version) string {
	if a.Label == nil {
		return at.String()
	}
	return a.Label(at)
}

// ExampleRequestID is the request ID in examples.
const ExampleRequestID = "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"

// ExampleContext returns the context of a request for examples.
func (a *API) ExampleContext(at microversion.Version, method string) context.Context {
	return microversion.With(a.unversioned(method), at)
}

// unversioned returns the context of a request whose microversion was rejected.
func (a *API) unversioned(method string) context.Context {
	return request.With(context.Background(), &request.Info{
		ID: ExampleRequestID, Service: a.Service, Base: a.ExampleBase, HTTP: &http.Request{Method: method},
	})
}
