package placement

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
)

// Traits is the response with names of traits.
type Traits struct {
	Traits []string `json:"traits" doc:"Names of traits."`
}

// ProviderTraits is the response with a provider's traits and generation.
type ProviderTraits struct {
	Traits
	Generation int64 `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
}

// traitNames is a list of trait names in a request.
type traitNames []string

// Schema implements huma.SchemaProvider.
func (traitNames) Schema(huma.Registry) *huma.Schema {
	shortest, longest := 1, 255
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{
		Type: huma.TypeString, MinLength: &shortest, MaxLength: &longest,
	}}
}

// ProviderTraitsReplace is the request that replaces a provider's traits.
type ProviderTraitsReplace struct {
	Traits     traitNames   `json:"traits" doc:"All new traits of the provider. They must exist."`
	Generation jsonbody.Int `json:"resource_provider_generation" doc:"The provider generation that the client read." example:"4"`
}

// traitPath is the input of operations on one trait.
type traitPath struct {
	Name string `path:"name" doc:"The trait." example:"CUSTOM_GOLD"`
}

var (
	traitListParams = route.Params{
		{Name: "name", Example: "startswith:CUSTOM_",
			Doc: "`in:A,B`: traits with these names. `startswith:CUSTOM_`: traits whose names have this prefix."},
		{Name: "associated", Type: huma.TypeBoolean, Example: true,
			Doc: "`true`: traits that a provider has; `false`: all others."},
	}
	traitListSchema = traitListParams.Schema(v(6))
)

func (o *operations) traitOperations() []*route.Operation {
	const all, single = "/traits", "/traits/{name}"
	list := route.Example(showing(namesOf(namedRows("HW_CPU_X86_AVX2", exampleTrait))))
	return []*route.Operation{{
		ID: "trait-list", Method: http.MethodGet, Path: all, Tag: tagTraits, Rule: policy.TraitsList,
		ReadsQuery: true, Summary: "List traits", Checks: readsSince,
		Fails:    []route.Failure{invalidQuery, invalidNameFilter, invalidAssociated},
		Variants: []route.Variant{route.From(v(6), o.traitList, route.QueryOf(traitListParams), list)},
	}, {
		ID: "trait-show", Method: http.MethodGet, Path: single, Tag: tagTraits, Rule: policy.TraitsShow,
		Summary: "Check whether a trait exists", Checks: only, Fails: []route.Failure{traitNotFound},
		Variants: []route.Variant{route.From(v(6), o.traitShow)},
	}, {
		ID: "trait-ensure", Method: http.MethodPut, Path: single, Tag: tagTraits, Rule: policy.TraitsUpdate,
		Summary: "Create a custom trait unless it exists", Checks: only, Fails: []route.Failure{invalidTraitName},
		Variants: []route.Variant{route.From(v(6), o.traitEnsure,
			route.Status(http.StatusCreated), route.SecondStatus("204", "The trait existed."))},
	}, {
		ID: "trait-delete", Method: http.MethodDelete, Path: single, Tag: tagTraits, Rule: policy.TraitsDelete,
		Summary: "Delete a custom trait", Checks: only,
		Fails:    []route.Failure{traitNotFound, traitNotDeleted, traitInUse},
		Variants: []route.Variant{route.From(v(6), o.traitDelete)},
	}}
}

func (o *operations) providerTraitOperations() []*route.Operation {
	const path = "/resource_providers/{uuid}/traits"
	// Unlike other replacements, this one validates its body before it looks up the provider.
	replace := route.Body[providerPath]{Example: map[string]any{
		"traits": []string{"HW_CPU_X86_AVX2"}, "resource_provider_generation": 4,
	}}
	list := func(generation int64) route.Doc {
		return route.Example(showing(ProviderTraits{Traits: namesOf(namedRows("HW_CPU_X86_AVX2")), Generation: generation}))
	}
	return []*route.Operation{{
		ID: "provider-trait-list", Method: http.MethodGet, Path: path, Tag: tagTraits, Rule: policy.ProviderTraitsList,
		Summary: "List a provider's traits", Checks: readsSince, Fails: []route.Failure{providerNotFoundRepeated},
		Variants: []route.Variant{route.From(v(6), o.providerTraitList, list(4))},
	}, {
		ID: "provider-trait-replace", Method: http.MethodPut, Path: path, Tag: tagTraits, Rule: policy.ProviderTraitsUpdate,
		Summary: "Replace a provider's traits", Checks: writesSince,
		Fails:       []route.Failure{providerNotFound, staleSet, unknownTraits},
		Description: "The generation is incremented only if the set of traits changes.",
		Variants:    []route.Variant{route.Write(v(6), replace, o.providerTraitReplace, list(5))},
	}, {
		ID: "provider-trait-clear", Method: http.MethodDelete, Path: path, Tag: tagTraits, Rule: policy.ProviderTraitsDelete,
		Summary: "Delete a provider's traits", Checks: only, Fails: []route.Failure{providerNotFound, staleProviderNow},
		Query:    comparesProvider,
		Variants: []route.Variant{route.From(v(6), o.providerTraitClear)},
	}, o.providerTraitPatchOperation(path, list(5))}
}

func (o *operations) traitList(ctx context.Context, _ *none) (*cached[Traits], error) {
	values, err := query(ctx, traitListSchema)
	if err != nil {
		return nil, err
	}
	filter, err := traitFilter(values)
	if err != nil {
		return nil, err
	}
	found, err := o.store.TraitList(ctx, filter)
	if err != nil {
		return nil, err
	}
	return answer(ctx, namesOf(found), newest(found)), nil
}

// traitFilter parses the filters. Any operator except in and startswith disables the filter, and a prefix is a LIKE
// pattern; clients rely on both.
func traitFilter(values querystring.Values) (filter store.TraitFilter, err error) {
	if name, ok := values.Last("name"); ok {
		operator, operand, ok := strings.Cut(name, ":")
		if !ok {
			return filter, invalidNameFilter.Of(name)
		}
		switch operator {
		case "in":
			filter.Names = strings.Split(operand, ",")
		case "startswith":
			pattern := operand + "%"
			filter.Prefix = &pattern
		}
	}
	if associated, ok := values.Last("associated"); ok {
		wanted := strings.EqualFold(associated, "true")
		if !wanted && !strings.EqualFold(associated, "false") {
			return filter, invalidAssociated.Of()
		}
		filter.Associated = &wanted
	}
	return filter, nil
}

func namesOf(found []store.Named) Traits {
	traits := Traits{Traits: make([]string, 0, len(found))}
	for _, trait := range found {
		traits.Traits = append(traits.Traits, trait.Name)
	}
	return traits
}

// customTrait matches the names of custom traits.
var customTrait = regexp.MustCompile(customPattern)

// ensured is the response to the creation of something that may already exist.
type ensured struct {
	Status       int
	Location     string `header:"Location" doc:"URL of the trait." example:"http://placement.example.org/traits/CUSTOM_GOLD"`
	LastModified string `header:"Last-Modified" doc:"Time of the creation of the trait."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
}

// ensuredStatus returns 201 for a created row and 204 for an existing one.
func ensuredStatus(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusNoContent
}

func (o *operations) traitEnsure(ctx context.Context, in *traitPath) (*ensured, error) {
	if !customTrait.MatchString(in.Name) || len(in.Name) > 255 {
		return nil, invalidTraitName.Of()
	}
	created, at, err := o.store.TraitEnsure(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	result := &ensured{Status: ensuredStatus(created), Location: location(ctx, "/traits/"+in.Name)}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, &at)
	return result, nil
}

// noBody is a response with headers only.
type noBody struct {
	LastModified string `header:"Last-Modified" doc:"Time of the creation of the trait."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
}

func (o *operations) traitShow(ctx context.Context, in *traitPath) (*noBody, error) {
	created, err := o.store.TraitShow(ctx, in.Name)
	if err != nil {
		return nil, traitFaults(in).Translate(err)
	}
	body := &noBody{}
	body.LastModified, body.CacheControl = cacheHeaders(ctx, &created)
	return body, nil
}

func (o *operations) traitDelete(ctx context.Context, in *traitPath) (*empty, error) {
	return nil, traitFaults(in).Translate(o.store.TraitDelete(ctx, in.Name))
}

func traitFaults(in *traitPath) route.RuleFaults {
	return route.RuleFaults{
		store.TraitNotFound: traitNotFound.Fixed(in.Name),
		store.TraitStandard: traitNotDeleted.Fixed(in.Name),
		store.TraitInUse:    traitInUse.Fixed(in.Name),
	}
}

func (o *operations) providerTraitList(ctx context.Context, in *providerPath) (*cached[ProviderTraits], error) {
	generation, found, err := o.store.ProviderTraitList(ctx, in.id())
	if err != nil {
		return nil, route.RuleFaults{store.ProviderNotFound: providerNotFoundRepeated.Fixed(in.UUID)}.Translate(err)
	}
	return answer(ctx, ProviderTraits{Traits: namesOf(found), Generation: generation}, newest(found)), nil
}

func (o *operations) providerTraitReplace(
	ctx context.Context, in *providerPath, body *ProviderTraitsReplace,
) (*cached[ProviderTraits], error) {
	sent := int64(body.Generation)
	generation, found, err := o.store.ProviderTraitReplace(ctx, in.id(), sent, body.Traits)
	recordProvider(ctx, in.id(), &sent, &generation, err)
	if err != nil {
		return nil, aggregateFaults(in).With(route.RuleFaults{
			store.TraitNotFound: func(values store.Values) *fault.Error { return unknownTraits.Of(values.Traits) },
		}).Translate(err)
	}
	return answer(ctx, ProviderTraits{Traits: namesOf(found), Generation: generation}, newest(found)), nil
}

func (o *operations) providerTraitClear(ctx context.Context, in *providerPath) (*empty, error) {
	sent := sentGeneration(ctx, providerGenerationParam)
	err := o.store.ProviderTraitClear(ctx, in.id(), sent)
	recordProvider(ctx, in.id(), sent, nil, err)
	return nil, aggregateFaults(in).With(route.RuleFaults{
		store.ProviderGenerationConflict: providerConflict(in.UUID),
	}).Translate(err)
}
