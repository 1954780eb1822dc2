package history

import (
	"fmt"
	"math/bits"
	"strings"
)

// Inventory is an inventory; a total of 0 means that it does not exist.
type Inventory struct {
	Total, Reserved, MinUnit, MaxUnit, StepSize int32
	Ratio                                       float64
}

func (o Inventory) capacity() float64 { return float64(o.Total-o.Reserved) * o.Ratio }

// permits reports whether an amount agrees with the units.
func (o Inventory) permits(amount int64) bool {
	return amount >= int64(o.MinUnit) && amount <= int64(o.MaxUnit) && amount%int64(o.StepSize) == 0
}

// Amounts are amounts by class.
type Amounts [len(classes)]int64

// Provider is the state of a provider. The zero value does not exist. States contain no pointers,
// so that == compares them.
type Provider struct {
	Exists     bool
	Generation int64
	// Parent is the parent; none for a root.
	Parent int
	// Children are the children, one bit each.
	Children uint8
	// Traits are the traits, one bit each.
	Traits      uint8
	Inventories [len(classes)]Inventory
	ByConsumer  [consumers]Amounts
}

// used returns the usage of a class.
func (s *Provider) used(class int) (sum int64) {
	for c := range s.ByConsumer {
		sum += s.ByConsumer[c][class]
	}
	return sum
}

// inUse reports whether the provider has allocations.
func (s *Provider) inUse() bool { return s.ByConsumer != [consumers]Amounts{} }

// inUseBut reports whether the provider has allocations of a class without a new inventory.
func (s *Provider) inUseBut(offers [len(classes)]Inventory) bool {
	for class := range offers {
		if offers[class].Total == 0 && s.used(class) > 0 {
			return true
		}
	}
	return false
}

// Consumer is the state of a consumer. With the generation 0 it does not exist.
type Consumer struct {
	Generation int64
	ByProvider [providers]Amounts
}

// State is the state of a district.
type State struct {
	Places    [providers]Provider
	Consumers [consumers]Consumer
}

// root returns the root of a provider; none after a parent cycle or a missing parent.
func (s *State) root(p int) int {
	for range providers {
		if p < 0 || !s.Places[p].Exists {
			return none
		}
		if s.Places[p].Parent == none {
			return p
		}
		p = s.Places[p].Parent
	}
	return none
}

// isBelow reports whether a provider is another one or its descendant.
func (s *State) isBelow(p, above int) bool {
	for range providers {
		if p == above {
			return true
		}
		if p < 0 {
			return false
		}
		p = s.Places[p].Parent
	}
	return true
}

// String returns the state for visualizations.
func (s Provider) String() string {
	if !s.Exists {
		return "does not exist"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "generation %d", s.Generation)
	if s.Parent != none {
		fmt.Fprintf(&text, ", below %d", s.Parent)
	}
	for rest := s.Children; rest != 0; rest &= rest - 1 {
		fmt.Fprintf(&text, ", above %d", bits.TrailingZeros8(rest))
	}
	if s.Traits != 0 {
		fmt.Fprintf(&text, ", traits %03b", s.Traits)
	}
	for class, offer := range s.Inventories {
		if offer.Total > 0 {
			fmt.Fprintf(&text, "; %s %g (%d to %d by %d), used %d =", classes[class], offer.capacity(),
				offer.MinUnit, offer.MaxUnit, offer.StepSize, s.used(class))
			for c := range s.ByConsumer {
				fmt.Fprintf(&text, " %d", s.ByConsumer[c][class])
			}
		}
	}
	return text.String()
}

func (s Consumer) String() string {
	if s.Generation == 0 {
		return "does not exist"
	}
	return fmt.Sprintf("generation %d, %s", s.Generation, describeHas(s.ByProvider))
}

func describeHas(has [providers]Amounts) string {
	var parts []string
	for p := range has {
		if has[p] != (Amounts{}) {
			parts = append(parts, fmt.Sprintf("%d of place %d", has[p], p))
		}
	}
	if parts == nil {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}

func (s State) String() string {
	var text strings.Builder
	for p := range s.Places {
		fmt.Fprintf(&text, "place %d: %s\n", p, s.Places[p])
	}
	for c := range s.Consumers {
		fmt.Fprintf(&text, "consumer %d: %s\n", c, s.Consumers[c])
	}
	return text.String()
}
