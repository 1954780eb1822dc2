package placement

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// selection is the set of members that the parameter fields selects.
type selection struct {
	// names are the members, and fields their fields in the struct of the items; nil: all.
	names  []string
	fields []route.Field
}

// selectFields reads the parameter fields of a list. T is the struct of its items; absent are members that this request
// does not include, which count as unknown.
func selectFields[T any](values querystring.Values, list *pagedList, absent ...string) (selection, error) {
	text, ok := values.First(fieldsParam)
	if !ok {
		return selection{}, nil
	}
	known := slices.DeleteFunc(route.FieldsOf(reflect.TypeFor[T]()), func(field route.Field) bool {
		return slices.Contains(absent, field.Name)
	})
	result := selection{names: append(strings.Split(text, ","), "uuid")}
	for _, name := range result.names {
		if !slices.ContainsFunc(known, func(field route.Field) bool { return field.Name == name }) {
			var all []string
			for _, field := range known {
				all = append(all, field.Name)
			}
			slices.Sort(all)
			return result, unknownFields.Of(name, strings.ReplaceAll(list.Name, "_", " "), strings.Join(all, ", "))
		}
	}
	result.fields = slices.DeleteFunc(known, func(field route.Field) bool { return !result.has(field.Name) })
	return result, nil
}

// has reports whether a member is selected.
func (s *selection) has(name string) bool { return s.names == nil || slices.Contains(s.names, name) }

// selected is an item of a list with the selected members only. Members with omitempty are left out as usual.
type selected[T any] struct {
	item   T
	fields []route.Field
}

// of returns the selected members of an item.
func of[T any](s *selection, item T) selected[T] { return selected[T]{item: item, fields: s.fields} }

// Schema implements huma.SchemaProvider.
func (selected[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// MarshalJSON implements json.Marshaler.
func (s selected[T]) MarshalJSON() ([]byte, error) {
	if s.fields == nil {
		return json.Marshal(s.item)
	}
	whole := reflect.ValueOf(s.item)
	var b bytes.Buffer
	separator := byte('{')
	for _, field := range s.fields {
		value := whole.FieldByIndex(field.Index)
		if omitted(whole.Type().FieldByIndex(field.Index), value) {
			continue
		}
		encoded, err := json.Marshal(value.Interface())
		if err != nil {
			return nil, err
		}
		b.WriteByte(separator)
		b.WriteString(`"` + field.Name + `": `)
		b.Write(encoded)
		separator = ','
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// omitted reports whether encoding/json would leave out a field.
func omitted(field reflect.StructField, value reflect.Value) bool {
	options := strings.Split(field.Tag.Get("json"), ",")
	if slices.Contains(options, "omitzero") && value.IsZero() {
		return true
	}
	if !slices.Contains(options, "omitempty") {
		return false
	}
	switch value.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return value.Len() == 0
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint, reflect.Float64, reflect.Pointer, reflect.Interface:
		return value.IsZero()
	default:
		return false
	}
}

// Parts of providers, trees and consumers that requests can include.
const (
	partInventories = "inventories"
	partUsages      = "usages"
	partTraits      = "traits"
	partAggregates  = "aggregates"
	partSharing     = "sharing"
	partConsumers   = "consumers"
	partAllocations = "allocations"
)

// partRules are the rules of the requests that show the same parts of a provider, in the order in which they are checked.
var partRules = []struct{ part, rule string }{
	{partInventories, policy.InventoriesList},
	{partUsages, policy.ProviderUsages},
	{partTraits, policy.ProviderTraitsList},
	{partAggregates, policy.ProviderAggregatesList},
	{partConsumers, policy.AllocationsList},
	{partAllocations, policy.AllocationsList},
}

// rulesOfParts returns the rules of parts.
func rulesOfParts(parts []string) []string {
	var rules []string
	for _, row := range partRules {
		if slices.Contains(parts, row.part) && !slices.Contains(rules, row.rule) {
			rules = append(rules, row.rule)
		}
	}
	return rules
}

// includedTexts returns the names in the parameter include, known or not; missing: those of the default.
func includedTexts(values querystring.Values, unless ...string) []string {
	text, ok := values.First(includeParam)
	if !ok {
		return unless
	}
	return strings.Split(text, ",")
}

// rulesOfQuery is the Authorize of an operation that checks its own rule, and then those of the parts that the query
// string names, so that no part becomes visible on a new path to a caller who may not see it on the old one.
type rulesOfQuery struct {
	rule string
	// once are the parameters that may not be repeated: the policy and the statement must use the same value. The
	// error precedes those of the policy.
	once []string
	// project is the parameter with the project of the target; empty: the project of the caller.
	project string
	// further returns the rules of the parts that the query string names.
	further func(querystring.Values) []string
	// hasAt marks an operation with the parameter at, which has the rule of the list of events.
	hasAt bool
}

func (q rulesOfQuery) authorize(r *http.Request) (context.Context, error) {
	ctx := r.Context()
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	isExtended := err == nil && microversion.From(ctx) >= berth14
	isAt := isExtended && q.hasAt && hasAt(ctx) && values.Has(atParam)
	if isExtended {
		once := q.once
		if isAt {
			once = append(slices.Clone(once), atParam)
		}
		if err := checkOnce(values, once...); err != nil {
			return nil, err
		}
	}
	if err := q.mayOwn(ctx, values); err != nil {
		return nil, err
	}
	if isExtended && q.further != nil {
		for _, rule := range q.further(values) {
			if err := route.MayCaller(ctx, rule); err != nil {
				return nil, err
			}
		}
	}
	if isAt { // as for a list of events of all projects
		return ctx, route.May(ctx, policy.HistoryList, policy.Target{})
	}
	return ctx, nil
}

// mayOwn checks the rule of the operation.
func (q rulesOfQuery) mayOwn(ctx context.Context, values querystring.Values) error {
	if q.project == "" {
		return route.MayCaller(ctx, q.rule)
	}
	project, _ := values.First(q.project)
	return route.May(ctx, q.rule, policy.Target{ProjectID: project})
}
