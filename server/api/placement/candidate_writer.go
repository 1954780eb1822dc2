package placement

import (
	"encoding/hex"
	"iter"
	"math"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// candidateShape selects the format of a response.
type candidateShape struct {
	// listed selects the list form, in which each list element names its provider.
	listed bool
	// traits, place and mappings select members of the response.
	traits, place, mappings bool
	// allClasses includes all inventories of a provider, not only those of requested classes.
	allClasses bool
}

// candidateWriter encodes a response by appending bytes to one buffer. A response can have a hundred thousand
// candidates. An encoder that uses reflection and a map for each object would create garbage for each of them.
//
// The strings that it writes need no escapes: class names, trait names, suffixes and UUIDs contain neither quotes nor
// backslashes nor control characters.
type candidateWriter struct {
	shape  candidateShape
	groups []candidates.Group
	// asked is the set of requested classes.
	asked map[string]bool
	buf   []byte
	// explanation returns the JSON of the last member for so many candidates; nil: there is none.
	explanation func(count int) []byte
	// count is the number of encoded candidates.
	count int
	// isComplete reports whether the buffer contains the rest of the response.
	isComplete bool
}

// candidateChunk is the approximate size of a chunk in bytes. A smaller response is sent with its length, and an error
// before the first chunk returns a proper error response.
const candidateChunk = 256 << 10

func newCandidateWriter(shape candidateShape, groups []candidates.Group, buf []byte) *candidateWriter {
	w := &candidateWriter{shape: shape, groups: groups, buf: buf[:0]}
	if !shape.allClasses {
		w.asked = map[string]bool{}
		for _, group := range groups {
			for _, wanted := range group.Resources {
				w.asked[wanted.Class] = true
			}
		}
	}
	return w
}

// candidateSource yields candidates and, after the last one, provider summaries.
type candidateSource struct {
	candidates iter.Seq2[*candidates.Candidate, error]
	summaries  iter.Seq2[*candidates.ProviderSummary, error]
	close      func() error
}

// chunks encodes the response and yields the buffer each time it is full, and at the end. The consumer must have copied
// a chunk before it requests the next one. An error is the last value.
func (w *candidateWriter) chunks(from candidateSource) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		hand := func() bool {
			goOn := yield(w.buf, nil)
			w.buf = w.buf[:0]
			return goOn
		}
		w.text(`{"allocation_requests":[`)
		separator := ""
		for candidate, err := range from.candidates {
			if err != nil {
				yield(nil, err)
				return
			}
			w.text(separator)
			separator = ","
			w.candidate(candidate)
			w.count++
			if len(w.buf) >= candidateChunk && !hand() {
				return
			}
		}
		w.text(`],"provider_summaries":{`)
		separator = ""
		for summary, err := range from.summaries {
			if err != nil {
				yield(nil, err)
				return
			}
			w.text(separator)
			separator = ","
			w.summary(summary)
			if len(w.buf) >= candidateChunk && !hand() {
				return
			}
		}
		w.text("}")
		if w.explanation != nil {
			w.text(`,"explanation":`)
			w.buf = append(w.buf, w.explanation(w.count)...)
		}
		w.text("}\n")
		w.isComplete = true
		hand()
	}
}

func (w *candidateWriter) text(s string) { w.buf = append(w.buf, s...) }

func (w *candidateWriter) candidate(c *candidates.Candidate) {
	if w.shape.listed {
		w.text(`{"allocations":[`)
	} else {
		w.text(`{"allocations":{`)
	}
	for i := range c.Uses {
		if i > 0 {
			w.text(",")
		}
		w.use(&c.Uses[i])
	}
	if w.shape.listed {
		w.text("]}")
		return
	}
	w.text("}")
	if w.shape.mappings {
		w.mappings(c)
	}
	w.text("}")
}

func (w *candidateWriter) use(use *candidates.Use) {
	if w.shape.listed {
		w.text(`{"resource_provider":{"uuid":`)
		w.uuid(use.Provider)
		w.text(`},"resources":{`)
	} else {
		w.uuid(use.Provider)
		w.text(`:{"resources":{`)
	}
	for i := range use.Resources {
		if i > 0 {
			w.text(",")
		}
		w.name(use.Resources[i].Class)
		w.text(":")
		w.buf = strconv.AppendInt(w.buf, use.Resources[i].Amount, 10)
	}
	w.text("}}")
}

func (w *candidateWriter) mappings(c *candidates.Candidate) {
	w.text(`,"mappings":{`)
	for i, providers := range c.Providers {
		if i > 0 {
			w.text(",")
		}
		w.name(w.groups[i].Suffix)
		w.text(":[")
		for i, provider := range providers {
			if i > 0 {
				w.text(",")
			}
			w.uuid(provider)
		}
		w.text("]")
	}
	w.text("}")
}

func (w *candidateWriter) summary(s *candidates.ProviderSummary) {
	w.uuid(s.UUID)
	w.text(`:{"resources":{`)
	separator := ""
	for i := range s.Resources {
		if w.shape.allClasses || w.asked[s.Resources[i].Class] {
			w.text(separator)
			separator = ","
			w.inventory(&s.Resources[i])
		}
	}
	w.text("}")
	if w.shape.traits {
		w.text(`,"traits":[`)
		for i, trait := range s.Traits {
			if i > 0 {
				w.text(",")
			}
			w.name(trait)
		}
		w.text("]")
	}
	if w.shape.place {
		w.text(`,"parent_provider_uuid":`)
		if s.Parent == nil {
			w.text("null")
		} else {
			w.uuid(*s.Parent)
		}
		w.text(`,"root_provider_uuid":`)
		w.uuid(s.Root)
	}
	w.text("}")
}

func (w *candidateWriter) inventory(of *candidates.SummaryResource) {
	w.name(of.Class)
	w.text(`:{"capacity":`)
	w.buf = appendWhole(w.buf, of.Capacity)
	w.text(`,"used":`)
	w.buf = strconv.AppendInt(w.buf, of.Used, 10)
	w.text("}")
}

func (w *candidateWriter) name(name string) {
	w.buf = append(w.buf, '"')
	w.buf = append(w.buf, name...)
	w.buf = append(w.buf, '"')
}

// uuid encodes on the stack and appends once, because UUIDs are most of the bytes of a candidate.
func (w *candidateWriter) uuid(id uuid.UUID) {
	text := [38]byte{0: '"', 9: '-', 14: '-', 19: '-', 24: '-', 37: '"'}
	hex.Encode(text[1:9], id[0:4])
	hex.Encode(text[10:14], id[4:6])
	hex.Encode(text[15:19], id[6:8])
	hex.Encode(text[20:24], id[8:10])
	hex.Encode(text[25:37], id[10:])
	w.buf = append(w.buf, text[:]...)
}

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
