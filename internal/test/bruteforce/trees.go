package bruteforce

import (
	"cmp"
	"slices"
)

// tree is an anchor with all its candidates, also those of other anchors.
type tree struct {
	anchor     *Provider
	candidates []Candidate
	// texts are the candidates as text by key. The mappings of conditions are those of the anchor.
	texts map[string]string
	// isSplit reports whether the candidates split classes.
	isSplit bool
}

// isSequence reports whether an order determines the sequence of trees.
func (o order) isSequence() bool { return o.by == "id" || o.isByRoom() }

// isByRoom reports whether an order is pack or spread.
func (o order) isByRoom() bool { return o.by == "pack" || o.by == "spread" }

// sortTrees sorts trees into the order of the response (docs/contract/berth/search.md#order-of-the-trees).
func (s *search) sortTrees(trees []tree) {
	slices.SortStableFunc(trees, func(a, b tree) int {
		if !s.request.order.isByRoom() {
			return cmp.Compare(a.anchor.Number, b.anchor.Number)
		}
		here, there := s.roomiest(a.anchor), s.roomiest(b.anchor)
		direction := 1
		if s.request.order.by == "spread" {
			direction = -1
		}
		return cmp.Or(
			direction*cmp.Compare(here.free(s.request.order.class), there.free(s.request.order.class)),
			direction*cmp.Compare(here.Number, there.Number),
			-compareBool(s.Root(here) == a.anchor, s.Root(there) == b.anchor),
			cmp.Compare(a.anchor.Number, b.anchor.Number))
	})
}

func compareBool(a, b bool) int {
	return map[bool]int{true: 1}[a] - map[bool]int{true: 1}[b]
}

// roomiest returns the provider whose free capacity is the room of a tree: with pack the least that is enough, of
// several the first that was created; with spread the greatest, of several the last that was created.
func (s *search) roomiest(anchor *Provider) *Provider {
	class, enough := s.request.order.class, s.leastAmount(s.request.order.class)
	var found *Provider
	for _, provider := range s.Providers {
		if !s.reaches(anchor, provider) || provider.free(class) < enough {
			continue
		}
		compared := 0
		if found != nil {
			compared = cmp.Or(cmp.Compare(provider.free(class), found.free(class)), cmp.Compare(provider.Number, found.Number))
		}
		if isFirst := s.request.order.by == "pack"; found == nil || isFirst && compared < 0 || !isFirst && compared > 0 {
			found = provider
		}
	}
	return found
}

// leastAmount returns the least amount of a class that any group requests. Of a split class a sixteenth counts.
func (s *search) leastAmount(class string) int64 {
	least := int64(0)
	for _, g := range s.request.groups {
		if amount := s.orderAmount(g, class); amount > 0 && (least == 0 || amount < least) {
			least = amount
		}
	}
	return least
}

// orderAmount returns the amount of a class in a group that counts for the order.
func (s *search) orderAmount(g *group, class string) int64 {
	if g.suffix == "" && slices.Contains(s.request.canSplit, class) {
		return (g.resources[class] + maxSplitProviders - 1) / maxSplitProviders
	}
	return g.resources[class]
}

// leadingProvider returns the provider from which the group whose amount of the class of the order counts least takes it;
// nil without such an order.
func (s *search) leadingProvider(combination []solution) *Provider {
	class := s.request.order.class
	for _, chosen := range combination { // in the order of the query
		for _, each := range chosen.uses {
			isLeast := s.orderAmount(s.request.group(chosen.group.suffix), class) == s.leastAmount(class)
			if each.class == class && s.request.order.isByRoom() && isLeast {
				return each.provider
			}
		}
	}
	return nil
}

// SplitsClasses reports whether a candidate has parts of a class of can_split, because its anchor has no others.
func (a *Response) SplitsClasses() bool {
	return slices.ContainsFunc(a.trees, func(t tree) bool { return t.isSplit })
}

// Trees returns the number of anchors with candidates.
func (a *Response) Trees() int { return len(a.trees) }

// MaxPerTree returns the largest number of candidates of an anchor.
func (a *Response) MaxPerTree() int {
	most := 0
	for _, each := range a.trees {
		most = max(most, len(each.candidates))
	}
	return most
}
