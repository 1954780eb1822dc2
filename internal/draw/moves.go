package draw

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Move is an amount of one class whose provider or class changes for a consumer.
type Move struct {
	Consumer uuid.UUID `json:"consumer_uuid"`
	// Type is the consumer type, for example INSTANCE.
	Type   string `json:"consumer_type"`
	Class  string `json:"resource_class"`
	Amount int64  `json:"amount"`
	// From is nil for an added amount, To for a removed one.
	From *uuid.UUID `json:"from_provider_uuid"`
	To   *uuid.UUID `json:"to_provider_uuid"`
	// Becomes is the new class; empty: the same class.
	Becomes string `json:"to_resource_class,omitempty"`
}

// delta is an amount of a class on a provider by which the allocation of a consumer increases or decreases.
type delta struct {
	provider uuid.UUID
	class    string
	amount   int64
}

// moves returns the changes of allocations, consumer by consumer. A consumer that only one side has lost or gained all
// its allocations.
func moves(before, after client.Allocations) []Move {
	both := maps.Clone(before)
	if both == nil {
		both = client.Allocations{}
	}
	maps.Copy(both, after)
	all := []Move{}
	for _, consumer := range both.Consumers() {
		decreases, increases := deltas(before[consumer], after[consumer])
		found := matchProviders(&decreases, &increases)
		found = append(found, matchClasses(&decreases, &increases)...)
		for _, d := range decreases {
			found = append(found, Move{Class: d.class, Amount: d.amount, From: &d.provider})
		}
		for _, d := range increases {
			found = append(found, Move{Class: d.class, Amount: d.amount, To: &d.provider})
		}
		slices.SortStableFunc(found, func(x, y Move) int { return cmp.Compare(x.Class, y.Class) })
		for i := range found {
			found[i].Consumer, found[i].Type = consumer, consumerType(before[consumer], after[consumer])
		}
		all = append(all, found...)
	}
	return all
}

func consumerType(was, is *client.Consumer) string {
	switch {
	case is != nil && is.Type != "":
		return is.Type
	case was != nil && was.Type != "":
		return was.Type
	default:
		return "unknown"
	}
}

// deltas returns the decreases and increases of a consumer's allocations, sorted by class, then by provider. Amounts are
// positive.
func deltas(was, is *client.Consumer) (decreases, increases []delta) {
	type key struct {
		provider uuid.UUID
		class    string
	}
	sums := map[key]int64{}
	count := func(consumer *client.Consumer, sign int64) {
		if consumer == nil {
			return
		}
		for provider, resources := range consumer.Allocations {
			for class, amount := range resources {
				sums[key{provider, class}] += sign * amount
			}
		}
	}
	count(was, -1)
	count(is, 1)
	for at, amount := range sums {
		switch {
		case amount < 0:
			decreases = append(decreases, delta{at.provider, at.class, -amount})
		case amount > 0:
			increases = append(increases, delta{at.provider, at.class, amount})
		}
	}
	for _, list := range [][]delta{decreases, increases} {
		slices.SortFunc(list, func(x, y delta) int {
			return cmp.Or(cmp.Compare(x.class, y.class), compareIDs(x.provider, y.provider))
		})
	}
	return decreases, increases
}

// matchProviders pairs decreases and increases of one class to moves from provider to provider, and removes them from
// both lists. Amounts of one class are interchangeable, so any pairing is correct.
func matchProviders(decreases, increases *[]delta) []Move {
	var found []Move
	for i := range *decreases {
		for j := range *increases {
			from, to := &(*decreases)[i], &(*increases)[j]
			amount := min(from.amount, to.amount)
			if from.class != to.class || amount == 0 {
				continue
			}
			found = append(found, Move{Class: from.class, Amount: amount, From: new(from.provider), To: new(to.provider)})
			from.amount, to.amount = from.amount-amount, to.amount-amount
		}
	}
	dropEmpty(decreases)
	dropEmpty(increases)
	return found
}

// matchClasses pairs the only decrease and the only increase on a provider to a change of class, if their amounts are
// equal, and removes them from both lists.
func matchClasses(decreases, increases *[]delta) []Move {
	var found []Move
	for i := range *decreases {
		from := &(*decreases)[i]
		to := only(*increases, from.provider)
		if only(*decreases, from.provider) != from || to == nil || to.amount != from.amount {
			continue
		}
		found = append(found, Move{
			Class: from.class, Amount: from.amount, From: new(from.provider), To: new(from.provider), Becomes: to.class,
		})
		from.amount, to.amount = 0, 0
	}
	dropEmpty(decreases)
	dropEmpty(increases)
	return found
}

// only returns the delta on a provider; nil if there are none or several.
func only(list []delta, provider uuid.UUID) *delta {
	var found *delta
	for i := range list {
		if list[i].provider != provider {
			continue
		}
		if found != nil {
			return nil
		}
		found = &list[i]
	}
	return found
}

// dropEmpty removes the deltas whose amount is 0.
func dropEmpty(list *[]delta) {
	*list = slices.DeleteFunc(*list, func(d delta) bool { return d.amount == 0 })
}
