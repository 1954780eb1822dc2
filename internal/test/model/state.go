package model

import "fmt"

// The largest numbers of objects in a state. A district may have fewer.
const (
	ProviderCount  = 6
	ConsumerCount  = 5
	ClassCount     = 5
	AggregateCount = 3
)

// None is the number of a missing provider, class, consumer or generation.
const None = -1

// Inventory is an inventory; a total of 0 means that it does not exist.
type Inventory struct {
	Total, Reserved, MinUnit, MaxUnit, StepSize int32
	Ratio                                       float64
}

// Capacity returns the amount that consumers can have together.
func (i Inventory) Capacity() float64 { return float64(i.Total-i.Reserved) * i.Ratio }

// permits reports whether an amount agrees with the units.
func (i Inventory) permits(amount int64) bool {
	return amount >= int64(i.MinUnit) && amount <= int64(i.MaxUnit) && amount%int64(i.StepSize) == 0
}

// Inventories are the inventories of a provider by class.
type Inventories [ClassCount]Inventory

// Amounts are amounts by class.
type Amounts [ClassCount]int64

// Allocations are the allocations of a consumer by provider.
type Allocations [ProviderCount]Amounts

// Provider is the state of a provider. The zero value does not exist. States contain no pointers, so that == compares them.
type Provider struct {
	Exists     bool
	Generation int64
	// Parent is the parent; None for a root.
	Parent int
	// Name is the number of the name.
	Name int8
	// Children, Traits and Aggregates have one bit for each.
	Children, Traits, Aggregates uint8
	Inventories                  Inventories
	ByConsumer                   [ConsumerCount]Amounts
}

// Used returns the usage of a class.
func (p *Provider) Used(class int) (sum int64) {
	for c := range p.ByConsumer {
		sum += p.ByConsumer[c][class]
	}
	return sum
}

// inUse reports whether the provider has allocations of a class without one of these inventories.
func (p *Provider) inUse(without Inventories) bool {
	for class := range without {
		if without[class].Total == 0 && p.Used(class) > 0 {
			return true
		}
	}
	return false
}

// Owner are the numbers of the project, user and type of a consumer. The type 0 is unknown.
type Owner struct{ Project, User, Type int8 }

// Consumer is the state of a consumer. With the generation 0 it does not exist.
type Consumer struct {
	Generation  int64
	Owner       Owner
	Allocations Allocations
	Lease       Lease
}

// State is the state of a district.
type State struct {
	Providers [ProviderCount]Provider
	Consumers [ConsumerCount]Consumer
	// NoClasses and NoTraits are the classes and traits that do not exist, one bit each.
	NoClasses, NoTraits uint8
}

// Root returns the root of a provider; None after a parent cycle or a missing parent.
func (s *State) Root(p int) int {
	for range ProviderCount {
		if p < 0 || !s.Providers[p].Exists {
			return None
		}
		if s.Providers[p].Parent == None {
			return p
		}
		p = s.Providers[p].Parent
	}
	return None
}

// isBelow reports whether a provider is another one or its descendant.
func (s *State) isBelow(p, above int) bool {
	for range ProviderCount {
		if p == above {
			return true
		}
		if p < 0 {
			return false
		}
		p = s.Providers[p].Parent
	}
	return true
}

// isNamed reports whether another provider has a name.
func (s *State) isNamed(name int8, but int) bool {
	for p := range s.Providers {
		if p != but && s.Providers[p].Exists && s.Providers[p].Name == name {
			return true
		}
	}
	return false
}

// lacksClass reports whether a class with an inventory does not exist.
func (s *State) lacksClass(of Inventories) bool {
	for class := range of {
		if of[class].Total != 0 && s.NoClasses&(1<<class) != 0 {
			return true
		}
	}
	return false
}

// String returns the state for visualizations.
func (p Provider) String() string {
	if !p.Exists {
		return "does not exist"
	}
	text := fmt.Sprintf("generation %d, parent %d, children %b, traits %b, aggregates %b", p.Generation, p.Parent, p.Children, p.Traits, p.Aggregates)
	for class, of := range p.Inventories {
		if of.Total > 0 {
			text += fmt.Sprintf("; class %d: %+v, used", class, of)
			for c := range p.ByConsumer {
				text += fmt.Sprintf(" %d", p.ByConsumer[c][class])
			}
		}
	}
	return text
}

func (c Consumer) String() string {
	if c.Generation == 0 {
		return "does not exist"
	}
	text := fmt.Sprintf("generation %d %s", c.Generation, c.Allocations)
	if c.Lease != (Lease{}) {
		text += fmt.Sprintf(" lease %+v", c.Lease)
	}
	return text
}

// String leaves out the providers without allocations.
func (a Allocations) String() (text string) {
	for p := range a {
		if a[p] != (Amounts{}) {
			text += fmt.Sprintf("[%d of provider %d]", a[p], p)
		}
	}
	return text
}

// String leaves out the classes without inventory.
func (i Inventories) String() (text string) {
	for class, of := range i {
		if of != (Inventory{}) {
			text += fmt.Sprintf("[class %d: %+v]", class, of)
		}
	}
	return text
}

func (s State) String() (text string) {
	for p := range s.Providers {
		text += fmt.Sprintf("provider %d: %s\n", p, s.Providers[p])
	}
	for c := range s.Consumers {
		text += fmt.Sprintf("consumer %d: %s\n", c, s.Consumers[c])
	}
	return text
}
