package baremetal

import (
	"context"
	"net/http"
	neturl "net/url"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
)

// NodeTraits is the response with a node's traits.
type NodeTraits struct {
	Traits []string `json:"traits" doc:"Names of traits, sorted." example:"[\"CUSTOM_GOLD\"]"`
}

// NodeTraitsReplace is the request that replaces a node's traits.
type NodeTraitsReplace struct {
	Traits []string `json:"traits" doc:"All new traits of the node, at most 50: standard traits, or CUSTOM_ followed by capital letters, digits and underscores, at most 255 characters." example:"[\"CUSTOM_GOLD\"]"`
}

// nodeTraitPath is the input of operations on one trait of a node.
type nodeTraitPath struct {
	// It does not embed nodePath, because huma does not fill in unexported fields.
	Node  string `path:"node" doc:"UUID or name of the node." example:"rack-7"`
	Trait string `path:"trait" doc:"The trait." example:"CUSTOM_GOLD"`
}

// added is the response to the addition of a trait.
type added struct {
	Location string `header:"Location" doc:"URL of the trait." example:"http://baremetal.example.org/v1/nodes/rack-7/traits/CUSTOM_GOLD"`
}

func (o *operations) nodeTraitOperations() []*route.Operation {
	const all, single = nodeOne + "/traits", nodeOne + "/traits/{trait}"
	refused := []route.Failure{
		noNodeFails,
		{Name: "invalid-trait-name", When: "The name of a trait is invalid.", Fault: badTrait("gold")},
		{Name: "too-many-traits", When: "The node would have more than 50 traits.", Fault: tooManyTraits("rack-7")},
	}
	return []*route.Operation{{
		ID: "node-trait-list", Method: http.MethodGet, Path: all, Tag: tagTraits, Rule: policy.NodeTraitsList, Authorize: o.onNode(policy.NodeTraitsList),
		Summary: "List a node's traits", Checks: only, Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(37), o.nodeTraitList, route.Example(func(context.Context) any {
			return NodeTraits{Traits: exampleNode.Traits}
		}))},
	}, {
		ID: "node-trait-replace", Method: http.MethodPut, Path: all, Tag: tagTraits, Rule: policy.NodeTraitsUpdate, Authorize: o.onNode(policy.NodeTraitsUpdate),
		Summary: "Replace a node's traits", Checks: writesSince, Fails: refused,
		Variants: []route.Variant{route.Write(v(37), route.Body[nodePath]{
			Example: NodeTraitsReplace{Traits: exampleNode.Traits},
		}, o.nodeTraitReplace)},
	}, {
		ID: "node-trait-clear", Method: http.MethodDelete, Path: all, Tag: tagTraits, Rule: policy.NodeTraitsDelete, Authorize: o.onNode(policy.NodeTraitsDelete),
		Summary: "Delete a node's traits", Checks: only, Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(37), o.nodeTraitClear)},
	}, {
		ID: "node-trait-add", Method: http.MethodPut, Path: single, Tag: tagTraits, Rule: policy.NodeTraitsUpdate, Authorize: o.onNode(policy.NodeTraitsUpdate),
		Summary: "Add a trait to a node", Checks: only, Fails: refused,
		Description: "Does nothing if the node already has the trait.",
		Variants:    []route.Variant{route.From(v(37), o.nodeTraitAdd, route.Status(http.StatusNoContent))},
	}, {
		ID: "node-trait-delete", Method: http.MethodDelete, Path: single, Tag: tagTraits, Rule: policy.NodeTraitsDelete, Authorize: o.onNode(policy.NodeTraitsDelete),
		Summary: "Remove a trait from a node", Checks: only,
		Description: "An allocation that required the trait keeps the node.",
		Fails: []route.Failure{noNodeFails, {Name: "trait-not-found", When: "The node does not have the trait.",
			Fault: noNodeTrait("rack-7", "CUSTOM_GOLD")}},
		Variants: []route.Variant{route.From(v(37), o.nodeTraitDelete)},
	}}
}

func tooManyTraits(node string) *fault.Error {
	return fault.New(fault.Invalid, "Node %s can have at most 50 traits.", node)
}

func noNodeTrait(node, trait string) *fault.Error {
	return fault.New(fault.NotFound, "Node %s doesn't have a trait '%s'", node, trait)
}

func nodeTraitFaults(sent, trait string) route.RuleFaults {
	all := nodeFaults(sent)
	all[store.NodeTraitLimit] = func(is store.Values) *fault.Error { return tooManyTraits(is.Node) }
	all[store.NodeTraitNotFound] = func(is store.Values) *fault.Error { return noNodeTrait(is.Node, trait) }
	return all
}

func checkTraits(names ...string) error {
	for _, name := range names {
		if !store.IsTraitName(name) {
			return badTrait(name)
		}
	}
	return nil
}

func (o *operations) nodeTraitList(ctx context.Context, in *nodePath) (*answer[NodeTraits], error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	found, err := o.store.NodeTraitList(ctx, node)
	if err != nil {
		return nil, nodeFaults(in.Node).Translate(err)
	}
	return &answer[NodeTraits]{Body: NodeTraits{Traits: listed(found)}}, nil
}

func (o *operations) nodeTraitReplace(ctx context.Context, in *nodePath, body *NodeTraitsReplace) (*empty, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err == nil {
		err = checkTraits(body.Traits...)
	}
	if err != nil {
		return nil, err
	}
	return nil, nodeTraitFaults(in.Node, "").Translate(o.store.NodeTraitReplace(ctx, node, body.Traits))
}

func (o *operations) nodeTraitClear(ctx context.Context, in *nodePath) (*empty, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return nil, nodeFaults(in.Node).Translate(o.store.NodeTraitClear(ctx, node))
}

func (o *operations) nodeTraitAdd(ctx context.Context, in *nodeTraitPath) (*added, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err == nil {
		err = checkTraits(in.Trait)
	}
	if err == nil {
		err = nodeTraitFaults(in.Node, in.Trait).Translate(o.store.NodeTraitAdd(ctx, node, in.Trait))
	}
	if err != nil {
		return nil, err
	}
	return &added{Location: url(ctx, nodeAll+"/"+in.Node+"/traits/"+neturl.PathEscape(in.Trait))}, nil
}

func (o *operations) nodeTraitDelete(ctx context.Context, in *nodeTraitPath) (*empty, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return nil, nodeTraitFaults(in.Node, in.Trait).Translate(o.store.NodeTraitDelete(ctx, node, in.Trait))
}
