package candidates

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// countNeeds sums up what one member uses of each class.
func (p *placer) countNeeds() {
	for _, want := range p.search.asked.Requirements {
		for _, use := range want.Uses {
			at := slices.Index(p.classes, use.Class)
			if at < 0 {
				at = len(p.classes)
				p.classes, p.needs = append(p.classes, use.Class), append(p.needs, 0)
			}
			p.needs[at] = sumOf(p.needs[at], use.Amount)
		}
	}
}

// largest returns the candidates of the most members that fit in a tree: at least some, nil if these do not fit, and at most
// a limit. The number is found by doubling, then halving, because fewer members fit where more do. With an error it returns
// the most that it has found.
func (p *placer) largest(tree *candidateTree, least, limit int) (found []ClaimCandidate, err error) {
	limit = p.bound(tree, limit)
	if least > limit {
		return nil, nil
	}
	fitting, failing, count := 0, limit+1, least
	for fitting+1 < failing {
		candidates, err := p.try(tree, count)
		if err != nil {
			return found, err
		}
		switch {
		case candidates != nil:
			found, fitting = candidates, count
		case found == nil && count == least:
			return nil, nil
		default:
			failing = count
		}
		if failing > limit {
			count = min(2*fitting, limit)
		} else {
			count = (fitting + failing) / 2
		}
	}
	return found, nil
}

// bound returns how many members a tree can have at most because of its free capacity, up to a limit.
func (p *placer) bound(tree *candidateTree, limit int) int {
	for i, class := range p.classes {
		if p.needs[i] == 0 {
			continue
		}
		free := int64(0)
		for j := range tree.Providers {
			free = sumOf(free, max(0, p.freeOf(tree, j, class)))
		}
		if most := free / p.needs[i]; most < int64(limit) {
			limit = int(most)
		}
	}
	return limit
}

// freeOf returns the free capacity of a class on a provider of a tree, without what the members use.
func (p *placer) freeOf(tree *candidateTree, provider int, class int32) int64 {
	row := tree.rows[provider]
	for at := tree.page.providers[row].inventories.start; at < tree.page.providers[row].inventories.end; at++ {
		if inventory := &tree.page.inventories[at]; inventory.class == class {
			return inventory.unused() - p.taken[usedClass{tree.Providers[provider].ID, class}]
		}
	}
	return 0
}

// unused returns the free capacity for several consumers, which max_unit does not limit.
func (i *inventory) unused() int64 {
	if i.capacity >= math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return int64(i.capacity) - i.used
}

// sumOf returns the sum of amounts that are not negative, the largest integer on overflow.
func sumOf(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// errNoMore ends the search for one member after the other.
var errNoMore = errors.New("no further member fits")

// errTrialOver ends the search for further members of a tree that reaches a limit.
var errTrialOver = errors.New("the search for further members has reached its limit")

// try returns the candidates of a number of members in a tree; nil if they do not fit, or if the search reaches a limit.
// The search for one member is limited like that of any candidate.
func (p *placer) try(tree *candidateTree, count int) ([]ClaimCandidate, error) {
	if count == 1 {
		return p.first(tree)
	}
	found, err := p.limited(func() ([]ClaimCandidate, error) { return p.together(tree, count) })
	if found != nil || err == nil && len(p.search.splits) == 0 {
		return found, err
	}
	if err != nil && !errors.Is(err, errTrialOver) {
		return nil, err
	}
	found, err = p.limited(func() ([]ClaimCandidate, error) { return p.oneByOne(tree, count) })
	if found == nil && (err == nil || errors.Is(err, errTrialOver)) {
		p.isExact, err = false, nil
	}
	return found, err
}

// first returns the candidate of a single member; none if it does not fit, or if a limited search reaches its limit.
func (p *placer) first(tree *candidateTree) ([]ClaimCandidate, error) {
	if !p.isTrial {
		return p.oneByOne(tree, 1)
	}
	found, err := p.limited(func() ([]ClaimCandidate, error) { return p.oneByOne(tree, 1) })
	if errors.Is(err, errTrialOver) {
		p.isExact, err = false, nil
	}
	return found, err
}

// limited limits a search for further members.
func (p *placer) limited(find func() ([]ClaimCandidate, error)) ([]ClaimCandidate, error) {
	left := min(maxTrialIntervals, p.most-p.spent)
	if left <= 0 {
		return nil, errTrialOver
	}
	p.search.charge = func() error {
		p.spent++
		if left--; left < 0 {
			return errTrialOver
		}
		return nil
	}
	defer func() { p.search.charge = nil }()
	return find()
}

// together returns the candidates of several members, which package combine finds as those of one request; nil if there are
// none.
func (p *placer) together(tree *candidateTree, count int) ([]ClaimCandidate, error) {
	if count*len(p.search.wants) > maxCopiedRequirements {
		return nil, errTrialOver
	}
	kind := p.kindFor(tree, count)
	search := p.copies.of(p.search, kind)
	search.Reset(p.copyTree(tree, kind))
	if !search.Next() {
		return nil, search.Err()
	}
	candidates := make([]ClaimCandidate, count)
	chosen, wants := search.Chosen(), len(p.search.wants)
	for i := range candidates {
		candidates[i] = p.candidate(tree, chosen[i*wants:(i+1)*wants], nil)
	}
	return candidates, nil
}

// oneByOne returns the candidates of several members, of which each is the first one that fits beside those before; nil if
// one does not fit. A choice is made again while it fits, without a search. Searches count as steps.
func (p *placer) oneByOne(tree *candidateTree, count int) (candidates []ClaimCandidate, err error) {
	if p.walk == nil {
		p.walk = p.search.newWalk()
	}
	used := usage{}
	for searches := 1; len(candidates) < count && err == nil; searches++ {
		if searches%combine.StopInterval == 0 {
			if err = p.search.chargeBudget(); err != nil {
				continue
			}
		}
		p.walk.reset(p.reduced(tree))
		if !p.walk.next() {
			p.isExact = p.isExact && !p.walk.isGivenUp
			err = cmp.Or(p.walk.err, errNoMore)
			continue
		}
		chosen := []ClaimCandidate{p.candidate(tree, p.walk.chosen, p.walk.parts)}
		times := p.timesOf(tree, &chosen[0], count-len(candidates))
		p.taken.add(chosen, times)
		used.add(chosen, times)
		candidates = append(candidates, slices.Repeat(chosen, int(times))...)
	}
	for key, amount := range used {
		if p.taken[key] -= amount; p.taken[key] == 0 {
			delete(p.taken, key)
		}
	}
	switch {
	case errors.Is(err, errNoMore):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return candidates, nil
}

// timesOf returns how many members, up to a limit, the walk would give the candidate that it has found: that candidate is the
// first one for as long as it fits, because nothing before it fits with less free capacity. It is once if the order is random,
// or if several providers share an amount, of which the parts depend on what is free.
func (p *placer) timesOf(tree *candidateTree, found *ClaimCandidate, limit int) int64 {
	if p.search.rng != nil || p.walk.splitting {
		return 1
	}
	times := int64(limit)
	for _, use := range found.Uses {
		at := slices.IndexFunc(tree.Providers, func(of combine.Provider) bool { return of.ID == use.ProviderID })
		if at >= 0 && use.Amount > 0 {
			times = min(times, p.freeOf(tree, at, use.ClassID)/use.Amount)
		}
	}
	return max(1, times)
}

// candidate returns the candidate of a choice in a tree.
func (p *placer) candidate(tree *candidateTree, chosen []int, parts []part) ClaimCandidate {
	result := Result{search: p.search, anchor: tree.Anchor}
	picks := make([]int32, len(chosen))
	for i, place := range chosen {
		picks[i] = -1
		if place >= 0 {
			picks[i] = tree.rows[place]
		}
	}
	return result.claimCandidate(tree.page, picks, parts)
}

// reduced returns a tree without what the members use.
func (p *placer) reduced(tree *candidateTree) *candidateTree {
	if !p.isTaken(tree) {
		return tree
	}
	result := *tree
	result.Options = make([][]combine.Option, len(tree.Options))
	for i, options := range tree.Options {
		classes := p.search.slots[i].classes
		for _, option := range options {
			option.Free = slices.Clone(option.Free)
			for j, class := range classes {
				option.Free[j] = min(option.Free[j], p.freeOf(tree, option.Provider, class))
			}
			result.Options[i] = append(result.Options[i], option)
		}
	}
	result.shares = slices.Clone(tree.shares)
	for i := range result.shares {
		of := &result.shares[i]
		of.inventories = slices.Clone(of.inventories)
		for j, inventory := range of.inventories {
			if inventory != nil {
				left := *inventory
				left.free = min(left.free, p.freeOf(tree, of.provider, inventory.class))
				of.inventories[j] = &left
			}
		}
	}
	return &result
}
