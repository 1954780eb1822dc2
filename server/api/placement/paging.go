package placement

import (
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// Parameters that lists of berth 1.4 share (docs/contract/berth/reading.md#paging). limitParam, sortParam and markerParam
// are theirs too.
const (
	fieldsParam  = "fields"
	searchParam  = "q"
	totalParam   = "total"
	includeParam = "include"

	byCreation     = "created_at"
	byCreationDesc = "-created_at"
	byName         = "name"

	maxPage   = 1000
	maxSearch = 200
	// maxTotal is the maximum number of items that total looks at.
	maxTotal = 10_000
	// maxNameMarker is the maximum length of a marker that contains a name: 200 characters of 4 bytes, in base64.
	maxNameMarker = 1100
)

// pagedList describes the paging of a list: which of the parameters it has.
type pagedList struct {
	// Name is the member of the response with the items, such as "consumers"; Path is the path of its links.
	Name, Path string
	// Format begins its markers: the list and the version of their format, such as "c1".
	Format string
	// Default is the limit of a request without one; 0: none.
	Default int
	// Sorts are the possible values of sort, the default first; nil: there is no such parameter.
	Sorts []string
	// HasFields, HasSearch and HasTotal tell whether it has fields, q and total.
	HasFields, HasSearch, HasTotal bool
	// SearchOrder is the order of the results of q, for the error of another sort: "names" or "uuids". SearchSort is the
	// only value of sort beside it; empty: none.
	SearchOrder, SearchSort string
}

// page is a requested page.
type page struct {
	// Limit is the maximum number of items; 0: no limit.
	Limit int
	// Sort is the order; empty: that of Search.
	Sort string
	// Search is q; empty: it is missing.
	Search string
	// After is the position after which the page begins, as the list has written it into a marker; nil: the beginning.
	After *string
	Total bool
}

// Total is the number of items that match the filters of a list, among the first maxTotal ones.
type Total struct {
	Count int  `json:"count" doc:"Number of matching items among the first 10,000 that counting looks at." example:"4210"`
	Exact bool `json:"exact" doc:"Whether it has looked at all: else there are at least so many."`
}

var (
	searchSort = route.Fails(fault.Invalid, "search-and-sort", "`sort` contradicts the order of `q`.",
		"'q' comes in the order of %s: 'sort' %s.", "uuids", "cannot be sent with it").WithCode(fault.CodeWriteBadValue)
	unknownFields = route.Fails(fault.Invalid, "unknown-field", "`fields` has a name that is not a member of the items.",
		"'fields' names %s, which %s do not have. They have %s.", "color", "consumers", "consumer_generation, consumer_type").
		WithCode(fault.CodeWriteBadValue)
	unknownInclude = route.Fails(fault.Invalid, "unknown-part", "`include` has an unknown name.",
		"'include' names %s; known are %s.", "color", "aggregates, inventories, traits, usages").WithCode(fault.CodeWriteBadValue)
	tooManyValues = route.Fails(fault.Invalid, "too-many-values", "A parameter has too many values.",
		"'%s' has %d values, at most %d are possible.", "uuid", maxValues+1, maxValues).WithCode(fault.CodeWriteBadValue)
	invalidTime = route.Fails(fault.Invalid, "invalid-time", "A value is not a time with a zone (RFC 3339).",
		"Invalid query string parameters: '%s' is not a 'date-time' with a zone, such as 2026-11-20T00:00:00Z.", "yesterday")

	pagingFailures = []route.Failure{invalidQuery, queryRepeated, invalidMarker}
)

// firstSort is the order of a request without sort.
func (l *pagedList) firstSort() string {
	if l.Sorts == nil {
		return byCreation
	}
	return l.Sorts[0]
}

// failures returns the failures of the paging parameters.
func (l *pagedList) failures() []route.Failure {
	all := slices.Clone(pagingFailures)
	if l.HasSearch {
		all = append(all, searchSort)
	}
	if l.HasFields {
		all = append(all, unknownFields)
	}
	return all
}

// params returns the paging parameters.
func (l *pagedList) params() route.Params {
	longest, low, high, shortest, most := l.maxMarker(), 1.0, float64(maxPage), 1, maxSearch
	limit := "Maximum number of items of a page. A page can be shorter and still have a link to the next one. Default: none, all items."
	if l.Default > 0 {
		limit = strings.Replace(limit, "none, all items", strconv.Itoa(l.Default), 1)
	}
	params := route.Params{
		{Name: limitParam, Check: querystring.Param{Pattern: "^([1-9][0-9]{0,2}|1000)$"}, Doc: limit,
			Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high}, Example: 100},
		{Name: markerParam, Check: querystring.Param{MaxLength: longest}, Doc: "Position after the page before, from its link. Do not construct it.",
			Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest}, Example: l.marker(l.firstSort(), "3")},
	}
	if l.Sorts != nil {
		params = append(params, route.Param{Name: sortParam, Check: querystring.Param{Enum: l.Sorts},
			Doc: "Order of the items. Default: `" + l.Sorts[0] + "`.", Example: l.Sorts[len(l.Sorts)-1]})
	}
	if l.HasFields {
		params = append(params, route.Param{Name: fieldsParam, Example: "uuid",
			Doc: "Names of members, separated by commas: the items have only these, and `uuid`. Default: all."})
	}
	if l.HasSearch {
		params = append(params, route.Param{Name: searchParam, Check: querystring.Param{MinLength: 1, MaxLength: maxSearch},
			Doc:    "Beginning of the UUIDs of the items, or of their names if they have names. The results are in the order of " + l.SearchOrder + ".",
			Schema: &huma.Schema{Type: huma.TypeString, MinLength: &shortest, MaxLength: &most}, Example: "c0ffee00"})
	}
	if l.HasTotal {
		params = append(params, route.Param{Name: totalParam, Check: querystring.Param{Enum: []string{"true"}},
			Doc:    "Adds the number of matching items. Counting looks at 10,000 items at most: if there are more, exact is false.",
			Schema: &huma.Schema{Type: huma.TypeBoolean, Enum: []any{true}}, Example: true})
	}
	return params
}

func (l *pagedList) maxMarker() int {
	if slices.Contains(l.Sorts, byName) {
		return maxNameMarker
	}
	return maxMarker
}

// parse reads the paging parameters, which the schema has validated.
func (l *pagedList) parse(values querystring.Values) (result page, err error) {
	result.Limit = l.Default
	if text, ok := values.First(limitParam); ok {
		result.Limit, _ = strconv.Atoi(text)
	}
	result.Search, _ = values.First(searchParam)
	result.Total = values.Has(totalParam)
	sort, sorted := values.First(sortParam)
	switch {
	case result.Search != "" && sorted && sort != l.SearchSort:
		only := "cannot be sent with it"
		if l.SearchSort != "" {
			only = "can only be '" + l.SearchSort + "'"
		}
		return result, searchSort.Of(l.SearchOrder, only)
	case result.Search == "" && sorted:
		result.Sort = sort
	case result.Search == "":
		result.Sort = l.firstSort()
	}
	if text, ok := values.First(markerParam); ok {
		after, ok := l.position(text, result.order())
		if !ok {
			return result, invalidMarker.Of()
		}
		result.After = &after
	}
	return result, nil
}

// order names the order of the page in markers.
func (p *page) order() string {
	if p.Search != "" {
		return searchParam
	}
	return p.Sort
}

// marker returns the marker of the page after a position.
func (l *pagedList) marker(order, position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(l.Format + ":" + order + ":" + position))
}

// position is the inverse of marker. It reports false for a marker of another list, version or order.
func (l *pagedList) position(marker, order string) (string, bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(marker)
	if err != nil || base64.RawURLEncoding.EncodeToString(decoded) != marker { // the decoder ignores line breaks and last bits
		return "", false
	}
	return strings.CutPrefix(string(decoded), l.Format+":"+order+":")
}

// next returns the link to the page after a position, with all other parameters of the request.
func (l *pagedList) next(ctx context.Context, values querystring.Values, p *page, position string) []Link {
	following := querystring.Of(slices.Concat(values.Without(markerParam).Pairs(),
		[]querystring.Pair{{Name: markerParam, Value: l.marker(p.order(), position)}})...)
	return []Link{{Rel: "next", Href: href(ctx, l.Path+"?"+following.Encode())}}
}

// maxValues is the maximum number of values of a parameter.
const maxValues = 500

// checkOnce returns an error if one of the parameters is repeated.
func checkOnce(values querystring.Values, names ...string) error {
	for _, name := range values.Names() {
		if slices.Contains(names, name) && len(values.All(name)) > 1 {
			return queryRepeated.Of(name)
		}
	}
	return nil
}

// listOf returns the values of a parameter: one, or several as in:A,B. Missing: nil.
func listOf(values querystring.Values, name string, most int) ([]string, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil
	}
	list := []string{text}
	if rest, several := strings.CutPrefix(text, "in:"); several {
		list = strings.Split(rest, ",")
	}
	if len(list) > most {
		return nil, tooManyValues.Of(name, len(list), most)
	}
	return list, nil
}

// uuidsOf returns the values of a parameter with UUIDs.
func uuidsOf(values querystring.Values, name string, most int) ([]uuid.UUID, error) {
	list, err := listOf(values, name, most)
	if list == nil || err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, 0, len(list))
	for _, text := range list {
		id, ok := uuidlike.Parse(text)
		if !ok {
			return nil, invalidQuery.Of("'" + text + "' is not a 'uuid'")
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// uuidOf returns the value of a parameter with one UUID; nil: it is missing.
func uuidOf(values querystring.Values, name string) (*uuid.UUID, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil
	}
	id, ok := uuidlike.Parse(text)
	if !ok {
		return nil, invalidQuery.Of("'" + text + "' is not a 'uuid'")
	}
	return &id, nil
}

// timeOf returns the value of a parameter with a time; nil: it is missing. PostgreSQL stores microseconds, and would drop the
// rest of a fraction: rounded up, a time is before and after the same stored times.
func timeOf(values querystring.Values, name string) (*time.Time, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() < 1 || at.UTC().Year() > 9999 {
		return nil, invalidTime.Of(text)
	}
	at = at.Add(time.Microsecond - 1).Truncate(time.Microsecond)
	return &at, nil
}

// included returns the parts that the parameter include names, in the order of the request, each once.
func included(values querystring.Values, known []string) ([]string, error) {
	text, ok := values.First(includeParam)
	if !ok {
		return nil, nil
	}
	var parts []string
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(known, name) {
			return nil, unknownInclude.Of(name, strings.Join(slices.Sorted(slices.Values(known)), ", "))
		}
		if !slices.Contains(parts, name) {
			parts = append(parts, name)
		}
	}
	return parts, nil
}

// Moment is a time in UTC with microseconds.
type Moment struct{ time.Time }

// Schema implements huma.SchemaProvider.
func (Moment) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// MarshalJSON implements json.Marshaler. The fraction always has six digits.
func (m Moment) MarshalJSON() ([]byte, error) {
	return []byte(m.UTC().Format(`"2006-01-02T15:04:05.000000Z"`)), nil
}
