// Package placement is the Placement API: for each operation its wire types, its
// variants by microversion and the words of its errors (the wire contract,
// section RESOURCES). Files are named after the resource they serve.
//
// It is not for transport: negotiation, policy, reading bodies and writing
// errors happen in package route before and after an operation. And it decides
// nothing about data; it calls one method of the store and words the outcome.
package placement

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/uuidlike"
)

// Options are what the operations need.
type Options struct {
	Store *store.Store
	// IncompleteProject and IncompleteUser own what clients below microversion
	// 1.8 allocate, who cannot say whose it is.
	IncompleteProject, IncompleteUser string
	Candidates                        CandidateOptions
}

type operations struct {
	store             *store.Store
	incompleteProject string
	incompleteUser    string
	candidates        CandidateOptions
}

// Operations is the API: the rows of the route table. The order of methods on a
// path is the order in Allow headers.
func Operations(options Options) []*route.Operation {
	o := &operations{
		store: options.Store, incompleteProject: options.IncompleteProject, incompleteUser: options.IncompleteUser,
		candidates: options.Candidates,
	}
	var all []*route.Operation
	for _, resource := range [][]*route.Operation{
		rootOperations(), o.resourceClassOperations(), o.providerOperations(), o.inventoryOperations(),
		o.usageOperations(), o.providerAggregateOperations(), o.providerTraitOperations(),
		o.traitOperations(), o.allocationOperations(), o.candidateOperations(), o.reshaperOperations(),
	} {
		all = append(all, resource...)
	}
	return all
}

const (
	tagProviders   = "Resource providers"
	tagInventories = "Inventories"
	tagClasses     = "Resource classes"
	tagTraits      = "Traits"
	tagAggregates  = "Aggregates"
	tagAllocations = "Allocations"
	tagCandidates  = "Allocation candidates"
	tagUsages      = "Usages"
	tagVersions    = "Versions"
)

// Tags describe the groups of operations in the documents.
func Tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagVersions, Description: "What the server speaks."},
		{Name: tagProviders, Description: "Whatever has inventory, in trees."},
		{Name: tagInventories, Description: "How much a provider has of each resource class."},
		{Name: tagClasses, Description: "Kinds of countable resources."},
		{Name: tagTraits, Description: "Qualities of providers that are not counted."},
		{Name: tagAggregates, Description: "Groups of providers."},
		{Name: tagAllocations, Description: "Who has how much of which provider."},
		{Name: tagCandidates, Description: "Which providers could serve a request."},
		{Name: tagUsages, Description: "Sums of allocations."},
	}
}

// v is short for the tables of variants.
func v(minor uint8) microversion.Version { return microversion.V(minor) }

// The checks of most operations.
var (
	reads       = []route.Check{route.Accept}
	readsSince  = []route.Check{route.Version, route.Accept}
	writes      = []route.Check{route.JSON}
	writesSince = []route.Check{route.Version, route.JSON}
	only        = []route.Check{route.Version}
)

// none is the input of operations without path parameters.
type none struct{}

// empty is the answer without a body.
type empty struct{}

// located is the answer that says where the thing is.
type located struct {
	Location string `header:"Location" doc:"URL of what was written." example:"http://placement.example.org/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// cached is an answer with a body.
type cached[B any] struct {
	LastModified string `header:"Last-Modified" doc:"When what is shown was last written; now, where that is not known."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         B
}

// answer makes an answer whose last-modified header is the given time; nil leaves
// that header out. Below 1.15 there are no cache headers at all.
func answer[B any](ctx context.Context, body B, modified *time.Time) *cached[B] {
	made := &cached[B]{Body: body}
	made.LastModified, made.CacheControl = cacheHeaders(ctx, modified)
	return made
}

func cacheHeaders(ctx context.Context, modified *time.Time) (lastModified, cacheControl string) {
	if !microversion.From(ctx).HasCacheHeaders() {
		return "", ""
	}
	if modified != nil {
		lastModified = modified.UTC().Format(http.TimeFormat)
	}
	return lastModified, "no-cache"
}

// now is the time for answers that report no other.
func now() *time.Time {
	at := time.Now()
	return &at
}

// newest is the latest time among named things; now if there are none.
func newest(of []store.Named) *time.Time {
	if len(of) == 0 {
		return now()
	}
	latest := of[0].ModifiedAt
	for _, one := range of {
		if one.ModifiedAt.After(latest) {
			latest = one.ModifiedAt
		}
	}
	return &latest
}

// location is the absolute URL of a path.
func location(ctx context.Context, path string) string {
	info := request.From(ctx)
	return info.Base + info.Prefix + path
}

// href is a path as links show it.
func href(ctx context.Context, path string) string { return request.From(ctx).Prefix + path }

// query reads the query string and holds it against the operation's parameters.
func query(ctx context.Context, schema *querystring.Schema) (querystring.Values, error) {
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	if err == nil {
		err = querystring.Check(schema, values)
	}
	if err != nil {
		return values, fault.New(fault.Invalid, "Invalid query string parameters: %s", err)
	}
	return values, nil
}

// words say what broke a rule of the database, in an operation's own words.
type words map[store.Rule]func(values store.Values) *fault.Error

// say translates a refusal; other errors stay what they are.
func (w words) say(err error) error {
	refused := store.As(err)
	if refused == nil {
		return err
	}
	if word := w[refused.Rule]; word != nil {
		return word(refused.Values)
	}
	return err
}

// saying is a phrase that needs no values.
func saying(kind fault.Kind, code, format string, args ...any) func(store.Values) *fault.Error {
	return func(store.Values) *fault.Error { return fault.New(kind, format, args...).WithCode(code) }
}

// providerPath is the input of operations on one provider.
type providerPath struct {
	UUID string `path:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// id is the provider's uuid, of the zero value where what was sent is none: no
// provider has that, so the operation finds nothing.
func (p *providerPath) id() uuid.UUID {
	id, _ := uuidlike.Parse(p.UUID)
	return id
}

// noProvider is the error that names a provider as it was sent.
func noProvider(sent string) *fault.Error {
	return fault.New(fault.NotFound, "No resource provider with uuid %s found", sent)
}

// exists looks whether the provider in the path exists, for operations that say
// so before they say what is wrong with a body.
func (o *operations) exists(ctx context.Context, in *providerPath) error {
	_, err := o.store.ProviderShow(ctx, in.id())
	return words{store.ProviderUnknown: saying(fault.NotFound, "", "%s", noProvider(in.UUID).Detail)}.say(err)
}
