package placement

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/jsonbody"
)

// Patterns of names and keys. Their ends are strict: Go's $ does not match
// before a line break.
const (
	classPattern       = `^[A-Z0-9_]+$`
	customPattern      = `^CUSTOM_[A-Z0-9_]+$`
	uuidKeyPattern     = `^[0-9a-fA-F-]{36}$`
	consumerTypeSchema = `^[A-Z0-9_]+$`
)

// schemaOf is the schema of a type as documents refer to it.
func schemaOf[T any](r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// uuids are a list in an answer.
type uuids []uuid.UUID

// Schema implements huma.SchemaProvider.
func (uuids) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Format: "uuid"}}
}

// keyed is an object whose keys are uuids, as requests spell them.
type keyed[V any] struct{ jsonbody.Ordered[V] }

// Schema implements huma.SchemaProvider.
func (keyed[V]) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[V](r), uuidKeyPattern, 0)
}

// keyedNonEmpty is the same with at least one member.
type keyedNonEmpty[V any] struct{ jsonbody.Ordered[V] }

// Schema implements huma.SchemaProvider.
func (keyedNonEmpty[V]) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(schemaOf[V](r), uuidKeyPattern, 1)
}

// Schemas describe the types of bodies in the documents, by their names there.
// Their members are described where they are declared.
func Schemas() map[string]string {
	return map[string]string{
		"Aggregates":        "The aggregates of a provider.",
		"AggregatesReplace": "The aggregates that a provider is to be in.",

		"Allocations":           "What a consumer has, and whose it is.",
		"AllocationsOnProvider": "What a consumer has of one provider.",
		"Claim":                 "All that a consumer is to have, and whose it is. It replaces what the consumer had.",
		"ClaimMany":             "All that a consumer is to have, and whose it is; possibly nothing.",
		"Claims":                "Claims by the consumer's uuid. They are made together or not at all.",
		"ClaimedOfProvider":     "What a consumer is to have of one provider.",
		"ConsumerOnProvider":    "What one consumer has of a provider.",
		"ListedAllocation":      "What a consumer is to have of one provider.",
		"ProviderAllocations":   "Who has how much of a provider.",
		"ProviderReference":     "Which provider.",

		"Candidate":         "One way to satisfy the request. Its members are those of a claim.",
		"CandidateProvider": "Which provider.",
		"CandidateUse":      "What a candidate takes from one provider.",
		"Candidates":        "The candidates for a request, and what is known of their providers.",
		"ProviderSummary":   "What a provider has and what is used of it.",
		"SummaryResource":   "How much of a class there is, and how much of it is used.",

		"Inventories":             "All inventories of a provider.",
		"InventoriesReplace":      "All inventories that a provider is to have.",
		"Inventory":               "How much a provider has of a resource class, and how it may be allocated.",
		"InventoryCreate":         "The inventory of one class more.",
		"InventoryRecord":         "How much a provider is to have of a resource class, and how it may be allocated.",
		"InventoryUpdate":         "What the inventory of a class is to be.",
		"InventoryWithGeneration": "The inventory of a class with the generation of its provider.",

		"Link":           "Where something is found.",
		"Provider":       "Whatever has inventory: a node in a tree of providers.",
		"ProviderCreate": "A provider to create.",
		"ProviderUpdate": "What a provider is to be called, and where in its tree it is to be.",
		"Providers":      "A list of providers.",

		"ProviderTraits":        "The traits of a provider.",
		"ProviderTraitsReplace": "The traits that a provider is to have.",
		"Traits":                "A list of traits.",
		"ResourceClass":         "A kind of countable resource.",
		"ResourceClassName":     "The name of a custom resource class.",
		"ResourceClasses":       "A list of resource classes.",

		"ProviderUsages": "What consumers have of a provider.",
		"Usages":         "What the consumers of a project have.",

		"Reshape": "New inventories of providers together with the allocations that go with them. All of it is written, or nothing.",
	}
}
