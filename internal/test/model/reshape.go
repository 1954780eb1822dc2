package model

// Shape is the new inventories of a provider.
type Shape struct {
	At          int
	Given       int64
	Inventories Inventories
}

// Reshape is POST /reshaper: new inventories of providers, and new allocations of consumers, which must fit what the providers
// have before and after it together.
type Reshape struct {
	Shapes []Shape
	Wants  []Want
}

// Judge implements Operation.
func (w Reshape) Judge(c *Checks) {
	for _, one := range w.Shapes {
		c.at(one.At, NoShape, None, func(now *Provider) bool { return !now.Exists })
		c.at(one.At, ProviderGenerationConflict, None, func(now *Provider) bool { return now.Exists && now.Generation != one.Given })
	}
	c.next()
	compare(c, w.Wants)
	resolve(c, w.Wants)
	for _, one := range w.Shapes {
		c.haveClasses(one.Inventories)
		c.change(one.At, func(now *Provider) { now.add(one.Inventories) })
	}
	take(c, w.Wants)
	for _, one := range w.Shapes {
		c.at(one.At, InUse, None, func(now *Provider) bool { return now.inUse(one.Inventories) })
		c.change(one.At, func(now *Provider) {
			now.Generation++
			now.Inventories = one.Inventories
		})
	}
}

// add adds inventories. The generation increases if there are some.
func (p *Provider) add(new Inventories) {
	for class, of := range new {
		if of.Total > 0 {
			p.Inventories[class] = of
		}
	}
	if new != (Inventories{}) {
		p.Generation++
	}
}
