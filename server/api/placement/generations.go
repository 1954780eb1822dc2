package placement

import (
	"context"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
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
