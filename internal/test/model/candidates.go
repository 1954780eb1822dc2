package model

// RequestGroup is a request group of a query: amounts on one provider that has traits.
type RequestGroup struct {
	Amounts Amounts
	// Required are the required traits, one bit each.
	Required uint8
}

// MaxGroups is the maximum number of request groups of a query.
const MaxGroups = 2

// ClaimFound is POST /claims with a query for one consumer, in the tree of a provider. The choice is the service's; the model
// takes it from the response. No two groups have the same class.
type ClaimFound struct {
	Consumer int
	// Given is the consumer generation; 0: a new consumer. The allocations of another one are replaced.
	Given  int64
	Tree   int
	Groups []RequestGroup
	Order  string // empty: the default
	Lease  GivenLease
}

// Wants returns the claim as the allocations that the service has chosen.
func (w ClaimFound) Wants(a *Response) []Want {
	return []Want{{Consumer: w.Consumer, Given: w.Given, Allocations: a.Observed.Allocations, Lease: w.Lease}}
}

// Judge implements Operation.
func (w ClaimFound) Judge(c *Checks) {
	for p := range ProviderCount {
		c.change(p, func(*Provider) {}) // the choice may depend on any provider
	}
	compare(c, w.Wants(c.Answer))
	if c.Answer.Reason == NothingFits {
		w.judgeNothing(c)
	}
	if !c.isAccepted() {
		return
	}
	takeChosen(c, w.Wants(c.Answer))
	o := &c.Answer.Observed
	c.mustAll(func(s *State) bool {
		root := s.Root(w.Tree)
		for i := range w.Groups {
			if o.Served[i] == None || s.Root(o.Served[i]) != root {
				return false
			}
		}
		return root != None && root == o.Root
	})
	for i, group := range w.Groups {
		c.mustAt(o.Served[i], func(now *Provider) bool { return now.Traits&group.Required == group.Required })
	}
}

// judgeNothing are the rules of the response that nothing fits. No two groups have the same class, so each fits where it fits
// alone.
func (w ClaimFound) judgeNothing(c *Checks) {
	c.mustAt(w.Tree, func(now *Provider) bool {
		for i := range w.Groups {
			if !w.fits(&w.Groups[i], now) {
				return true
			}
		}
		return false
	})
	c.all(NothingFits, func(s *State) bool {
		root := s.Root(w.Tree)
		for i := range w.Groups {
			if !w.isServed(s, root, i) {
				return true
			}
		}
		return root == None
	})
}

// fits reports whether a provider can serve a group at the search. What the consumer has counts as free. The claim itself
// permits more, as PUT does: an amount that does not increase fits on a provider over capacity.
func (w ClaimFound) fits(group *RequestGroup, now *Provider) bool {
	for class, amount := range group.Amounts {
		if amount == 0 {
			continue
		}
		of, had := now.Inventories[class], now.ByConsumer[w.Consumer][class]
		if of.Total == 0 || !of.permits(amount) || float64(now.Used(class)-had+amount) > of.Capacity() {
			return false
		}
	}
	return now.Exists && now.Traits&group.Required == group.Required
}

// isServed reports whether a provider of a tree can serve a group.
func (w ClaimFound) isServed(s *State, root, group int) bool {
	for p := range s.Providers {
		if s.Providers[p].Exists && s.Root(p) == root && w.fits(&w.Groups[group], &s.Providers[p]) {
			return true
		}
	}
	return false
}

// takeChosen is the claim of what the service has chosen, with the generations that the response shows.
func takeChosen(c *Checks, wants []Want) {
	resolve(c, wants)
	take(c, wants)
	for p, told := range c.Answer.Observed.ProviderGenerations {
		c.changeOf(wants, p, false, func(now *Provider) { c.must(told == None || told == now.Generation) })
	}
	c.changeConsumer(wants[0].Consumer, func(now *Consumer) {
		c.must(c.Answer.Observed.fits(now.Generation) && c.Answer.Observed.Lease.shows(now.Lease))
	})
}

// ClaimNamed is POST /claims with candidates for one consumer.
type ClaimNamed struct {
	Consumer   int
	Given      int64 // as in ClaimFound
	Candidates []Allocations
	Lease      GivenLease
}

// Wants returns the claim as the allocations that the service has chosen.
func (w ClaimNamed) Wants(a *Response) []Want {
	return ClaimFound{Consumer: w.Consumer, Given: w.Given, Lease: w.Lease}.Wants(a)
}

// Judge implements Operation.
func (w ClaimNamed) Judge(c *Checks) {
	var candidates []Want
	for _, one := range w.Candidates {
		candidates = append(candidates, Want{Consumer: w.Consumer, Allocations: one})
	}
	for p := range ProviderCount {
		if sum(candidates, p) != (Amounts{}) {
			c.change(p, func(*Provider) {})
		}
		c.changeOf(candidates, p, false, func(*Provider) {})
	}
	if c.Answer.Reason == NoClaimedProvider {
		resolve(c, candidates) // the service resolves names first
	}
	compare(c, w.Wants(c.Answer))
	if c.Answer.Reason == NothingFits {
		c.must(len(c.Answer.Refused) == len(candidates))
		for i, refused := range c.Answer.Refused {
			c.mustAt(refused.Provider, func(now *Provider) bool {
				return now.Exists && refused.Class != None && breaks(refused.Reason, candidates[i:i+1], refused.Provider, refused.Class, now)
			})
		}
		c.all(NothingFits, func(*State) bool { return true })
	}
	if c.isAccepted() {
		takeChosen(c, w.Wants(c.Answer))
	}
}
