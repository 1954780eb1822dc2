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
	Kind    string `json:"kind" doc:"candidates or claim."`
	Reason  Reason `json:"reason" doc:"The first condition that leaves nothing, or what a claim violates; fits if there are candidates, or all amounts fit now."`
	Summary string `json:"summary" doc:"One paragraph for people."`
	// The other members are missing in the short form.
	Sample              *Sample      `json:"sample,omitempty" doc:"How many of the trees were judged."`
	Funnel              []Stage      `json:"funnel,omitzero" doc:"The stages of the whole query, with the trees that pass each stage and all before."`
	Parts               []Part       `json:"parts,omitzero" doc:"What one provider must meet, with the providers and trees that pass each step and all before."`
	Facts               []Fact       `json:"facts,omitzero" doc:"Counts of each single resource class, trait and aggregate."`
	Conflicts           []Conflict   `json:"conflicts,omitzero" doc:"What cannot be met, whatever is free."`
	Nearest             []Tree       `json:"nearest,omitzero" doc:"At most five trees without a candidate that fail by least."`
	FitsAt              FitsAt       `json:"fits_at,omitzero" since:"berth 6" doc:"First time at which the query has a candidate, if each consumer is gone at the until of its lease and nothing else changes; null if it has none even then. Missing if there are candidates, if policy does not permit the caller to list the allocations of providers, or if the server did not find out in time."`
	Relaxations         []Relaxation `json:"relaxations,omitzero" doc:"Changes of the query that were tried and give more candidates."`
	RelaxationsComplete *bool        `json:"relaxations_complete,omitempty" doc:"Whether all changes were tried."`
	// Items and Elsewhere are those of a claim.
	Items      []ClaimItem `json:"items,omitzero" doc:"At most 100 allocations of a claim, those that do not fit first."`
	Elsewhere  *Elsewhere  `json:"elsewhere,omitempty" doc:"Candidates for the amounts of the first consumer that does not fit; only in recorded explanations."`
	Incomplete bool        `json:"incomplete,omitempty" doc:"True if a part of the explanation is missing; otherwise missing."`
	MadeAt     *time.Time  `json:"made_at,omitempty" doc:"Time at which the explanation was computed."`
	TookMS     *int64      `json:"took_ms,omitempty" doc:"Duration of the computation in milliseconds."`
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
	Exact      bool     `json:"exact" doc:"Whether all trees were judged, so that no number is an estimate."`
	LookedAt   int64    `json:"looked_at" doc:"Number of judged trees."`
	Trees      int64    `json:"trees" doc:"Number of all trees."`
	Margin     *float64 `json:"margin,omitempty" doc:"95 percent bound of the error of numbers of trees, in percent of all trees; only for estimates."`
	ZeroAtMost *int64   `json:"zero_at_most,omitempty" doc:"A number of 0 trees means fewer than this many; only for estimates."`
}

// Stage is a step of the whole query, and the trees that pass it and all before.
type Stage struct {
	Stage string  `json:"stage" doc:"all, in_tree, not_in_tree, root_required, root_member_of, group, traits, one_per_tree, sums, isolate, same_subtree or candidates."`
	Group *string `json:"group,omitempty" doc:"Suffix of the group of a stage group."`
	Value string  `json:"value,omitempty" doc:"Required or forbidden element of a stage of roots."`
	Trees int64   `json:"trees" doc:"Number of trees that pass."`
}

// Part is what one provider must meet.
type Part struct {
	Groups     []string         `json:"groups" doc:"Suffixes of the groups, which ask for the same."`
	Resources  map[string]int64 `json:"resources" doc:"Amounts by resource class."`
	CanSplit   bool             `json:"can_split" doc:"Whether several providers may supply the amount together."`
	Steps      []Step           `json:"steps" doc:"The conditions in the order in which providers are tested."`
	SplitTrees *int64           `json:"split_trees,omitempty" doc:"Number of trees whose providers have enough together; only with can_split."`
}

// Step is a condition of a part: the providers, and the trees of these, that pass it and all before.
type Step struct {
	Step      string `json:"step" doc:"reached, inventory, in_tree, member_of, not_member_of, required, forbidden, units, size, reserved or used."`
	Class     string `json:"class,omitempty" doc:"Resource class of the step."`
	Value     string `json:"value,omitempty" doc:"Trait, aggregates or provider of the step."`
	Providers int64  `json:"providers" doc:"Number of providers that pass."`
	Trees     int64  `json:"trees" doc:"Number of trees with such a provider."`
}

// Fact is a count of a single thing.
type Fact struct {
	Kind      string `json:"kind" doc:"root_trait, root_aggregate, class, trait or aggregate."`
	Name      string `json:"name" doc:"The class, traits or aggregates."`
	Amount    int64  `json:"amount,omitempty" doc:"Requested amount of a class."`
	Providers int64  `json:"providers" doc:"Number of providers with it, at most 10000."`
	WithRoom  *int64 `json:"with_room,omitempty" doc:"Number of providers of the class with enough free capacity, at most 10000."`
	MostRoom  *int64 `json:"most_room,omitempty" doc:"Most free capacity of any provider of the class."`
	Largest   *int64 `json:"largest,omitempty" doc:"Most that any provider could give if nothing were used; only if none has enough."`
	More      bool   `json:"more,omitempty" doc:"True if a number is greater than 10000; otherwise missing."`
}

// Conflict is what cannot be met whatever is free.
type Conflict struct {
	Conflict string   `json:"conflict" doc:"in_tree_unknown, class_not_offered, amount_too_large, trait_unused, root_trait_unused, aggregate_empty, root_aggregate_empty, root_aggregate_forbidden, isolated_groups, class_unknown or trait_unknown."`
	Groups   []string `json:"groups,omitempty" doc:"Suffixes of the groups that ask for it."`
	Name     string   `json:"name" doc:"The class, trait, aggregates or provider."`
	Amount   int64    `json:"amount,omitempty" doc:"Requested amount, or number of groups."`
	Largest  *int64   `json:"largest,omitempty" doc:"Most that any provider could give, or most providers of any tree."`
	Similar  []string `json:"similar,omitzero" doc:"At most three similar names."`
}

// Tree is one that fails by little.
type Tree struct {
	Tree     Provider  `json:"tree" doc:"The root of the tree."`
	Distance float64   `json:"distance" doc:"How much the tree lacks; 0 if only its groups do not go together."`
	Missing  []Missing `json:"missing" doc:"The conditions that the tree does not meet."`
	Stage    string    `json:"stage,omitempty" doc:"First stage that a tree with distance 0 fails."`
	FreedBy  FreedBy   `json:"freed_by,omitzero" since:"berth 6" doc:"Consumers without which the whole query fits in the tree; null if it does not fit even without any. Missing if there are candidates, if policy does not permit the caller to list the allocations of providers, or if the server did not find out in time."`
}

// Provider names a resource provider.
type Provider struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"UUID of the resource provider."`
	Name string    `json:"name" doc:"Name of the resource provider."`
}

// Missing is a condition that the provider nearest to a part does not meet.
type Missing struct {
	Groups   []string  `json:"groups,omitempty" doc:"Suffixes of the groups."`
	Step     string    `json:"step" doc:"The failed step, or stage of roots."`
	Class    string    `json:"class,omitempty" doc:"Resource class of the step."`
	Value    string    `json:"value,omitempty" doc:"Trait, aggregates or provider of the step."`
	Amount   int64     `json:"amount,omitempty" doc:"Requested amount."`
	Gives    *int64    `json:"gives,omitempty" doc:"Greatest amount up to the requested one that the provider can give now."`
	Provider *Provider `json:"provider,omitempty" doc:"The provider that fails by least; missing if there is none."`
}

// Relaxation is a change of the query that gives candidates.
type Relaxation struct {
	Change     string   `json:"change" doc:"amount, can_split, replace or drop."`
	Groups     []string `json:"groups,omitempty" doc:"Suffixes of the changed groups."`
	Class      string   `json:"class,omitempty" doc:"Resource class of the change."`
	Value      string   `json:"value,omitempty" doc:"What is replaced with or dropped, as parameter and value."`
	From       int64    `json:"from,omitempty" doc:"Requested amount."`
	To         int64    `json:"to,omitempty" doc:"Changed amount."`
	Candidates int      `json:"candidates" doc:"Number of candidates of the changed query, at most 100."`
	More       bool     `json:"more" doc:"Whether there can be more."`
	Query      string   `json:"query" doc:"The changed query string, without a limit."`
	Needs      string   `json:"needs,omitempty" doc:"Version of the extensions that the changed query needs."`
}
