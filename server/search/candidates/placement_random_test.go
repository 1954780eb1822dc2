package candidates_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// smallCloud is a random cloud of a few trees with the classes 20000 and 20001, a trait, two aggregates, and perhaps sharing
// providers.
type smallCloud struct {
	*cloud
	providers []smallProvider
	pools     int
}

type smallProvider struct {
	id, root, parent int
	free, most       map[string]int64
	hasTrait, shares bool
	// aggregates has a bit for each.
	aggregates int
}

var smallClasses = []string{"CUSTOM_SLOT", "CUSTOM_CPU"}

// draw replaces all providers. There are at most a number of sharing providers.
func (c *smallCloud) draw(rng *rand.Rand, pools int) {
	c.exec("DELETE FROM inventories; DELETE FROM provider_traits; DELETE FROM provider_aggregates; DELETE FROM provider_generations")
	c.exec("UPDATE resource_providers SET parent_id = NULL, root_id = id; DELETE FROM resource_providers")
	c.providers, c.pools = nil, rng.IntN(pools+1)
	for range 1 + rng.IntN(3) {
		root := len(c.providers) + 1
		for i := range 1 + rng.IntN(3) {
			one := smallProvider{id: len(c.providers) + 1, root: root, hasTrait: rng.IntN(2) == 0}
			if i > 0 {
				one.parent = root + rng.IntN(i)
			}
			c.providers = append(c.providers, one)
		}
	}
	for range c.pools {
		id := len(c.providers) + 1
		c.providers = append(c.providers, smallProvider{id: id, root: id, shares: true})
	}
	for i := range c.providers {
		c.insert(rng, &c.providers[i])
	}
}

// insert draws the inventories of a provider and writes it.
func (c *smallCloud) insert(rng *rand.Rand, one *smallProvider) {
	c.exec(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		VALUES ($1::int, $2, 'provider-' || $1::int, $3, NULLIF($4::int, 0))`, one.id, hostUUID(one.id), one.root, one.parent)
	c.exec("INSERT INTO provider_generations (provider_id) VALUES ($1)", one.id)
	if one.hasTrait {
		c.exec("INSERT INTO provider_traits SELECT $1, id FROM traits WHERE name = 'CUSTOM_T'", one.id)
	}
	if one.shares {
		c.exec("INSERT INTO provider_traits SELECT $1, id FROM traits WHERE name = 'MISC_SHARES_VIA_AGGREGATE'", one.id)
	}
	if one.id == one.root && one.shares {
		one.aggregates = 1 + rng.IntN(3)
	} else if one.id == one.root {
		one.aggregates = rng.IntN(4)
	}
	for aggregate := 1; aggregate <= 2; aggregate++ {
		if one.aggregates&aggregate != 0 {
			c.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) VALUES ($1, $2)", one.id, aggregate)
		}
	}
	one.free, one.most = map[string]int64{}, map[string]int64{}
	for class, name := range smallClasses {
		if rng.IntN(4) == 0 {
			continue
		}
		total := 1 + rng.IntN(5)
		most, used := 1+rng.IntN(total), rng.IntN(2)
		one.free[name], one.most[name] = int64(total-used), int64(most)
		c.exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio, used)
			VALUES ($1, $2, $3, $4, 0, 1, $5, 1, 1, $6)`, one.id, 20000+class, one.root, total, most, used)
	}
}

// drawQuestion returns a query of one to three groups.
func drawQuestion(rng *rand.Rand) candidates.Query {
	made := candidates.Query{Extended: true, Order: candidates.Order{
		By: []candidates.OrderBy{candidates.OrderDefault, candidates.OrderID, candidates.OrderPack, candidates.OrderSpread}[rng.IntN(4)],
	}}
	for i, suffix := range []string{"", "_A", "_B"} {
		if rng.IntN(2) == 0 && (i < 2 || len(made.Groups) > 0) {
			continue
		}
		group := candidates.Group{Suffix: suffix}
		for _, at := range rng.Perm(2)[:1+rng.IntN(2)] {
			group.Resources = append(group.Resources, store.Amount{Class: smallClasses[at], Amount: int64(1 + rng.IntN(2))})
		}
		if rng.IntN(3) == 0 {
			group.Required = [][]string{{"CUSTOM_T"}}
		}
		made.Groups = append(made.Groups, group)
	}
	made.Order.Class = made.Groups[0].Resources[0].Class
	made.Isolate = rng.IntN(2) == 0
	last := len(made.Groups) - 1
	if rng.IntN(3) == 0 && last > 0 && made.Groups[last-1].Suffix != "" {
		made.Subtrees = []candidates.Subtree{{Inside: []int{last - 1, last}}}
	}
	return made
}

// smallUse is an amount of a class on a provider; smallCandidate is the amounts of a candidate with their anchor.
type smallUse struct {
	provider int
	class    string
}

type smallCandidate struct {
	root int
	uses map[smallUse]int64
}

func (c smallCandidate) key() string { return fmt.Sprint(c.root, c.uses) }

// smallChoice is what one provider gives to a group.
type smallChoice struct {
	group int
	uses  []store.Amount
}

// choicesOf returns the choices of a query: one for each suffixed group, and one for each class of the other.
func choicesOf(query *candidates.Query) (choices []smallChoice) {
	for i, group := range query.Groups {
		if group.Suffix != "" {
			choices = append(choices, smallChoice{i, group.Resources})
			continue
		}
		for j := range group.Resources {
			choices = append(choices, smallChoice{i, group.Resources[j : j+1]})
		}
	}
	return choices
}

// candidatesOf tries each choice of providers for the groups of a query.
func (c *smallCloud) candidatesOf(query *candidates.Query) map[string]smallCandidate {
	choices, found := choicesOf(query), map[string]smallCandidate{}
	for i := range c.providers {
		root := &c.providers[i]
		if root.id != root.root {
			continue
		}
		picked := make([][]*smallProvider, len(query.Groups))
		var choose func(at int, uses map[smallUse]int64)
		choose = func(at int, uses map[smallUse]int64) {
			if at == len(choices) {
				if c.meets(query, picked) {
					one := smallCandidate{root.id, uses}
					found[one.key()] = one
				}
				return
			}
			for j := range c.providers {
				one := &c.providers[j]
				if one.root != root.id && (!one.shares || root.aggregates&one.aggregates == 0) {
					continue
				}
				next, fits := maps.Clone(uses), true
				for _, amount := range choices[at].uses {
					key := smallUse{one.id, amount.Class}
					next[key] += amount.Amount
					fits = fits && next[key] <= min(one.free[amount.Class], one.most[amount.Class])
				}
				if fits {
					group := choices[at].group
					before := picked[group]
					picked[group] = append(before[:len(before):len(before)], one)
					choose(at+1, next)
					picked[group] = before
				}
			}
		}
		choose(0, map[smallUse]int64{})
	}
	return found
}

// meets reports whether the providers of all groups meet the conditions of a query.
func (c *smallCloud) meets(query *candidates.Query, picked [][]*smallProvider) bool {
	for i, group := range query.Groups {
		if len(group.Required) > 0 && !slices.ContainsFunc(picked[i], func(one *smallProvider) bool { return one.hasTrait }) {
			return false
		}
		for j := range i {
			if query.Isolate && query.Groups[j].Suffix != "" && picked[i][0] == picked[j][0] {
				return false
			}
		}
	}
	isBelow := func(one, top *smallProvider) bool {
		for ; one != top; one = &c.providers[one.parent-1] {
			if one.parent == 0 {
				return false
			}
		}
		return true
	}
	for _, set := range query.Subtrees {
		one, other := picked[set.Inside[0]][0], picked[set.Inside[1]][0]
		if !isBelow(one, other) && !isBelow(other, one) {
			return false
		}
	}
	return true
}

// most returns how many members fit at most, up to a number. It tries all choices, those with equal amounts in use once.
func (c *smallCloud) most(of map[string]smallCandidate, members int, relation candidates.Relation) (most int) {
	all := slices.SortedFunc(maps.Values(of), func(a, b smallCandidate) int {
		return cmp.Or(cmp.Compare(a.root, b.root), cmp.Compare(a.key(), b.key()))
	})
	known := map[string]int{}
	var choose func(from, until, members int, used map[smallUse]int64) int
	choose = func(from, until, members int, used map[smallUse]int64) (most int) {
		if from == until || members == 0 {
			return 0
		}
		key := fmt.Sprint(from, until, members, used)
		if most, isKnown := known[key]; isKnown {
			return most
		}
		most = choose(from+1, until, members, used)
		if next := maps.Clone(used); c.use(next, all[from].uses, 1) {
			after := from
			for relation == candidates.RelationApart && after < until && all[after].root == all[from].root {
				after++
			}
			most = max(most, 1+choose(after, until, members-1, next))
		}
		known[key] = most
		return most
	}
	if relation != candidates.RelationTogether {
		return choose(0, len(all), members, map[smallUse]int64{})
	}
	for from := range all {
		until := from
		for until < len(all) && all[until].root == all[from].root {
			until++
		}
		most = max(most, choose(from, until, members, map[smallUse]int64{}))
	}
	return most
}

// use adds amounts times a sign, and reports whether all fit.
func (c *smallCloud) use(used, uses map[smallUse]int64, sign int64) bool {
	fits := true
	for key, amount := range uses {
		used[key] += sign * amount
		fits = fits && used[key] <= c.providers[key.provider-1].free[key.class]
	}
	return fits
}

// placementClouds is the number of clouds of TestCandidates_RandomPlacements_AgreeWithBruteForce, and of
// TestCandidates_RandomFits_AgreeWithBruteForce.
var placementClouds = flag.Int("placements.clouds", 200, "random clouds in which placements are compared with all choices")

// TestCandidates_RandomPlacements_AgreeWithBruteForce checks that a placement is found if there is any, that members are
// candidates that fit together and keep the relation, and that a refusal is exact and has the number of members that fit.
func TestCandidates_RandomPlacements_AgreeWithBruteForce(t *testing.T) {
	t.Parallel()
	const parts = 4
	for seed := range uint64(parts) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			made := newSmallCloud(t)
			search, rng := made.open(), rand.New(rand.NewPCG(seed, 19))
			for range (counts.Of(*placementClouds) + parts - 1) / parts {
				made.draw(rng, 3)
				for range 4 {
					made.check(search, rng)
				}
			}
		})
	}
}

// check compares one placement with all that exist.
func (c *smallCloud) check(search *candidates.Search, rng *rand.Rand) {
	c.t.Helper()
	query, members := drawQuestion(rng), 2+rng.IntN(4)
	relation := candidates.Relation(rng.IntN(3))
	all := c.candidatesOf(&query)
	found := mustPlace(c.t, search, members, relation, query)
	describe := func() string {
		return fmt.Sprintf("providers %+v, query %+v, %d members, relation %d", c.providers, query, members, relation)
	}
	if len(found.Members) == 0 {
		if most := c.most(all, members, relation); found.Fit != most || most == members || !found.IsExact {
			c.t.Fatalf("fit = %d, exact = %t, want exactly %d: %s", found.Fit, found.IsExact, most, describe())
		}
		return
	}
	used, roots := map[smallUse]int64{}, membersByRoot(found)
	for i := range found.Members {
		one := smallCandidate{int(found.Members[i].RootID), map[smallUse]int64{}}
		for _, use := range found.Members[i].Uses {
			one.uses[smallUse{int(use.ProviderID), use.Class}] = use.Amount
		}
		if _, known := all[one.key()]; !known {
			c.t.Fatalf("member %s is no candidate: %s", one.key(), describe())
		}
		if !c.use(used, one.uses, 1) {
			c.t.Fatalf("members %+v exceed the capacity: %s", found.Members, describe())
		}
	}
	if relation == candidates.RelationApart && len(roots) != members || relation == candidates.RelationTogether && len(roots) != 1 {
		c.t.Fatalf("members by root = %v: %s", roots, describe())
	}
}
