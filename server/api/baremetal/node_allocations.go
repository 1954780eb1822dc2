package baremetal

import (
	"context"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
)

// allocationInput is the input of operations on one allocation.
type allocationInput struct {
	Ident string `path:"allocation" doc:"UUID or name of the allocation." example:"web-1"`
}

// allocationNode is the input of operations on a node's allocation.
type allocationNode struct {
	Ident string `path:"node" doc:"UUID or name of the node." example:"rack-7"`
}

const (
	allocationsPath    = "/v1/allocations"
	allocationOnePath  = "/v1/allocations/{allocation}"
	allocationNodePath = "/v1/nodes/{node}/allocation"
)

// allocationFilters are the filters of node allocations.
var allocationFilters = route.Params{
	{Name: "state", Since: v(52), Doc: "Allocations in this state.", Example: "active"},
	{Name: "resource_class", Since: v(52), Doc: "Allocations of this resource class.", Example: "gold"},
	{Name: "node", Since: v(52), Doc: "The allocation of this node (UUID or name).", Example: "rack-7"},
	{Name: "owner", Since: v(60), Doc: "Allocations of this owner.", Example: "0f7e5f0b8f5b4c8c9d7e6a5b4c3d2e1f"},
}

func (o *operations) nodeAllocationOperations() []*route.Operation {
	creation := o.nodeAllocationCreation()
	var beyond []*route.Operation
	if o.extended {
		var retry *route.Operation
		creation, retry = o.extendedAllocations()
		beyond = append(beyond, retry)
	}
	if o.explains {
		beyond = append(beyond, o.nodeAllocationExplanation())
	}
	return append([]*route.Operation{{
		ID: "node-allocation-list", Method: http.MethodGet, Path: allocationsPath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsList, Authorize: onOwn(policy.NodeAllocationsList, policy.NodeAllocationsOwn), Checks: only, Summary: "List allocations",
		Description: "Returns all members unless `fields` selects some.",
		Fails: []route.Failure{
			{Name: "unknown-node", When: "The node of the filter does not exist.", Fault: noNodeInFilter("rack-7")},
			{Name: "unknown-marker", When: "The marker is not the UUID of an allocation.",
				Fault: noAllocation(exampleAsked.UUID.String())},
			{Name: "unknown-field", When: "A field does not exist.", Fault: unknownFields("foo")},
		},
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationList,
			route.QueryOf(allocationFilters, fieldsArguments, pageArguments), route.Example(exampleAllocations))},
	}, creation, {
		ID: "node-allocation-show", Method: http.MethodGet, Path: allocationOnePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsShow, Authorize: o.onAllocation(policy.NodeAllocationsShow), Checks: only, Summary: "Show an allocation",
		Fails: []route.Failure{{Name: "allocation-not-found", When: "The allocation does not exist.",
			Fault: noAllocation("web-1")}},
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationShow, route.QueryOf(fieldsArguments),
			route.Example(exampleAllocation(exampleActive)))},
	}, {
		ID: "node-allocation-update", Method: http.MethodPatch, Path: allocationOnePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsUpdate, Authorize: o.onAllocation(policy.NodeAllocationsUpdate), Checks: writesSince, MissingIsMethod: true, Summary: "Update an allocation",
		Description: "Changes the name and members of extra, atomically. An allocation can be changed in any state.",
		Fails: []route.Failure{
			{Name: "member-not-patchable", When: "A step changes another member.",
				Fault: notPatchable("/state", "name", "extra")},
			{Name: "allocation-not-found", When: "The allocation does not exist.", Fault: noAllocation("web-1")},
			{Name: "name-taken", When: "Another allocation has the name.", Fault: allocationNameTaken("web-1")},
		},
		Variants: []route.Variant{route.Write(v(57), route.Body[allocationInput]{Example: []map[string]any{
			{"op": opAdd, "path": "/extra/rack", "value": "r7"}, {"op": opRemove, "path": "/name"},
		}}, o.nodeAllocationUpdate, route.Example(exampleAllocation(exampleActive)))},
	}, {
		ID: "node-allocation-delete", Method: http.MethodDelete, Path: allocationOnePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsDelete, Authorize: o.onAllocation(policy.NodeAllocationsDelete), Checks: only, MissingIsMethod: true, Summary: "Delete an allocation",
		Description: "Releases its node. An undecided allocation gets no node.",
		Fails: append([]route.Failure{{Name: "allocation-not-found", When: "The allocation does not exist.",
			Fault: noAllocation("web-1")}}, allocationHeld...),
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationDelete)},
	}, {
		ID: "allocation-of-node-show", Method: http.MethodGet, Path: allocationNodePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsShow, Authorize: o.onAllocationOfNode(policy.NodeAllocationsShow), Checks: only, Summary: "Show a node's allocation", Fails: nodeWithoutAllocation,
		Variants: []route.Variant{route.From(v(52), o.allocationOfNodeShow, route.QueryOf(fieldsArguments),
			route.Example(exampleAllocation(exampleActive)))},
	}, {
		ID: "allocation-of-node-delete", Method: http.MethodDelete, Path: allocationNodePath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsDelete, Authorize: o.onAllocationOfNode(policy.NodeAllocationsDelete), Checks: only, Summary: "Delete a node's allocation", Description: "Releases the node.",
		Fails:    slices.Concat(nodeWithoutAllocation, allocationHeld),
		Variants: []route.Variant{route.From(v(52), o.allocationOfNodeDelete)},
	}}, beyond...)
}

// nodeAllocationCreation returns the operation that creates node allocations.
func (o *operations) nodeAllocationCreation() *route.Operation {
	return &route.Operation{
		ID: "node-allocation-create", Method: http.MethodPost, Path: allocationsPath, Tag: tagAllocations,
		Rule: policy.NodeAllocationsCreate, Authorize: onNewAllocation, Checks: writesSince, MissingIsMethod: true, Summary: "Create an allocation",
		Description: "The response has the state allocating; a conductor decides asynchronously. " +
			"From 1.58 on, an allocation can backfill a node that is already in use.",
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
	if err := o.ownAllocation(ctx, &request); err != nil {
		return nil, err
	}
	request.Quiet = o.decide != nil
	allocation, err := o.store.NodeAllocationCreate(ctx, request, o.conductor)
	if err != nil {
		return nil, allocationRefused(&request).Translate(err)
	}
	o.handToConductor(allocation)
	return &created[view[Allocation]]{
		Location: url(ctx, "/v1/"+allocationPath(allocation.UUID)),
		Body:     allocationOf(ctx, allocationShape.all(ctx), &allocation),
	}, nil
}

// handToConductor passes node allocations to the conductor of this process, if there is one.
func (o *operations) handToConductor(allocations ...store.NodeAllocation) {
	for i := range allocations {
		if o.decide != nil && allocations[i].State == "allocating" {
			o.decide(allocations[i].UUID)
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
		if projectOf(ctx) != nil {
			if err := o.visible(ctx, node); err != nil {
				return nil, err
			}
		}
	}
	if project := projectOf(ctx); project != nil {
		if filter.Owner != nil && *filter.Owner != *project {
			return nil, &policy.Denied{Rule: policy.NodeAllocationsList}
		}
		filter.Owner = project
	}
	found, err := o.store.NodeAllocationList(ctx, filter, page)
	if err != nil {
		return nil, allocationsUnlisted.Translate(err)
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
	return allocationFound(ctx, in.Ident, o.store.NodeAllocationShow, allocationFaults(in.Ident))
}

func (o *operations) allocationOfNodeShow(ctx context.Context, in *allocationNode) (*answer[view[Allocation]], error) {
	return allocationFound(ctx, in.Ident, o.store.NodeAllocationShowByNode, nodeAllocationFaults(in.Ident))
}

// allocationFound returns a node allocation with the selected members.
func allocationFound(
	ctx context.Context, sent string, find func(context.Context, string) (store.NodeAllocation, error),
	refused route.RuleFaults,
) (*answer[view[Allocation]], error) {
	given, err := arguments(ctx)
	if err != nil {
		return nil, err
	}
	fields, err := allocationShape.asked(ctx, given, allocationShape.all(ctx))
	if err != nil {
		return nil, err
	}
	called, err := ident(authorized(ctx, sent))
	if err != nil {
		return nil, err
	}
	found, err := find(ctx, called)
	if err != nil {
		return nil, refused.Translate(err)
	}
	return &answer[view[Allocation]]{Body: allocationOf(ctx, fields, &found)}, nil
}

func (o *operations) nodeAllocationUpdate(ctx context.Context, in *allocationInput, patch *Patch) (*answer[view[Allocation]], error) {
	if err := patch.check(ctx, allocationShape, allocationName, allocationExtra); err != nil {
		return nil, err
	}
	called, err := ident(authorized(ctx, in.Ident))
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
	refused := allocationFaults(in.Ident)
	refused[store.NodeAllocationNameTaken] = func(store.Values) *fault.Error { return allocationNameTaken(name) }
	if err != nil {
		return nil, refused.Translate(err)
	}
	return &answer[view[Allocation]]{Body: allocationOf(ctx, allocationShape.all(ctx), &changed)}, nil
}

func (o *operations) nodeAllocationDelete(ctx context.Context, in *allocationInput) (*empty, error) {
	return allocationDropped(ctx, in.Ident, o.store.NodeAllocationDelete, allocationFaults(in.Ident))
}

func (o *operations) allocationOfNodeDelete(ctx context.Context, in *allocationNode) (*empty, error) {
	return allocationDropped(ctx, in.Ident, o.store.NodeAllocationDeleteByNode, nodeAllocationFaults(in.Ident))
}

func allocationDropped(
	ctx context.Context, sent string, drop func(context.Context, string) error, refused route.RuleFaults,
) (*empty, error) {
	called, err := ident(authorized(ctx, sent))
	if err != nil {
		return nil, err
	}
	return nil, refused.Translate(drop(ctx, called))
}
