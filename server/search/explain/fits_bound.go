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
	// maxDeficits is how many deficits of trees are kept until it is known when they end.
	maxDeficits = 100_000
)

// fullTree is a tree that lacks nothing but free capacity, as far as each part by itself shows: it can have a candidate when
// consumers have gone.
type fullTree struct {
	root int64
	// parts are what the providers of each part lack: one of them must get enough, or several if the part has isolated groups.
	parts []fullPart
	// sums are what all providers of the tree together lack of a class that several groups use.
	sums []sumDeficit
	// from is the first time at which no part lacks anything by itself. The tree has no candidate before.
	from moment
}

// fullPart is the deficits of each provider that can serve a part, and how many of these it needs.
type fullPart struct {
	providers [][]deficit
	needed    int
}

// sumDeficit is how much of some inventories of a class must become free in all.
type sumDeficit struct {
	of   []stockKey
	need int64
}

// keepFull keeps a tree that nothing but free capacity keeps from a candidate.
func (t *tally) keepFull(result *treeResult, usable []*node) {
	if !t.keepsFull || len(result.failedRoots) > 0 || slices.ContainsFunc(result.parts, func(p partResult) bool { return !p.metEmptied }) {
		return
	}
	if t.deficits > maxDeficits {
		t.isFullCut = true
		return
	}
	full := fullTree{root: result.root.id}
	for i := range t.r.parts {
		part := fullPart{needed: t.r.apart(&t.r.parts[i])}
		fit := 0
		for _, provider := range usable {
			deficits, canServe := t.r.lacks(result.root, provider, &t.r.parts[i])
			if !canServe {
				continue
			}
			if part.providers = append(part.providers, deficits); len(deficits) == 0 {
				fit++
			}
			t.deficits += 1 + len(deficits)
		}
		if fit < part.needed {
			full.parts = append(full.parts, part)
		}
	}
	for class, amount := range t.shared {
		if sum := lackedTogether(class, amount, usable); sum.need > 0 {
			full.sums = append(full.sums, sum)
			t.deficits += len(sum.of)
		}
	}
	t.full = append(t.full, full)
}

// lacks returns how much free capacity a provider lacks for a part. canServe is false if it lacks anything else.
func (r *resolvedQuery) lacks(anchor, provider *node, of *part) (deficits []deficit, canServe bool) {
	v := r.judge(anchor, provider, of)
	for _, failed := range v.failed {
		if failed.step.kind != stepUsed {
			return nil, false
		}
		class := r.classes[of.amounts[failed.step.at].Class]
		stock, need := provider.stock[class], of.amounts[failed.step.at].Amount
		if of.canSplit {
			need = leastPart(stock)
		}
		deficits = append(deficits, deficit{stockKey{provider.id, class}, need - leftOf(stock)})
	}
	return deficits, true
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

// endsQuery are the deficits of all trees, as arguments of ExplainEnds: equal ones have one key.
type endsQuery struct {
	keys      []int32
	providers []int64
	classes   []int32
	needs     []int64
	known     map[deficit]int32
}

func (q *endsQuery) keyOf(of deficit) int32 {
	key, known := q.known[of]
	if !known {
		key = q.addSum(&sumDeficit{[]stockKey{of.of}, of.need})
		q.known[of] = key
	}
	return key
}

func (q *endsQuery) addSum(of *sumDeficit) int32 {
	q.needs = append(q.needs, of.need)
	key := int32(len(q.needs))
	for _, stock := range of.of {
		q.keys, q.providers, q.classes = append(q.keys, key), append(q.providers, stock.provider), append(q.classes, stock.class)
	}
	return key
}

// boundFull returns the trees that can have a candidate when the consumers with an end have gone, those first in which the
// parts by themselves lack nothing first.
func (e *explanationBuilder) boundFull(ctx context.Context) ([]fullTree, error) {
	asked := endsQuery{keys: []int32{}, providers: []int64{}, classes: []int32{}, needs: []int64{}, known: map[deficit]int32{}}
	for i := range e.tally.full {
		for _, part := range e.tally.full[i].parts {
			for _, deficits := range part.providers {
				for _, deficit := range deficits {
					asked.keyOf(deficit)
				}
			}
		}
	}
	sums := make([][]int32, len(e.tally.full))
	for i := range e.tally.full {
		for j := range e.tally.full[i].sums {
			sums[i] = append(sums[i], asked.addSum(&e.tally.full[i].sums[j]))
		}
	}
	ends := map[int32]moment{}
	if len(asked.needs) > 0 {
		rows, err := postgres.QueryOnce(ctx, e.in, func(ctx context.Context, to db.DBTX) ([]db.ExplainEndsRow, error) {
			return e.queries.ExplainEnds(ctx, to, db.ExplainEndsParams{Keys: asked.keys, Providers: asked.providers, Classes: asked.classes, Needs: asked.needs})
		})
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			ends[row.Key] = momentOf(row.Until)
		}
	}
	endOf := func(key int32) moment {
		if end, known := ends[key]; known {
			return end
		}
		return never
	}
	for i := range e.tally.full {
		tree := &e.tally.full[i]
		tree.from = tree.firstTime(func(of deficit) moment { return endOf(asked.known[of]) })
		for _, key := range sums[i] {
			tree.from = max(tree.from, endOf(key))
		}
	}
	trees := slices.DeleteFunc(e.tally.full, func(t fullTree) bool { return t.from == never })
	slices.SortFunc(trees, func(a, b fullTree) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.root, b.root)) })
	return slices.CompactFunc(trees, func(a, b fullTree) bool { return a.root == b.root }), nil
}

// firstTime returns the first time at which each part has as many providers with enough free capacity as it needs.
func (t *fullTree) firstTime(end func(deficit) moment) moment {
	from := atOnce
	for _, part := range t.parts {
		times := make([]moment, len(part.providers))
		for i, deficits := range part.providers {
			times[i] = atOnce
			for _, deficit := range deficits {
				times[i] = max(times[i], end(deficit))
			}
		}
		if len(times) < part.needed {
			return never
		}
		slices.Sort(times)
		from = max(from, times[part.needed-1])
	}
	return from
}

func momentOf(at time.Time) moment { return moment(at.UnixMicro()) }

func (m moment) time() time.Time { return time.UnixMicro(int64(m)).UTC() }
