package placement

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/explain"
	"github.com/berthd/berth/server/explainlog"
)

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
		made := exampleAskedAt.Add(time.Second)
		return Explanations{[]RecordedExplanation{{
			RequestID: exampleRequestID, GlobalRequestID: &exampleGlobalID, AskedAt: exampleAskedAt, API: explainlog.Placement,
			Microversion: "1.36", Question: exampleQuestion,
			Options:      ExplanationOptions{Max: 1000, Strategy: "breadth-first", Randomize: true},
			SameQuestion: EqualQueries{17, exampleAskedAt, exampleAskedAt.Add(time.Minute)},
			Explanation:  content, MadeAt: &made,
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

// explanationMembers are the members of an explanation, in their order.
var explanationMembers = []struct{ name, kind, doc string }{
	{"kind", huma.TypeString, "candidates or claim."},
	{"reason", huma.TypeString, "The first condition that leaves nothing; fits if there are candidates."},
	{"summary", huma.TypeString, "One paragraph for people."},
	{"sample", huma.TypeObject, "How many of the trees were looked at, and how exact the numbers of trees are."},
	{"funnel", huma.TypeArray, "The stages of the whole query, with the trees that pass each stage and all before."},
	{"parts", huma.TypeArray, "What one provider must meet, with the providers and trees that pass each step and all before."},
	{"facts", huma.TypeArray, "Counts of each single resource class, trait and aggregate."},
	{"conflicts", huma.TypeArray, "What cannot be met, whatever is free."},
	{"nearest", huma.TypeArray, "At most five trees that fail by least, with what they lack."},
	{"relaxations", huma.TypeArray, "Changes of the query that were tried and give candidates."},
	{"relaxations_complete", huma.TypeBoolean, "Whether all changes were tried before the time was over."},
	{"items", huma.TypeArray, "At most 100 allocations of a claim with their inventories, those that do not fit first."},
	{"elsewhere", huma.TypeObject, "Candidates for the amounts of the first consumer that does not fit, as one group; only in recorded explanations."},
	{"incomplete", huma.TypeBoolean, "True if a part of the explanation is missing; otherwise missing."},
	{"made_at", huma.TypeString, "Time at which the explanation was computed."},
	{"took_ms", huma.TypeInteger, "Duration of the computation in milliseconds."},
}

// errorMembers are the members of explanations of errors.
var errorMembers = []string{"kind", "reason", "summary", "conflicts", "items", "incomplete", "made_at", "took_ms"}

// errorExplanationSchema returns the schema of the explanation of an error. Only that of a claim has a reason and a summary.
func errorExplanationSchema() *huma.Schema {
	made := explanationContent{}.Schema(nil)
	maps.DeleteFunc(made.Properties, func(name string, _ *huma.Schema) bool { return !slices.Contains(errorMembers, name) })
	made.Required = []string{"kind"}
	made.Description = "Explanation of a claim that does not fit, or of a resource class or traits that do not exist. " +
		"Missing for other errors, and if the policy denies `berth:explanations:make`."
	made.Properties["kind"].Description = "claim or names."
	made.Properties["reason"].Description = "What the claim violates: inventory, units or capacity."
	made.Properties["conflicts"].Description = "Names that do not exist, with similar names that exist."
	return made
}

// Schema implements huma.SchemaProvider. The short form has only kind, reason, summary and incomplete.
func (explanationContent) Schema(huma.Registry) *huma.Schema {
	made := &huma.Schema{
		Type: huma.TypeObject, Description: "The explanation.", Properties: map[string]*huma.Schema{},
		Required: []string{"kind", "reason", "summary"}, AdditionalProperties: true,
	}
	for _, member := range explanationMembers {
		one := &huma.Schema{Type: member.kind, Description: member.doc}
		if member.kind == huma.TypeArray {
			one.Items = &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
		}
		made.Properties[member.name] = one
	}
	return made
}
