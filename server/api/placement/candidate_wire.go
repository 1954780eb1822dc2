package placement

import (
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// The types of this file document the responses. A candidateWriter encodes the responses; a test compares its output
// with these types.

// CandidateUseV10 is the set of a candidate's allocations on one provider, in the list form.
type CandidateUseV10 struct {
	Provider  CandidateProvider `json:"resource_provider" doc:"The provider."`
	Resources amounts           `json:"resources" doc:"Amounts by resource class."`
}

// CandidateProvider names a provider in the list form.
type CandidateProvider struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"The provider's uuid."`
}

// CandidateV10 is one candidate, up to 1.11.
type CandidateV10 struct {
	Allocations []CandidateUseV10 `json:"allocations" doc:"The allocations, in the format of PUT /allocations/{consumer_uuid}."`
}

// CandidateUseV12 is the set of a candidate's allocations on one provider.
type CandidateUseV12 struct {
	Resources amounts `json:"resources" doc:"Amounts by resource class, summed over all groups."`
}

// CandidateV12 is one candidate.
type CandidateV12 struct {
	Allocations jsonbody.Ordered[CandidateUseV12] `json:"allocations" doc:"The allocations by provider UUID, in the format of PUT /allocations/{consumer_uuid}."`
}

// CandidateV34 adds the providers that serve each group.
type CandidateV34 struct {
	CandidateV12
	Mappings jsonbody.Ordered[uuids] `json:"mappings" doc:"UUIDs of the providers that serve each group, by group suffix; the suffix of the unsuffixed group is empty."`
}

// SummaryResource is an inventory in a provider summary.
type SummaryResource struct {
	Capacity integralFloat `json:"capacity" doc:"(total - reserved) * allocation_ratio, truncated to an integer of any size."`
	Used     int64         `json:"used" doc:"Sum of the allocations."`
}

// integralFloat is an integer that can exceed all integer types, because allocation ratios can.
type integralFloat float64

// MarshalJSON implements json.Marshaler.
func (w integralFloat) MarshalJSON() ([]byte, error) { return appendWhole(nil, float64(w)), nil }

// Schema implements huma.SchemaProvider. Client generators map an integer to an integer type, which cannot decode such
// a capacity. Therefore the document declares a number.
func (integralFloat) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", MultipleOf: new(1.0)}
}

// appendWhole appends all digits of a float without its fraction. Zero has no sign.
func appendWhole(to []byte, value float64) []byte {
	if math.Abs(value) < 1<<53 {
		return strconv.AppendInt(to, int64(value), 10)
	}
	return strconv.AppendFloat(to, value, 'f', 0, 64)
}

// ProviderSummaryV10 is a provider summary, up to 1.16.
type ProviderSummaryV10 struct {
	Resources jsonbody.Ordered[SummaryResource] `json:"resources" doc:"Inventories by resource class; up to 1.26 only of the requested classes."`
}

// ProviderSummaryV17 adds the provider's traits.
type ProviderSummaryV17 struct {
	ProviderSummaryV10
	Traits []string `json:"traits" doc:"The provider's traits."`
}

// ProviderSummaryV29 adds the provider's position in its tree.
type ProviderSummaryV29 struct {
	ProviderSummaryV17
	Parent *uuid.UUID `json:"parent_provider_uuid" nullable:"true" format:"uuid" doc:"UUID of the parent provider; null for a root."`
	Root   uuid.UUID  `json:"root_provider_uuid" format:"uuid" doc:"UUID of the root provider of the tree."`
}

// CandidatesV10 is the response up to 1.11.
type CandidatesV10 struct {
	Candidates []CandidateV10                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV10] `json:"provider_summaries" doc:"Provider summaries of the providers in the candidates, by UUID."`
}

// CandidatesV12 is the response up to 1.16.
type CandidatesV12 struct {
	Candidates []CandidateV12                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV10] `json:"provider_summaries" doc:"Provider summaries of the providers in the candidates, by UUID."`
}

// CandidatesV17 is the response up to 1.28.
type CandidatesV17 struct {
	Candidates []CandidateV12                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV17] `json:"provider_summaries" doc:"Provider summaries of the providers in the candidates, by UUID."`
}

// CandidatesV29 is the response up to 1.33.
type CandidatesV29 struct {
	Candidates []CandidateV12                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV29] `json:"provider_summaries" doc:"Provider summaries of all providers in the trees of the candidates, by UUID."`
}

// CandidatesV34 is the response from 1.34 on.
type CandidatesV34 struct {
	Candidates  []CandidateV34                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries   jsonbody.Ordered[ProviderSummaryV29] `json:"provider_summaries" doc:"Provider summaries of all providers in the trees of the candidates, by UUID."`
	Explanation *candidateExplanation                `json:"explanation,omitempty" since:"berth 2" doc:"Why the query has these candidates, or none, if the request has explain. Null for explain=empty with candidates."`
}

// candidateExplanation is the explanation in a response, null if there is none to make.
type candidateExplanation explanationContent

// Schema implements huma.SchemaProvider.
func (candidateExplanation) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[explain.Explanation](r), {Type: "null"}}}
}
