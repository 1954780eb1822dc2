package route

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// API is what one API has of its own beside its operations: its versions, the
// headers that speak of them, its errors, and the words of its documents. All else
// is the same for every API.
type API struct {
	// Service is how requests of this API are marked, see request.Info.
	Service string
	// Min and Max are the oldest and the newest version.
	Min, Max microversion.Version
	// Changes are the versions at which something changes, in ascending order,
	// the first of them Min. A version between two of them is as the lower one,
	// and has no document of its own. nil: something changes at each.
	Changes []microversion.Version
	// StrictQuery refuses what a query string has beside the parameters that the
	// operation documents. Without it, each operation reads its query itself.
	StrictQuery bool

	Title string
	// Description introduces the document of a version.
	Description func(at microversion.Version) string
	// VersionHeader asks for a version, by the value that VersionValue gives.
	VersionHeader string
	VersionValue  func(at microversion.Version) string
	// VersionSchema describes that value.
	VersionSchema string
	// Headers are those of more than one answer that mean the same everywhere.
	Headers func(at microversion.Version) map[string]*huma.Header
	// OnSuccess and OnFailure name those of them that all such answers have.
	OnSuccess, OnFailure []string

	// Errors is the type of the body of errors.
	Errors reflect.Type
	// Usual is a failure that all operations have in common, published once
	// under the name UsualName.
	Usual     Failure
	UsualName string
	// Denied is the body of a 401, and DeniedWhen what leads to it.
	Denied     func(context.Context) any
	DeniedWhen string
	// Unsupported is the error of a version that the server does not speak, and
	// UnsupportedWhen what else has its status.
	Unsupported     error
	UnsupportedWhen string
	// ExampleBase is scheme and host of the URLs in examples.
	ExampleBase string
	// SampleRule is a policy rule, for an example of what it is to be denied.
	SampleRule string
	// Finish adapts the schemas of a document to its version; nil: as they are.
	Finish func(at microversion.Version, schemas map[string]*huma.Schema)
}

// Versions lists those that have a document of their own, oldest first.
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

// Nearest is the version whose document describes the given one.
func (a *API) Nearest(version microversion.Version) microversion.Version {
	nearest := a.Min
	for _, change := range a.Versions() {
		if change <= version {
			nearest = change
		}
	}
	return nearest
}

// ExampleRequestID stands where examples need the id of a request.
const ExampleRequestID = "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"

// ExampleContext is that of a request that never was.
func (a *API) ExampleContext(at microversion.Version, method string) context.Context {
	return microversion.With(a.unversioned(method), at)
}

// unversioned is that of a request whose microversion was refused.
func (a *API) unversioned(method string) context.Context {
	return request.With(context.Background(), &request.Info{
		ID: ExampleRequestID, Service: a.Service, Base: a.ExampleBase, HTTP: &http.Request{Method: method},
	})
}
