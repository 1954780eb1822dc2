package model

// changeAll is an effect on names, which concern all providers.
func (c *Checks) changeAll(effect func(*State)) {
	if c.state != nil {
		effect(c.state)
	}
}

// CreateTrait is PUT /traits/{name}.
type CreateTrait struct{ Trait int }

// Judge implements Operation.
func (w CreateTrait) Judge(c *Checks) {
	c.changeAll(func(s *State) { s.NoTraits &^= 1 << w.Trait })
}

// DeleteTrait is DELETE /traits/{name}.
type DeleteTrait struct {
	Trait      int
	IsStandard bool
}

// Judge implements Operation.
func (w DeleteTrait) Judge(c *Checks) {
	c.all(StandardTrait, func(*State) bool { return w.IsStandard })
	c.next()
	c.all(NoTrait, func(s *State) bool { return s.NoTraits&(1<<w.Trait) != 0 })
	c.next()
	for p := range ProviderCount {
		c.at(p, TraitInUse, None, func(now *Provider) bool { return now.Traits&(1<<w.Trait) != 0 })
	}
	c.changeAll(func(s *State) { s.NoTraits |= 1 << w.Trait })
}

// CreateClass is PUT /resource_classes/{name}.
type CreateClass struct{ Class int }

// Judge implements Operation.
func (w CreateClass) Judge(c *Checks) {
	c.changeAll(func(s *State) { s.NoClasses &^= 1 << w.Class })
}

// isCustom are the rules that a class exists and is a custom one.
func (c *Checks) isCustom(class int, isStandard bool) {
	c.all(NoClass, func(s *State) bool { return s.NoClasses&(1<<class) != 0 })
	c.next()
	c.all(StandardClass, func(*State) bool { return isStandard })
	c.next()
}

// DeleteClass is DELETE /resource_classes/{name}.
type DeleteClass struct {
	Class      int
	IsStandard bool
}

// Judge implements Operation.
func (w DeleteClass) Judge(c *Checks) {
	c.isCustom(w.Class, w.IsStandard)
	for p := range ProviderCount {
		c.at(p, ClassInUse, None, func(now *Provider) bool { return now.Inventories[w.Class].Total > 0 })
	}
	c.changeAll(func(s *State) { s.NoClasses |= 1 << w.Class })
}

// RenameClass is PUT /resource_classes/{name} up to microversion 1.6. It keeps the inventories and allocations of the class.
type RenameClass struct {
	Class, To  int
	IsStandard bool
}

// Judge implements Operation.
func (w RenameClass) Judge(c *Checks) {
	c.isCustom(w.Class, w.IsStandard)
	c.all(ClassNameTaken, func(s *State) bool { return w.To != w.Class && s.NoClasses&(1<<w.To) == 0 })
	c.changeAll(func(s *State) {
		s.NoClasses |= 1 << w.Class
		s.NoClasses &^= 1 << w.To
		for p := range s.Providers {
			of := &s.Providers[p]
			of.Inventories[w.Class], of.Inventories[w.To] = of.Inventories[w.To], of.Inventories[w.Class]
			for who := range of.ByConsumer {
				of.ByConsumer[who].swap(w.Class, w.To)
				s.Consumers[who].Allocations[p].swap(w.Class, w.To)
			}
		}
	})
}

func (a *Amounts) swap(class, other int) { a[class], a[other] = a[other], a[class] }
