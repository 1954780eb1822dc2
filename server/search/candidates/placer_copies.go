package candidates

import (
	"slices"

	"github.com/berthd/berth/server/search/candidates/combine"
)

// maxCopiedRequirements limits the requests of several copies of a query.
const maxCopiedRequirements = 4096

// copiesKind is a number of copies of a query as one request, and what these copies have of their own in a tree.
type copiesKind struct {
	count int
	// hasSets: the unsuffixed groups of each copy have to meet trait sets.
	hasSets bool
	// isBounded: an inventory has more free capacity than one consumer may allocate, so what each copy uses is limited, too.
	isBounded bool
}

// copiesCache has searches whose memory is used again.
type copiesCache map[copiesKind]*combine.Search

// maxCopiesKept limits the memory of a copiesCache.
const maxCopiesKept = 8

// of returns the search for a kind of copies.
func (c copiesCache) of(s *candidateSearch, kind copiesKind) *combine.Search {
	if known := c[kind]; known != nil {
		return known
	}
	if len(c) >= maxCopiesKept {
		clear(c)
	}
	c[kind] = combine.NewPlan(s.copiedRequest(kind)).NewSearch()
	return c[kind]
}

// copiedRequest returns several copies of the query's request as one. Sets, isolation and subtrees are those of each copy;
// amounts add up on each provider.
func (s *candidateSearch) copiedRequest(kind copiesKind) combine.Request {
	request := combine.Request{Shuffle: s.rng, First: s.asked.First, Stop: s.asked.Stop}
	if kind.hasSets {
		request.Sets = kind.count * s.asked.Sets
	}
	wants, bounded := len(s.asked.Requirements), s.repeatedClasses()
	for number := range kind.count {
		for _, want := range s.asked.Requirements {
			want.Uses = slices.Clone(want.Uses)
			if kind.isBounded {
				for _, use := range want.Uses {
					if at := slices.Index(bounded, use.Class); at >= 0 {
						want.Uses = append(want.Uses, combine.Use{Class: copiedClass(number, at, len(bounded)), Amount: use.Amount})
					}
				}
			}
			if kind.hasSets && !want.Suffixed {
				want.Slot += number * len(s.slots)
			}
			request.Requirements = append(request.Requirements, want)
		}
		moved := func(places []int) (to []int) {
			for _, place := range places {
				to = append(to, place+number*wants)
			}
			return to
		}
		for _, set := range s.asked.Isolated {
			request.Isolated = append(request.Isolated, moved(set))
		}
		for _, set := range s.asked.Subtrees {
			request.Subtrees = append(request.Subtrees, combine.Subtree{Inside: moved(set.Inside), Outside: moved(set.Outside)})
		}
	}
	return request
}

// copiedClass is the class for what one copy uses of a class: that of no inventory, whose ids are not negative.
func copiedClass(number, class, classes int) int32 { return -1 - int32(number*classes+class) }

// repeatedClasses returns the classes that several requirements of the query use.
func (s *candidateSearch) repeatedClasses() (repeated []int32) {
	seen := map[int32]bool{}
	for _, want := range s.asked.Requirements {
		for _, use := range want.Uses {
			if seen[use.Class] && !slices.Contains(repeated, use.Class) {
				repeated = append(repeated, use.Class)
			}
			seen[use.Class] = true
		}
	}
	return repeated
}

// kindFor returns the kind of copies for a tree. Trait sets do not matter if all options of an unsuffixed requirement meet
// all of them, as on hosts of a single provider.
func (p *placer) kindFor(tree *candidateTree, count int) copiesKind {
	s, kind := p.search, copiesKind{count: count, hasSets: p.search.asked.Sets > 0}
	repeated := s.repeatedClasses()
	for _, want := range s.asked.Requirements {
		meetsAll := !want.Suffixed
		for i := range tree.Options[want.Slot] {
			option := &tree.Options[want.Slot][i]
			meetsAll = meetsAll && len(option.Met) == s.asked.Sets
			for j, use := range want.Uses {
				if slices.Contains(repeated, use.Class) && option.Free[j] < p.freeOf(tree, option.Provider, use.Class) {
					kind.isBounded = true
				}
			}
		}
		kind.hasSets = kind.hasSets && !meetsAll
	}
	return kind
}

// copyTree returns a tree for a kind of copies, without what the members use.
func (p *placer) copyTree(tree *candidateTree, kind copiesKind) *combine.Tree {
	s := p.search
	result := &combine.Tree{Anchor: tree.Anchor, Providers: tree.Providers, Options: make([][]combine.Option, len(s.slots))}
	repeated := s.repeatedClasses()
	for i, options := range tree.Options {
		classes := s.slots[i].classes
		for _, option := range options {
			bounds := option.Free
			if len(classes) > 0 {
				option.Free = make([]int64, 0, 2*len(classes))
			}
			for _, class := range classes {
				option.Free = append(option.Free, p.freeOf(tree, option.Provider, class))
			}
			for j, class := range classes {
				if kind.isBounded && slices.Contains(repeated, class) {
					option.Free = append(option.Free, bounds[j])
				}
			}
			result.Options[i] = append(result.Options[i], option)
		}
	}
	if kind.hasSets {
		p.copySets(result, kind.count)
	}
	return result
}

// copySets gives each copy slots of its own, whose options meet the copy's trait sets.
func (p *placer) copySets(tree *combine.Tree, count int) {
	own := tree.Options
	for number := 1; number < count; number++ {
		for i, options := range own {
			var copied []combine.Option
			for _, option := range options {
				if p.search.slots[i].suffixed {
					break
				}
				met := make([]int32, len(option.Met))
				for j, set := range option.Met {
					met[j] = set + int32(number*p.search.asked.Sets)
				}
				option.Met = met
				copied = append(copied, option)
			}
			tree.Options = append(tree.Options, copied)
		}
	}
}
