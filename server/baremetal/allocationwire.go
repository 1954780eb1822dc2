package baremetal

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/store"
)

// Allocation is a request for a node and what became of it.
type Allocation struct {
	UUID          uuid.UUID    `json:"uuid,omitempty" format:"uuid" doc:"Its uuid; also the instance_uuid of the node." example:"ba5eba11-0000-4000-8000-000000000001"`
	Name          *string      `json:"name,omitempty" nullable:"true" doc:"Its name, by which it is found too." example:"web-1"`
	State         string       `json:"state,omitempty" enum:"allocating,active,error" doc:"allocating: to be decided. active: it has a node. error: it got none, and last_error says why." example:"active"`
	ResourceClass string       `json:"resource_class,omitempty" doc:"The class that the node is of." example:"gold"`
	Traits        []string     `json:"traits,omitempty" doc:"What the node must have." example:"[\"CUSTOM_FAST_DISK\"]"`
	Candidates    []uuid.UUID  `json:"candidate_nodes,omitempty" doc:"The only nodes to choose from; empty: any." example:"[]"`
	Extra         extraMembers `json:"extra,omitempty" doc:"Whatever the client wants to keep here." example:"{\"rack\": \"r7\"}"`
	NodeUUID      *uuid.UUID   `json:"node_uuid,omitempty" nullable:"true" format:"uuid" doc:"The node; null unless the state is active." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	LastError     *string      `json:"last_error,omitempty" nullable:"true" doc:"Why no node could be given; null unless the state is error." example:"Failed to process allocation ba5eba11-0000-4000-8000-000000000001: no available nodes match the resource class gold."`
	Owner         *string      `json:"owner,omitempty" since:"60" nullable:"true" doc:"Whose it is: such an allocation only gets nodes that this owner owns or leases." example:"0f7e5f0b8f5b4c8c9d7e6a5b4c3d2e1f"`
	CreatedAt     Time         `json:"created_at,omitempty" doc:"When it was made."`
	UpdatedAt     *Time        `json:"updated_at,omitempty" nullable:"true" doc:"When it last changed; null: never."`
	Links         []Link       `json:"links" doc:"Where the allocation is."`
}

// Allocations is a page of them.
type Allocations struct {
	Allocations []view[Allocation] `json:"allocations" doc:"In the order asked for, else of their creation."`
	Next        *string            `json:"next,omitempty" doc:"URL of the next page; missing where this one was not full." example:"http://baremetal.example.org/v1/allocations?sort_key=id&sort_dir=asc&limit=1&marker=ba5eba11-0000-4000-8000-000000000001"`
}

// AllocationRequest asks for a node.
type AllocationRequest struct {
	ResourceClass *string       `json:"resource_class,omitempty" nullable:"true" maxLength:"80" doc:"The class of the node, to the letter; needed unless node is sent." example:"gold"`
	Name          *string       `json:"name,omitempty" nullable:"true" maxLength:"255" pattern:"^[A-Za-z0-9-._~]+$" doc:"A name that no other allocation has. A node of this name is tried first." example:"web-1"`
	UUID          *string       `json:"uuid,omitempty" nullable:"true" doc:"The uuid of the allocation; one is made up if it is not sent." example:"ba5eba11-0000-4000-8000-000000000001"`
	Traits        []string      `json:"traits,omitempty" nullable:"true" doc:"What the node must have: names of standard traits, or CUSTOM_ and then capital letters, digits and underscores, 255 characters at most." example:"[\"CUSTOM_FAST_DISK\"]"`
	Candidates    []string      `json:"candidate_nodes,omitempty" nullable:"true" doc:"Uuids or names of the only nodes to choose from; none: any." example:"[]"`
	Extra         *extraMembers `json:"extra,omitempty" nullable:"true" doc:"Whatever the client wants to keep here." example:"{\"rack\": \"r7\"}"`
	Node          *string       `json:"node,omitempty" since:"58,unknown" nullable:"true" doc:"Uuid or name of a node that is active already. It gets the allocation at once, without a choice." example:"rack-7"`
	Owner         *string       `json:"owner,omitempty" since:"60" nullable:"true" maxLength:"255" doc:"Whose it is: such an allocation only gets nodes that this owner owns or leases." example:"0f7e5f0b8f5b4c8c9d7e6a5b4c3d2e1f"`
}

// extraMembers is an object of any members, kept as it was written.
type extraMembers json.RawMessage

var noMembers = []byte("{}")

// MarshalJSON implements json.Marshaler.
func (e extraMembers) MarshalJSON() ([]byte, error) {
	if len(e) == 0 {
		return noMembers, nil
	}
	return e, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *extraMembers) UnmarshalJSON(raw []byte) error {
	*e = extraMembers(bytes.Clone(raw))
	return nil
}

// Schema implements huma.SchemaProvider.
func (extraMembers) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

var allocationShape = newShape[Allocation]()

func allocationPath(id uuid.UUID) string { return "allocations/" + id.String() }

// allocationOf is an allocation as it goes out.
func allocationOf(ctx context.Context, fields chosen, from *store.NodeAllocation) view[Allocation] {
	shown := &Allocation{
		UUID: from.UUID, Name: from.Name, State: from.State, ResourceClass: from.ResourceClass,
		Traits: from.Traits, Candidates: from.CandidateNodes, Extra: extraMembers(from.Extra), NodeUUID: from.NodeUUID,
		LastError: from.LastError, Owner: from.Owner, CreatedAt: Time(from.CreatedAt), UpdatedAt: maybe(from.UpdatedAt),
		Links: links(ctx, allocationPath(from.UUID)),
	}
	if shown.Traits == nil {
		shown.Traits = []string{}
	}
	if shown.Candidates == nil {
		shown.Candidates = []uuid.UUID{}
	}
	return allocationShape.show(fields, shown)
}

// wanted is what a client asks the store for. isTrait knows what stands for a trait.
func (r *AllocationRequest) wanted(isTrait func(string) bool) (store.NodeAllocationRequest, error) {
	asked := store.NodeAllocationRequest{
		Name: r.Name, Traits: r.Traits, Owner: r.Owner, CandidateNodes: make([]string, len(r.Candidates)),
	}
	if r.UUID != nil {
		id, ok := asUUID(*r.UUID)
		if !ok {
			return asked, fault.New(fault.Invalid, "Expected UUID for uuid: %s", *r.UUID)
		}
		asked.UUID = &id
	}
	if r.ResourceClass != nil {
		asked.ResourceClass = *r.ResourceClass
	}
	if r.Node != nil {
		node, err := ident(*r.Node)
		if err != nil {
			return asked, err
		}
		asked.Node = &node
	}
	if asked.ResourceClass == "" && asked.Node == nil {
		return asked, noClass
	}
	for _, trait := range r.Traits {
		if !isTrait(trait) {
			return asked, badTrait(trait)
		}
	}
	for i, node := range r.Candidates {
		asked.CandidateNodes[i] = node
		if id, ok := asUUID(node); ok {
			asked.CandidateNodes[i] = id.String()
		}
	}
	if r.Extra != nil {
		asked.Extra = json.RawMessage(*r.Extra)
		return asked, checkExtra(asked.Extra)
	}
	return asked, nil
}

// checkExtra refuses what the database could not hold.
func checkExtra(raw json.RawMessage) error {
	var members any
	if err := decodeMember(raw, &members); err != nil {
		return err
	}
	return checkNumbers(allocationExtra, members)
}

var noClass = fault.New(fault.Invalid, "The resource_class field is mandatory when not backfilling")

func badTrait(sent string) *fault.Error {
	return fault.New(fault.Invalid, "Invalid trait '%s': it is neither a standard one nor CUSTOM_ and then "+
		"capital letters, digits and underscores, 255 characters at most.", sent)
}

// The allocations of the examples: as it was asked for, and as it became.
var (
	exampleAsked = store.NodeAllocation{
		UUID: uuid.MustParse("ba5eba11-0000-4000-8000-000000000001"), Name: new("web-1"), State: "allocating",
		ResourceClass: "gold", Traits: []string{"CUSTOM_FAST_DISK"}, Extra: json.RawMessage(`{"rack":"r7"}`),
		CreatedAt: time.Date(2026, 11, 20, 15, 8, 1, 836794000, time.UTC),
	}
	exampleActive = func() store.NodeAllocation {
		decided := exampleAsked
		decided.State, decided.NodeUUID = "active", new(uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"))
		decided.UpdatedAt = new(decided.CreatedAt.Add(42 * time.Millisecond))
		return decided
	}()
)

func exampleAllocation(from store.NodeAllocation) func(context.Context) any {
	return func(ctx context.Context) any { return allocationOf(ctx, allocationShape.all(ctx), &from) }
}

func exampleAllocations(ctx context.Context) any {
	return Allocations{Allocations: []view[Allocation]{allocationOf(ctx, allocationShape.all(ctx), &exampleActive)}}
}

var exampleRequest = map[string]any{
	"resource_class": "gold", "name": "web-1", "traits": []string{"CUSTOM_FAST_DISK"}, "extra": map[string]any{"rack": "r7"},
}
