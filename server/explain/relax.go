package explain

import (
	"context"
	"slices"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/postgres"
)

const (
	// relaxedLimit is the limit of changed queries.
	relaxedLimit = 100
	// maxChanges is how many changes are tried.
	maxChanges = 32
	// maxAmounts is how many amounts of nearby trees are tried.
	maxAmounts = 8
	// triesLeft is a divisor: a search takes at most this part of the time that is left, if it can help a tree that was judged.
	// Others take less: unlikelyDivisor.
	triesLeft, unlikelyDivisor = 2, 8
)

// relax tries changes of the query until its time is over, and keeps those that give more candidates.
func (e *explaining) relax(ctx context.Context) error {
	complete := true
	e.made.Relaxations, e.made.RelaxationsComplete = []Relaxation{}, &complete
	base := e.Found
	if base > 0 {
		var err error
		if base, _, err = e.count(ctx, e.Query, e.end); err != nil {
			complete = false
			return err
		}
	}
	changes := e.changes()
	if len(changes) > maxChanges {
		complete, changes = false, changes[:maxChanges]
	}
	for i := range changes {
		tried, err := e.try(ctx, &changes[i], base)
		if !tried || err != nil {
			complete = false
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// searchTime bounds the search of a recorded query, before its explanation.
const searchTime = 5 * time.Second

// CountFound returns how many candidates a recorded query has in a snapshot, up to its limit or relaxedLimit.
func (x *Explainer) CountFound(ctx context.Context, in *postgres.Snapshot, query candidates.Query) (int, error) {
	if query.Limit == 0 {
		query.Limit = relaxedLimit
	}
	found, _, err := x.search.CountIn(ctx, in, query, time.Now().Add(searchTime))
	return found, err
}

// count returns how many candidates a query has, up to relaxedLimit, and whether the search has ended in time.
func (e *explaining) count(ctx context.Context, query candidates.Query, until time.Time) (count int, isAll bool, err error) {
	query.Limit = relaxedLimit
	count, isAll, err = e.search.CountIn(ctx, e.in, query, until)
	if fault.As(err) != nil { // the budget of the search
		return count, false, nil
	}
	return count, isAll, err
}

// try searches with a change, and keeps it if it gives more candidates than the query itself. It reports whether it has tried
// the whole change.
func (e *explaining) try(ctx context.Context, one *change, base int) (bool, error) {
	likely := e.canHelp(one)
	if !likely && e.made.Sample.Exact {
		return true, nil
	}
	for _, each := range one.tries {
		left := time.Until(e.end)
		if left <= 0 {
			return false, nil
		}
		if left /= triesLeft; !likely {
			left /= unlikelyDivisor
		}
		if len(each.query.CanSplit) > 0 && !each.query.Extended {
			each.query.Extended, each.query.OnePerTree, one.Needs = true, false, "berth 1.1"
		}
		count, isAll, err := e.count(ctx, each.query, time.Now().Add(left))
		if err != nil {
			return false, err
		}
		if count > base {
			one.To, one.Candidates, one.More = each.to, count, count == relaxedLimit || !isAll
			one.Query = queryText(&each.query, one.hasPolicy)
			e.made.Relaxations = append(e.made.Relaxations, one.Relaxation)
			return true, nil
		}
		if !isAll {
			return false, nil
		}
	}
	return true, nil
}

// canHelp reports whether anything that a change does not concern holds in some judged tree.
func (e *explaining) canHelp(one *change) bool {
	if e.tally.met() > 0 || e.inTree >= 0 || one.root != noRoot && e.tally.only[-1-one.root] > 0 {
		return true
	}
	if len(one.tries[0].query.Groups) < len(e.Query.Groups) || len(one.parts) > 1 {
		return true // groups are gone, or several parts of the unsuffixed group change
	}
	return slices.ContainsFunc(one.parts, func(part int) bool { return e.tally.only[part] > 0 })
}
