// Package placement is the Placement API: for each operation its wire types, its variants by microversion and its error
// texts (docs/contract/resources.md). Files are named after the resource that they serve.
//
// It is not for transport: package route negotiates versions, checks the policy, reads bodies and writes errors. And it
// decides nothing about data; it calls one method of the store and translates the result.
package placement

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/wire/uuidlike"
	"github.com/berthd/berth/server/work/events"
)

// Options are the dependencies of the operations.
type Options struct {
	Store *store.Store
	// Search finds allocation candidates; nil: one with the default thresholds.
	Search *candidates.Search
	// Claims claims what Search finds; nil: claims without metrics.
	Claims *claims.Claims
	// IncompleteProject and IncompleteUser are the project and user of allocations that clients below microversion 1.8
	// create, whose requests do not contain them.
	IncompleteProject, IncompleteUser string
	Candidates                        CandidateOptions
	// Explanations records queries without candidates; nil: nothing is recorded.
	Explanations *explainlog.Log
	// Events has the streams of events; nil: none can begin.
	Events *events.Hub
	// LeaseMin is the shortest lease that a request may ask for; 0: a second.
	LeaseMin time.Duration
}

type operations struct {
	store             *store.Store
	search            *candidates.Search
	claims            *claims.Claims
	explainer         *explain.Explainer
	incompleteProject string
	incompleteUser    string
	candidates        CandidateOptions
	explanations      *explainlog.Log
	fits              runningFits
	capacities        *sharedResponses
	leaseMin          time.Duration
	events            *events.Hub
}

// Operations returns the operations of the API, which are the rows of the route table. The order of methods on a path
// is the order in Allow headers.
func Operations(options Options) []*route.Operation {
	o := &operations{
		store: options.Store, search: options.Search, explainer: explain.New(options.Search), candidates: options.Candidates,
		incompleteProject: options.IncompleteProject, incompleteUser: options.IncompleteUser, explanations: options.Explanations,
		capacities: newSharedAnswers(), leaseMin: options.LeaseMin, events: options.Events,
	}
	if o.events == nil {
		o.events = events.New(events.Options{Store: options.Store, Encode: EncodeEvent})
	}
	if o.claims = options.Claims; o.claims == nil {
		o.claims = claims.New(options.Store, options.Search)
	}
	if o.explanations == nil {
		o.explanations = explainlog.New(explainlog.Options{Store: options.Store})
	}
	var all []*route.Operation
	for _, resource := range [][]*route.Operation{
		rootOperations(), o.resourceClassOperations(), o.providerOperations(), o.inventoryOperations(),
		o.usageOperations(), o.aggregateOperations(), o.providerAggregateOperations(), o.providerTraitOperations(),
		o.traitOperations(), o.allocationOperations(), o.candidateOperations(), o.reshaperOperations(), o.treeOperations(),
		o.consumerOperations(), o.leaseOperations(), o.capacityOperations(), o.capacityFitOperations(), o.explanationOperations(),
		o.historyOperations(),
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

	tagConsumers    = "Consumers"
	tagExplanations = "Explanations"
	tagCapacity     = "Capacity"
	tagHistory      = "History"
)

// Tags returns the descriptions of the groups of operations in the documents.
func Tags() []*huma.Tag {
	return []*huma.Tag{
		{Name: tagVersions, Description: "Supported API versions."},
		{Name: tagProviders, Description: "Entities with inventories, organized in trees."},
		{Name: tagInventories, Description: "Amounts of each resource class on a provider."},
		{Name: tagClasses, Description: "Types of resources."},
		{Name: tagTraits, Description: "Capabilities of providers."},
		{Name: tagAggregates, Description: "Groups of providers."},
		{Name: tagAllocations, Description: "Amounts that consumers hold on providers."},
		{Name: tagCandidates, Description: "Sets of allocations that satisfy a query."},
		{Name: tagUsages, Description: "Sums of allocations."},
		{Name: tagConsumers, Description: "Who holds allocations."},
		{Name: tagExplanations, Description: "Why queries found nothing."},
		{Name: tagCapacity, Description: "Sums of inventories and usages."},
		{Name: tagHistory, Description: "The record of changes."},
	}
}

// v returns the microversion 1.minor. Its short name keeps the tables of variants readable.
func v(minor uint8) microversion.Version { return microversion.V(minor) }

// These are the checks of most operations.
var (
	reads       = []route.Check{route.Accept}
	readsSince  = []route.Check{route.Version, route.Accept}
	writes      = []route.Check{route.JSON}
	writesSince = []route.Check{route.Version, route.JSON}
	only        = []route.Check{route.Version}
	patches     = []route.Check{route.MergePatch}
	searches    = []route.Check{route.JSON, route.Accept}
)

// none is the input of operations without path parameters.
type none struct{}

// empty is a response without a body.
type empty struct{}

// locationResponse is a response with a Location header and no body.
type locationResponse struct {
	Location string `header:"Location" doc:"URL of the written resource." example:"http://placement.example.org/resource_providers/c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// cached is a response with a body and cache headers.
type cached[B any] struct {
	LastModified string `header:"Last-Modified" doc:"Time of the last write of the resource, or the current time if that is unknown."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         B
}

// answer returns a response with the given Last-Modified time; nil omits that header. Below 1.15 it has no cache
// headers.
func answer[B any](ctx context.Context, body B, modified *time.Time) *cached[B] {
	result := &cached[B]{Body: body}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, modified)
	return result
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

// now returns the current time, for responses without another time.
func now() *time.Time {
	at := time.Now()
	return &at
}

// writtenAt returns the time of a write, for its response: that of the first request if the response is a replay.
func writtenAt(ctx context.Context) *time.Time {
	if key := route.IdempotencyKey(ctx); key != nil {
		return &key.At
	}
	return now()
}

// newest returns the latest modification time of named rows, or the current time without rows.
func newest(of []store.Named) *time.Time {
	if len(of) == 0 {
		return now()
	}
	latest := of[0].ModifiedAt
	for _, reference := range of {
		if reference.ModifiedAt.After(latest) {
			latest = reference.ModifiedAt
		}
	}
	return &latest
}

// location returns the absolute URL of a path.
func location(ctx context.Context, path string) string {
	info := request.From(ctx)
	return info.Base + info.Prefix + path
}

// href returns a path in the format of links.
func href(ctx context.Context, path string) string { return request.From(ctx).Prefix + path }

// query parses the query string and validates it with the operation's schema.
func query(ctx context.Context, schema *querystring.Schema) (querystring.Values, error) {
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	if err == nil {
		err = querystring.Check(schema, values)
	}
	if err != nil {
		return values, invalidQuery.Of(err)
	}
	return values, nil
}

// providerPath is the input of operations on one provider.
type providerPath struct {
	UUID string `path:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
}

// id returns the provider UUID. It returns the zero UUID if the text is not a UUID. No provider has the zero UUID, so
// the operation reports that the provider does not exist.
func (p *providerPath) id() uuid.UUID {
	id, _ := uuidlike.Parse(p.UUID)
	return id
}

// exists returns an error if the provider in the path does not exist. Some operations report that before errors in the
// body.
func (o *operations) exists(ctx context.Context, in *providerPath) error {
	_, err := o.store.ProviderShow(ctx, in.id())
	return route.RuleFaults{store.ProviderNotFound: providerNotFound.Fixed(in.UUID)}.Translate(err)
}

// optionalUUID distinguishes an omitted UUID from null, which encoding/json does not.
type optionalUUID struct {
	Sent  bool
	Value *uuid.UUID
}

// UnmarshalJSON implements json.Unmarshaler. encoding/json calls it only for a member that was sent.
func (u *optionalUUID) UnmarshalJSON(raw []byte) error {
	var text *string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	u.Sent = true
	if text != nil {
		id, _ := uuidlike.Parse(*text)
		u.Value = &id
	}
	return nil
}

// Schema implements huma.SchemaProvider.
func (optionalUUID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "uuid", Nullable: true}
}

func rootOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "version-list", Method: http.MethodGet, Path: "/", Tag: tagVersions,
		Summary: "List the supported API versions", ReadsQuery: true,
		Description: "Requires no token. The query string is ignored.",
		Variants:    []route.Variant{route.From(v(0), versionList, route.Example(showing(microversion.VersionsDocument())))},
	}}
}

func versionList(ctx context.Context, _ *none) (*cached[microversion.Document], error) {
	return answer(ctx, microversion.VersionsDocument(), now()), nil
}
