package model

import (
	"cmp"
	"slices"
)

// Want is the requested allocations of one consumer.
type Want struct {
	Consumer int
	// Given is the consumer generation in the request; 0: a new consumer.
	Given       int64
	Owner       Owner
	Allocations Allocations
	Lease       GivenLease
}

// Claim is PUT /allocations/{consumer} for one consumer and POST /allocations for several.
type Claim struct {
	Wants []Want
	// IsUnchecked: the generations are not compared, as before microversion 1.28.
	IsUnchecked bool
}

// Judge implements Operation.
func (w Claim) Judge(c *Checks) {
	if !w.IsUnchecked {
		compare(c, w.Wants)
	}
	resolve(c, w.Wants)
	take(c, w.Wants)
}

// compare are the rules that the consumers have the given generations.
func compare(c *Checks, wants []Want) {
	for _, one := range wants {
		c.of(one.Consumer, ConsumerGenerationConflict, func(now *Consumer) bool { return now.Generation != one.Given })
	}
	c.next()
}

// resolve are the rules that the providers and classes of allocations exist.
func resolve(c *Checks, wants []Want) {
	for p := range ProviderCount {
		if sum(wants, p) != (Amounts{}) {
			c.at(p, NoClaimedProvider, None, func(now *Provider) bool { return !now.Exists })
		}
	}
	c.next()
	c.all(NoClass, func(s *State) bool {
		for p := range ProviderCount {
			for class, amount := range sum(wants, p) {
				if amount != 0 && s.NoClasses&(1<<class) != 0 {
					return true
				}
			}
		}
		return false
	})
	c.next()
}

// sum returns 1 for each class that consumers want of a provider.
func sum(wants []Want, p int) (named Amounts) {
	for i := range wants {
		for class, amount := range wants[i].Allocations[p] {
			if amount != 0 {
				named[class] = 1
			}
		}
	}
	return named
}

// take are the rules that the allocations fit, and the effect. The generation of a provider increases if the request contains
// it, or if it was used by a consumer without requested allocations.
func take(c *Checks, wants []Want) {
	for p := range ProviderCount {
		for class, named := range sum(wants, p) {
			if named == 0 {
				continue
			}
			for _, reason := range unfit {
				c.at(p, reason, class, func(now *Provider) bool { return breaks(reason, wants, p, class, now) })
			}
		}
	}
	c.next()
	for p := range ProviderCount {
		isNamed := sum(wants, p) != (Amounts{})
		c.changeOf(wants, p, isNamed, func(now *Provider) {
			rises := isNamed
			for i := range wants {
				has := &now.ByConsumer[wants[i].Consumer]
				rises = rises || wants[i].Allocations == (Allocations{}) && *has != (Amounts{})
				*has = wants[i].Allocations[p]
			}
			if rises {
				now.Generation++
			}
		})
	}
	for _, one := range wants {
		c.changeConsumer(one.Consumer, func(now *Consumer) {
			if one.Allocations == (Allocations{}) {
				*now = Consumer{}
				return
			}
			one.Owner.Type = cmp.Or(one.Owner.Type, now.Owner.Type)
			*now = Consumer{Generation: now.Generation + 1, Owner: one.Owner, Allocations: one.Allocations, Lease: one.Lease.after(now.Lease)}
		})
	}
}

// unfit are the reasons for which an allocation does not fit. If it breaks two rules, the service may report either, because it
// reports the first in the order of the request.
var unfit = []Reason{NoClaimedInventory, WrongUnits, CapacityExceeded}

// breaks reports whether the amounts that consumers want of a class on a provider break a rule. An amount that does not
// increase fits on a provider over capacity.
func breaks(reason Reason, wants []Want, p, class int, now *Provider) bool {
	var had, wanted float64 // amounts may be as large as an int64
	of, isWrong := now.Inventories[class], false
	for i := range wants {
		amount := wants[i].Allocations[p][class]
		had += float64(now.ByConsumer[wants[i].Consumer][class])
		wanted += float64(amount)
		isWrong = isWrong || amount > 0 && of.Total > 0 && !of.permits(amount)
	}
	switch reason {
	case NoClaimedInventory:
		return wanted > 0 && of.Total == 0
	case WrongUnits:
		return isWrong
	case CapacityExceeded:
		return of.Total > 0 && wanted > had && float64(now.Used(class))-had+wanted > of.Capacity()
	}
	return false
}

// DeleteAllocations is DELETE /allocations/{consumer}.
type DeleteAllocations struct {
	Consumer int
	Given    int64 // 0: not in the request
}

// Judge implements Operation.
func (w DeleteAllocations) Judge(c *Checks) {
	exists(c, w.Consumer)
	c.of(w.Consumer, ConsumerGenerationConflict, func(now *Consumer) bool { return w.Given != 0 && w.Given != now.Generation })
	c.next()
	for p := range ProviderCount {
		c.changeOf([]Want{{Consumer: w.Consumer}}, p, false, func(now *Provider) { now.ByConsumer[w.Consumer] = Amounts{} })
	}
	c.changeConsumer(w.Consumer, func(now *Consumer) { *now = Consumer{} })
}

// exists is the rule that a consumer exists. One that does not exist has nothing on any provider.
func exists(c *Checks, who int) {
	if c.Answer.Reason == NoConsumer {
		for p := range ProviderCount {
			c.changeOf([]Want{{Consumer: who}}, p, false, func(now *Provider) { c.must(now.ByConsumer[who] == Amounts{}) })
		}
	}
	c.of(who, NoConsumer, func(now *Consumer) bool { return now.Generation == 0 })
	c.next()
}

// Removed is the amount of an allocation that a patch removes; 0 is one that it does not name.
const Removed = -1

// PatchAllocations is PATCH /allocations/{consumer}.
type PatchAllocations struct {
	Consumer int
	Given    int64 // 0: not in the request
	// Allocations are the amounts: 0 (not named), Removed, or the amount.
	Allocations Allocations
	// Gone are the providers whose allocations are all removed.
	Gone  [ProviderCount]bool
	Lease GivenLease
}

// patched returns the amounts of the consumer on a provider after the patch.
func (w PatchAllocations) patched(p int, had Amounts) Amounts {
	if w.Gone[p] {
		return Amounts{}
	}
	for class, amount := range w.Allocations[p] {
		if amount != 0 {
			had[class] = max(amount, 0)
		}
	}
	return had
}

// changed returns a claim of the amounts that the patch changes, since it checks no others.
func (w PatchAllocations) changed(p int, now *Provider) []Want {
	made := Want{Consumer: w.Consumer}
	for class, amount := range w.patched(p, now.ByConsumer[w.Consumer]) {
		if amount != now.ByConsumer[w.Consumer][class] {
			made.Allocations[p][class] = amount
		}
	}
	return []Want{made}
}

// Judge implements Operation.
func (w PatchAllocations) Judge(c *Checks) {
	exists(c, w.Consumer)
	c.of(w.Consumer, ConsumerGenerationConflict, func(now *Consumer) bool { return w.Given != 0 && w.Given != now.Generation })
	c.next()
	for p := range ProviderCount {
		if slices.Max(w.Allocations[p][:]) > 0 {
			c.at(p, NoClaimedProvider, None, func(now *Provider) bool { return !now.Exists })
		}
	}
	c.next()
	for p := range ProviderCount {
		for class, amount := range w.Allocations[p] {
			for _, reason := range unfit {
				if amount > 0 {
					c.at(p, reason, class, func(now *Provider) bool { return breaks(reason, w.changed(p, now), p, class, now) })
				}
			}
		}
	}
	c.next()
	w.apply(c)
}

// apply is the effect and what the response shows of it. The request does not lock the providers on which nothing changes, so
// the generations of these are of some moment during the request, not of its position in the order.
func (w PatchAllocations) apply(c *Checks) {
	o := &c.Answer.Observed
	for p := range ProviderCount {
		isNamed := w.Gone[p] || w.Allocations[p] != (Amounts{})
		c.changeOf([]Want{{Consumer: w.Consumer}}, p, isNamed, func(now *Provider) {
			had := now.ByConsumer[w.Consumer]
			after := w.patched(p, had)
			if after != had {
				now.ByConsumer[w.Consumer] = after
				now.Generation++
			}
			told := o.ProviderGenerations[p]
			isCurrent := told == None || told == now.Generation || c.state != nil && !c.isDryRun && after == had
			c.must(!c.shows() || o.Allocations[p] == after && isCurrent)
		})
	}
	c.changeConsumer(w.Consumer, func(now *Consumer) {
		after := *now
		for p := range after.Allocations {
			after.Allocations[p] = w.patched(p, now.Allocations[p])
		}
		after.Lease = w.Lease.after(now.Lease)
		switch {
		case after.Allocations == Allocations{}:
			after = Consumer{}
		case after.Allocations != now.Allocations || w.Lease.IsGiven && (w.Lease.Lease != Lease{} || now.Lease != Lease{}):
			after.Generation++
		}
		*now = after
		c.must(!c.shows() || o.Generation == after.Generation && o.Allocations == after.Allocations && o.Lease.shows(after.Lease))
	})
}
