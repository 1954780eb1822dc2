package client

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"
)

// Explanation is why a candidate query found nothing, or why a claim was rejected. The format is that of
// docs/contract/berth/explain.md. Members that do not apply are empty.
type Explanation struct {
	// Kind is "candidates", "claim" or "names"; the last one is in the error of a query with an unknown name.
	Kind string `json:"kind"`
	// Reason is the first condition that leaves nothing; "fits" if there are candidates.
	Reason string `json:"reason"`
	// Summary is one paragraph for people.
	Summary string `json:"summary"`

	Sample              *ExplainedSample     `json:"sample,omitempty"`
	Funnel              []ExplainedStage     `json:"funnel,omitempty"`
	Parts               []ExplainedPart      `json:"parts,omitempty"`
	Facts               []ExplainedFact      `json:"facts,omitempty"`
	Conflicts           []ExplainedConflict  `json:"conflicts,omitempty"`
	Nearest             []ExplainedTree      `json:"nearest,omitempty"`
	Relaxations         []ExplainedChange    `json:"relaxations,omitempty"`
	RelaxationsComplete *bool                `json:"relaxations_complete,omitempty"`
	Items               []ExplainedItem      `json:"items,omitempty"`
	Elsewhere           *ExplainedCandidates `json:"elsewhere,omitempty"`
	// Incomplete is true if a part is missing, because the service reached a limit of time or of combinations.
	Incomplete bool       `json:"incomplete,omitempty"`
	MadeAt     *time.Time `json:"made_at,omitempty"`
	TookMS     *int64     `json:"took_ms,omitempty"`

	received json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *Explanation) UnmarshalJSON(text []byte) error {
	type plain Explanation
	var read plain
	if err := json.Unmarshal(text, &read); err != nil {
		return err
	}
	read.received = append(json.RawMessage(nil), text...)
	*e = Explanation(read)
	return nil
}

// MarshalJSON implements json.Marshaler. It returns the JSON of the service, with members that this package does not
// know.
func (e *Explanation) MarshalJSON() ([]byte, error) {
	if e.received != nil {
		return e.received, nil
	}
	type plain Explanation
	return json.Marshal((*plain)(e))
}

// ExplainedSample is how many of the trees the service looked at. Without Exact the numbers of trees are estimates:
// Margin is their 95 % bound in percent of the trees, and a 0 means fewer than ZeroAtMost.
type ExplainedSample struct {
	Exact      bool    `json:"exact"`
	Trees      int64   `json:"trees"`
	LookedAt   int64   `json:"looked_at"`
	Margin     float64 `json:"margin,omitempty"`
	ZeroAtMost int64   `json:"zero_at_most,omitempty"`
}

// ExplainedStage is a stage of the whole query, and the trees that pass it and all before. Group is the suffix of the
// group of a stage "group".
type ExplainedStage struct {
	Stage string  `json:"stage"`
	Group *string `json:"group,omitempty"`
	Value string  `json:"value,omitempty"`
	Trees int64   `json:"trees"`
}

// ExplainedPart is what one provider must meet. Groups are the suffixes of equal groups.
type ExplainedPart struct {
	Groups     []string         `json:"groups"`
	Resources  map[string]int64 `json:"resources"`
	CanSplit   bool             `json:"can_split"`
	Steps      []ExplainedStep  `json:"steps"`
	SplitTrees *int64           `json:"split_trees,omitempty"`
}

// ExplainedStep is a condition of a part: the providers, and the trees of these, that pass it and all before.
type ExplainedStep struct {
	Step      string `json:"step"`
	Class     string `json:"class,omitempty"`
	Value     string `json:"value,omitempty"`
	Providers int64  `json:"providers"`
	Trees     int64  `json:"trees"`
}

// ExplainedFact is the count of a single class, trait or aggregate.
type ExplainedFact struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Amount    int64  `json:"amount,omitempty"`
	Providers int64  `json:"providers"`
	WithRoom  *int64 `json:"with_room,omitempty"`
	MostRoom  *int64 `json:"most_room,omitempty"`
	Largest   *int64 `json:"largest,omitempty"`
	More      bool   `json:"more,omitempty"`
}

// ExplainedConflict is what cannot be met, whatever is free.
type ExplainedConflict struct {
	Conflict string   `json:"conflict"`
	Groups   []string `json:"groups,omitempty"`
	Name     string   `json:"name"`
	Amount   int64    `json:"amount,omitempty"`
	Largest  *int64   `json:"largest,omitempty"`
	Similar  []string `json:"similar,omitempty"`
}

// ExplainedTree is one of the trees that fail by least. Without missing conditions, Stage is the stage at which its
// providers do not go together.
type ExplainedTree struct {
	Tree     ExplainedProvider  `json:"tree"`
	Distance float64            `json:"distance"`
	Missing  []ExplainedMissing `json:"missing"`
	Stage    string             `json:"stage,omitempty"`
	// FreedBy is consumers without which the query fits in the tree; null if it does not fit even when the tree is empty. It is
	// missing below berth 1.6, for callers who may not see allocations, and if the service did not find out in time.
	FreedBy nullable.Nullable[ExplainedFreed] `json:"freed_by,omitempty"`
}

// ExplainedFreed is a set of consumers without which a query fits in a tree. Exact: no smaller set is enough.
type ExplainedFreed struct {
	Consumers []ExplainedHolder `json:"consumers"`
	Exact     bool              `json:"exact"`
}

// ExplainedHolder is a consumer, and what it holds of what a query lacks.
type ExplainedHolder struct {
	Consumer    uuid.UUID          `json:"consumer"`
	Allocations []ExplainedHolding `json:"allocations"`
}

// ExplainedHolding is an allocation of a consumer.
type ExplainedHolding struct {
	Provider ExplainedProvider `json:"provider"`
	Class    string            `json:"class"`
	Amount   int64             `json:"amount"`
}

// ExplainedProvider names a resource provider.
type ExplainedProvider struct {
	UUID uuid.UUID `json:"uuid"`
	Name string    `json:"name"`
}

// ExplainedMissing is a condition that a tree does not meet, and its provider that is nearest to it.
type ExplainedMissing struct {
	Groups   []string           `json:"groups,omitempty"`
	Step     string             `json:"step"`
	Class    string             `json:"class,omitempty"`
	Value    string             `json:"value,omitempty"`
	Amount   int64              `json:"amount,omitempty"`
	Gives    int64              `json:"gives,omitempty"`
	Provider *ExplainedProvider `json:"provider,omitempty"`
}

// ExplainedChange is a change of the query that gives candidates: "amount", "can_split", "replace" or "drop". Query is
// the whole changed query; Needs is "berth 1.1" if it needs that.
type ExplainedChange struct {
	Change string   `json:"change"`
	Groups []string `json:"groups,omitempty"`
	Class  string   `json:"class,omitempty"`
	Value  string   `json:"value,omitempty"`
	From   int64    `json:"from,omitempty"`
	To     int64    `json:"to,omitempty"`
	ExplainedCandidates
	Needs string `json:"needs,omitempty"`
}

// ExplainedCandidates is the number of candidates of another query; More: the service stopped counting there.
type ExplainedCandidates struct {
	Candidates int64  `json:"candidates"`
	More       bool   `json:"more"`
	Query      string `json:"query"`
}

// ExplainedItem is an allocation of a rejected claim. Verdict is "inventory", "units", "capacity" or "fits". SoFar is the
// amount with those of earlier items on the same provider and class, if it differs.
type ExplainedItem struct {
	Consumer  uuid.UUID         `json:"consumer"`
	Provider  ExplainedProvider `json:"provider"`
	Class     string            `json:"class"`
	Amount    int64             `json:"amount"`
	SoFar     int64             `json:"so_far,omitempty"`
	Verdict   string            `json:"verdict"`
	Capacity  int64             `json:"capacity"`
	Used      int64             `json:"used"`
	Own       int64             `json:"own"`
	Free      int64             `json:"free"`
	MinUnit   int64             `json:"min_unit"`
	MaxUnit   int64             `json:"max_unit"`
	StepSize  int64             `json:"step_size"`
	Consumers int64             `json:"consumers"`
}
