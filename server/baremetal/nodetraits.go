package baremetal

import (
	"context"
	"net/http"
	neturl "net/url"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// NodeTraits are a node's traits.
type NodeTraits struct {
	Traits []string `json:"traits" doc:"Names of traits, sorted." example:"[\"CUSTOM_GOLD\"]"`
}

// NodeTraitsReplace asks for exactly these traits.
type NodeTraitsReplace struct {
	Traits []string `json:"traits" doc:"All traits that the node is to have, at most 50: standard ones, or CUSTOM_ and then capital letters, digits and underscores, 255 characters at most." example:"[\"CUSTOM_GOLD\"]"`
}

// nodeTraitPath is the input of operations on one trait of a node.
type nodeTraitPath struct {
	// Not an embedded nodePath: what is not exported is not filled in.
	Node  string `path:"node" doc:"Its uuid, or its name." example:"rack-7"`
	Trait string `path:"trait" doc:"The trait." example:"CUSTOM_GOLD"`
}

// added is the answer to a trait that is there now.
type added struct {
	Location string `header:"Location" doc:"URL of the trait." example:"http://baremetal.example.org/v1/nodes/rack-7/traits/CUSTOM_GOLD"`
}

func (o *operations) nodeTraitOperations() []*route.Operation {
	const all, one = nodeOne + "/traits", nodeOne + "/traits/{trait}"
	refused := []route.Failure{
		noNodeFails,
		{When: "It is not the name of a trait.", Fault: badTrait("gold")},
		{When: "The node would have more than 50.", Fault: tooManyTraits("rack-7")},
	}
	return []*route.Operation{{
		ID: "node-trait-list", Method: http.MethodGet, Path: all, Tag: tagTraits, Rule: policy.NodeTraitsList,
		Summary: "List a node's traits", Checks: only, Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(37), o.nodeTraitList, route.Example(func(context.Context) any {
			return NodeTraits{Traits: exampleNode.Traits}
		}))},
	}, {
		ID: "node-trait-replace", Method: http.MethodPut, Path: all, Tag: tagTraits, Rule: policy.NodeTraitsUpdate,
		Summary: "Replace a node's traits", Checks: writesSince, Fails: refused,
		Variants: []route.Variant{route.Write(v(37), route.Body[nodePath]{
			Example: NodeTraitsReplace{Traits: exampleNode.Traits},
		}, o.nodeTraitReplace)},
	}, {
		ID: "node-trait-clear", Method: http.MethodDelete, Path: all, Tag: tagTraits, Rule: policy.NodeTraitsDelete,
		Summary: "Delete a node's traits", Checks: only, Fails: []route.Failure{noNodeFails},
		Variants: []route.Variant{route.From(v(37), o.nodeTraitClear)},
	}, {
		ID: "node-trait-add", Method: http.MethodPut, Path: one, Tag: tagTraits, Rule: policy.NodeTraitsUpdate,
		Summary: "Give a node a trait", Checks: only, Fails: refused,
		Description: "Does nothing if the node has it.",
		Variants:    []route.Variant{route.From(v(37), o.nodeTraitAdd, route.Status(http.StatusNoContent))},
	}, {
		ID: "node-trait-delete", Method: http.MethodDelete, Path: one, Tag: tagTraits, Rule: policy.NodeTraitsDelete,
		Summary: "Take a trait from a node", Checks: only,
		Description: "An allocation that asked for it keeps the node.",
		Fails:       []route.Failure{noNodeFails, {When: "The node does not have it.", Fault: noNodeTrait("rack-7", "CUSTOM_GOLD")}},
		Variants:    []route.Variant{route.From(v(37), o.nodeTraitDelete)},
	}}
}

func tooManyTraits(node string) *fault.Error {
	return fault.New(fault.Invalid, "Node %s can have at most 50 traits.", node)
}

func noNodeTrait(node, trait string) *fault.Error {
	return fault.New(fault.NotFound, "Node %s doesn't have a trait '%s'", node, trait)
}

func nodeTraitWords(sent, trait string) words {
	all := nodeWords(sent)
	all[store.NodeTraitLimit] = func(is store.Values) *fault.Error { return tooManyTraits(is.Node) }
	all[store.NodeTraitUnknown] = func(is store.Values) *fault.Error { return noNodeTrait(is.Node, trait) }
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
		return nil, nodeWords(in.Node).say(err)
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
	return nil, nodeTraitWords(in.Node, "").say(o.store.NodeTraitReplace(ctx, node, body.Traits))
}

func (o *operations) nodeTraitClear(ctx context.Context, in *nodePath) (*empty, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err != nil {
		return nil, err
	}
	return nil, nodeWords(in.Node).say(o.store.NodeTraitClear(ctx, node))
}

func (o *operations) nodeTraitAdd(ctx context.Context, in *nodeTraitPath) (*added, error) {
	node, err := nodeIdent(ctx, in.Node)
	if err == nil {
		err = checkTraits(in.Trait)
	}
	if err == nil {
		err = nodeTraitWords(in.Node, in.Trait).say(o.store.NodeTraitAdd(ctx, node, in.Trait))
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
	return nil, nodeTraitWords(in.Node, in.Trait).say(o.store.NodeTraitDelete(ctx, node, in.Trait))
}
