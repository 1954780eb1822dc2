package placement

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// ProviderPage is the response with a page of providers, or all of them.
type ProviderPage struct {
	Providers []ProviderWithParts `json:"resource_providers" doc:"Providers in the requested order."`
	Links     []Link              `json:"resource_providers_links,omitempty" nullable:"false" doc:"The link to the next page; missing on the last page."`
	Total     *Total              `json:"total,omitempty" nullable:"false" doc:"Number of matching providers; only with total=true."`
}

// ProviderWithParts is a provider with the parts that the request includes.
type ProviderWithParts struct {
	ProviderV14
	Inventories *jsonbody.Ordered[Inventory] `json:"inventories,omitempty" nullable:"false" doc:"Inventories by resource class; only with include=inventories."`
	Usages      *amounts                     `json:"usages,omitempty" nullable:"false" doc:"Used amounts by resource class; only with include=usages."`
	Traits      *[]string                    `json:"traits,omitempty" nullable:"false" doc:"Names of its traits; only with include=traits."`
	Aggregates  *uuids                       `json:"aggregates,omitempty" nullable:"false" doc:"Its aggregates; only with include=aggregates."`
}

var (
	providerPaging = &pagedList{
		Name: "resource_providers", Path: "/resource_providers", Format: "p1",
		Sorts:     []string{byCreation, byCreationDesc, byName},
		HasFields: true, HasSearch: true, HasTotal: true, SearchOrder: "names", SearchSort: byName,
	}
	// providerParts are the parts that include names, in the order of their members.
	providerParts = []string{partInventories, partUsages, partTraits, partAggregates}
	// providerRules checks the rule of the list and those of its parts. The parameters of 1.39 keep their rules for
	// repetitions.
	providerRules = rulesOfQuery{
		rule: policy.ProvidersList,
		once: []string{includeParam, fieldsParam, limitParam, markerParam, sortParam, searchParam, totalParam},
		further: func(values querystring.Values) []string {
			return rulesOfParts(includedTexts(values))
		},
	}
	providerPageParams = slices.Concat(providerParams, route.Params{{
		Name: includeParam, Example: "inventories,usages",
		Doc: "Parts that each provider has in the response, separated by commas: `inventories`, `usages`, `traits`, `aggregates`. " +
			"Each part also needs the policy rule of its own request.",
	}}, providerPaging.params())
	providerPageSchema = providerPageParams.Schema(berth14)
)

// providerPageFailures returns the failures that the list has in addition.
func providerPageFailures() []route.Failure {
	all := []route.Failure{unknownInclude.From(berth14)}
	for _, failure := range providerPaging.failures() {
		if failure.Name != invalidQuery.Name { // the list has it at all versions
			all = append(all, failure.From(berth14))
		}
	}
	return all
}

func (o *operations) providerPageVariant() route.Variant {
	return route.From(berth14, o.providerPage, route.QueryOf(providerPageParams), route.Returns[ProviderPage](),
		route.DescribedFrom(berth14, "A listed provider satisfies all filters. Without `limit` the list is not paged; the server streams it "+
			"while it reads the rows. A page with a filter can be short or empty and still have a link to the next one."),
		route.Example(func(ctx context.Context) any {
			return ProviderPage{Providers: []ProviderWithParts{
				{ProviderV14: providerV14(ctx, hostRow)}, {ProviderV14: providerV14(ctx, nodeRow)},
			}}
		}))
}

// providerPageQuery is a parsed query string of the list.
type providerPageQuery struct {
	values querystring.Values
	page   page
	parts  []string
	fields selection
	filter store.ProviderFilter
}

func (o *operations) providerPage(ctx context.Context, _ *none) (*streamedResponse, error) {
	asked, err := readProviderPage(ctx)
	if err != nil {
		return nil, err
	}
	wanted := asked.wanted()
	if asked.page.After != nil {
		after, ok := providerPosition(&asked.page)
		if !ok {
			return nil, invalidMarker.Of()
		}
		wanted.After = after
	}
	rows, err := o.store.ProviderPage(ctx, wanted)
	if err != nil {
		return nil, providerListFaults.Translate(err)
	}
	modified := &rows.Newest
	if rows.Newest.IsZero() {
		modified = now()
	}
	result := &streamedResponse{Body: func(to huma.Context) {
		defer rows.Close()
		writeProviderPage(ctx, to, rows, asked)
	}}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, modified)
	return result, nil
}

// readProviderPage parses the query string. The filters come first, with the errors that they have without pages.
func readProviderPage(ctx context.Context) (*providerPageQuery, error) {
	values, err := query(ctx, providerPageSchema)
	if err != nil {
		return nil, err
	}
	asked := &providerPageQuery{values: values}
	if asked.filter, err = providerFilter(values, microversion.From(ctx)); err != nil {
		return nil, err
	}
	if asked.page, err = providerPaging.parse(values); err != nil {
		return nil, err
	}
	if asked.parts, err = included(values, providerParts); err != nil {
		return nil, err
	}
	absent := slices.DeleteFunc(slices.Clone(providerParts), asked.includes)
	asked.fields, err = selectFields[ProviderWithParts](values, providerPaging, absent...)
	return asked, err
}

func (q *providerPageQuery) includes(part string) bool { return slices.Contains(q.parts, part) }

// shows reports whether a part is included and selected.
func (q *providerPageQuery) shows(part string) bool { return q.includes(part) && q.fields.has(part) }

// wanted returns the page for the store, at the beginning of the list.
func (q *providerPageQuery) wanted() *store.ProviderPage {
	providerPage := &store.ProviderPage{
		Filter: q.filter, Sort: q.page.Sort, Search: q.page.Search, Limit: q.page.Limit,
		HasInventories: q.shows(partInventories) || q.shows(partUsages),
		HasTraits:      q.shows(partTraits), HasAggregates: q.shows(partAggregates),
	}
	if providerPage.Search != "" {
		providerPage.Sort = store.ProvidersByName
	}
	if q.page.Total {
		providerPage.MaxTotal = maxTotal
	}
	return providerPage
}

// Beginnings of positions in a search: after a provider that it found by its name, or by its UUID.
const (
	afterName = "n"
	afterUUID = "u"
)

// providerPosition parses the position in a marker; it reports false if the list has not written it.
func providerPosition(p *page) (*store.ProviderPosition, bool) {
	text := *p.After
	switch p.order() {
	case byName:
		return &store.ProviderPosition{Name: text}, isName(text)
	case searchParam:
		if name, ok := strings.CutPrefix(text, afterName); ok {
			return &store.ProviderPosition{Name: name}, isName(name)
		}
		id, ok := uuidlike.ParseHyphenated(strings.TrimPrefix(text, afterUUID))
		return &store.ProviderPosition{UUID: &id}, ok && strings.HasPrefix(text, afterUUID)
	default:
		id, err := strconv.ParseInt(text, 10, 64)
		return &store.ProviderPosition{ID: id}, err == nil
	}
}

// isName reports whether the database can store a text.
func isName(text string) bool {
	return text != "" && utf8.ValidString(text) && !strings.Contains(text, "\x00")
}

// providerPositionText is the inverse of providerPosition.
func providerPositionText(p *page, at *store.ProviderPosition) string {
	switch p.order() {
	case byName:
		return at.Name
	case searchParam:
		if at.UUID != nil {
			return afterUUID + at.UUID.String()
		}
		return afterName + at.Name
	default:
		return strconv.FormatInt(at.ID, 10)
	}
}

// shape converts a provider to its wire type.
func (q *providerPageQuery) shape(ctx context.Context, from *store.ListedProvider) selected[ProviderWithParts] {
	provider := ProviderWithParts{ProviderV14: ProviderV14{
		ProviderV0: ProviderV0{UUID: from.UUID, Name: from.Name, Generation: from.Generation},
		Parent:     from.Parent, Root: from.Root,
	}}
	if q.fields.has("links") {
		provider.Links = providerLinks(ctx, from.UUID)
	}
	if q.shows(partInventories) {
		list := make(jsonbody.Ordered[Inventory], 0, len(from.Inventories))
		for i := range from.Inventories {
			list = append(list, jsonbody.Entry[Inventory]{Key: from.Inventories[i].Class, Value: toWire(from.Inventories[i])})
		}
		provider.Inventories = &list
	}
	if q.shows(partUsages) {
		list := make(amounts, 0, len(from.Inventories))
		for i := range from.Inventories {
			list = append(list, jsonbody.Entry[int64]{Key: from.Inventories[i].Class, Value: from.Inventories[i].Used})
		}
		provider.Usages = &list
	}
	if q.shows(partTraits) {
		provider.Traits = &from.Traits
	}
	if q.shows(partAggregates) {
		provider.Aggregates = (*uuids)(&from.Aggregates)
	}
	return of(&q.fields, provider)
}

// writeProviderPage encodes the page while it reads the rows. An error before the first byte becomes the response.
func writeProviderPage(ctx context.Context, to huma.Context, rows *store.ProviderPageRows, asked *providerPageQuery) {
	to.SetHeader("Content-Type", "application/json")
	w := to.BodyWriter()
	const first = `{"resource_providers": [`
	separator := first
	for provider, err := range rows.All() {
		var encoded []byte
		if err == nil {
			encoded, err = asked.shape(ctx, &provider).MarshalJSON()
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
	if separator == first {
		_, _ = io.WriteString(w, first) // the writer reports its errors itself
	}
	_, _ = io.WriteString(w, "]"+asked.trailer(ctx, rows)+"}\n")
}

// trailer returns the members after the providers: the link to the next page, and the total.
func (q *providerPageQuery) trailer(ctx context.Context, rows *store.ProviderPageRows) string {
	var text string
	if rows.Next != nil {
		links, _ := json.Marshal(providerPaging.next(ctx, q.values, &q.page, providerPositionText(&q.page, rows.Next))) // strings
		text = `, "resource_providers_links": ` + string(links)
	}
	if q.page.Total {
		total, _ := json.Marshal(Total{Count: rows.Total, Exact: rows.TotalExact}) // numbers
		text += `, "total": ` + string(total)
	}
	return text
}
