package baremetal

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
)

// nodeAllocationExplanation returns the operation that explains an allocation.
func (o *operations) nodeAllocationExplanation() *route.Operation {
	return &route.Operation{
		ID: "node-allocation-explain", Method: http.MethodGet, Path: allocationOnePath + "/explanation", Tag: tagAllocations,
		Rule: policy.NodeAllocationsShow, Further: []string{policy.NodesList, policy.NodesListOwn},
		Authorize: o.onAllocation(policy.NodeAllocationsShow), Checks: only, Summary: "Explain an allocation",
		Description: "Explains the requirements of an allocation with the nodes that the caller may list, as they are now: " +
			"how many nodes pass each condition, which nodes fail the fewest, and which changes would help.",
		Fails: []route.Failure{{Name: "allocation-not-found", When: "The allocation does not exist.",
			Fault: noAllocation("web-1")}},
		Variants: []route.Variant{route.From(v(52), o.nodeAllocationExplain,
			route.Example(func(context.Context) any { return exampleExplanation() }))},
	}
}

func (o *operations) nodeAllocationExplain(ctx context.Context, in *allocationInput) (*answer[explain.NodeAllocation], error) {
	called, err := ident(authorized(ctx, in.Ident))
	if err != nil {
		return nil, err
	}
	asked, err := o.store.NodeAllocationShow(ctx, called)
	if err != nil {
		return nil, allocationFaults(in.Ident).Translate(err)
	}
	var allocation *explain.NodeAllocation
	took, err := o.explanations.Maker().Run(ctx, explainlog.OnRequest, func(ctx context.Context) (err error) {
		allocation, err = o.explain(ctx, &asked)
		return err
	})
	if err != nil {
		return &answer[explain.NodeAllocation]{Body: *explain.ShortNodeAllocation(&asked)}, nil
	}
	now, ms := time.Now().UTC(), took.Milliseconds()
	allocation.MadeAt, allocation.TookMS = &now, &ms
	return &answer[explain.NodeAllocation]{Body: *allocation}, nil
}

// explain computes the explanation of an allocation. After an error of a later query it is incomplete.
func (o *operations) explain(ctx context.Context, asked *store.NodeAllocation) (*explain.NodeAllocation, error) {
	listable := listableNodes(ctx)
	question := &explain.NodeQuery{Asked: asked, Limited: listable.None || listable.Project != nil}
	traits := explain.TraitElements(asked.Traits)
	var err error
	question.Groups, question.AreProviders, err = o.store.NodeAllocationExplain(ctx, asked, traits, listable, asked.ResourceClass)
	if err != nil {
		return nil, err
	}
	question.Similar = []store.NodeGroup{}
	if similar := question.SimilarClasses(); len(similar) > 0 {
		if question.Similar, _, err = o.store.NodeAllocationExplain(ctx, asked, traits, listable, similar...); err != nil {
			question.Similar = nil
		}
	}
	if question.NeedsTraits() {
		if question.Traits, err = o.store.NodeAllocationExplainTraits(ctx, listable); err != nil {
			question.Traits = nil
		}
	}
	return explain.ExplainNodeAllocation(question), nil
}

// listableNodes returns the nodes that the caller may list, by the rules of GET /v1/nodes.
func listableNodes(ctx context.Context) store.Listable {
	listing, err := authorizeOwn(ctx, policy.NodesList, policy.NodesListOwn)
	if err != nil {
		return store.Listable{None: true}
	}
	return store.Listable{Project: projectOf(listing)}
}

// exampleExplanation explains the allocation of the examples.
func exampleExplanation() *explain.NodeAllocation {
	asked := exampleAsked
	allocation := explain.ExplainNodeAllocation(&explain.NodeQuery{
		Asked: &asked, Similar: []store.NodeGroup{}, Traits: []string{"CUSTOM_FAST_DISKS"}, Groups: []store.NodeGroup{
			{Class: "gold", State: "available", Passed: []bool{true, true, true, true, true, true, false}, Nodes: 1, First: []store.GroupNode{
				{ID: 1, UUID: uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"), Name: "rack-7"},
			}},
			{Class: "silver", State: "active", Passed: []bool{false, false, true, true, true, true}, Nodes: 2},
		},
	})
	at := time.Date(2026, 11, 20, 15, 8, 2, 0, time.UTC)
	allocation.MadeAt, allocation.TookMS = &at, new(int64(4))
	return allocation
}
