package history

import (
	"context"

	"github.com/berthd/berth/internal/test/model"
)

// drawTree draws new inventories and traits of one or two providers of a tree, at the parents that the client has read.
// Sometimes it changes nothing, and sometimes it creates a provider.
func (c *Client) drawTree(ctx context.Context) (model.Operation, error) {
	p := c.Dice.IntN(providers)
	if err := c.Do(ctx, model.Read{At: p}); err != nil {
		return nil, err
	}
	root := c.roots[p]
	made := model.ReplaceTree{At: root}
	if c.Dice.IntN(8) == 0 {
		if created := 2 + c.Dice.IntN(2); created != p && created != root {
			made.Nodes = append(made.Nodes, c.drawNode(model.Node{At: created, Parent: root, Given: model.None}))
		}
	}
	if other := c.Dice.IntN(providers); made.Nodes == nil && other != p && c.roots[other] == root && c.Dice.IntN(2) == 0 {
		if c.Dice.IntN(3) > 0 {
			if err := c.Do(ctx, model.Read{At: other}); err != nil {
				return nil, err
			}
		}
		made = c.addKnown(made, other)
	}
	return c.addKnown(made, p), nil
}

// addKnown adds a provider with the parent and the generation that the client has read last. Only the provider of the path
// may have no parent; otherwise the request is invalid in every state.
func (c *Client) addKnown(to model.ReplaceTree, p int) model.ReplaceTree {
	known := c.memory.Providers[p]
	if (known.Parent == model.None) == (p == to.At) {
		to.Nodes = append(to.Nodes, c.drawNode(model.Node{At: p, Parent: known.Parent, Given: known.Generation}))
	}
	return to
}

// drawNode draws the inventories and traits of a node. Half of the inventories are those that the client has read.
func (c *Client) drawNode(of model.Node) model.Node {
	if c.Dice.IntN(2) == 0 {
		offers := c.memory.Providers[of.At].Inventories
		if c.Dice.IntN(2) == 0 {
			offers = c.drawOffers()
		}
		of.Inventories = &offers
	}
	if c.Dice.IntN(2) == 0 {
		bits := uint8(c.Dice.IntN(1 << len(traits)))
		of.Traits = &bits
	}
	return of
}
