package draw

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Move is an amount of one class that a consumer has elsewhere, or as another
// class, afterwards.
type Move struct {
	Consumer uuid.UUID `json:"consumer_uuid"`
	// Type is the consumer's, such as INSTANCE.
	Type   string `json:"consumer_type"`
	Class  string `json:"resource_class"`
	Amount int64  `json:"amount"`
	// From is nil for what was claimed in addition, To for what was given up.
	From *uuid.UUID `json:"from_provider_uuid"`
	To   *uuid.UUID `json:"to_provider_uuid"`
	// Becomes is the class afterwards, empty where it is the same.
	Becomes string `json:"to_resource_class,omitempty"`
}

// share is how much more, or less, a consumer has of a class on a provider.
type share struct {
	provider uuid.UUID
	class    string
	amount   int64
}

// moves compares consumer by consumer; one that only one side has gave up, or
// claimed, everything.
func moves(before, after client.Allocations) []Move {
	both := maps.Clone(before)
	if both == nil {
		both = client.Allocations{}
	}
	maps.Copy(both, after)
	all := []Move{}
	for _, consumer := range both.Consumers() {
		lost, won := shares(before[consumer], after[consumer])
		found := matchProviders(&lost, &won)
		found = append(found, matchClasses(&lost, &won)...)
		for _, one := range lost {
			found = append(found, Move{Class: one.class, Amount: one.amount, From: &one.provider})
		}
		for _, one := range won {
			found = append(found, Move{Class: one.class, Amount: one.amount, To: &one.provider})
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

// shares are sorted by class, then by provider; amounts are above zero.
func shares(was, is *client.Consumer) (lost, won []share) {
	type place struct {
		provider uuid.UUID
		class    string
	}
	more := map[place]int64{}
	count := func(consumer *client.Consumer, sign int64) {
		if consumer == nil {
			return
		}
		for provider, resources := range consumer.Allocations {
			for class, amount := range resources {
				more[place{provider, class}] += sign * amount
			}
		}
	}
	count(was, -1)
	count(is, 1)
	for at, amount := range more {
		switch {
		case amount < 0:
			lost = append(lost, share{at.provider, at.class, -amount})
		case amount > 0:
			won = append(won, share{at.provider, at.class, amount})
		}
	}
	for _, list := range [][]share{lost, won} {
		slices.SortFunc(list, func(x, y share) int {
			return cmp.Or(cmp.Compare(x.class, y.class), compareIDs(x.provider, y.provider))
		})
	}
	return lost, won
}

// matchProviders takes what went from one provider to another out of both lists.
// Amounts of one class are alike, so any pairing is as true as another.
func matchProviders(lost, won *[]share) []Move {
	var found []Move
	for i := range *lost {
		for j := range *won {
			from, to := &(*lost)[i], &(*won)[j]
			amount := min(from.amount, to.amount)
			if from.class != to.class || amount == 0 {
				continue
			}
			found = append(found, Move{Class: from.class, Amount: amount, From: new(from.provider), To: new(to.provider)})
			from.amount, to.amount = from.amount-amount, to.amount-amount
		}
	}
	dropEmpty(lost)
	dropEmpty(won)
	return found
}

// matchClasses finds what became another class where it is: one class less and one
// more on the same provider, by the same amount.
func matchClasses(lost, won *[]share) []Move {
	var found []Move
	for i := range *lost {
		from := &(*lost)[i]
		to := only(*won, from.provider)
		if only(*lost, from.provider) != from || to == nil || to.amount != from.amount {
			continue
		}
		found = append(found, Move{
			Class: from.class, Amount: from.amount, From: new(from.provider), To: new(from.provider), Becomes: to.class,
		})
		from.amount, to.amount = 0, 0
	}
	dropEmpty(lost)
	dropEmpty(won)
	return found
}

// only returns the one share on a provider, nil if there are none or several.
func only(list []share, provider uuid.UUID) *share {
	var found *share
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

func dropEmpty(list *[]share) {
	*list = slices.DeleteFunc(*list, func(s share) bool { return s.amount == 0 })
}
