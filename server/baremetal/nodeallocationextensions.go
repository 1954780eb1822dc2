package baremetal

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/jsonbody"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// What this server has beyond ironic's API for allocations. All of it is for clients
// that name it in the common header (see microversion.Extended); to others it does
// not exist.

// AllocationWish is a request for a node, or several, with all extensions.
type AllocationWish struct {
	AllocationRequest
	Wait    *float64      `json:"wait,omitempty" nullable:"false" minimum:"0" maximum:"600" doc:"Answer when it is decided, or after so many seconds." example:"30"`
	Count   *jsonbody.Int `json:"count,omitempty" nullable:"false" minimum:"1" maximum:"100" doc:"Make so many, which are decided together. Their names are the name with -1, -2 and so on." example:"3"`
	Minimum *jsonbody.Int `json:"minimum,omitempty" nullable:"false" minimum:"1" doc:"With count: how many must get a node; if fewer would, none does. All, if it is not sent." example:"2"`
	Sticky  bool          `json:"sticky,omitempty" doc:"The node keeps the allocation when it is torn down." example:"true"`
}

// AllocationRetry is what can be said about another try.
type AllocationRetry struct {
	Wait *float64 `json:"wait,omitempty" nullable:"false" minimum:"0" maximum:"600" doc:"Answer when it is decided, or after so many seconds." example:"30"`
}

// allocationsMade is one allocation, or with count a list.
type allocationsMade struct {
	one  *view[Allocation]
	many *Allocations
}

// MarshalJSON implements json.Marshaler.
func (m allocationsMade) MarshalJSON() ([]byte, error) {
	if m.many != nil {
		return json.Marshal(m.many)
	}
	return json.Marshal(m.one)
}

// Schema implements huma.SchemaProvider.
func (allocationsMade) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{
		view[Allocation]{}.Schema(r), r.Schema(reflect.TypeFor[Allocations](), true, ""),
	}}
}

// extendedAllocations are the operations that stand in place of others, or beside
// them.
func (o *operations) extendedAllocations() (creation, retry *route.Operation) {
	creation = o.nodeAllocationCreation()
	creation.Variants = []route.Variant{route.Write(v(52), route.Body[none]{Example: exampleRequest, Optional: true}, o.nodeAllocationWish,
		route.Status(http.StatusCreated), route.Example(exampleAllocation(exampleAsked)))}
	return creation, &route.Operation{
		ID: "node-allocation-retry", Method: http.MethodPost, Path: allocationOnePath + "/retry", Tag: tagAllocations,
		Rule: policy.NodeAllocationsUpdate, Checks: writesSince, Summary: "Decide an allocation once more",
		Description: "For one in error, which keeps its uuid and name.",
		Fails: []route.Failure{
			{When: "There is no such allocation.", Fault: noAllocation("web-1")},
			{When: "It is not in error.", Fault: notInError("web-1", "active")},
		},
		Variants: []route.Variant{route.Write(v(52), route.Body[allocationInput]{Optional: true}, o.nodeAllocationRetry,
			route.Example(exampleAllocation(exampleAsked)))},
	}
}

func notInError(sent, state string) *fault.Error {
	return fault.New(fault.Conflict, "Allocation %s cannot be retried, because it is in state %s and not in error.", sent, state)
}

func (o *operations) nodeAllocationWish(ctx context.Context, _ *none, body *AllocationWish) (*created[allocationsMade], error) {
	request, err := body.wanted(isTraitWish)
	if err != nil {
		return nil, err
	}
	request.Extended, request.Sticky, request.Quiet = true, body.Sticky, o.decide != nil
	if body.Count != nil || body.Minimum != nil {
		return o.nodeAllocationBatch(ctx, body, &request)
	}
	made, err := o.store.NodeAllocationCreate(ctx, request, o.conductor)
	if err != nil {
		return nil, allocationRefused(&request).say(err)
	}
	o.hand(made)
	decided, err := o.await(ctx, body.Wait, made)
	if err != nil {
		return nil, err
	}
	shown := allocationOf(ctx, allocationShape.all(ctx), &decided[0])
	return &created[allocationsMade]{
		Location: url(ctx, "/v1/"+allocationPath(made.UUID)), Body: allocationsMade{one: &shown},
	}, nil
}

func (o *operations) nodeAllocationBatch(
	ctx context.Context, body *AllocationWish, request *store.NodeAllocationRequest,
) (*created[allocationsMade], error) {
	number, minimum, err := body.size(request)
	if err != nil {
		return nil, err
	}
	made, err := o.store.NodeAllocationCreateBatch(ctx, *request, number, minimum, o.conductor)
	refused := allocationRefused(request)
	refused[store.NodeAllocationNameTaken] = func(store.Values) *fault.Error {
		return fault.New(fault.Conflict, "An allocation with one of the names %s-1 to %s-%d already exists.",
			*request.Name, *request.Name, number)
	}
	if err != nil {
		return nil, refused.say(err)
	}
	o.hand(made...)
	made, err = o.await(ctx, body.Wait, made...)
	if err != nil {
		return nil, err
	}
	shown := &Allocations{Allocations: make([]view[Allocation], len(made))}
	for i := range made {
		shown.Allocations[i] = allocationOf(ctx, allocationShape.all(ctx), &made[i])
	}
	return &created[allocationsMade]{Location: url(ctx, allocationsPath), Body: allocationsMade{many: shown}}, nil
}

// size is how many allocations to make, and how many of them must get a node.
func (w *AllocationWish) size(request *store.NodeAllocationRequest) (number, minimum int, err error) {
	switch {
	case w.Count == nil:
		return 0, 0, fault.New(fault.Invalid, "The minimum %d is of no use without count.", *w.Minimum)
	case request.UUID != nil || request.Node != nil:
		return 0, 0, fault.New(fault.Invalid, "With count, uuid and node cannot be sent: the allocations have uuids of their own, "+
			"and nodes are chosen.")
	}
	number = int(*w.Count)
	minimum = number
	if w.Minimum != nil {
		minimum = int(*w.Minimum)
	}
	if minimum > number {
		return 0, 0, fault.New(fault.Invalid, "The minimum %d is more than the count %d.", minimum, number)
	}
	if longest := maxName - len("-100"); request.Name != nil && len(*request.Name) > longest {
		return 0, 0, fault.New(fault.Invalid, "With count, a name has up to %d characters, because a number follows it.", longest)
	}
	return number, minimum, nil
}

func (o *operations) nodeAllocationRetry(
	ctx context.Context, in *allocationInput, body *AllocationRetry,
) (*answer[view[Allocation]], error) {
	called, err := ident(in.Ident)
	if err != nil {
		return nil, err
	}
	if err := o.store.NodeAllocationRetry(ctx, called, o.conductor); err != nil {
		refused := allocationWords(in.Ident)
		refused[store.NodeAllocationNotFailed] = func(values store.Values) *fault.Error { return notInError(in.Ident, values.State) }
		return nil, refused.say(err)
	}
	found, err := o.store.NodeAllocationShow(ctx, called)
	if err != nil {
		return nil, allocationWords(in.Ident).say(err)
	}
	decided, err := o.await(ctx, body.Wait, found)
	if err != nil {
		return nil, err
	}
	return &answer[view[Allocation]]{Body: allocationOf(ctx, allocationShape.all(ctx), &decided[0])}, nil
}

// The operators of traits.
const (
	without = "!"
	oneOf   = "in:"
)

// isTraitWish takes the name of a trait, one that the node must not have, and several
// of which it must have one.
func isTraitWish(text string) bool {
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

// answering is kept of a request's time for its answer.
const answering = time.Second

// await gives allocations as they are once all are decided, or as they are when the
// time is over.
func (o *operations) await(ctx context.Context, seconds *float64, made ...store.NodeAllocation) ([]store.NodeAllocation, error) {
	if seconds == nil {
		return made, nil
	}
	patience := time.Duration(*seconds * float64(time.Second))
	if deadline, limited := ctx.Deadline(); limited {
		patience = min(patience, time.Until(deadline)-answering)
	}
	waiting, done := context.WithTimeout(ctx, patience)
	defer done()
	for i := range made {
		if err := o.decisions.await(waiting, &made[i]); err != nil && waiting.Err() == nil {
			return nil, err
		}
	}
	return made, nil
}
