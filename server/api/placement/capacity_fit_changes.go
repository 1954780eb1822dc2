package placement

import (
	"encoding/json"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// capacityFitCount is a number of members.
type capacityFitCount struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (capacityFitCount) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(1.0), Maximum: new(1e6), Examples: []any{1000}}
}

// capacityFitCopies is a number of copies of a tree.
type capacityFitCopies struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (capacityFitCopies) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(1.0), Maximum: new(1e4), Examples: []any{2}}
}

// CapacityFitCopies is a change that adds trees.
type CapacityFitCopies struct {
	Like  string            `json:"like" format:"uuid" doc:"A provider of the tree that the new trees are like: the same inventories, traits and aggregates, with nothing used." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Count capacityFitCopies `json:"count" doc:"Number of new trees."`
}

// CapacityFitSettings is a change of inventories.
type CapacityFitSettings struct {
	Class    string       `json:"resource_class" pattern:"^[A-Z0-9_]+$" maxLength:"255" doc:"The resource class of the inventories." example:"MEMORY_MB"`
	Ratio    *float64     `json:"allocation_ratio,omitempty" nullable:"false" maximum:"3.40282e+38" doc:"Their new overcommit factor." example:"1.5"`
	Reserved *reservedNew `json:"reserved,omitempty" nullable:"false" doc:"Their new reserved amount, at most the total of each."`
	InTree   string       `json:"in_tree,omitempty" format:"uuid" doc:"A provider of the only tree whose inventories change."`
	MemberOf string       `json:"member_of,omitempty" format:"uuid" doc:"An aggregate: only the inventories of providers change that are in it, or whose root is."`
}

// reservedNew is an amount of an inventory that consumers cannot allocate.
type reservedNew struct{ jsonbody.Int }

// Schema implements huma.SchemaProvider.
func (reservedNew) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32", Minimum: new(0.0), Maximum: new(2147483647.0), Examples: []any{512}}
}

// TransformSchema implements huma.SchemaTransformer: a setting changes, and at most one condition applies.
func (CapacityFitSettings) TransformSchema(_ huma.Registry, schema *huma.Schema) *huma.Schema {
	schema.AnyOf = []*huma.Schema{{Required: []string{"allocation_ratio"}}, {Required: []string{"reserved"}}}
	schema.Not = &huma.Schema{Required: []string{"in_tree", "member_of"}}
	return schema
}

// CapacityFitChange is a change of the hardware.
type CapacityFitChange struct {
	copies   *CapacityFitCopies
	settings *CapacityFitSettings
}

// UnmarshalJSON implements json.Unmarshaler. The schema has validated the value.
func (c *CapacityFitChange) UnmarshalJSON(raw []byte) error {
	var kind struct {
		Like *string `json:"like"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	if kind.Like != nil {
		c.copies = &CapacityFitCopies{}
		return json.Unmarshal(raw, c.copies)
	}
	c.settings = &CapacityFitSettings{}
	return json.Unmarshal(raw, c.settings)
}

// Schema implements huma.SchemaProvider.
func (CapacityFitChange) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[CapacityFitCopies](r), schemaOf[CapacityFitSettings](r)}}
}

// fitChanges converts the changes of a request.
func fitChanges(asked []CapacityFitChange) (changes []candidates.FitChange) {
	parse := func(text string) *uuid.UUID {
		id, ok := uuidlike.Parse(text) // the schema has validated it
		if !ok {
			return nil
		}
		return &id
	}
	for _, capacityFitChange := range asked {
		if capacityFitChange.copies != nil {
			changes = append(changes, candidates.FitChange{Like: parse(capacityFitChange.copies.Like), Copies: int(capacityFitChange.copies.Count.Int)})
			continue
		}
		of := capacityFitChange.settings
		change := candidates.FitChange{Class: of.Class, InTree: parse(of.InTree), MemberOf: parse(of.MemberOf)}
		if of.Ratio != nil {
			change.Ratio = new(max(*of.Ratio, leastRatio))
		}
		if of.Reserved != nil {
			change.Reserved = new(int64(of.Reserved.Int))
		}
		changes = append(changes, change)
	}
	return changes
}

var (
	capacityChangeUnknown = badClaim("change-unknown-name", "A change names a provider, a resource class or an aggregate that does not exist.",
		"'changes[%d]': there is no %s %s.", 0, "resource provider", unknownUUID)
	capacityChangeShares = badClaim("change-of-sharing-tree", "A change copies a tree of which a provider shares its inventory with other trees.",
		"'changes[%d]': %s shares with other trees, so a copy of its tree cannot be reckoned.", 0, "pool-1")
	capacityBusy = route.Fails(fault.Unavailable, "capacity-busy", "The caller has as many questions about capacity running as it may have on a server. "+
		"The header `Retry-After` has the delay after which to retry.",
		"%d of your questions about capacity are still running. Try again later.", maxFitsOfCaller).WithCode(fault.CodeCapacityBusy)

	// The documents have the 503 of all operations.
	capacityFitFailures = with(candidateSearchFailures, claimRelationConflict, capacityChangeUnknown, capacityChangeShares)
)

// fitChangeError returns the error of a change.
func fitChangeError(asked []CapacityFitChange, refused *candidates.ChangeError) error {
	change, place := asked[refused.Change], refused.Change
	switch {
	case refused.Sharer != "":
		return capacityChangeShares.Of(place, refused.Sharer)
	case change.copies != nil:
		return capacityChangeUnknown.Of(place, "resource provider", change.copies.Like)
	}
	switch refused.Unknown {
	case candidates.UnknownTree:
		return capacityChangeUnknown.Of(place, "resource provider", change.settings.InTree)
	case candidates.UnknownAggregate:
		return capacityChangeUnknown.Of(place, "aggregate", change.settings.MemberOf)
	}
	return capacityChangeUnknown.Of(place, "resource class", change.settings.Class)
}

// maxFitsOfCaller is how many questions about capacity one caller may have running on a server.
const maxFitsOfCaller = 2

// runningFits counts the questions about capacity that run, by caller. It is safe for concurrent use.
type runningFits struct {
	mu       sync.Mutex
	byCaller map[string]int
}

// enter counts a question, unless the caller has the maximum number running. leave ends it.
func (r *runningFits) enter(caller string) (leave func(), entered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byCaller[caller] >= maxFitsOfCaller {
		return nil, false
	}
	if r.byCaller == nil {
		r.byCaller = map[string]int{}
	}
	r.byCaller[caller]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.byCaller[caller]--; r.byCaller[caller] == 0 {
			delete(r.byCaller, caller)
		}
	}, true
}
