package placement

import (
	"context"
	"encoding/json"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// ProvidersV0 is the response up to 1.13.
type ProvidersV0 struct {
	Providers []ProviderV0 `json:"resource_providers" doc:"Providers in the order of their creation."`
}

// ProvidersV14 adds the positions in trees.
type ProvidersV14 struct {
	Providers []ProviderV14 `json:"resource_providers" doc:"Providers in the order of their creation."`
}

// providerParams are the filters.
var providerParams = route.Params{
	{Name: "name", Doc: "The provider has this name.", Example: hostRow.Name},
	{Name: "uuid", Check: querystring.Param{UUID: true}, Doc: "The provider has this UUID.", Example: exampleHost},
	{Name: memberOfParam, Since: v(3), Repeats: v(24), DocAt: memberOfDoc, Example: "in:" + exampleGroup},
	{Name: resourcesParam, Since: v(4), Doc: "The provider itself has free capacity for these amounts.", Example: "VCPU:2,MEMORY_MB:1024"},
	{Name: inTreeParam, Since: v(14), Check: querystring.Param{UUID: true}, Doc: "The provider is in the same tree as this one.", Example: exampleHost},
	{Name: requiredParam, Since: v(18), Repeats: v(39), DocAt: requiredDoc, Example: "HW_CPU_X86_VMX,CUSTOM_GOLD"},
}

func memberOfDoc(at microversion.Version) string {
	doc := "The provider is a member of this aggregate, or of any in `in:UUID,UUID`."
	if at.ForbidsMemberOf() {
		doc += " `!UUID` and `!in:UUID,UUID` exclude."
	}
	if at.RepeatsMemberOf() {
		doc += " All of repeated values apply."
	}
	return doc
}

func requiredDoc(at microversion.Version) string {
	doc := "The provider itself has all these traits."
	if at.ForbidsTraits() {
		doc += " `!TRAIT` is a forbidden trait."
	}
	if at.HasAnyOfTraits() {
		return doc + " `in:TRAIT,TRAIT` requires any of the traits. All of repeated values apply."
	}
	return doc + " The last of repeated values applies."
}

// providerListVariants returns a variant for each microversion that adds a filter or changes the format of a provider.
func (o *operations) providerListVariants() []route.Variant {
	var variants []route.Variant
	for _, since := range []microversion.Version{v(0), v(3), v(4), v(14), v(18)} {
		schema, docs := providerParams.Schema(since), route.QueryOf(providerParams)
		if since < v(14) {
			variants = append(variants, route.From(since, providerList(o, schema, providerV0),
				docs, route.Returns[ProvidersV0](), route.Example(func(ctx context.Context) any {
					return ProvidersV0{Providers: []ProviderV0{providerV0(ctx, hostRow)}}
				})))
			continue
		}
		variants = append(variants, route.From(since, providerList(o, schema, providerV14),
			docs, route.Returns[ProvidersV14](), route.Example(func(ctx context.Context) any {
				return ProvidersV14{Providers: []ProviderV14{providerV14(ctx, hostRow), providerV14(ctx, nodeRow)}}
			})))
	}
	return append(variants, o.providerPageVariant())
}

// streamedResponse is a response whose body is encoded while the rows are read.
type streamedResponse struct {
	LastModified string `header:"Last-Modified" doc:"Time of the latest write of a listed provider, or the current time if the list is empty."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         func(huma.Context)
}

func providerList[P any](
	o *operations, schema *querystring.Schema, shape func(context.Context, store.Provider) P,
) func(context.Context, *none) (*streamedResponse, error) {
	return func(ctx context.Context, _ *none) (*streamedResponse, error) {
		values, err := query(ctx, schema)
		if err != nil {
			return nil, err
		}
		filter, err := providerFilter(values, microversion.From(ctx))
		if err != nil {
			return nil, err
		}
		rows, err := o.store.ProviderList(ctx, filter)
		if err != nil {
			return nil, providerListFaults.Translate(err)
		}
		modified := &rows.Newest
		if rows.Newest.IsZero() {
			modified = now()
		}
		result := &streamedResponse{Body: func(to huma.Context) {
			defer rows.Close()
			writeProviders(ctx, to, rows, shape)
		}}
		result.LastModified, result.CacheControl = cacheHeaders(ctx, modified)
		return result, nil
	}
}

var providerListFaults = route.RuleFaults{
	store.TraitNotFound: func(values store.Values) *fault.Error {
		return invalidRequired.Of(values.Traits)
	},
	store.ClassNotFound: func(values store.Values) *fault.Error {
		return invalidResources.Of(values.Class)
	},
}

// writeProviders encodes the list. An error before the first byte becomes the response.
func writeProviders[P any](
	ctx context.Context, to huma.Context, rows *store.ProviderRows, shape func(context.Context, store.Provider) P,
) {
	to.SetHeader("Content-Type", "application/json")
	w := to.BodyWriter()
	separator := `{"resource_providers": [`
	for provider, err := range rows.All() {
		var encoded []byte
		if err == nil {
			encoded, err = json.Marshal(shape(ctx, provider))
		}
		if err == nil {
			_, err = io.WriteString(w, separator)
		}
		if err == nil {
			_, err = w.Write(encoded)
		}
		if err != nil {
			route.Fail(to, providerListFaults.Translate(err))
			return
		}
		separator = ", "
	}
	if separator != ", " {
		_, _ = io.WriteString(w, separator) // the writer reports its errors itself
	}
	_, _ = io.WriteString(w, "]}\n")
}

// providerFilter parses the filters. The last value of a parameter without repetition applies; the schema validated
// that one. The order of the filters is the order of errors.
func providerFilter(values querystring.Values, at microversion.Version) (filter store.ProviderFilter, err error) {
	if name, ok := values.Last("name"); ok && name != "" {
		filter.Name = &name
	}
	for param, into := range map[string]**uuid.UUID{"uuid": &filter.UUID, "in_tree": &filter.InTree} {
		if text, ok := values.Last(param); ok {
			id, _ := uuidlike.Parse(text) // the schema has validated it
			*into = &id
		}
	}
	if filter.MemberOf, filter.NotMemberOf, err = parseMemberOf("member_of", values.All("member_of"), at); err != nil {
		return filter, err
	}
	if filter.Required, filter.Forbidden, err = parseRequired(values.All("required"), at); err != nil {
		return filter, err
	}
	if text, ok := values.Last("resources"); ok {
		filter.Resources, err = parseResources(text)
	}
	return filter, err
}
