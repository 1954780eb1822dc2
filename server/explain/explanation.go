// Package explain says why a query for allocation candidates found nothing, or little
// (docs/contract/berth/explain.md): what each condition leaves, the trees that fail by least, and the changes of the query
// that give candidates. It also says which allocations of a claim do not fit, and which names are similar to an unknown one.
//
// It is not for the search itself, which is package candidates, nor for where explanations are stored and shown.
package explain

import (
	"time"

	"github.com/google/uuid"
)

// Explanation is the explanation of a candidate query or of a claim, in the format of the API.
type Explanation struct {
	Kind    string `json:"kind"`
	Reason  Reason `json:"reason"`
	Summary string `json:"summary"`
	// The other members are missing in the short form.
	Sample              *Sample      `json:"sample,omitempty"`
	Funnel              []Stage      `json:"funnel,omitzero"`
	Parts               []Part       `json:"parts,omitzero"`
	Facts               []Fact       `json:"facts,omitzero"`
	Conflicts           []Conflict   `json:"conflicts,omitzero"`
	Nearest             []Tree       `json:"nearest,omitzero"`
	Relaxations         []Relaxation `json:"relaxations,omitzero"`
	RelaxationsComplete *bool        `json:"relaxations_complete,omitempty"`
	// Items and Elsewhere are those of a claim.
	Items      []ClaimItem `json:"items,omitzero"`
	Elsewhere  *Elsewhere  `json:"elsewhere,omitempty"`
	Incomplete bool        `json:"incomplete,omitempty"`
	MadeAt     *time.Time  `json:"made_at,omitempty"`
	TookMS     *int64      `json:"took_ms,omitempty"`
}

// Reason is the first condition that leaves nothing.
type Reason string

// The reasons of empty results, and of one with candidates.
const (
	Fits      Reason = "fits"
	InTree    Reason = "in_tree"
	Root      Reason = "root"
	Amount    Reason = "amount"
	Trait     Reason = "trait"
	Aggregate Reason = "aggregate"
	NoTree    Reason = "no_tree"
	Together  Reason = "together"
)

// Sample says how many trees were looked at.
type Sample struct {
	Exact      bool     `json:"exact"`
	LookedAt   int64    `json:"looked_at"`
	Trees      int64    `json:"trees"`
	Margin     *float64 `json:"margin,omitempty"`
	ZeroAtMost *int64   `json:"zero_at_most,omitempty"`
}

// Stage is a step of the whole query, and the trees that pass it and all before.
type Stage struct {
	Stage string  `json:"stage"`
	Group *string `json:"group,omitempty"`
	Value string  `json:"value,omitempty"`
	Trees int64   `json:"trees"`
}

// Part is what one provider must meet.
type Part struct {
	Groups     []string         `json:"groups"`
	Resources  map[string]int64 `json:"resources"`
	CanSplit   bool             `json:"can_split"`
	Steps      []Step           `json:"steps"`
	SplitTrees *int64           `json:"split_trees,omitempty"`
}

// Step is a condition of a part: the providers, and the trees of these, that pass it and all before.
type Step struct {
	Step      string `json:"step"`
	Class     string `json:"class,omitempty"`
	Value     string `json:"value,omitempty"`
	Providers int64  `json:"providers"`
	Trees     int64  `json:"trees"`
}

// Fact is a count of a single thing.
type Fact struct {
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Amount    int64  `json:"amount,omitempty"`
	Providers int64  `json:"providers"`
	WithRoom  *int64 `json:"with_room,omitempty"`
	MostRoom  *int64 `json:"most_room,omitempty"`
	Largest   *int64 `json:"largest,omitempty"`
	More      bool   `json:"more,omitempty"`
}

// Conflict is what cannot be met whatever is free.
type Conflict struct {
	Conflict string   `json:"conflict"`
	Groups   []string `json:"groups,omitempty"`
	Name     string   `json:"name"`
	Amount   int64    `json:"amount,omitempty"`
	Largest  *int64   `json:"largest,omitempty"`
	Similar  []string `json:"similar,omitzero"`
}

// Tree is one that fails by little.
type Tree struct {
	Tree     Provider  `json:"tree"`
	Distance float64   `json:"distance"`
	Missing  []Missing `json:"missing"`
	Stage    string    `json:"stage,omitempty"`
}

// Provider names a resource provider.
type Provider struct {
	UUID uuid.UUID `json:"uuid"`
	Name string    `json:"name"`
}

// Missing is a condition that the provider nearest to a part does not meet.
type Missing struct {
	Groups   []string  `json:"groups,omitempty"`
	Step     string    `json:"step"`
	Class    string    `json:"class,omitempty"`
	Value    string    `json:"value,omitempty"`
	Amount   int64     `json:"amount,omitempty"`
	Gives    *int64    `json:"gives,omitempty"`
	Provider *Provider `json:"provider,omitempty"`
}

// Relaxation is a change of the query that gives candidates.
type Relaxation struct {
	Change     string   `json:"change"`
	Groups     []string `json:"groups,omitempty"`
	Class      string   `json:"class,omitempty"`
	Value      string   `json:"value,omitempty"`
	From       int64    `json:"from,omitempty"`
	To         int64    `json:"to,omitempty"`
	Candidates int      `json:"candidates"`
	More       bool     `json:"more"`
	Query      string   `json:"query"`
	Needs      string   `json:"needs,omitempty"`
}
