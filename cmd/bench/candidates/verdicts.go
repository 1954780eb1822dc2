package candidates

import "slices"

// verdict is whether a query meets a target, by its worst figure.
type verdict struct {
	Target string
	Query  string
	// RequestLimit is that of the requests, 0 for none.
	RequestLimit int
	Limit        float64
	Value        float64
	Where        string
	// Outcome is met, missed, failed (there is an error instead of a figure) or not
	// measured.
	Outcome outcome
}

type outcome string

const (
	met         outcome = "met"
	missed      outcome = "MISSED"
	failed      outcome = "FAILED"
	notMeasured outcome = "not measured"
)

// judge compares results with the targets.
func judge(of []result) []verdict {
	var all []verdict
	for _, one := range targets {
		found := one.queries
		if len(found) == 0 {
			found = queriesOf(of, one)
		}
		if len(found) == 0 {
			found = []string{"any"}
		}
		for _, name := range found {
			all = append(all, one.judge(of, name))
		}
	}
	return all
}

// queriesOf returns the queries that have figures for a target.
func queriesOf(of []result, wanted target) []string {
	var names []string
	for _, one := range of {
		if wanted.applies(one, one.Query) && !slices.Contains(names, one.Query) {
			names = append(names, one.Query)
		}
	}
	return names
}

// judge compares the results of a query at the size of the target.
func (a target) judge(of []result, name string) verdict {
	judged := verdict{Target: a.name, Query: name, RequestLimit: max(0, a.limit), Limit: a.value, Outcome: notMeasured}
	if a.limit == anyLimit {
		judged.RequestLimit = few
	}
	size := a.trees
	if size == 0 {
		for _, one := range of {
			if a.applies(one, name) {
				size = max(size, one.Trees)
			}
		}
	}
	for _, one := range of {
		if a.applies(one, name) && one.Trees == size && judged.Outcome != failed {
			judged = a.add(judged, of, one)
		}
	}
	return judged
}

// add judges one more result. A result without the one that it is compared with does
// not count.
func (a target) add(judged verdict, of []result, one result) verdict {
	value, divisor := a.figure(one), 1.0
	isFailed := one.Error != ""
	if a.besideQuery != "" || a.besideUsed != "" {
		other, measured := a.beside(of, one)
		if !measured {
			return judged
		}
		isFailed, divisor = isFailed || other.Error != "", a.figure(other)
	}
	if isFailed {
		judged.Outcome, judged.Where = failed, one.where()
		return judged
	}
	value /= divisor
	if judged.Outcome == notMeasured || a.worse(value, judged.Value) {
		judged.Value, judged.Where, judged.Outcome = value, one.where(), met
		if a.worse(value, a.value) {
			judged.Outcome = missed
		}
	}
	return judged
}
