package explain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/fault"
)

const (
	// relaxedLimit is how many candidates of a changed query are counted.
	relaxedLimit = 100
	// maxChanges is how many changes are tried.
	maxChanges = 32
	// maxAmounts is how many amounts of nearby trees are tried.
	maxAmounts = 8
)

// relax tries changes of the query until the time ends, and keeps those that give more candidates.
func (e *explaining) relax(ctx context.Context, end time.Time) error {
	complete := true
	e.made.Relaxations, e.made.RelaxationsComplete = []Relaxation{}, &complete
	base, err := e.count(ctx, e.asked.Query)
	if err != nil {
		return err
	}
	e.base = base
	tried := 0
	try := func(one change) (bool, error) {
		if complete = complete && time.Now().Before(end) && tried < maxChanges; !complete {
			return false, nil
		}
		tried++
		return e.try(ctx, one, base)
	}
	for i := range e.r.parts {
		for at := range e.r.parts[i].amounts {
			for _, one := range e.amountChanges(i, at) {
				if helps, err := try(one); helps || err != nil {
					if err != nil {
						return err
					}
					break
				}
			}
		}
	}
	for _, one := range e.r.changes(e.asked) {
		if _, err := try(one); err != nil {
			return err
		}
	}
	return nil
}

// count returns how many candidates a query has, up to relaxedLimit+1.
func (e *explaining) count(ctx context.Context, query candidates.Query) (int, error) {
	query.Limit = relaxedLimit + 1
	return e.search.CountIn(ctx, e.in, query)
}

// try searches with a change, and keeps it if it gives more candidates than the query itself.
func (e *explaining) try(ctx context.Context, one change, base int) (bool, error) {
	one.params = dropEmptyGroups(one.params)
	query, err := e.asked.Parse(one.params, one.extended)
	if fault.As(err) != nil {
		return false, nil // the changed query is not valid
	}
	if err != nil {
		return false, err
	}
	found, err := e.count(ctx, query)
	if fault.As(err) != nil || errors.Is(err, context.DeadlineExceeded) {
		return false, nil // beyond the budget
	}
	if err != nil || found <= base {
		return false, err
	}
	one.Candidates, one.More, one.Query = min(found, relaxedLimit), found > relaxedLimit, Text(one.params)
	if one.extended && !e.asked.Query.Extended {
		one.Needs = "berth 1.1"
	}
	e.made.Relaxations = append(e.made.Relaxations, one.Relaxation)
	return true, nil
}

// amountChanges returns the smaller amounts of a part to try, greatest first.
func (e *explaining) amountChanges(i, at int) (all []change) {
	of := &e.r.parts[i]
	one := of.amounts[at]
	tried := e.tally.amountsOf(i, at)
	for half := one.Amount / 2; half >= 1; half /= 2 {
		if !slices.Contains(tried, half) {
			tried = append(tried, half)
		}
	}
	for _, to := range tried {
		all = append(all, change{
			Relaxation: Relaxation{Change: "amount", Groups: e.r.suffixes(of.groups), Class: one.Class, From: one.Amount, To: to},
			params:     e.r.withAmount(e.asked, of.groups, one.Class, to), extended: e.asked.Query.Extended,
		})
	}
	return all
}
