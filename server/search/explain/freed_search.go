package explain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
)

const (
	// maxEmptied is how many candidates of an emptied tree are compared.
	maxEmptied = 256
	// maxHolders is how many consumers of one inventory are compared, those with the largest amounts.
	maxHolders = 256
	// maxFreedTries is how many sets the search itself tries for a tree, if an amount can be split.
	maxFreedTries = 64
	// maxTogether is the greatest number of consumers in these sets.
	maxTogether = 3
	// freedTime is a divisor: the sets of all trees take at most this part of the time that is left.
	freedTime = 2
)

// freeing is one tree while the consumers that must go are found.
type freeing struct {
	*explanationBuilder
	root  *node
	nodes map[int64]*node
	until time.Time
	// emptied is all that is used in the inventories of the query.
	emptied []candidates.FreedAmount
	// isInexact is true if not all sets are compared.
	isInexact bool
}

// addFreedBy finds, for each of the nearest trees, which consumers must go so that the query fits, and moves those that can
// never fit behind the others. A tree for which the time does not suffice has no such member.
func (e *explanationBuilder) addFreedBy(ctx context.Context) error {
	roots := []int64{}
	for i := range e.tally.nearest {
		roots = append(roots, e.tally.nearest[i].root.id)
	}
	if len(roots) == 0 {
		return nil
	}
	p, err := e.r.read(ctx, e.queries, e.in, roots)
	if err != nil {
		return err
	}
	end := time.Now().Add(time.Until(e.end) / freedTime)
	for i, root := range roots {
		f := &freeing{explanationBuilder: e, root: p.nodes[root], nodes: map[int64]*node{}}
		f.until = time.Now().Add(time.Until(end) / time.Duration(len(roots)-i))
		for _, node := range p.usable(root) {
			f.nodes[node.id] = node
		}
		if err := f.find(ctx, &e.tally.nearest[i]); err != nil {
			return err
		}
	}
	slices.SortStableFunc(e.tally.nearest, func(a, b treeResult) int { return a.freedRank() - b.freedRank() })
	e.tally.nearest = e.tally.nearest[:min(len(e.tally.nearest), nearestTrees)]
	return nil
}

// freedRank orders trees: those that fit without some consumers, those for which that is not known, those that never fit.
func (r *treeResult) freedRank() int {
	switch {
	case !r.freedBy.IsKnown:
		return 1
	case r.freedBy.FreedSet == nil:
		return 2
	}
	return 0
}

// find finds the consumers that must go from a tree.
func (f *freeing) find(ctx context.Context, of *treeResult) error {
	if f.root == nil {
		return nil
	}
	for id, node := range f.nodes {
		for class, stock := range node.stock {
			if *stock.Used > 0 {
				f.emptied = append(f.emptied, candidates.FreedAmount{ProviderID: id, ClassID: class, Amount: *stock.Used})
			}
		}
	}
	found, isAll, err := f.search.ListFreed(ctx, f.in, f.tried(), f.root.id, f.emptied, maxEmptied, f.until)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if isAll {
			of.freedBy.IsKnown = true
		}
		return nil
	}
	f.isInexact = !isAll
	set, err := f.smallest(ctx, found)
	if err == nil && set != nil {
		of.freedBy = FreedBy{f.shown(set), true}
	}
	return err
}

// tried returns the query as the search tries it in one tree.
func (f *freeing) tried() candidates.Query { return ofOneTree(&f.Query) }

// smallest returns the smallest set of consumers without which one of some candidates of the emptied tree fits; nil if it
// does not find any.
func (f *freeing) smallest(ctx context.Context, of []candidates.ClaimCandidate) ([]holder, error) {
	all := f.deficits(of)
	holders, err := f.readHolders(ctx, all)
	if err != nil {
		return nil, err
	}
	if len(f.Query.CanSplit) > 0 {
		return f.trySets(ctx, holders)
	}
	sets := newCover(holders, f.until)
	for _, deficits := range all {
		sets.add(deficits)
	}
	f.isInexact = f.isInexact || sets.isInexact
	if sets.best == nil {
		return nil, nil // not enough of the consumers were read, or the time is over
	}
	set := make([]holder, len(sets.best))
	for i, at := range sets.best {
		set[i] = sets.holders[at]
	}
	fits, err := f.fitsWithout(ctx, set)
	if fits || err != nil || len(set) == 0 {
		return set, err
	}
	return f.trySets(ctx, holders)
}

// deficits returns how much of each inventory must become free for each candidate, without repetitions. Of classes that can
// be split, these are all amounts.
func (f *freeing) deficits(of []candidates.ClaimCandidate) (all [][]deficit) {
	known := map[string]bool{}
	for i := range of {
		deficits := deficitsOf(&of[i], f.nodes)
		var key []byte
		for _, deficit := range deficits {
			key = appendNumbers(key, deficit.of.provider, int64(deficit.of.class), deficit.need)
		}
		if !known[string(key)] {
			known[string(key)] = true
			all = append(all, deficits)
		}
	}
	return all
}

// deficitsOf returns how much of each inventory must become free for a candidate.
func deficitsOf(of *candidates.ClaimCandidate, nodes map[int64]*node) (deficits []deficit) {
	for _, use := range of.Uses {
		if need := use.Amount - leftOf(nodes[use.ProviderID].stock[use.ClassID]); need > 0 {
			deficits = append(deficits, deficit{stockKey{use.ProviderID, use.ClassID}, need})
		}
	}
	return deficits
}

// leftOf returns the capacity of an inventory that is not used, negative if more is used.
func leftOf(stock *db.ExplainPageRow) int64 {
	capacity := math.Trunc((float64(*stock.Total) - float64(*stock.Reserved)) * *stock.AllocationRatio)
	return int64(min(capacity, math.MaxInt32*float64(math.MaxInt16))) - *stock.Used
}

// readHolders reads the consumers of the inventories that must become free; of all inventories if an amount can be split.
func (f *freeing) readHolders(ctx context.Context, all [][]deficit) ([]holder, error) {
	asked := map[stockKey]bool{}
	for _, deficits := range all {
		for _, deficit := range deficits {
			asked[deficit.of] = true
		}
	}
	if len(f.Query.CanSplit) > 0 {
		for _, freedAmount := range f.emptied {
			asked[stockKey{freedAmount.ProviderID, freedAmount.ClassID}] = true
		}
	}
	providers, classes := []int64{}, []int32{}
	for key := range asked {
		providers, classes = append(providers, key.provider), append(classes, key.class)
	}
	rows, err := postgres.QueryOnce(ctx, f.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainHoldersRow, error) {
		return f.queries.ExplainHolders(ctx, to, providers, classes, maxHolders)
	})
	if err != nil {
		return nil, err
	}
	byConsumer, count := map[uuid.UUID]*holder{}, map[stockKey]int{}
	for _, row := range rows {
		key := stockKey{row.ProviderID, row.ClassID}
		if count[key]++; count[key] == maxHolders {
			f.isInexact = true // there can be more
		}
		if byConsumer[row.Consumer] == nil {
			byConsumer[row.Consumer] = &holder{consumer: row.Consumer, held: map[stockKey]int64{}}
		}
		item := byConsumer[row.Consumer]
		item.held[key] = row.Used
		item.total += row.Used
	}
	holders := make([]holder, 0, len(byConsumer))
	for _, holder := range byConsumer {
		holders = append(holders, *holder)
	}
	return holders, nil
}

// fitsWithout reports whether the query fits in the tree without some consumers.
func (f *freeing) fitsWithout(ctx context.Context, set []holder) (bool, error) {
	sums := map[stockKey]int64{}
	for i := range set {
		for key, amount := range set[i].held {
			sums[key] += amount
		}
	}
	freed := make([]candidates.FreedAmount, 0, len(sums))
	for key, amount := range sums {
		freed = append(freed, candidates.FreedAmount{ProviderID: key.provider, ClassID: key.class, Amount: amount})
	}
	found, isAll, err := f.search.ListFreed(ctx, f.in, f.tried(), f.root.id, freed, 1, f.until)
	f.isInexact = f.isInexact || len(found) == 0 && !isAll
	return len(found) > 0, err
}

// shown returns a set in the format of an explanation.
func (f *freeing) shown(set []holder) *FreedSet {
	freedSet := &FreedSet{Consumers: []FreedConsumer{}, Exact: !f.isInexact}
	for i := range set {
		freedSet.Consumers = append(freedSet.Consumers, FreedConsumer{set[i].consumer, f.heldBy(&set[i], f.nodes)})
	}
	return freedSet
}

// heldBy returns what a consumer holds on some providers, in the format of an explanation.
func (e *explanationBuilder) heldBy(of *holder, nodes map[int64]*node) []FreedAllocation {
	classes := map[int32]string{}
	for name, id := range e.r.classes {
		classes[id] = name
	}
	allocations := []FreedAllocation{}
	for _, key := range slices.SortedFunc(maps.Keys(of.held), compareStocks) {
		allocations = append(allocations, FreedAllocation{nodes[key.provider].name, classes[key.class], of.held[key]})
	}
	return allocations
}

// trySets tries sets of consumers with the search itself, because what providers share of a split amount depends on what is
// free: first the small ones, then all consumers, of whom each is kept whose amounts the query does not need.
func (f *freeing) trySets(ctx context.Context, holders []holder) ([]holder, error) {
	slices.SortFunc(holders, func(a, b holder) int {
		return cmp.Or(cmp.Compare(a.total, b.total), bytes.Compare(a.consumer[:], b.consumer[:]))
	})
	sets := smallSets(holders)
	for _, set := range sets[:min(len(sets), maxFreedTries)] {
		fits, err := f.fitsWithout(ctx, set)
		if fits || err != nil {
			return set, err
		}
		if time.Now().After(f.until) {
			f.isInexact = true
			return nil, nil
		}
	}
	f.isInexact = f.isInexact || len(sets) > maxFreedTries || len(holders) > maxTogether
	return f.reduce(ctx, holders)
}

// smallSets returns the sets of up to maxTogether holders: those with fewer holders, then with a smaller sum first. It ends
// with the first size of which not all sets can be tried.
func smallSets(holders []holder) (all [][]holder) {
	sets := [][]int{{}}
	for range maxTogether {
		var larger [][]int
		for _, set := range sets {
			from := 0
			if len(set) > 0 {
				from = set[len(set)-1] + 1
			}
			for i := from; i < len(holders); i++ {
				larger = append(larger, append(slices.Clone(set), i))
			}
		}
		sum := func(set []int) (total int64) {
			for _, i := range set {
				total += holders[i].total
			}
			return total
		}
		slices.SortStableFunc(larger, func(a, b []int) int { return cmp.Compare(sum(a), sum(b)) })
		for _, set := range larger {
			result := make([]holder, len(set))
			for place, i := range set {
				result[len(set)-1-place] = holders[i] // the largest first
			}
			all = append(all, result)
		}
		if sets = larger; len(all) > maxFreedTries {
			break
		}
	}
	return all
}

// reduce returns a set of consumers of which none can stay, nil if the query does not fit without all of them.
func (f *freeing) reduce(ctx context.Context, holders []holder) ([]holder, error) {
	set := slices.Clone(holders)
	slices.Reverse(set)
	fits, err := f.fitsWithout(ctx, set)
	if !fits || err != nil {
		return nil, err
	}
	for i := 0; i < len(set); {
		without := slices.Delete(slices.Clone(set), i, i+1)
		if fits, err = f.fitsWithout(ctx, without); err != nil {
			return nil, err
		}
		if time.Now().After(f.until) {
			break // a search that has not ended found nothing
		}
		if fits {
			set = without
		} else {
			i++
		}
	}
	return set, nil
}

func compareStocks(a, b stockKey) int {
	return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.class, b.class))
}

// appendNumbers appends numbers to a key.
func appendNumbers(key []byte, numbers ...int64) []byte {
	for _, number := range numbers {
		key = binary.BigEndian.AppendUint64(key, uint64(number))
	}
	return key
}
