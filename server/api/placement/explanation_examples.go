package placement

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
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
