package history

import "context"

// drawTree draws new inventories and traits of one or two providers of a tree, at the parents that the client has read.
// Sometimes it changes nothing, and sometimes it creates a provider.
func (c *Client) drawTree(ctx context.Context) (Operation, error) {
	p := c.Dice.IntN(providers)
	if err := c.Do(ctx, getProvider{at(p)}); err != nil {
		return nil, err
	}
	root := c.roots[p]
	made := replaceTree{inTree: inTree{at(root)}}
	if c.Dice.IntN(8) == 0 {
		if created := 2 + c.Dice.IntN(2); created != p && created != root {
			made.nodes = append(made.nodes, c.drawNode(node{at: created, parent: root, given: none}))
		}
	}
	if other := c.Dice.IntN(providers); made.nodes == nil && other != p && c.roots[other] == root && c.Dice.IntN(2) == 0 {
		if c.Dice.IntN(3) > 0 {
			if err := c.Do(ctx, getProvider{at(other)}); err != nil {
				return nil, err
			}
		}
		made = c.addKnown(made, other)
	}
	return c.addKnown(made, p), nil
}

// addKnown adds a provider with the parent and the generation that the client has read last. Only the provider of the path
// may have no parent; otherwise the request is invalid in every state.
func (c *Client) addKnown(to replaceTree, p int) replaceTree {
	known := c.memory.Places[p]
	if (known.Parent == none) == (p == to.at) {
		to.nodes = append(to.nodes, c.drawNode(node{at: p, parent: known.Parent, given: known.Generation}))
	}
	return to
}

// drawNode draws the inventories and traits of a node. Half of the inventories are those that the client has read.
func (c *Client) drawNode(of node) node {
	if c.Dice.IntN(2) == 0 {
		offers := c.memory.Places[of.at].Inventories
		if c.Dice.IntN(2) == 0 {
			offers = c.drawOffers()
		}
		of.offers = &offers
	}
	if c.Dice.IntN(2) == 0 {
		bits := uint8(c.Dice.IntN(1 << len(traits)))
		of.traits = &bits
	}
	return of
}
