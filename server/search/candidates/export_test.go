package candidates

import "time"

// Stats returns what the search did so far.
func (c *Result) Stats() Stats { return c.search.tally }

// UsesOnePage reports whether one statement outside of a transaction found the candidates.
func (c *Result) UsesOnePage() bool { return c.search.snapshot == nil }

// Pages returns how many pages of trees the search has read.
func (c *Result) Pages() int { return c.search.pages }

// AgeHints makes all hints older.
func (s *Search) AgeHints(by time.Duration) {
	s.hints.mu.Lock()
	defer s.hints.mu.Unlock()
	for kind, found := range s.hints.kinds {
		found.since = found.since.Add(-by)
		s.hints.kinds[kind] = found
	}
}

// HintAge is the age at which hints expire.
const HintAge = hintAge

// CountNames collects the names of a query and returns how many traits and aggregates it has.
func CountNames(query *Query) int {
	names := candidateNames(query)
	return len(names.Traits) + len(names.Aggregates)
}

// Spent returns how much of its budget the query has used.
func (c *Result) Spent() int64 { return c.search.spending.spent }

// SetReasonTime sets the time of the searches for the reason and for the cause of an empty result.
func (s *Search) SetReasonTime(of time.Duration) { s.reasons.reasonTime, s.reasons.causeTime = of, of }

// UnfilteredKinds returns for how many kinds of queries statements return the trees without a candidate, too.
func (s *Search) UnfilteredKinds() int {
	s.hints.mu.Lock()
	defer s.hints.mu.Unlock()
	return len(s.hints.passing)
}
