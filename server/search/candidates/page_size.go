package candidates

const (
	// sampleSize is the number of trees from which the search estimates selectivity.
	sampleSize = 12
	// maxPageSize is the default of Thresholds.PageSize.
	maxPageSize = 1000
	// minShuffledPage is the minimum size of a page that the search shuffles.
	minShuffledPage = 128
	// minRarePage is the minimum number of providers to fetch; several may be in one tree.
	minRarePage = 64
)

// firstPage estimates how many trees the limit needs: several groups find several combinations in a tree.
func (s *candidateSearch) firstPage() int {
	suffixed := 0
	for i := range s.query.Groups {
		if s.query.Groups[i].Suffix != "" && !s.query.isCondition(i) {
			suffixed++
		}
	}
	each := 1
	switch {
	case s.query.BreadthFirst:
	case len(s.query.Subtrees) > 0:
		each = 2
	case suffixed > 2:
		each = 8
	case suffixed == 2:
		each = 4
	}
	if s.query.Limit == 0 {
		return maxPageSize / 2
	}
	if s.query.LimitPerTree > 0 {
		each = min(each, s.query.LimitPerTree)
	}
	return min((s.query.Limit+each-1)/each, maxPageSize)
}

// pageSize returns the number of trees of the next page.
func (s *candidateSearch) pageSize(wanted int) int {
	return min(s.estimatedPageSize(wanted), s.of.thresholds.PageSize, s.of.maxTrees())
}

// estimatedPageSize estimates the next page from the yield of the trees so far.
func (s *candidateSearch) estimatedPageSize(wanted int) int {
	first := s.firstPage()
	switch {
	case s.hint != nil && s.hint.candidates > 0:
		needed := (wanted*s.hint.leads + s.hint.candidates - 1) / s.hint.candidates
		needed += needed/4 + 1
		if s.rng != nil && s.chosen != nil && s.leads.kind != leadFree {
			needed = max(needed, minShuffledPage) // the lead has no random start, so the search shuffles
		}
		return min(needed, maxPageSize)
	case s.query.Limit == 0 || s.tally.Roots == 0:
		return s.atLeast(first)
	case s.tally.Candidates == 0:
		return s.atLeast(min(2*s.tally.Roots, maxPageSize))
	}
	// A few trees too many cost less than another page.
	needed := (wanted*s.tally.Roots+s.tally.Candidates-1)/s.tally.Candidates + 2
	return s.atLeast(min(needed+needed/2, max(first, 3*s.tally.Roots), maxPageSize))
}

// atLeast returns the size of a page whose roots may repeat: several providers of a tree can meet a predicate. Pages that
// the search shuffles are larger.
func (s *candidateSearch) atLeast(most int) int {
	switch {
	case s.chosen == nil:
		return most
	case s.rng != nil:
		return max(most, minShuffledPage)
	default:
		return max(most, minRarePage)
	}
}
