package placement

import (
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/jsonbody"
)

// The types of this file are published in the documents. Answers are not encoded
// from them but written by a candidateWriter, and a test holds the two together.

// CandidateUseV10 is what a candidate takes from one provider, in the list form.
type CandidateUseV10 struct {
	Provider  CandidateProvider `json:"resource_provider" doc:"The provider."`
	Resources amounts           `json:"resources" doc:"Amounts by resource class."`
}

// CandidateProvider names a provider in the list form.
type CandidateProvider struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"The provider's uuid."`
}

// CandidateV10 is one way to satisfy the request, up to 1.11.
type CandidateV10 struct {
	Allocations []CandidateUseV10 `json:"allocations" doc:"What it takes, for PUT /allocations/{consumer_uuid}."`
}

// CandidateUseV12 is what a candidate takes from one provider.
type CandidateUseV12 struct {
	Resources amounts `json:"resources" doc:"Amounts by resource class; those of several groups are added up."`
}

// CandidateV12 is one way to satisfy the request.
type CandidateV12 struct {
	Allocations jsonbody.Ordered[CandidateUseV12] `json:"allocations" doc:"What it takes, by the provider's uuid, for PUT /allocations/{consumer_uuid}."`
}

// CandidateV34 also says which provider serves which group.
type CandidateV34 struct {
	CandidateV12
	Mappings jsonbody.Ordered[uuids] `json:"mappings" doc:"By the suffix of a group, empty for the one without: the providers that serve it."`
}

// SummaryResource is an inventory beside candidates.
type SummaryResource struct {
	Capacity whole `json:"capacity" doc:"(total - reserved) * allocation_ratio, without its fraction: a whole number, however large."`
	Used     int64 `json:"used" doc:"What consumers have of it."`
}

// whole is an integer that may be beyond all integer types, since ratios may be.
type whole float64

// MarshalJSON implements json.Marshaler.
func (w whole) MarshalJSON() ([]byte, error) { return appendWhole(nil, float64(w)), nil }

// Schema implements huma.SchemaProvider. Generators make an integer type of an
// integer, and a program that has one can't read any candidate beside such a
// capacity; so the document says the same of a number.
func (whole) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Format: "double", MultipleOf: new(1.0)}
}

// appendWhole writes all digits of a float without a fraction, and no sign before
// a zero.
func appendWhole(to []byte, value float64) []byte {
	if math.Abs(value) < 1<<53 {
		return strconv.AppendInt(to, int64(value), 10)
	}
	return strconv.AppendFloat(to, value, 'f', 0, 64)
}

// ProviderSummaryV10 describes a provider beside candidates, up to 1.16.
type ProviderSummaryV10 struct {
	Resources jsonbody.Ordered[SummaryResource] `json:"resources" doc:"By resource class; up to 1.26 only of classes that were asked for."`
}

// ProviderSummaryV17 also has the provider's traits.
type ProviderSummaryV17 struct {
	ProviderSummaryV10
	Traits []string `json:"traits" doc:"The provider's traits."`
}

// ProviderSummaryV29 also has the provider's place in its tree.
type ProviderSummaryV29 struct {
	ProviderSummaryV17
	Parent *uuid.UUID `json:"parent_provider_uuid" nullable:"true" format:"uuid" doc:"The provider above; null for a root."`
	Root   uuid.UUID  `json:"root_provider_uuid" format:"uuid" doc:"The topmost provider of the tree; itself for a root."`
}

// CandidatesV10 are the answer up to 1.11.
type CandidatesV10 struct {
	Candidates []CandidateV10                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV10] `json:"provider_summaries" doc:"By the provider's uuid: the providers of the candidates."`
}

// CandidatesV12 are the answer up to 1.16.
type CandidatesV12 struct {
	Candidates []CandidateV12                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV10] `json:"provider_summaries" doc:"By the provider's uuid: the providers of the candidates."`
}

// CandidatesV17 are the answer up to 1.28.
type CandidatesV17 struct {
	Candidates []CandidateV12                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV17] `json:"provider_summaries" doc:"By the provider's uuid: the providers of the candidates."`
}

// CandidatesV29 are the answer up to 1.33.
type CandidatesV29 struct {
	Candidates []CandidateV12                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV29] `json:"provider_summaries" doc:"By the provider's uuid: all providers of the trees that candidates take from."`
}

// CandidatesV34 are the answer from 1.34 on.
type CandidatesV34 struct {
	Candidates []CandidateV34                       `json:"allocation_requests" doc:"The candidates, in no order of preference."`
	Summaries  jsonbody.Ordered[ProviderSummaryV29] `json:"provider_summaries" doc:"By the provider's uuid: all providers of the trees that candidates take from."`
}
