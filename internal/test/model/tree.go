package model

import "strings"

// Node is a provider of PUT /resource_providers/{provider}/tree.
type Node struct {
	At     int
	Parent int   // None for the root
	Given  int64 // None: it is new
	// Inventories and Traits are the new ones; nil: not in the request.
	Inventories *Inventories
	Traits      *uint8
}

// ReplaceTree is PUT /resource_providers/{provider}/tree of some providers. At is the provider of the path.
type ReplaceTree struct {
	At    int
	Nodes []Node
}

// TreeChange is what the response says of a provider.
type TreeChange struct {
	// Change is the change with its parts, such as "updated parent traits"; empty: not in the response.
	Change     string
	Generation int64
}

// Unchanged is the change of a provider that has everything already.
const Unchanged = "unchanged"

// Node returns the node of a provider; nil for one that the request does not list.
func (w ReplaceTree) Node(p int) *Node {
	for i := range w.Nodes {
		if w.Nodes[i].At == p {
			return &w.Nodes[i]
		}
	}
	return nil
}

// apply returns a provider after the request, and the change of it in the form of TreeChange. It compares no generation.
func (n *Node) apply(now Provider) (after Provider, change string) {
	after = now
	var changed []string
	if !now.Exists {
		after = Provider{Exists: true, Children: now.Children, Name: int8(n.At)}
	} else if now.Parent != n.Parent {
		changed = append(changed, "parent")
	}
	after.Parent = n.Parent
	if n.Inventories != nil && after.Inventories != *n.Inventories {
		after.Inventories = *n.Inventories
		changed = append(changed, "inventories")
	}
	if n.Traits != nil && after.Traits != *n.Traits {
		after.Traits = *n.Traits
		changed = append(changed, "traits")
	}
	if after.Inventories != now.Inventories || after.Traits != now.Traits {
		after.Generation++
	}
	switch {
	case !now.Exists:
		return after, "created"
	case changed == nil:
		return after, Unchanged
	}
	return after, strings.Join(append([]string{"updated"}, changed...), " ")
}

// isCurrent reports whether the generation in the request is that of the provider.
func (n *Node) isCurrent(now *Provider) bool {
	if !now.Exists {
		return n.Given == None
	}
	return n.Given == now.Generation
}

// changes reports whether the request changes anything. If not, it is accepted without a comparison of generations.
func (w ReplaceTree) changes(c *Checks) bool {
	isChanged := c.isProbe || c.state == nil && !c.isAccepted()
	for i := range w.Nodes {
		told := c.Answer.Observed.Tree[w.Nodes[i].At].Change
		isChanged = isChanged || c.state == nil && told != "" && told != Unchanged
		c.change(w.Nodes[i].At, func(now *Provider) {
			_, change := w.Nodes[i].apply(*now)
			isChanged = isChanged || change != Unchanged
		})
	}
	return isChanged
}

// Judge implements Operation. It has a stage for each provider, in the order of the request.
func (w ReplaceTree) Judge(c *Checks) {
	reason := c.Answer.Reason
	c.must(c.Answer.Provider != None || reason != ProviderGenerationConflict && reason != InUse)
	if w.changes(c) {
		w.judgeShape(c)
		for i := range w.Nodes {
			one := &w.Nodes[i]
			c.at(one.At, ProviderGenerationConflict, None, func(now *Provider) bool { return !one.isCurrent(now) })
			c.next()
		}
		for i := range w.Nodes {
			one := &w.Nodes[i]
			c.at(one.At, InUse, None, func(now *Provider) bool {
				after, _ := one.apply(*now)
				return after.inUse(after.Inventories)
			})
			c.next()
		}
	}
	for p := range ProviderCount {
		c.change(p, func(now *Provider) { w.replace(c, p, now) })
	}
}

// judgeShape are the rules of the providers and their parents. The service checks the request before the state.
func (w ReplaceTree) judgeShape(c *Checks) {
	c.all(Loop, func(*State) bool { return w.loops(w.listed()) })
	c.next()
	c.at(w.At, ProviderNotFound, None, func(now *Provider) bool { return !now.Exists && w.Node(w.At) == nil })
	c.next()
	c.at(w.At, NotRoot, None, func(now *Provider) bool { return now.Exists && now.Parent != None })
	c.next()
	c.all(InOtherTree, func(s *State) bool {
		for _, one := range w.Nodes {
			if s.Providers[one.At].Exists && s.Root(one.At) != w.At {
				return true
			}
		}
		return false
	})
	c.next()
	c.all(NotInTree, func(s *State) bool {
		for _, one := range w.Nodes {
			if one.Parent != None && w.Node(one.Parent) == nil && s.Root(one.Parent) != w.At {
				return true
			}
		}
		return false
	})
	c.next()
	c.all(Loop, func(s *State) bool {
		after := *s
		for i := range w.Nodes {
			after.Providers[w.Nodes[i].At], _ = w.Nodes[i].apply(s.Providers[w.Nodes[i].At])
		}
		return w.loops(&after)
	})
	c.next()
}

// replace is the effect on a provider, and what the response must say of it.
func (w ReplaceTree) replace(c *Checks, p int, now *Provider) {
	one := w.Node(p)
	if one != nil {
		after, change := one.apply(*now)
		*now = after
		told := c.Answer.Observed.Tree[p]
		c.must(told.Change == "" || told == TreeChange{change, after.Generation})
	}
	for _, other := range w.Nodes {
		now.adopt(other.At, other.Parent == p)
	}
	c.must(now.Exists || now.Children == 0 || !c.isAccepted())
}

// listed returns a state in which only the listed providers have parents.
func (w ReplaceTree) listed() *State {
	made := &State{}
	for p := range made.Providers {
		made.Providers[p] = Provider{Exists: true, Parent: None}
		if one := w.Node(p); one != nil {
			made.Providers[p].Parent = one.Parent
		}
	}
	return made
}

// loops reports whether a listed provider is above itself.
func (w ReplaceTree) loops(in *State) bool {
	for _, one := range w.Nodes {
		if one.Parent != None && in.isBelow(one.Parent, one.At) {
			return true
		}
	}
	return false
}
