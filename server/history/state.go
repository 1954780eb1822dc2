package history

import (
	"fmt"
	"math/bits"
	"strings"
)

// Offer is an inventory; without a total there is none.
type Offer struct {
	Total, Reserved, Least, Most, Step int32
	Ratio                              float64
}

func (o Offer) capacity() float64 { return float64(o.Total-o.Reserved) * o.Ratio }

// Amounts are by class.
type Amounts [len(classes)]int64

// Place is what is known of a provider at a moment. The zero value does not exist.
// All states are plain values, so that two are the same exactly if they are equal.
type Place struct {
	Exists     bool
	Generation int64
	// Parent is the provider above; nobody for a root.
	Parent int
	// Children are the providers below, one bit each.
	Children uint8
	// Traits are one bit each.
	Traits uint8
	Offers [len(classes)]Offer
	Taken  [consumers]Amounts
}

// used is how much of a class is taken.
func (s *Place) used(class int) (sum int64) {
	for c := range s.Taken {
		sum += s.Taken[c][class]
	}
	return sum
}

// inUse says whether anything is taken.
func (s *Place) inUse() bool { return s.Taken != [consumers]Amounts{} }

// inUseBut says whether anything is taken of other classes than those offered.
func (s *Place) inUseBut(offers [len(classes)]Offer) bool {
	for class := range offers {
		if offers[class].Total == 0 && s.used(class) > 0 {
			return true
		}
	}
	return false
}

// Consumer is what is known of a consumer. Without a generation it does not exist.
type Consumer struct {
	Generation int64
	Has        [places]Amounts
}

// State is a whole district.
type State struct {
	Places    [places]Place
	Consumers [consumers]Consumer
}

// root is the topmost provider above one; nobody where there is a loop or a gap.
func (s *State) root(p int) int {
	for range places {
		if p < 0 || !s.Places[p].Exists {
			return nobody
		}
		if s.Places[p].Parent == nobody {
			return p
		}
		p = s.Places[p].Parent
	}
	return nobody
}

// isBelow says whether a provider is another, or below it.
func (s *State) isBelow(p, above int) bool {
	for range places {
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

// String is for people who look at a history that nothing explains.
func (s Place) String() string {
	if !s.Exists {
		return "does not exist"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "generation %d", s.Generation)
	if s.Parent != nobody {
		fmt.Fprintf(&text, ", below %d", s.Parent)
	}
	for rest := s.Children; rest != 0; rest &= rest - 1 {
		fmt.Fprintf(&text, ", above %d", bits.TrailingZeros8(rest))
	}
	if s.Traits != 0 {
		fmt.Fprintf(&text, ", traits %03b", s.Traits)
	}
	for class, offer := range s.Offers {
		if offer.Total > 0 {
			fmt.Fprintf(&text, "; %s %g (%d to %d by %d), used %d =", classes[class], offer.capacity(),
				offer.Least, offer.Most, offer.Step, s.used(class))
			for c := range s.Taken {
				fmt.Fprintf(&text, " %d", s.Taken[c][class])
			}
		}
	}
	return text.String()
}

func (s Consumer) String() string {
	if s.Generation == 0 {
		return "does not exist"
	}
	return fmt.Sprintf("generation %d, %s", s.Generation, describeHas(s.Has))
}

func describeHas(has [places]Amounts) string {
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
