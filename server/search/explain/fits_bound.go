package explain

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// moment is a time in microseconds, which are those of PostgreSQL.
type moment int64

const (
	// atOnce is before all times, never after all.
	atOnce moment = math.MinInt64
	never  moment = math.MaxInt64
	// maxDeficits is how many deficits of trees are kept.
	maxDeficits = 100_000
)

func momentOf(at time.Time) moment { return moment(at.UnixMicro()) }

func (m moment) time() time.Time { return time.UnixMicro(int64(m)).UTC() }

// fullTree is a tree that lacks nothing but free capacity, as far as each part by itself shows: it can have a candidate when
// consumers have gone.
type fullTree struct {
	root int64
	// lacks are what it lacks, those with the fewest deficits first. It has no candidate before all of them are covered.
	lacks []lack
	// from is the first time at which the first bounded of them are.
	from    moment
	bounded int
}

// lack is what the providers lack that can serve a part, or what all providers of a tree lack of a class.
type lack struct {
	// ways are the deficits of each of the providers. A needed number of them must be covered: several if the part has isolated
	// groups.
	ways   [][]sumDeficit
	needed int
}

// sumDeficit is how much of some inventories of a class must become free in all.
type sumDeficit struct {
	of   []stockKey
	need int64
}

// keepFull keeps a tree that nothing but free capacity keeps from a candidate.
func (t *tally) keepFull(result *treeResult, usable []*node) {
	if !t.keepsFull || len(result.failedRoots) > 0 || slices.ContainsFunc(result.parts, func(p partResult) bool { return len(p.ways) == 0 }) {
		return
	}
	if t.deficits > maxDeficits {
		t.isFullCut = true
		return
	}
	tree := fullTree{root: result.root.id, from: atOnce}
	for i := range result.parts {
		tree.add(lack{result.parts[i].ways, t.r.apart(&t.r.parts[i])})
	}
	for class, amount := range t.shared {
		if sum := lackedTogether(class, amount, usable); sum.need > 0 {
			tree.add(lack{[][]sumDeficit{{sum}}, 1})
		}
	}
	slices.SortStableFunc(tree.lacks, func(a, b lack) int { return a.deficits() - b.deficits() })
	for _, lack := range tree.lacks {
		t.deficits += lack.deficits()
	}
	t.full = append(t.full, tree)
}

// add adds what a tree lacks, unless that is nothing.
func (t *fullTree) add(item lack) {
	covered := 0
	for _, deficits := range item.ways {
		if len(deficits) == 0 {
			covered++
		}
	}
	if covered < item.needed {
		t.lacks = append(t.lacks, item)
	}
}

// deficits returns the number of inventories that may have to become free.
func (l lack) deficits() (count int) {
	for _, deficits := range l.ways {
		for i := range deficits {
			count += len(deficits[i].of)
		}
	}
	return count
}

// addWay keeps the deficits of a provider that lacks nothing but free capacity.
func (p *partResult) addWay(r *resolvedQuery, v *verdict, of *part) {
	deficits := []sumDeficit{}
	for _, failed := range v.failed {
		if failed.step.kind != stepUsed {
			return
		}
		class := r.classes[of.amounts[failed.step.at].Class]
		stock, need := v.provider.stock[class], of.amounts[failed.step.at].Amount
		if of.canSplit {
			need = leastPart(stock)
		}
		deficits = append(deficits, sumDeficit{[]stockKey{{v.provider.id, class}}, need - leftOf(stock)})
	}
	p.ways = append(p.ways, deficits)
}

// apart returns how many providers the groups of a part need at least: as many as are isolated from each other.
func (q *parsedQuery) apart(of *part) int {
	most := 1
	for _, set := range q.isolatedSets() {
		count := 0
		for _, place := range set {
			if slices.Contains(of.groups, place) {
				count++
			}
		}
		most = max(most, count)
	}
	return most
}

// sharedAmounts returns the amounts of the classes that several groups use, or that can be split.
func (r *resolvedQuery) sharedAmounts() map[int32]int64 {
	amounts, uses := map[int32]int64{}, map[int32]int{}
	for i := range r.parts {
		for _, amount := range r.parts[i].amounts {
			class, count := r.classes[amount.Class], len(r.parts[i].groups)
			amounts[class] += amount.Amount * int64(count)
			if uses[class] += count; r.parts[i].canSplit {
				uses[class]++
			}
		}
	}
	for class, count := range uses {
		if count < 2 {
			delete(amounts, class)
		}
	}
	return amounts
}

// lackedTogether returns how much must become free so that all providers together have an amount.
func lackedTogether(class int32, amount int64, usable []*node) sumDeficit {
	sum := sumDeficit{need: amount}
	for _, provider := range usable {
		if stock := provider.stock[class]; stock != nil {
			sum.of = append(sum.of, stockKey{provider.id, class})
			sum.need -= max(0, leftOf(stock))
		}
	}
	return sum
}

// endsQuery are deficits of some trees, as arguments of ExplainEnds. Equal ones of single inventories have one place.
type endsQuery struct {
	db.ExplainEndsParams
	places map[deficit]int32
	// ends are the first times at which they are covered, by place.
	ends map[int32]moment
}

// place returns the place of a deficit, from 1 on.
func (q *endsQuery) place(of *sumDeficit) int32 {
	single := deficit{of.of[0], of.need}
	if place := q.places[single]; place > 0 && len(of.of) == 1 {
		return place
	}
	q.Needs, q.Classes, q.Firsts = append(q.Needs, of.need), append(q.Classes, of.of[0].class), append(q.Firsts, int32(len(q.Providers)+1))
	for _, stock := range of.of {
		q.Providers = append(q.Providers, stock.provider)
	}
	q.Lasts = append(q.Lasts, int32(len(q.Providers)))
	place := int32(len(q.Needs))
	if len(of.of) == 1 {
		q.places[single] = place
	}
	return place
}

// bound finds when some trees no longer lack the first of what is not bounded, or all of it.
func (e *explanationBuilder) bound(ctx context.Context, trees []fullTree, all bool) error {
	asked := endsQuery{places: map[deficit]int32{}, ends: map[int32]moment{}}
	places := []int32{}
	for i := range trees {
		for _, lack := range trees[i].unbounded(all) {
			for _, deficits := range lack.ways {
				for j := range deficits {
					places = append(places, asked.place(&deficits[j]))
				}
			}
		}
	}
	if len(asked.Needs) > 0 {
		rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainEndsRow, error) {
			return e.queries.ExplainEnds(ctx, to, asked.ExplainEndsParams)
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			asked.ends[row.Position] = momentOf(row.Until)
		}
	}
	next := func(sumDeficit) moment {
		end, known := asked.ends[places[0]]
		if places = places[1:]; known {
			return end
		}
		return never
	}
	for i := range trees {
		for _, lack := range trees[i].unbounded(all) {
			trees[i].from = max(trees[i].from, lack.covered(next))
			trees[i].bounded++
		}
	}
	return nil
}

// unbounded returns the first of what is not bounded, or all of it.
func (t *fullTree) unbounded(all bool) []lack {
	if rest := t.lacks[t.bounded:]; all || len(rest) == 0 {
		return rest
	}
	return t.lacks[t.bounded : t.bounded+1]
}

// covered returns the first time at which as many ways are covered as are needed. It calls end once for each deficit, in their order.
func (l lack) covered(end func(sumDeficit) moment) moment {
	times := make([]moment, len(l.ways))
	for i, deficits := range l.ways {
		times[i] = atOnce
		for _, deficit := range deficits {
			times[i] = max(times[i], end(deficit))
		}
	}
	if len(times) < l.needed {
		return never
	}
	slices.Sort(times)
	return times[l.needed-1]
}

// compareFull orders trees by the time from which they can have a candidate.
func compareFull(a, b fullTree) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.root, b.root))
}

// neverFits reports whether a tree is known to have no candidate even when it is empty.
func (t *tally) neverFits(of fullTree) bool {
	return slices.ContainsFunc(t.nearest, func(r treeResult) bool {
		return r.root.id == of.root && r.freedBy.IsKnown && r.freedBy.FreedSet == nil
	})
}
