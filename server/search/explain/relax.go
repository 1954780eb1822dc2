package explain

import (
	"context"
	"slices"
	"time"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
)

const (
	// relaxedLimit is the limit of changed queries.
	relaxedLimit = 100
	// maxChanges is how many changes are tried.
	maxChanges = 32
	// maxAmounts is how many amounts of nearby trees are tried.
	maxAmounts = 8
	// quickTries and slowTries are divisors of the time that is left: all changes together take half of it the first time, each
	// half of the rest the second time.
	quickTries, slowTries = 2, 2
)

// relax tries changes of the query until its time is over, and keeps those that give more candidates.
func (e *explanationBuilder) relax(ctx context.Context) error {
	complete := true
	e.explanation.Relaxations, e.explanation.RelaxationsComplete = []Relaxation{}, &complete
	base := e.Found
	if base > 0 && base < relaxedLimit {
		var err error
		if base, _, err = e.count(ctx, e.Query, e.end); err != nil {
			complete = false
			return err
		}
	}
	if base >= relaxedLimit {
		return nil // no change can give more
	}
	changes := e.changes()
	if len(changes) > maxChanges {
		complete, changes = false, changes[:maxChanges]
	}
	defer func() {
		for i := range changes {
			complete = complete && changes[i].isTried
			if changes[i].Candidates > 0 {
				e.explanation.Relaxations = append(e.explanation.Relaxations, changes[i].Relaxation)
			}
		}
	}()
	return e.tryAll(ctx, changes, base)
}

// tryAll tries changes twice: first each for a short time, because most that help do so at once, and then those again whose
// searches have not ended.
func (e *explanationBuilder) tryAll(ctx context.Context, changes []change, base int) error {
	for pass := range 2 {
		for i := range changes {
			if changes[i].isTried {
				continue
			}
			slice := time.Until(e.end) / slowTries
			if pass == 0 {
				slice = time.Until(e.end) / time.Duration(quickTries*(len(changes)-i))
			}
			if err := e.try(ctx, &changes[i], base, slice); err != nil {
				return err
			}
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
func (e *explanationBuilder) count(ctx context.Context, query candidates.Query, until time.Time) (count int, isAll bool, err error) {
	query.Limit = relaxedLimit
	count, isAll, err = e.search.CountIn(ctx, e.in, query, until)
	if fault.As(err) != nil { // the budget of the search
		return count, false, nil
	}
	return count, isAll, err
}

// try searches with a change for some time, and keeps what it finds if these are more candidates than those of the query
// itself.
func (e *explanationBuilder) try(ctx context.Context, item *change, base int, slice time.Duration) error {
	if e.explanation.Sample.Exact && !e.canHelp(item) {
		item.isTried = true
		return nil
	}
	until, allEnded := time.Now().Add(slice), true
	for i := range item.tries {
		query := item.tries[i].query()
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		if len(query.CanSplit) > 0 && !query.Extended {
			query.Extended, query.OnePerTree, item.Needs = true, false, "berth 1.1"
		}
		count, isAll, err := e.count(ctx, query, time.Now().Add(max(left/2, left/time.Duration(len(item.tries)))))
		if err != nil {
			return err
		}
		if count > max(base, item.Candidates) || count > base && isAll {
			item.To, item.Candidates, item.More = item.tries[i].to, count, count == relaxedLimit || !isAll
			item.Query, item.isTried = queryText(&query, item.hasPolicy), isAll || count == relaxedLimit
			return nil // a search that has not ended is tried again, if there is time
		}
		allEnded = allEnded && isAll
	}
	item.isTried = allEnded
	return nil
}

// canHelp reports whether anything that a change does not concern holds in some judged tree.
func (e *explanationBuilder) canHelp(item *change) bool {
	if e.tally.met() > 0 || e.inTree >= 0 || item.addsTrees || item.root != noRoot && e.tally.only[-1-item.root] > 0 {
		return true
	}
	if len(item.tries[0].query().Groups) < len(e.Query.Groups) || len(item.parts) > 1 {
		return true // groups are gone, or several parts of the unsuffixed group change
	}
	return slices.ContainsFunc(item.parts, func(part int) bool { return e.tally.only[part] > 0 })
}
