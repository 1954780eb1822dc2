package placement

import (
	"context"
	"encoding/json"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
	"github.com/berthd/berth/server/uuidlike"
)

// ProvidersV0 is the list up to 1.13.
type ProvidersV0 struct {
	Providers []ProviderV0 `json:"resource_providers" doc:"In the order of their creation."`
}

// ProvidersV14 is the list with places in trees.
type ProvidersV14 struct {
	Providers []ProviderV14 `json:"resource_providers" doc:"In the order of their creation."`
}

// providerParams are the filters, with the microversion that brings each and the
// one from which it may be repeated.
var providerParams = []struct {
	since, repeats microversion.Version
	param          querystring.Param
	doc            func(microversion.Version) string
	example        string
}{
	{v(0), never, querystring.Param{Name: "name"}, text("Exactly this name."), hostRow.Name},
	{v(0), never, querystring.Param{Name: "uuid", UUID: true}, text("Exactly this uuid."), exampleHost},
	{v(3), v(24), querystring.Param{Name: "member_of"}, memberOfDoc, "in:" + exampleGroup},
	{v(4), never, querystring.Param{Name: "resources"},
		text("The provider itself has room for these amounts."), "VCPU:2,MEMORY_MB:1024"},
	{v(14), never, querystring.Param{Name: "in_tree", UUID: true}, text("In the same tree as this provider."), exampleHost},
	{v(18), v(39), querystring.Param{Name: "required"}, requiredDoc, "HW_CPU_X86_VMX,CUSTOM_GOLD"},
}

// never is after all microversions.
const never = microversion.Max + 1

func text(doc string) func(microversion.Version) string {
	return func(microversion.Version) string { return doc }
}

func memberOfDoc(at microversion.Version) string {
	doc := "In this aggregate, or in any of `in:UUID,UUID`."
	if at.ForbidsMemberOf() {
		doc += " `!UUID` and `!in:UUID,UUID` exclude."
	}
	if at.RepeatsMemberOf() {
		doc += " If it is repeated, all must hold."
	}
	return doc
}

func requiredDoc(at microversion.Version) string {
	doc := "The provider itself has all these traits."
	if at.ForbidsTraits() {
		doc += " `!TRAIT` forbids one."
	}
	if at.HasAnyOfTraits() {
		return doc + " `in:TRAIT,TRAIT` asks for any. If it is repeated, all must hold."
	}
	return doc + " If it is repeated, the last counts."
}

func providerListSchema(at microversion.Version) *querystring.Schema {
	var known []querystring.Param
	for _, row := range providerParams {
		if row.since <= at {
			known = append(known, row.param)
		}
	}
	return querystring.MustSchema(known...)
}

func providerListDocs(at microversion.Version) []*huma.Param {
	var docs []*huma.Param
	for _, row := range providerParams {
		if row.since > at {
			continue
		}
		doc := &huma.Param{
			Name: row.param.Name, In: "query", Description: row.doc(at),
			Schema: &huma.Schema{Type: huma.TypeString}, Example: row.example,
		}
		if row.param.UUID {
			doc.Schema.Format = "uuid"
		}
		if row.repeats <= at {
			doc.Schema, doc.Example = &huma.Schema{Type: huma.TypeArray, Items: doc.Schema}, []string{row.example}
		}
		docs = append(docs, doc)
	}
	return docs
}

// providerListVariants has one for each version that brings a filter or changes
// the shape of a provider.
func (o *operations) providerListVariants() []route.Variant {
	var variants []route.Variant
	for _, since := range []microversion.Version{v(0), v(3), v(4), v(14), v(18)} {
		schema, docs := providerListSchema(since), route.Query(providerListDocs)
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
	return variants
}

// streamed is an answer whose body is written as it is found.
type streamed struct {
	LastModified string `header:"Last-Modified" doc:"When the newest of the list was last written; now, for an empty list."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         func(huma.Context)
}

func providerList[P any](
	o *operations, schema *querystring.Schema, shape func(context.Context, store.Provider) P,
) func(context.Context, *none) (*streamed, error) {
	return func(ctx context.Context, _ *none) (*streamed, error) {
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
			return nil, providerListWords.say(err)
		}
		modified := &rows.Newest
		if rows.Newest.IsZero() {
			modified = now()
		}
		made := &streamed{Body: func(to huma.Context) {
			defer rows.Close()
			writeProviders(ctx, to, rows, shape)
		}}
		made.LastModified, made.CacheControl = cacheHeaders(ctx, modified)
		return made, nil
	}
}

var providerListWords = words{
	store.TraitUnknown: func(values store.Values) *fault.Error {
		return fault.New(fault.Invalid, `Invalid trait(s) in "required" parameter: No such trait(s): %s.`, values.Traits)
	},
	store.ClassUnknown: func(values store.Values) *fault.Error {
		return fault.New(fault.Invalid, "Invalid resource class in resources parameter: No such resource class %s.", values.Class)
	},
}

// writeProviders streams the list. An error after the first byte cuts the
// connection: half a list must not look whole.
func writeProviders[P any](
	ctx context.Context, to huma.Context, rows *store.ProviderRows, shape func(context.Context, store.Provider) P,
) {
	to.SetHeader("Content-Type", "application/json")
	w := to.BodyWriter()
	separator := `{"resource_providers": [`
	for provider, err := range rows.All() {
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		encoded, err := json.Marshal(shape(ctx, provider))
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		// A client that went away shows in the next read from the database.
		_, _ = io.WriteString(w, separator)
		_, _ = w.Write(encoded)
		separator = ", "
	}
	if separator != ", " {
		_, _ = io.WriteString(w, separator)
	}
	_, _ = io.WriteString(w, "]}\n")
}

// providerFilter reads the filters. Of a parameter that must not repeat the last
// value counts, as the schema has seen it. The order is that of the errors.
func providerFilter(values querystring.Values, at microversion.Version) (filter store.ProviderFilter, err error) {
	if name, ok := values.Last("name"); ok && name != "" {
		filter.Name = &name
	}
	for param, into := range map[string]**uuid.UUID{"uuid": &filter.UUID, "in_tree": &filter.InTree} {
		if text, ok := values.Last(param); ok {
			id, _ := uuidlike.Parse(text) // the schema has seen that it is one
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
