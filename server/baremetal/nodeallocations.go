package baremetal

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// allocationInput is the input of operations on one allocation.
type allocationInput struct {
	Ident string `path:"allocation" doc:"Uuid or name of the allocation." example:"web-1"`
}

// allocationNode is the input of operations on a node's allocation.
type allocationNode struct {
	Ident string `path:"node" doc:"Uuid or name of the node." example:"rack-7"`
}

const (
	allocationsPath    = "/v1/allocations"
	allocationOnePath  = "/v1/allocations/{allocation}"
	allocationNodePath = "/v1/nodes/{node}/allocation"
)

// allocationFilters say which allocations to list.
var allocationFilters = []argument{
	{Name: "state", Since: v(52), Doc: "Only those in this state.", Example: "active"},
	{Name: "resource_class", Since: v(52), Doc: "Only those of this class.", Example: "gold"},
	{Name: "node", Since: v(52), Doc: "Only the one of this node, by its uuid or name.", Example: "rack-7"},
	{Name: "owner", Since: v(60), Doc: "Only those of this owner.", Example: "0f7e5f0b8f5b4c8c9d7e6a5b4c3d2e1f"},
}

func (o *operations) nodeAllocationOperations() []*route.Operation {
	creation := o.nodeAllocationCreation()
	var beyond []*route.Operation
	if o.extended {
		var retry *route.Operation
		creation, retry = o.extendedAllocations()
		beyond = append(beyond, retry)
	}
	return append([]*route.Operation{{
		ID: "node-allocation-list", Method: http.MethodGet, Path: allocationsPath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsList, Checks: only, Summary: "List allocations",
		Description: "Shows whole allocations unless fields are chosen.",
		Fails: []route.Failure{
			{When: "The node of the filter does not exist.", Fault: noNodeInFilter("rack-7")},
			{When: "The marker is no allocation's uuid.", Fault: noAllocation(exampleAsked.UUID.String())},
			{When: "A field is unknown.", Fault: fault.New(fault.Invalid, `Field(s) "foo" are not valid`)},
		},
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationList,
			query(allocationFilters, fieldsArguments, pageArguments), route.Example(exampleAllocations))},
	}, creation, {
		ID: "node-allocation-show", Method: http.MethodGet, Path: allocationOnePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsShow, Checks: only, Summary: "Show an allocation",
		Fails: []route.Failure{{When: "There is no such allocation.", Fault: noAllocation("web-1")}},
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationShow, query(fieldsArguments),
			route.Example(exampleAllocation(exampleActive)))},
	}, {
		ID: "node-allocation-update", Method: http.MethodPatch, Path: allocationOnePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsUpdate, Checks: writesSince, MissingIsMethod: true, Summary: "Change an allocation",
		Description: "Changes the name and what is in extra, and nothing else: all steps, or none. An allocation can be changed in any state.",
		Fails: []route.Failure{
			{When: "A step changes something else.", Fault: fault.New(fault.Invalid, "Cannot patch /state. Only the following can be updated: name, extra")},
			{When: "There is no such allocation.", Fault: noAllocation("web-1")},
			{When: "Another allocation has the name.", Fault: allocationNameTaken("web-1")},
		},
		Variants: []route.Variant{route.Write(v(57), route.Body[allocationInput]{Example: []map[string]any{
			{"op": opAdd, "path": "/extra/rack", "value": "r7"}, {"op": opRemove, "path": "/name"},
		}}, o.nodeAllocationUpdate, route.Example(exampleAllocation(exampleActive)))},
	}, {
		ID: "node-allocation-delete", Method: http.MethodDelete, Path: allocationOnePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsDelete, Checks: only, MissingIsMethod: true, Summary: "Delete an allocation",
		Description: "Frees its node. One that is still to be decided gets no node any more.",
		Fails:       append([]route.Failure{{When: "There is no such allocation.", Fault: noAllocation("web-1")}}, allocationHeld...),
		Variants:    []route.Variant{route.From(v(52), o.nodeAllocationDelete)},
	}, {
		ID: "allocation-of-node-show", Method: http.MethodGet, Path: allocationNodePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsShow, Checks: only, Summary: "Show a node's allocation", Fails: nodeWithoutAllocation,
		Variants: []route.Variant{route.From(v(52), o.allocationOfNodeShow, query(fieldsArguments),
			route.Example(exampleAllocation(exampleActive)))},
	}, {
		ID: "allocation-of-node-delete", Method: http.MethodDelete, Path: allocationNodePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsDelete, Checks: only, Summary: "Delete a node's allocation", Description: "Frees the node.",
		Fails:    slices.Concat(nodeWithoutAllocation, allocationHeld),
		Variants: []route.Variant{route.From(v(52), o.allocationOfNodeDelete)},
	}}, beyond...)
}

// nodeAllocationCreation is the operation that makes allocations.
func (o *operations) nodeAllocationCreation() *route.Operation {
	return &route.Operation{
		ID: "node-allocation-create", Method: http.MethodPost, Path: allocationsPath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsCreate, Checks: writesSince, MissingIsMethod: true, Summary: "Ask for a node",
		Description: "The answer has the state allocating; a conductor decides a moment later. " +
			"From 1.58 on, an allocation can also be made for a node that is in use already.",
		Fails: allocationRefusals,
		Variants: []route.Variant{route.Write(v(52), route.Body[none]{Example: exampleRequest, Optional: true}, o.nodeAllocationCreate,
			route.Status(http.StatusCreated), route.Example(exampleAllocation(exampleAsked)))},
	}
}

func (o *operations) nodeAllocationCreate(ctx context.Context, _ *none, body *AllocationRequest) (*created[view[Allocation]], error) {
	request, err := body.wanted(store.IsTraitName)
	if err != nil {
		return nil, err
	}
	request.Quiet = o.decide != nil
	made, err := o.store.NodeAllocationCreate(ctx, request, o.conductor)
	if err != nil {
		return nil, allocationRefused(&request).say(err)
	}
	o.hand(made)
	return &created[view[Allocation]]{
		Location: url(ctx, "/v1/"+allocationPath(made.UUID)),
		Body:     allocationOf(ctx, allocationShape.all(ctx), &made),
	}, nil
}

// hand gives allocations to the conductor of this process, if there is one.
func (o *operations) hand(made ...store.NodeAllocation) {
	for i := range made {
		if o.decide != nil && made[i].State == "allocating" {
			o.decide(made[i].UUID)
		}
	}
}

func (o *operations) nodeAllocationList(ctx context.Context, _ *none) (*answer[Allocations], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := allocationShape.asked(ctx, given, allocationShape.all(ctx))
	if err != nil {
		return nil, err
	}
	page, err := pageOf(given, store.NodeAllocationSortKeys...)
	if err != nil {
		return nil, err
	}
	if _, err := allocationShape.known(ctx, page.SortKey); err != nil {
		return nil, err
	}
	filter := store.NodeAllocationFilter{
		State: given.text("state"), ResourceClass: given.text("resource_class"), Owner: given.text("owner"),
	}
	if sent := given.text("node"); sent != nil {
		node, err := ident(*sent)
		if err != nil {
			return nil, err
		}
		filter.Node = &node
	}
	found, err := o.store.NodeAllocationList(ctx, filter, page)
	if err != nil {
		return nil, allocationsUnlisted.say(err)
	}
	shown := Allocations{Allocations: make([]view[Allocation], len(found))}
	var last uuid.UUID
	for i := range found {
		shown.Allocations[i], last = allocationOf(ctx, fields, &found[i]), found[i].UUID
	}
	shown.Next = next(ctx, allocationsPath, given, page, len(found), last.String())
	return &answer[Allocations]{Body: shown}, nil
}

func (o *operations) nodeAllocationShow(ctx context.Context, in *allocationInput) (*answer[view[Allocation]], error) {
	return allocationFound(ctx, in.Ident, o.store.NodeAllocationShow, allocationWords(in.Ident))
}

func (o *operations) allocationOfNodeShow(ctx context.Context, in *allocationNode) (*answer[view[Allocation]], error) {
	return allocationFound(ctx, in.Ident, o.store.NodeAllocationOfNode, nodeAllocationWords(in.Ident))
}

// allocationFound shows an allocation, or those members of it that are asked for.
func allocationFound(
	ctx context.Context, sent string, find func(context.Context, string) (store.NodeAllocation, error), refused words,
) (*answer[view[Allocation]], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := allocationShape.asked(ctx, given, allocationShape.all(ctx))
	if err != nil {
		return nil, err
	}
	called, err := ident(sent)
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, called)
	if err != nil {
		return nil, refused.say(err)
	}
	return &answer[view[Allocation]]{Body: allocationOf(ctx, fields, &found)}, nil
}

func (o *operations) nodeAllocationUpdate(ctx context.Context, in *allocationInput, patch *Patch) (*answer[view[Allocation]], error) {
	if err := patch.check(ctx, allocationShape, allocationName, allocationExtra); err != nil {
		return nil, err
	}
	called, err := ident(in.Ident)
	if err != nil {
		return nil, err
	}
	var name string
	changed, err := o.store.NodeAllocationUpdate(ctx, called, func(found *store.NodeAllocation) error {
		err := patch.changeAllocation(found)
		if found.Name != nil {
			name = *found.Name
		}
		return err
	})
	refused := allocationWords(in.Ident)
	refused[store.NodeAllocationNameTaken] = func(store.Values) *fault.Error { return allocationNameTaken(name) }
	if err != nil {
		return nil, refused.say(err)
	}
	return &answer[view[Allocation]]{Body: allocationOf(ctx, allocationShape.all(ctx), &changed)}, nil
}

func (o *operations) nodeAllocationDelete(ctx context.Context, in *allocationInput) (*empty, error) {
	return allocationDropped(ctx, in.Ident, o.store.NodeAllocationDelete, allocationWords(in.Ident))
}

func (o *operations) allocationOfNodeDelete(ctx context.Context, in *allocationNode) (*empty, error) {
	return allocationDropped(ctx, in.Ident, o.store.NodeAllocationDeleteOfNode, nodeAllocationWords(in.Ident))
}

func allocationDropped(ctx context.Context, sent string, drop func(context.Context, string) error, refused words) (*empty, error) {
	called, err := ident(sent)
	if err != nil {
		return nil, err
	}
	return nil, refused.say(drop(ctx, called))
}
