package model

// Part is the part of a provider that a request reads, as in its path.
type Part string

// The parts.
const (
	Itself          Part = ""
	PartInventories Part = "inventories"
	PartUsages      Part = "usages"
	PartTraits      Part = "traits"
	PartAggregates  Part = "aggregates"
	PartAllocations Part = "allocations"
)

// Read is GET /resource_providers/{provider} or one of its parts.
type Read struct {
	At   int
	Part Part
}

// Judge implements Operation.
func (w Read) Judge(c *Checks) {
	c.known(w.At, None)
	if !c.isAccepted() && !c.isProbe {
		return
	}
	o := &c.Answer.Observed
	c.mustAt(w.At, func(now *Provider) bool { return now.Generation == o.Generation && w.shows(now, o) })
	switch w.Part {
	case Itself:
		c.mustAll(func(s *State) bool { return s.Root(w.At) == o.Root })
	case PartAllocations:
		for who := range ConsumerCount {
			c.changeConsumer(who, func(now *Consumer) {
				told := o.ConsumerGenerations[who]
				c.must(now.Allocations[w.At] == o.ByConsumer[who] && (told == 0 || told == now.Generation))
			})
		}
	}
}

// shows reports whether the response shows the part as it is.
func (w Read) shows(now *Provider, o *Observed) bool {
	switch w.Part {
	case Itself:
		return now.Parent == o.Parent && now.Name == o.Name
	case PartInventories:
		return now.Inventories == o.Inventories
	case PartUsages:
		return now.isUsed(o.Used)
	case PartTraits:
		return now.Traits == o.Traits
	case PartAggregates:
		return now.Aggregates == o.Aggregates
	case PartAllocations:
		return now.ByConsumer == o.ByConsumer
	}
	return false
}

// isUsed compares usages by class; None for a class without inventory.
func (p *Provider) isUsed(told Amounts) bool {
	for class, used := range told {
		if used == None && p.Inventories[class].Total > 0 || used != None && used != p.Used(class) {
			return false
		}
	}
	return true
}

// ReadAllocations is GET /allocations/{consumer}.
type ReadAllocations struct{ Consumer int }

// Judge implements Operation.
func (w ReadAllocations) Judge(c *Checks) {
	o := &c.Answer.Observed
	for p := range ProviderCount {
		c.changeOf([]Want{{Consumer: w.Consumer}}, p, false, func(now *Provider) {
			told := o.ProviderGenerations[p]
			c.must(now.ByConsumer[w.Consumer] == o.Allocations[p] && (told == None || now.Exists && told == now.Generation))
		})
	}
	c.changeConsumer(w.Consumer, func(now *Consumer) {
		c.must(*now == Consumer{Generation: o.Generation, Owner: o.Owner, Allocations: o.Allocations, Lease: now.Lease} && o.Lease.shows(now.Lease))
	})
}

// ReadTree is GET /resource_providers/{provider}/tree with everything that the model has. All of it must be of one moment.
type ReadTree struct{ At int }

// ShownProvider is what a tree shows of a provider. The zero value is not in the tree.
type ShownProvider struct {
	IsListed     bool
	Generation   int64
	Parent, Root int
	Inventories  Inventories
	// Used is the usage by class; None for a class without inventory.
	Used   Amounts
	Traits uint8
}

// ShownConsumer is what a tree shows of a consumer. With the generation 0 it is not in the tree.
type ShownConsumer struct {
	Consumer
	// ProviderGenerations are those of its providers; None for one that is not listed.
	ProviderGenerations [ProviderCount]int64
}

// Judge implements Operation.
func (w ReadTree) Judge(c *Checks) {
	c.at(w.At, ProviderNotFound, None, func(now *Provider) bool { return !now.Exists })
	c.next()
	if !c.isAccepted() && !c.isProbe {
		return
	}
	o := &c.Answer.Observed
	for p := range ProviderCount {
		c.mustAt(p, func(now *Provider) bool { return o.Shown[p].shows(now) && o.showsUsers(p, now) })
	}
	for who := range ConsumerCount {
		c.changeConsumer(who, func(now *Consumer) { c.must(o.Users[who].Generation == 0 || *now == o.Users[who].Consumer) })
	}
	c.mustAll(func(s *State) bool {
		root := s.Root(w.At)
		for p := range o.Shown {
			shown := &o.Shown[p]
			if shown.IsListed != (root != None && s.Root(p) == root) || shown.IsListed && shown.Root != root {
				return false
			}
		}
		return o.Root == root
	})
}

// shows reports whether a provider is as shown. One that is not shown can be in another tree.
func (s *ShownProvider) shows(now *Provider) bool {
	return !s.IsListed || now.Exists && now.Generation == s.Generation && now.Parent == s.Parent &&
		now.Inventories == s.Inventories && now.Traits == s.Traits && now.isUsed(s.Used)
}

// showsUsers reports whether consumers have on a provider what the tree shows. A consumer of the tree is shown with all that it
// has.
func (o *Observed) showsUsers(p int, now *Provider) bool {
	for c := range o.Users {
		user := &o.Users[c]
		isKnown := user.Generation > 0 || o.Shown[p].IsListed
		if isKnown && now.ByConsumer[c] != user.Allocations[p] ||
			user.Generation > 0 && user.ProviderGenerations[p] != None && user.ProviderGenerations[p] != now.Generation {
			return false
		}
	}
	return true
}
