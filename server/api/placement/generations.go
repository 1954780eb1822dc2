package placement

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// These are the names of generations in query strings, which are those of the members of bodies.
const (
	providerGenerationParam = "resource_provider_generation"
	consumerGenerationParam = "consumer_generation"
)

// comparesProvider and comparesConsumer are the parameters of a DELETE that compares a generation.
var (
	comparesProvider = generationParameter(providerGenerationParam, "The provider generation that the client read. "+
		"The request is a conflict if the provider has another one. Default: not compared.")
	comparesConsumer = generationParameter(consumerGenerationParam, "The consumer generation that the client read. "+
		"The request is a conflict if the consumer has another one. Default: not compared.")
)

func generationParameter(name, doc string) route.Params {
	least := 0.0
	return route.Params{{
		Name: name, Check: querystring.Param{Pattern: "^[0-9]{1,18}$"}, Since: berth13, Doc: doc,
		Schema: &huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: &least}, Example: 4,
	}}
}

// sentGeneration returns the generation in the query string, which the table has checked; nil: none. Below the version
// of the parameter it is ignored.
func sentGeneration(ctx context.Context, name string) *int64 {
	if microversion.From(ctx) < berth13 {
		return nil
	}
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	if err != nil {
		return nil
	}
	text, ok := values.First(name)
	generation, err := strconv.ParseInt(text, 10, 64)
	if !ok || err != nil {
		return nil
	}
	return &generation
}

// generationOf converts an optional generation in a body.
func generationOf(sent *jsonbody.Int) *int64 {
	if sent == nil {
		return nil
	}
	generation := int64(*sent)
	return &generation
}

// staleProviderNow is the failure of the comparisons of provider generations that the extensions add.
var staleProviderNow = staleProvider("resource provider generation conflict for provider %s: actual: %d, given: %d",
	exampleHost, 5, 4).From(berth13)

// providerConflict returns the fault of a comparison. sent is the UUID as the client sent it.
func providerConflict(sent string) func(store.Values) *fault.Error {
	return func(values store.Values) *fault.Error {
		return staleProviderNow.Of(sent, *values.Actual, *values.Given)
	}
}

// recordProvider adds the generation of a written provider to the audit record. sent is the generation that the store
// compared, or nil if it compared none. after is the generation after the statement, or nil if the statement returns
// none.
func recordProvider(ctx context.Context, provider uuid.UUID, sent, after *int64, err error) {
	record := auditlog.From(ctx)
	if err != nil {
		record.Provider(auditlog.Generation{UUID: provider, Sent: sent})
		return
	}
	record.Provider(auditlog.Generation{UUID: provider, Before: sent, After: after})
}

// removedGeneration returns the generations of a resource that a DELETE removed, unless err is not nil. sent is the
// generation that the store compared, or nil.
func removedGeneration(id uuid.UUID, sent *int64, err error) auditlog.Generation {
	if err != nil {
		return auditlog.Generation{UUID: id, Sent: sent}
	}
	return auditlog.Generation{UUID: id, Before: sent, Removed: true}
}

// recordClaims adds the consumer generations to the audit record. If the store compared them, the generation after the
// write is the sent one plus one, or 1 for a new consumer. Otherwise both generations are unknown.
func recordClaims(ctx context.Context, claims []store.Claim, compared bool, err error) {
	record := auditlog.From(ctx)
	if record == nil {
		return
	}
	for _, claim := range claims {
		generation := auditlog.Generation{UUID: claim.Consumer}
		switch {
		case err != nil:
			generation.Sent = claim.Generation
		case len(claim.Allocations) == 0:
			generation.Before, generation.Removed = claim.Generation, true
		case compared:
			generation.Before, generation.After = claim.Generation, new(int64)
			*generation.After = 1
			if claim.Generation != nil {
				*generation.After += *claim.Generation
			}
		}
		record.Consumer(generation)
	}
}

// recordShapes adds the provider generations that a reshape compared. The reshape increments each one by a different
// amount and does not return the result.
func recordShapes(ctx context.Context, shapes []store.ReshapedProvider, err error) {
	for i := range shapes {
		recordProvider(ctx, shapes[i].Provider, &shapes[i].Generation, nil, err)
	}
}
