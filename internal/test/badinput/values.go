package badinput

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/berthd/berth/server/work/conductor"
)

// dice is the random generator of requests. The same seed produces the same requests.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, from []T) T { return from[d.IntN(len(from))] }

// The IDs in requests. There are few, so that requests use the same resources. The examples of the
// documents contain the first ID of each type, except for nodes: there they contain the last one,
// which is the UUID of a provider.
var (
	providers  = numbered("c0ffee00-5ca1-4b1e-8000-%012d", 6)
	consumers  = numbered("1d5ecafe-0000-4000-8000-%012d", 6)
	aggregates = numbered("a99e0000-0000-4000-8000-%012d", 3)
	nodes      = append(numbered("0de00000-0000-4000-8000-%012d", 6), providers[0])
	ports      = numbered("00090000-0000-4000-8000-%012d", 3)
	ids        = slices.Concat(providers, consumers, aggregates, nodes, ports)
)

func numbered(format string, count int) (all []string) {
	for i := range count {
		all = append(all, fmt.Sprintf(format, i+1))
	}
	return all
}

// conductors are two conductors. The first runs in this process. The second only has a row, so that
// some nodes stay in transient states and have a driver that this process lacks.
var conductors = []string{"berth-1", "berth-2"}

// drivers are the drivers of the conductors, in the same order.
var drivers = []string{conductor.FakeHardware, "manual-management"}

// words are texts that match some pattern of the documents.
var words = []string{
	"VCPU", "MEMORY_MB", "CUSTOM_GOLD", "CUSTOM_BAREMETAL", "HW_CPU_X86_VMX", "INSTANCE", "host-1", "host-2", "host-3", "rack-7",
	"add", "replace", "remove", "/extra/a", "/name", "/extra/list/-", "manual-management", "manage", "provide", "available", "power on",
	"52:54:00:00:00:01", "52:54:00:00:00:02", "_A", "uuid", "name", "2026-01-02T03:04:05Z", "true", "1",
}

// hints are values of members and parameters for which the schema permits any text.
var hints = map[string][]string{
	"driver": drivers, "node": named["{node}"], "node_uuid": nodes, "resource_class": {"baremetal", "gold"},
	"address": numbered("52:54:00:00:02:%02d", 30), "parent_provider_uuid": providers, "resources": {"VCPU:1", "MEMORY_MB:16"},
	"target": {"power on", "power off", "rebooting", "manage", "provide", "active", "deleted"},
	"path":   {"/extra/a", "/extra/b", "/extra/list/-"},
	"include": {
		"inventories", "inventories,usages,traits,aggregates", "consumers", "sharing,consumers", "allocations", "usages,usages", "traits,",
		",", "links", "Inventories", "inventories, usages", strings.Repeat("usages,", 300) + "usages",
	},
	"fields": {
		"uuid", "name,generation", "uuid,uuid", "inventories", "resources,created_at", "allocations,node_allocation", "resource_provider_count",
		"name,", ",", "links,parent_provider_uuid,root_provider_uuid", "UUID", "color", "name, uuid", strings.Repeat("name,", 300) + "name",
	},
	"q": {
		"host", "host-1", "HOST", "%", "_", "\\", "c0ffee00", "C0FFEE00-5CA1", "c0ffee005ca1", "1d5ecafe-", "1d5ecafe-0000-4000-8000-000000000001",
		"\U0010ffff", "\ud7ff", "h\x00", strings.Repeat("h", 200), strings.Repeat("é", 200), strings.Repeat("é", 201),
	},
	"marker": markers, "group_by": {"aggregate", "tree", "provider"}, "aggregate": append([]string{"in:" + strings.Join(aggregates, ",")}, aggregates...),
	"unit":           {"VCPU:4", "VCPU:4,MEMORY_MB:1024", "MEMORY_MB:2147483647", "VCPU:9007199254740993", "VCPU:9223372036854775808", "VCPU:1,VCPU:2", "PONY:1", "VCPU:1,"},
	"sort":           {"created_at", "-created_at", "name", "-name"},
	"uuid":           append([]string{"in:" + strings.Join(consumers, ","), "in:" + strings.Join(slices.Repeat(consumers, 84), ",")}, consumers...),
	"project_id":     {"project", "in:project", "7a3e0000-0000-4000-8000-000000000001"},
	"created_before": times, "created_after": times, "updated_before": times, "updated_after": times,
}

// times are values of filters by time; some have no zone, or are beyond the range of PostgreSQL.
var times = []string{
	"2026-11-20T00:00:00Z", "2026-11-20T00:00:00.123456789+14:00", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999-23:59", "2026-11-20T00:00:00",
	"2026-11-20", "2026-02-30T00:00:00Z", "2026-11-20t00:00:00z", "-4713-01-01T00:00:00Z", "infinity", "now",
}

// markers are markers of lists, most with a position that their list writes.
var markers = markersOf(
	"p1:created_at:3", "p1:-created_at:3", "p1:name:host-1", "p1:q:nhost-1", "p1:q:uc0ffee00-5ca1-4b1e-8000-000000000001", "p1:name:a\x00b", "p1:name:\xff",
	"p1:created_at:9223372036854775807", "p1:created_at:9223372036854775808", "p1:created_at:-1", "p1:created_at:03", "p2:created_at:3",
	"c1:created_at:3", "c1:-created_at:0", "c1:q:1d5ecafe-0000-4000-8000-000000000001", "c1:q:1D5ECAFE-0000-4000-8000-000000000001", "c1:name:x",
	"a1:created_at:3", "a1:-created_at:3", "t1:created_at:3", "t1:created_at:9223372036854775807", "", ":", "::", "p1", "p1:name:"+strings.Repeat("h", 200),
)

// markersOf encodes texts as markers. The last ones are not encoded.
func markersOf(texts ...string) (all []string) {
	for _, text := range texts {
		all = append(all, base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	return append(all, "cDE6Mw==", "c1:created_at:3", "*")
}

// member returns a value of a named member or parameter.
func (d dice) member(name string, schema *openapi3.Schema, depth int) any {
	if known := hints[name]; known != nil && schema != nil && schema.Type.Includes("string") && (schema.Format == "" || name != "marker") && d.chance(60) {
		word, pattern := pick(d, known), patterns[schema.Pattern]
		if pattern == nil || pattern.MatchString(word) {
			return word
		}
	}
	return d.valid(schema, depth)
}

// deepest is the maximum depth of nesting, because schemas may be recursive.
const deepest = 6

// valid returns a value that matches a schema, with rare exceptions.
func (d dice) valid(schema *openapi3.Schema, depth int) any {
	switch {
	case schema == nil || depth > deepest:
		return pick(d, []any{nil, true, 1, "x", []any{}, map[string]any{}})
	case len(schema.Enum) > 0:
		return pick(d, schema.Enum)
	case schema.Const != nil:
		return schema.Const
	case len(schema.Examples) > 0 && d.chance(25):
		return pick(d, schema.Examples)
	}
	for _, some := range []openapi3.SchemaRefs{schema.OneOf, schema.AnyOf, schema.AllOf} {
		if len(some) > 0 && len(schema.Properties) == 0 {
			return d.valid(pick(d, some).Value, depth+1)
		}
	}
	kinds := schema.Type.Slice()
	if len(kinds) == 0 {
		kinds = []string{"object", "string", "integer"}
	}
	switch pick(d, kinds) {
	case "object":
		return d.object(schema, depth)
	case "array":
		list := []any{}
		for range int(schema.MinItems) + d.IntN(3) {
			list = append(list, d.valid(valueOf(schema.Items), depth+1))
		}
		return list
	case "string":
		return d.text(schema)
	case "integer":
		return d.number(schema)
	case "number":
		return float64(d.number(schema)) + 0.5*float64(d.IntN(2))
	case "boolean":
		return d.chance(50)
	}
	return nil
}

func valueOf(ref *openapi3.SchemaRef) *openapi3.Schema {
	if ref == nil {
		return nil
	}
	return ref.Value
}

func (d dice) object(schema *openapi3.Schema, depth int) map[string]any {
	made, required := map[string]any{}, schema.Required
	if len(schema.AnyOf) > 0 { // its branches require other members
		required = slices.Concat(required, pick(d, schema.AnyOf).Value.Required)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if slices.Contains(required, name) || d.chance(40) {
			made[name] = d.member(name, schema.Properties[name].Value, depth+1)
		}
	}
	for _, pattern := range slices.Sorted(maps.Keys(schema.PatternProperties)) {
		for range 1 + d.IntN(2) {
			made[d.matching(pattern)] = d.valid(schema.PatternProperties[pattern].Value, depth+1)
		}
	}
	if more := schema.AdditionalProperties.Schema; more != nil {
		pattern := ""
		if schema.PropertyNames != nil {
			pattern = schema.PropertyNames.Value.Pattern
		}
		for range 1 + d.IntN(2) {
			made[d.matching(pattern)] = d.valid(more.Value, depth+1)
		}
	}
	return made
}

// number returns a small number, which may match a generation or fit an inventory.
func (d dice) number(schema *openapi3.Schema) int64 {
	least := int64(0)
	if schema.Min != nil {
		least = int64(*schema.Min)
	}
	if schema.Max != nil && d.chance(5) {
		return int64(*schema.Max)
	}
	return least + int64(d.IntN(6))
}

func (d dice) text(schema *openapi3.Schema) string {
	if schema.Format == "uuid" {
		return pick(d, ids)
	}
	if schema.Pattern == "" && schema.MaxLength != nil && d.chance(5) && *schema.MaxLength < 1000 {
		return strings.Repeat("x", int(*schema.MaxLength))
	}
	return d.matching(schema.Pattern)
}

// matching returns a word or an ID that matches a pattern, or any word if none does.
func (d dice) matching(pattern string) string {
	of := words
	if d.chance(50) {
		of = ids
	}
	compiled := patterns[pattern]
	for range 40 {
		if word := pick(d, of); compiled == nil || compiled.MatchString(word) {
			return word
		}
		of = words
		if d.chance(50) {
			of = ids
		}
	}
	return "CUSTOM_" + strconv.Itoa(d.IntN(8))
}

// patterns are the compiled patterns of the documents.
var patterns = map[string]*regexp.Regexp{}

func compilePatterns(schema *openapi3.Schema, seen map[*openapi3.Schema]bool) {
	if schema == nil || seen[schema] {
		return
	}
	seen[schema] = true
	below := slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf, openapi3.SchemaRefs{schema.Items, schema.PropertyNames, schema.AdditionalProperties.Schema})
	expressions := []string{schema.Pattern}
	for pattern, ref := range schema.PatternProperties {
		expressions, below = append(expressions, pattern), append(below, ref)
	}
	for _, ref := range schema.Properties {
		below = append(below, ref)
	}
	for _, expression := range expressions {
		if expression != "" && patterns[expression] == nil {
			patterns[expression] = regexp.MustCompile(expression)
		}
	}
	for _, ref := range below {
		compilePatterns(valueOf(ref), seen)
	}
}
