package placement

import (
	"context"
	"encoding/json"
	"iter"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// The examples of the documents use a host with a NUMA node as its child, and an instance on the host.
const (
	exampleHost     = "c0ffee00-5ca1-4b1e-8000-000000000001"
	exampleNode     = "c0ffee00-5ca1-4b1e-8000-000000000002"
	exampleInstance = "1d5ecafe-0000-4000-8000-000000000001"
	exampleGroup    = "a99e0000-0000-4000-8000-000000000001"
	exampleProject  = "7c5b1b2e0d0e4a7d8a5b0f3f2f7f5a11"
	exampleUser     = "0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22"
	exampleClass    = "CUSTOM_BAREMETAL_GOLD"
	exampleTrait    = "CUSTOM_GOLD"
	// unknownUUID and the names after it do not exist.
	unknownUUID  = "deadbeef-0000-4000-8000-000000000009"
	unknownClass = "CUSTOM_GONE"
	unknownTrait = "CUSTOM_GONE"
)

var (
	exampleHostID = uuid.MustParse(exampleHost)
	hostRow       = store.Provider{UUID: exampleHostID, Name: "compute-17", Generation: 4, Root: exampleHostID}
	newHost       = store.Provider{UUID: exampleHostID, Name: "compute-17", Root: exampleHostID}
	nodeRow       = store.Provider{
		UUID: uuid.MustParse(exampleNode), Name: "compute-17_numa0", Parent: &exampleHostID, Root: exampleHostID,
	}
	inventoryRows = []store.Inventory{
		{Class: "VCPU", Total: 64, Reserved: 2, MinUnit: 1, MaxUnit: 64, StepSize: 1, AllocationRatio: 4, Used: 2},
		{Class: "MEMORY_MB", Total: 262144, Reserved: 4096, MinUnit: 1, MaxUnit: 262144, StepSize: 1, AllocationRatio: 1, Used: 2048},
	}
	instanceType = "INSTANCE"
	instanceRow  = store.ConsumerAllocations{
		ProjectID: exampleProject, UserID: exampleUser, Generation: 1, Type: &instanceType,
		Rows: []store.AllocationRow{
			{Allocation: store.Allocation{Provider: exampleHostID, Class: "VCPU", Amount: 2}, Generation: 4},
			{Allocation: store.Allocation{Provider: exampleHostID, Class: "MEMORY_MB", Amount: 2048}, Generation: 4},
		},
	}
)

// exampleWanted is the set of allocations of the example's candidate.
var exampleWanted = []store.Amount{{Class: "VCPU", Amount: 2}, {Class: "MEMORY_MB", Amount: 2048}}

// exampleCandidates returns the host as the only candidate. If trees is set, the summaries include its NUMA node.
func exampleCandidates(trees bool) candidateSource {
	summaries := []*candidates.ProviderSummary{{
		UUID: exampleHostID, Root: exampleHostID, Traits: []string{exampleTrait},
		Resources: []candidates.SummaryResource{
			{Class: "VCPU", Capacity: 248, Used: 2}, {Class: "MEMORY_MB", Capacity: 258048, Used: 2048},
			{Class: "DISK_GB", Capacity: 2000, Used: 0},
		},
	}}
	if trees {
		summaries = append(summaries, &candidates.ProviderSummary{UUID: nodeRow.UUID, Parent: &exampleHostID, Root: exampleHostID})
	}
	return candidateSource{
		candidates: found(&candidates.Candidate{
			Uses:      []candidates.Use{{Provider: exampleHostID, Resources: exampleWanted}},
			Providers: [][]uuid.UUID{{exampleHostID}},
		}),
		summaries: found(summaries...),
	}
}

// found yields values like the store does.
func found[T any](all ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range all {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// exampleRequest returns the amounts that a request allocates on the example's host.
func exampleRequest() map[string]any { return map[string]any{"VCPU": 2, "MEMORY_MB": 2048} }

// showing returns an example that is equal at all microversions.
func showing(body any) func(context.Context) any {
	return func(context.Context) any { return body }
}

// shaped returns an example made by the function that converts responses.
func shaped[P any](shape func(context.Context, store.Provider) P, from store.Provider) func(context.Context) any {
	return func(ctx context.Context) any { return shape(ctx, from) }
}

// namedRows returns rows of names like the store does.
func namedRows(names ...string) []store.Named {
	rows := make([]store.Named, 0, len(names))
	for _, name := range names {
		rows = append(rows, store.Named{Name: name, ModifiedAt: time.Time{}})
	}
	return rows
}

// exampleClaim returns a claim in the format of a microversion.
func exampleClaim(since uint8) map[string]any {
	claim := map[string]any{
		"allocations": map[string]any{exampleHost: map[string]any{"resources": exampleRequest()}},
		"project_id":  exampleProject, "user_id": exampleUser,
	}
	if since >= 28 {
		claim["consumer_generation"] = nil
	}
	if since >= 38 {
		claim["consumer_type"] = instanceType
	}
	return claim
}

// exampleAmounts returns amounts in the order of their classes.
func exampleAmounts() amounts {
	return amounts{{Key: "VCPU", Value: 2}, {Key: "MEMORY_MB", Value: 2048}}
}

// exampleByInstance returns an object with one member, the example's instance.
func exampleByInstance[V any](value V) jsonbody.Ordered[V] {
	return jsonbody.Ordered[V]{{Key: exampleInstance, Value: value}}
}

// exampleRequestID is the request of the examples.
const exampleRequestID = "req-6b6837d1-5af3-4138-b4ed-e0275c3efda4"

var (
	exampleAskedAt     = time.Date(2026, 11, 20, 10, 0, 0, 123000000, time.UTC)
	exampleGlobalID    = "req-6f9c0a4e-8f0b-4c9b-9f5e-3c8f2b1d7a60"
	exampleQuestion    = "resources=VCPU:8&required=" + exampleTrait
	exampleExplanation = explain.Explanation{
		Kind: explainlog.Candidates, Reason: explain.Trait, Summary: "No provider has the trait " + exampleTrait + ".", Incomplete: true,
	}
	exampleExplanations = func() Explanations {
		content, _ := json.Marshal(&exampleExplanation) // it has strings only
		at := exampleAskedAt.Add(time.Second)
		return Explanations{[]RecordedExplanation{{
			RequestID: exampleRequestID, GlobalRequestID: &exampleGlobalID, AskedAt: exampleAskedAt, API: explainlog.Placement,
			Microversion: "1.36", Question: exampleQuestion,
			Options:      ExplanationOptions{Max: 1000, Strategy: "breadth-first", Randomize: true},
			SameQuestion: EqualQueries{17, exampleAskedAt, exampleAskedAt.Add(time.Minute)},
			Explanation:  content, MadeAt: &at,
		}}}
	}()
	exampleExplanationList = ExplanationList{
		Explanations: []ListedExplanation{{
			ID: 4711, Kind: explainlog.Candidates, API: explainlog.Placement, Microversion: "1.36", Reason: string(explain.Trait),
			Summary: &exampleExplanation.Summary, Question: exampleQuestion, Requests: 17, FirstAskedAt: exampleAskedAt,
			LastAskedAt: exampleAskedAt.Add(time.Minute), RequestIDs: []string{exampleRequestID},
		}},
		Links: []Link{{Rel: "next", Href: "/explanations?limit=1&marker=eDE6dDoxNzYzNjMyODAwMTIzMDAwOjQ3MTE"}},
	}
)

// errorExplanation is the explanation of an error: of a claim that does not fit, or of names that do not exist.
type errorExplanation struct {
	Kind       string              `json:"kind" enum:"claim,names" doc:"claim or names." example:"names"`
	Reason     string              `json:"reason,omitempty" doc:"What the claim violates: inventory, units or capacity."`
	Summary    string              `json:"summary,omitempty" doc:"One paragraph for people; only of a claim."`
	Items      []explain.ClaimItem `json:"items,omitempty" nullable:"false" doc:"At most 100 allocations of the claim, those that do not fit first."`
	Conflicts  []explain.Conflict  `json:"conflicts,omitempty" nullable:"false" doc:"Names that do not exist, with similar names that exist."`
	Incomplete bool                `json:"incomplete,omitempty" doc:"True if a part of the explanation is missing; otherwise missing."`
	MadeAt     *time.Time          `json:"made_at,omitempty" nullable:"false" doc:"Time at which the explanation was computed."`
	TookMS     *int64              `json:"took_ms,omitempty" nullable:"false" doc:"Duration of the computation in milliseconds."`
}

// Schema implements huma.SchemaProvider.
func (explanationContent) Schema(r huma.Registry) *huma.Schema {
	return schemaOf[explain.Explanation](r)
}

// addErrorExplanation adds the explanation to the schema of an error, and the schemas that it refers to.
func addErrorExplanation(item *huma.Schema, schemas map[string]*huma.Schema) {
	registry := huma.NewMapRegistry("#/components/schemas/", route.SchemaName)
	result := registry.Schema(reflect.TypeFor[errorExplanation](), false, "")
	result.Description = "Explanation of a claim that does not fit, or of a resource class or traits that do not exist. " +
		"Missing for other errors, and if the policy denies `berth:explanations:make`."
	item.Properties["explanation"] = result
	for name, schema := range registry.Map() {
		if schemas[name] == nil && name != "ErrorExplanation" {
			schemas[name] = schema
		}
	}
}
