package bruteforce

import (
	"math"
	"slices"
	"strings"
)

// maxSplitProviders is the largest number of providers that one split may use.
const maxSplitProviders = 16

// splitCandidates returns the candidates of an anchor in which the classes of can_split come from a smallest set of
// providers: one candidate for each choice of everything else and each smallest set.
func (s *search) splitCandidates(anchor *Provider) []Candidate {
	whole, unsplit := s.request.group(""), s.unsplitGroup()
	var each [][]solution
	for i, solutions := range s.allSolutions(anchor) {
		if s.request.groups[i] == whole {
			solutions = s.spread(unsplit, anchor)
		}
		each = append(each, solutions)
	}
	var found []Candidate
	for combination := range product(each) {
		if !s.isAcceptable(combination) {
			continue
		}
		for _, set := range s.smallestSets(anchor, combination) {
			completed := s.withSplit(combination, set)
			if haveTraits(completed[slices.Index(s.request.groups, whole)].providers, whole) {
				found = append(found, s.merge(completed))
			}
		}
	}
	return found
}

// unsplitGroup returns the unsuffixed group without the classes of can_split and without its traits, which the split
// providers satisfy too.
func (s *search) unsplitGroup() *group {
	unsplit := *s.request.group("")
	unsplit.required, unsplit.resources = nil, map[string]int64{}
	for class, amount := range s.request.group("").resources {
		if !slices.Contains(s.request.canSplit, class) {
			unsplit.resources[class] = amount
		}
	}
	return &unsplit
}

// smallestSets returns the sets of at most maxSplitProviders providers from which every split class can come, without
// those that contain another such set. It does not try providers that cannot give a part, because without them a set
// gives the same.
func (s *search) smallestSets(anchor *Provider, combination []solution) [][]*Provider {
	g := s.request.group("")
	var eligible []*Provider
	for _, provider := range s.Providers {
		if s.isEligible(g, anchor, provider) && !slices.ContainsFunc(g.forbidden, provider.hasTrait) &&
			s.canGive(provider, combination) {
			eligible = append(eligible, provider)
		}
	}
	var found [][]*Provider
	for size := 1; size <= min(len(eligible), maxSplitProviders); size++ {
		for set := range subsets(eligible, size) {
			includes := func(smaller []*Provider) bool { return containsAll(set, smaller) }
			if !slices.ContainsFunc(found, includes) && s.isSufficient(set, combination) {
				found = append(found, set)
			}
		}
	}
	return found
}

// subsets yields the subsets of a size.
func subsets[T any](of []T, size int) func(yield func([]T) bool) {
	return func(yield func([]T) bool) {
		var extend func(chosen, rest []T) bool
		extend = func(chosen, rest []T) bool {
			if len(chosen) == size {
				return yield(slices.Clone(chosen))
			}
			for i := range rest {
				if !extend(append(slices.Clip(chosen), rest[i]), rest[i+1:]) {
					return false
				}
			}
			return true
		}
		extend(nil, of)
	}
}

func containsAll[T comparable](set, elements []T) bool {
	return !slices.ContainsFunc(elements, func(element T) bool { return !slices.Contains(set, element) })
}

// canGive reports whether a provider can give a part of any split class.
func (s *search) canGive(provider *Provider, combination []solution) bool {
	return slices.ContainsFunc(s.request.canSplit, func(class string) bool {
		for amount := int64(1); amount <= min(s.request.group("").resources[class], room(provider, class, combination)); amount++ {
			if provider.isPart(class, amount) {
				return true
			}
		}
		return false
	})
}

// room returns the amount of a class that a provider has left beside the suffixed groups.
func room(provider *Provider, class string, combination []solution) int64 {
	left := provider.free(class)
	for _, chosen := range combination {
		for _, each := range chosen.uses {
			if each.provider == provider && each.class == class {
				left -= each.amount
			}
		}
	}
	return left
}

// free returns the largest amount of a class that one claim can still allocate, without min_unit and step_size. It is
// not positive without an inventory.
func (p *Provider) free(class string) int64 {
	inventory, exists := p.Inventories[class]
	if !exists {
		return 0
	}
	left := min(float64(inventory.MaxUnit), math.Trunc(inventory.capacity())-float64(p.Used[class]))
	return int64(max(left, -Unlimited)) // a capacity can be a negative number that is no integer
}

// isPart reports whether min_unit and step_size permit an amount.
func (p *Provider) isPart(class string, amount int64) bool {
	inventory := p.Inventories[class]
	return amount >= inventory.MinUnit && amount%inventory.StepSize == 0
}

func (s *search) isSufficient(set []*Provider, combination []solution) bool {
	return !slices.ContainsFunc(s.request.canSplit, func(class string) bool {
		return s.greatestSplit(class, set, combination) == nil
	})
}

// greatestSplit returns the parts of a class that add up to its amount, or nil if there are none. Of several it returns
// the lexicographically greatest, in the order of room and then of the UUIDs. All parts have the same step_size.
func (s *search) greatestSplit(class string, set []*Provider, combination []solution) []use {
	ordered := slices.Clone(set)
	slices.SortFunc(ordered, func(a, b *Provider) int {
		if here, there := room(a, class, combination), room(b, class, combination); here != there {
			return int(there - here)
		}
		return strings.Compare(a.UUID, b.UUID)
	})
	var greatest []int64
	for _, provider := range ordered {
		step := provider.Inventories[class].StepSize
		if step == 0 || s.request.group("").resources[class]%step != 0 {
			continue // no inventory, or the amount is no sum of such parts
		}
		limits := make([]int64, len(ordered))
		for i, other := range ordered {
			if other.Inventories[class].StepSize == step {
				limits[i] = room(other, class, combination)
			}
		}
		parts := firstParts(class, ordered, limits, s.request.group("").resources[class])
		if parts != nil && (greatest == nil || slices.Compare(parts, greatest) > 0) {
			greatest = parts
		}
	}
	var uses []use
	for i, amount := range greatest {
		if amount > 0 {
			uses = append(uses, use{ordered[i], class, amount})
		}
	}
	return uses
}

// firstParts returns the lexicographically greatest amounts of providers, up to a limit of each, that add up to an
// amount; nil if there are none. A provider can give nothing.
func firstParts(class string, providers []*Provider, limits []int64, amount int64) []int64 {
	if len(providers) == 0 {
		return map[bool][]int64{true: {}}[amount == 0]
	}
	if total(limits) < amount {
		return nil
	}
	for part := min(max(limits[0], 0), amount); part >= 0; part-- {
		if part > 0 && !providers[0].isPart(class, part) {
			continue
		}
		if rest := firstParts(class, providers[1:], limits[1:], amount-part); rest != nil {
			return append([]int64{part}, rest...)
		}
	}
	return nil
}

// total adds the positive limits.
func total(limits []int64) int64 {
	sum := int64(0)
	for _, limit := range limits {
		sum += max(limit, 0)
	}
	return sum
}

// withSplit adds the greatest split of each class to the solution of the unsuffixed group.
func (s *search) withSplit(combination []solution, set []*Provider) []solution {
	completed := slices.Clone(combination)
	for i, chosen := range combination {
		if chosen.group.suffix != "" {
			continue
		}
		uses := slices.Clone(chosen.uses)
		for _, class := range slices.Compact(slices.Sorted(slices.Values(s.request.canSplit))) {
			uses = append(uses, s.greatestSplit(class, set, combination)...)
		}
		completed[i] = solution{group: s.request.group(""), uses: uses, providers: contributing(uses)}
	}
	return completed
}
