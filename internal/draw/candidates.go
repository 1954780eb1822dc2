package draw

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// sharingTrait is the trait of providers that serve other trees.
const sharingTrait = "MISC_SHARES_VIA_AGGREGATE"

// Candidate is an allocation candidate to draw. Key identifies it among those of a query. Root is the root of its tree. Same
// are the candidates that differ from it by the sharing provider only.
type Candidate struct {
	api.Candidate
	Key  string
	Root uuid.UUID
	Same []*Candidate
	of   map[string]api.ProviderSummary
}

// Candidates returns the candidates of an answer in its order, without those that are in Same of another one. The candidate
// with the key first takes the place of the one that it is the same as.
func Candidates(found api.Candidates, first string) (all []*Candidate) {
	byUse := map[string]int{}
	for _, candidate := range found.AllocationRequests {
		c := &Candidate{Candidate: candidate, of: found.ProviderSummaries}
		c.findRoot()
		whole, parts := fnv.New32a(), []string{}
		for _, id := range c.Used() {
			amounts := fmt.Sprint(candidate.Allocations[id.String()].Resources)
			fmt.Fprint(whole, id, amounts)
			if !c.IsShared(id) {
				amounts += id.String()
			}
			parts = append(parts, amounts)
		}
		slices.Sort(parts)
		use := c.Root.String() + strings.Join(parts, " ")
		c.Key = fmt.Sprintf("%08x", whole.Sum32())
		at, known := byUse[use]
		switch {
		case !known:
			byUse[use] = len(all)
			all = append(all, c)
		case c.Key == first:
			c.Same, all[at].Same = append(all[at].Same, all[at]), nil
			all[at] = c
		default:
			all[at].Same = append(all[at].Same, c)
		}
	}
	return all
}

// SingleRoot returns the root of the tree that all candidates of an answer are of; false if they are of several trees, or
// there are none.
func SingleRoot(found api.Candidates) (root uuid.UUID, isSingle bool) {
	for i, candidate := range found.AllocationRequests {
		c := &Candidate{Candidate: candidate, of: found.ProviderSummaries}
		if c.findRoot(); i > 0 && c.Root != root {
			return uuid.Nil, false
		}
		root = c.Root
	}
	return root, root != uuid.Nil
}

// findRoot sets the root to that of a provider that is not shared, if there is one.
func (c *Candidate) findRoot() {
	for _, id := range c.Used() {
		if summary := c.of[id.String()]; c.Root == uuid.Nil || !slices.Contains(summary.Traits, sharingTrait) {
			c.Root = summary.RootProviderUUID
		}
	}
}

// Used returns the providers of the candidate, sorted.
func (c *Candidate) Used() (providers []uuid.UUID) {
	for _, text := range slices.Sorted(maps.Keys(c.Allocations)) {
		if id, err := uuid.Parse(text); err == nil {
			providers = append(providers, id)
		}
	}
	return providers
}

// IsShared reports whether a provider is of another tree.
func (c *Candidate) IsShared(id uuid.UUID) bool { return c.of[id.String()].RootProviderUUID != c.Root }

func (c *Candidate) parent(id uuid.UUID) uuid.UUID {
	if parent := c.of[id.String()].ParentProviderUUID; parent != nil {
		return *parent
	}
	return uuid.Nil
}

// CandidateRow is a provider of a drawn candidate. Groups are the suffixes of the groups that it serves.
type CandidateRow struct {
	UUID   uuid.UUID
	Depth  int
	Groups []string
	Uses   map[string]CandidateUse
}

// CandidateUse is what the candidate takes of a class on a provider, by group, in the order of the groups.
type CandidateUse struct {
	Used, Capacity, Taken int64
	Parts                 []GroupPart
}

// GroupPart is the part of a group.
type GroupPart struct {
	Group  string
	Amount int64
}

// Rows returns the providers that the candidate uses, with their ancestors, in depth-first order by name; those of other
// trees come last. Amounts are those of the groups of the query by class; the suffixes are in their order.
func (c *Candidate) Rows(suffixes []string, amounts map[string]map[string]int64, name func(uuid.UUID) string) (rows []CandidateRow) {
	var walk func(parent uuid.UUID, depth int)
	walk = func(parent uuid.UUID, depth int) {
		var children []uuid.UUID
		for _, id := range c.Used() {
			for ; id != uuid.Nil; id = c.parent(id) {
				if c.parent(id) == parent && !slices.Contains(children, id) {
					children = append(children, id)
				}
			}
		}
		slices.SortFunc(children, func(a, b uuid.UUID) int {
			if c.IsShared(a) != c.IsShared(b) {
				return map[bool]int{true: 1, false: -1}[c.IsShared(a)]
			}
			return strings.Compare(name(a), name(b))
		})
		for _, id := range children {
			rows = append(rows, c.row(id, depth, suffixes, amounts))
			walk(id, depth+1)
		}
	}
	walk(uuid.Nil, 0)
	return rows
}

// row returns the row of a provider. What the groups with a suffix do not ask for is of the group without one.
func (c *Candidate) row(id uuid.UUID, depth int, suffixes []string, amounts map[string]map[string]int64) CandidateRow {
	result := CandidateRow{UUID: id, Depth: depth, Uses: map[string]CandidateUse{}}
	for _, suffix := range suffixes {
		if slices.Contains(c.Mappings[suffix], id) {
			result.Groups = append(result.Groups, suffix)
		}
	}
	for class, taken := range c.Allocations[id.String()].Resources {
		has := c.of[id.String()].Resources[class]
		use := CandidateUse{Used: has.Used, Capacity: int64(min(has.Capacity, 1<<62)), Taken: taken}
		for _, suffix := range result.Groups {
			if part := min(amounts[suffix][class], taken); suffix != "" && part > 0 {
				use.Parts = append(use.Parts, GroupPart{suffix, part})
				taken -= part
			}
		}
		if taken > 0 {
			use.Parts = append(use.Parts, GroupPart{"", taken})
		}
		result.Uses[class] = use
	}
	return result
}

// GroupKind returns the kind of the pieces of a group, by its index in a query.
func GroupKind(index int) string { return []string{Green, Violet, Amber, Gray}[min(max(index, 0), 3)] }
