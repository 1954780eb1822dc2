package bruteforce

import (
	"fmt"
	"slices"
	"strings"
)

// wrongSequence compares the order of a response with that of the query: the trees in their order, the best provider in
// the first candidate of each, and as many candidates of each as the limits permit.
func (a *Response) wrongSequence(shown []Candidate) []string {
	taken, at := map[string]bool{}, 0
	for i := range a.trees {
		left := a.without(a.trees[i], taken)
		count := len(left.candidates)
		if a.LimitPerTree > 0 {
			count = min(count, a.LimitPerTree)
		}
		if a.Limit > 0 {
			count = min(count, a.Limit-at)
		}
		if at+count > len(shown) {
			return []string{fmt.Sprintf("%d candidates, which are too few for the tree of %s", len(shown), left.anchor.Name)}
		}
		for j, candidate := range shown[at : at+count] {
			key := a.key(candidate)
			if taken[key] || left.texts[key] != candidate.String() {
				return []string{fmt.Sprintf("candidate %d must be one of the tree of %s: %s", at+j, left.anchor.Name, candidate)}
			}
			taken[key] = true
		}
		if count > 0 {
			if line := a.wrongFirst(left, shown[at]); line != "" {
				return []string{line}
			}
		}
		at += count
	}
	if at < len(shown) {
		return []string{fmt.Sprintf("%d candidates, not %d", len(shown), at)}
	}
	return nil
}

// Sample returns the candidates of one correct response.
func (a *Response) Sample() []Candidate {
	var sample []Candidate
	taken := map[string]bool{}
	for _, each := range a.trees {
		rest := a.without(each, taken)
		left := slices.Clone(rest.candidates)
		slices.SortStableFunc(left, func(one, other Candidate) int {
			return strings.Compare(a.wrongFirst(rest, one), a.wrongFirst(rest, other))
		})
		if a.LimitPerTree > 0 {
			left = left[:min(len(left), a.LimitPerTree)]
		}
		if a.Limit > 0 {
			left = left[:min(len(left), a.Limit-len(sample))]
		}
		for _, candidate := range left {
			taken[a.key(candidate)] = true
		}
		sample = append(sample, left...)
	}
	return sample
}

// without returns a tree without candidates that were returned for another one.
func (a *Response) without(t tree, taken map[string]bool) tree {
	t.candidates = slices.DeleteFunc(slices.Clone(t.candidates), func(c Candidate) bool { return taken[a.key(c)] })
	return t
}

// wrongFirst checks that of the candidates of a tree none has a better provider than the first. This does not apply to a
// split class.
func (a *Response) wrongFirst(of tree, first Candidate) string {
	class := a.request.order.class
	if !a.request.order.isByRoom() || of.isSplit && slices.Contains(a.request.canSplit, class) {
		return ""
	}
	shown := of.candidates[slices.IndexFunc(of.candidates, func(c Candidate) bool { return c.String() == first.String() })]
	for _, other := range of.candidates {
		here, best := shown.leading.free(class), other.leading.free(class)
		if a.request.order.by == "pack" && best < here || a.request.order.by == "spread" && best > here {
			return fmt.Sprintf("the first candidate of the tree of %s uses %s, not %s: %s", of.anchor.Name, shown.leading.Name,
				other.leading.Name, first)
		}
	}
	return ""
}

// wrongPerTree compares a response with limit_per_tree without an order of trees: each candidate is one of a tree, no
// tree has more than permitted, and none has fewer without a reason.
func (a *Response) wrongPerTree(shown []Candidate) []string {
	owners := map[string]int{} // indices of trees
	for _, candidate := range shown {
		if !a.isOfAnyTree(candidate) || !a.assign(a.key(candidate), owners, map[int]bool{}) {
			return []string{"must not be, or too many of its tree: " + candidate.String()}
		}
	}
	switch {
	case a.Limit > 0 && len(shown) > a.Limit:
		return []string{fmt.Sprintf("%d candidates, not %d", len(shown), a.Limit)}
	case a.Limit > 0 && len(shown) == a.Limit:
		return nil
	}
	var lines []string
	for _, of := range a.trees {
		count := 0
		for _, candidate := range shown {
			if of.texts[a.key(candidate)] != "" {
				count++
			}
		}
		if count < min(a.LimitPerTree, len(of.candidates)) {
			lines = append(lines, fmt.Sprintf("%d candidates of the tree of %s are too few", count, of.anchor.Name))
		}
	}
	return lines
}

// assign finds a tree for a candidate that has fewer than the permitted number, and moves others to other trees if
// necessary. tried are the trees that cannot have fewer.
func (a *Response) assign(key string, owners map[string]int, tried map[int]bool) bool {
	if _, again := owners[key]; again {
		return false
	}
	for i := range a.trees {
		if tried[i] || a.trees[i].texts[key] == "" {
			continue
		}
		tried[i] = true
		var members []string
		for member, owner := range owners {
			if owner == i {
				members = append(members, member)
			}
		}
		if len(members) < a.LimitPerTree {
			owners[key] = i
			return true
		}
		for _, member := range members {
			delete(owners, member)
			if a.assign(member, owners, tried) {
				owners[key] = i
				return true
			}
			owners[member] = i
		}
	}
	return false
}
