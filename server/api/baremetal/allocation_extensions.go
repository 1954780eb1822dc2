package baremetal

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// These are Berth's extensions of ironic's API for node allocations. They exist only for requests that name them in the
// common header (see microversion.Extended).

// AllocationRequestExtended is the request for one or several node allocations, with all extensions.
type AllocationRequestExtended struct {
	AllocationRequest
	Wait    *float64      `json:"wait,omitempty" nullable:"false" minimum:"0" maximum:"600" doc:"Respond when the allocation is decided, or after this number of seconds." example:"30"`
	Count   *jsonbody.Int `json:"count,omitempty" nullable:"false" minimum:"1" maximum:"100" doc:"Number of allocations to create and decide together. Their names are the name followed by -1, -2 and so on." example:"3"`
	Minimum *jsonbody.Int `json:"minimum,omitempty" nullable:"false" minimum:"1" doc:"With count: minimum number of allocations that must get a node; if fewer can, none does. Default: count." example:"2"`
	Sticky  bool          `json:"sticky,omitempty" doc:"The node keeps the allocation after its instance is torn down." example:"true"`
}

// AllocationRetry is the request that processes a node allocation again.
type AllocationRetry struct {
	Wait *float64 `json:"wait,omitempty" nullable:"false" minimum:"0" maximum:"600" doc:"Respond when the allocation is decided, or after this number of seconds." example:"30"`
}

// allocationsMade is one node allocation, or a list if the request contains count.
type allocationsMade struct {
	single *view[Allocation]
	many   *Allocations
}

// MarshalJSON implements json.Marshaler.
func (m allocationsMade) MarshalJSON() ([]byte, error) {
	if m.many != nil {
		return json.Marshal(m.many)
	}
	return json.Marshal(m.single)
}

// Schema implements huma.SchemaProvider.
func (allocationsMade) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		view[Allocation]{}.Schema(r), r.Schema(reflect.TypeFor[Allocations](), true, ""),
	}}
}

// extendedAllocations returns the operations with extensions: one replaces the creation, the other retries.
func (o *operations) extendedAllocations() (creation, retry *route.Operation) {
	creation = o.nodeAllocationCreation()
	creation.Description += " With wait, the response follows the decision. With count, the operation creates several allocations, " +
		"which are decided together. A trait can be forbidden (`!CUSTOM_A`) or one of several (`in:CUSTOM_A,CUSTOM_B`)."
	creation.Fails = slices.Concat(creation.Fails, batchRefusals)
	creation.Variants = []route.Variant{route.Write(v(52), route.Body[none]{Example: exampleExtendedRequest, Optional: true}, o.nodeAllocationCreateExtended,
		route.Status(http.StatusCreated), route.Example(exampleAllocation(exampleAsked)))}
	return creation, &route.Operation{
		ID: "node-allocation-retry", Method: http.MethodPost, Path: allocationOnePath + "/retry", Tag: tagAllocations,
		Rule: policy.NodeAllocationsUpdate, Authorize: o.onAllocation(policy.NodeAllocationsUpdate), Checks: writesSince, Summary: "Retry a failed allocation",
		Description: "Processes an allocation in state error again. It keeps its UUID and name.",
		Fails: []route.Failure{
			{Name: "allocation-not-found", When: "The allocation does not exist.", Fault: noAllocation("web-1")},
			{Name: "allocation-not-in-error", When: "The allocation is not in state error.", Fault: notInError("web-1", "active")},
		},
		Variants: []route.Variant{route.Write(v(52), route.Body[allocationInput]{Example: AllocationRetry{Wait: new(30.0)}, Optional: true}, o.nodeAllocationRetry,
			route.Example(exampleAllocation(exampleAsked)))},
	}
}

// exampleExtendedRequest is a request for one allocation.
var exampleExtendedRequest = map[string]any{
	"resource_class": "gold", "name": "web-1", "traits": []string{"CUSTOM_FAST_DISK", "!CUSTOM_OLD"}, "wait": 30, "sticky": true,
}

// These are the failures of requests for several allocations.
var (
	minimumWithoutCount = route.Fails(fault.Invalid, "minimum-without-count", "The request has a minimum and no count.",
		"The minimum %d requires count.", 2)
	countWithNode = route.Fails(fault.Invalid, "count-with-node", "The request has a count and a UUID or a node.",
		"With count, uuid and node cannot be sent: the allocations have uuids of their own, and nodes are chosen.")
	minimumAboveCount = route.Fails(fault.Invalid, "minimum-above-count", "The minimum is larger than the count.",
		"The minimum %d is more than the count %d.", 3, 2)
	batchNameTooLong = route.Fails(fault.Invalid, "batch-name-too-long", "The name is too long for the numbers that follow it.",
		"With count, a name has up to %d characters, because a number follows it.", maxName-len("-100"))
	batchNameTaken = route.Fails(fault.Conflict, "batch-name-taken", "Another allocation has one of the names.",
		"An allocation with one of the names %s-1 to %s-%d already exists.", "web", "web", 3)
	batchRefusals = []route.Failure{minimumWithoutCount, countWithNode, minimumAboveCount, batchNameTooLong, batchNameTaken}
)

func notInError(sent, state string) *fault.Error {
	return fault.New(fault.Conflict, "Allocation %s cannot be retried, because it is in state %s and not in error.", sent, state)
}

func (o *operations) nodeAllocationCreateExtended(ctx context.Context, _ *none, body *AllocationRequestExtended) (*created[allocationsMade], error) {
	request, err := body.wanted(isTraitExpression)
	if err != nil {
		return nil, err
	}
	if err := o.ownAllocation(ctx, &request); err != nil {
		return nil, err
	}
	request.Extended, request.Sticky, request.Quiet = true, body.Sticky, o.decide != nil
	if body.Count != nil || body.Minimum != nil {
		return o.nodeAllocationBatch(ctx, body, &request)
	}
	allocation, err := o.store.NodeAllocationCreate(ctx, request, o.conductor)
	if err != nil {
		return nil, allocationRefused(&request).Translate(err)
	}
	o.handToConductor(allocation)
	decided, err := o.await(ctx, body.Wait, allocation)
	if err != nil {
		return nil, err
	}
	shown := allocationOf(ctx, allocationShape.all(ctx), &decided[0])
	return &created[allocationsMade]{
		Location: url(ctx, "/v1/"+allocationPath(allocation.UUID)), Body: allocationsMade{single: &shown},
	}, nil
}

func (o *operations) nodeAllocationBatch(
	ctx context.Context, body *AllocationRequestExtended, request *store.NodeAllocationRequest,
) (*created[allocationsMade], error) {
	number, minimum, err := body.size(request)
	if err != nil {
		return nil, err
	}
	allocations, err := o.store.NodeAllocationCreateBatch(ctx, *request, number, minimum, o.conductor)
	refused := allocationRefused(request)
	refused[store.NodeAllocationNameTaken] = func(store.Values) *fault.Error {
		return batchNameTaken.Of(*request.Name, *request.Name, number)
	}
	if err != nil {
		return nil, refused.Translate(err)
	}
	o.handToConductor(allocations...)
	allocations, err = o.await(ctx, body.Wait, allocations...)
	if err != nil {
		return nil, err
	}
	shown := &Allocations{Allocations: make([]view[Allocation], len(allocations))}
	for i := range allocations {
		shown.Allocations[i] = allocationOf(ctx, allocationShape.all(ctx), &allocations[i])
	}
	return &created[allocationsMade]{Location: url(ctx, allocationsPath), Body: allocationsMade{many: shown}}, nil
}

// size returns the number of node allocations to create and the minimum number that must get a node.
func (w *AllocationRequestExtended) size(request *store.NodeAllocationRequest) (number, minimum int, err error) {
	switch {
	case w.Count == nil:
		return 0, 0, minimumWithoutCount.Of(*w.Minimum)
	case request.UUID != nil || request.Node != nil:
		return 0, 0, countWithNode.Of()
	}
	number = int(*w.Count)
	minimum = number
	if w.Minimum != nil {
		minimum = int(*w.Minimum)
	}
	if minimum > number {
		return 0, 0, minimumAboveCount.Of(minimum, number)
	}
	if longest := maxName - len("-100"); request.Name != nil && len(*request.Name) > longest {
		return 0, 0, batchNameTooLong.Of(longest)
	}
	return number, minimum, nil
}

func (o *operations) nodeAllocationRetry(
	ctx context.Context, in *allocationInput, body *AllocationRetry,
) (*answer[view[Allocation]], error) {
	called, err := ident(authorized(ctx, in.Ident))
	if err != nil {
		return nil, err
	}
	if err := o.store.NodeAllocationRetry(ctx, called, o.conductor); err != nil {
		refused := allocationFaults(in.Ident)
		refused[store.NodeAllocationNotFailed] = func(values store.Values) *fault.Error { return notInError(in.Ident, values.State) }
		return nil, refused.Translate(err)
	}
	found, err := o.store.NodeAllocationShow(ctx, called)
	if err != nil {
		return nil, allocationFaults(in.Ident).Translate(err)
	}
	decided, err := o.await(ctx, body.Wait, found)
	if err != nil {
		return nil, err
	}
	return &answer[view[Allocation]]{Body: allocationOf(ctx, allocationShape.all(ctx), &decided[0])}, nil
}

// These are the operators of traits.
const (
	without = "!"
	oneOf   = "in:"
)

// isTraitExpression reports whether text is a trait name, a forbidden trait, or a list of any-of traits.
func isTraitExpression(text string) bool {
	if list, ok := strings.CutPrefix(text, oneOf); ok {
		for name := range strings.SplitSeq(list, ",") {
			if !store.IsTraitName(name) {
				return false
			}
		}
		return true
	}
	return store.IsTraitName(strings.TrimPrefix(text, without))
}

// responseMargin is the part of a request's deadline that is reserved for the response.
const responseMargin = time.Second

// await returns node allocations when all are decided or when the time ends.
func (o *operations) await(ctx context.Context, seconds *float64, allocations ...store.NodeAllocation) ([]store.NodeAllocation, error) {
	if seconds == nil {
		return allocations, nil
	}
	timeout := time.Duration(*seconds * float64(time.Second))
	if deadline, limited := ctx.Deadline(); limited {
		timeout = min(timeout, time.Until(deadline)-responseMargin)
	}
	waiting, done := context.WithTimeout(ctx, timeout)
	defer done()
	for i := range allocations {
		if err := o.decisionHub.await(waiting, &allocations[i]); err != nil && waiting.Err() == nil {
			return nil, err
		}
	}
	return allocations, nil
}
