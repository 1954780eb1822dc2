package model

// CreateProvider is POST /resource_providers.
type CreateProvider struct {
	At     int
	Parent int // None for a root
	Name   int8
}

// Judge implements Operation.
func (w CreateProvider) Judge(c *Checks) {
	c.at(w.Parent, NoParent, None, func(now *Provider) bool { return !now.Exists })
	c.next()
	c.at(w.At, Exists, None, func(now *Provider) bool { return now.Exists })
	c.next()
	c.all(NameTaken, func(s *State) bool { return s.isNamed(w.Name, w.At) })
	c.next()
	c.change(w.Parent, func(now *Provider) { now.Children |= 1 << w.At })
	c.change(w.At, func(now *Provider) { *now = Provider{Exists: true, Parent: w.Parent, Name: w.Name} })
	w.mustShow(c)
}

func (w CreateProvider) mustShow(c *Checks) {
	c.mustShow(w.At, func(now *Provider, o *Observed) bool { return now.Parent == o.Parent })
	c.mustAll(func(s *State) bool { return !c.shows() || s.Root(w.At) == c.Answer.Observed.Root })
}

// UpdateProvider is PUT /resource_providers/{provider}.
type UpdateProvider struct {
	At     int
	Parent int // None: it becomes a root
	Name   int8
	// KeepParent: the request names no parent. Before137: a child cannot get another parent.
	KeepParent, Before137 bool
}

// Judge implements Operation.
func (w UpdateProvider) Judge(c *Checks) {
	c.at(w.At, ProviderNotFound, None, func(now *Provider) bool { return !now.Exists })
	c.next()
	if !w.KeepParent {
		w.judgeParent(c)
	}
	c.all(NameTaken, func(s *State) bool { return s.isNamed(w.Name, w.At) })
	c.next()
	if !w.KeepParent {
		for p := range ProviderCount {
			c.change(p, func(now *Provider) { now.adopt(w.At, p == w.Parent) })
		}
		c.change(w.At, func(now *Provider) { now.Parent = w.Parent })
	}
	c.change(w.At, func(now *Provider) { now.Name = w.Name })
	CreateProvider{At: w.At}.mustShow(c)
}

func (w UpdateProvider) judgeParent(c *Checks) {
	c.at(w.Parent, NoParent, None, func(now *Provider) bool { return !now.Exists })
	c.next()
	reason := ReparentNotAllowed
	if w.Parent == None {
		reason = UnparentNotAllowed
	}
	c.at(w.At, reason, None, func(now *Provider) bool { return w.Before137 && now.Parent != None && now.Parent != w.Parent })
	c.next()
	c.at(w.At, Loop, None, func(*Provider) bool { return w.Parent == w.At })
	c.all(Loop, func(s *State) bool {
		return w.Parent != None && s.Providers[w.At].Parent != w.Parent && s.isBelow(w.Parent, w.At)
	})
	c.next()
}

// adopt adds or removes a child.
func (p *Provider) adopt(child int, isChild bool) {
	if p.Children &^= 1 << child; isChild {
		p.Children |= 1 << child
	}
}

// DeleteProvider is DELETE /resource_providers/{provider}.
type DeleteProvider struct {
	At    int
	Given int64 // None: not in the request
}

// Judge implements Operation.
func (w DeleteProvider) Judge(c *Checks) {
	c.known(w.At, w.Given)
	c.at(w.At, HasChildren, None, func(now *Provider) bool { return now.Children != 0 })
	c.next()
	c.at(w.At, HasAllocations, None, func(now *Provider) bool { return now.inUse(Inventories{}) })
	c.next()
	for p := range ProviderCount {
		c.change(p, func(now *Provider) { now.adopt(w.At, false) })
	}
	c.change(w.At, func(now *Provider) { *now = Provider{} })
}

// ReplaceTraits is PUT or DELETE /resource_providers/{provider}/traits.
type ReplaceTraits struct {
	At     int
	Given  int64 // None: not compared
	Traits uint8
}

// Judge implements Operation.
func (w ReplaceTraits) Judge(c *Checks) {
	c.known(w.At, w.Given)
	c.all(NoTrait, func(s *State) bool { return s.NoTraits&w.Traits != 0 })
	c.next()
	c.change(w.At, func(now *Provider) {
		if now.Traits != w.Traits {
			now.Generation++
			now.Traits = w.Traits
		}
	})
	c.mustShow(w.At, func(now *Provider, o *Observed) bool { return now.Traits == o.Traits })
}

// ReplaceAggregates is PUT /resource_providers/{provider}/aggregates.
type ReplaceAggregates struct {
	At         int
	Given      int64 // None: before microversion 1.19
	Aggregates uint8
}

// Judge implements Operation.
func (w ReplaceAggregates) Judge(c *Checks) {
	c.known(w.At, w.Given)
	c.change(w.At, func(now *Provider) {
		if now.Aggregates = w.Aggregates; w.Given != None {
			now.Generation++
		}
	})
	c.mustShow(w.At, func(now *Provider, o *Observed) bool { return now.Aggregates == o.Aggregates })
}
