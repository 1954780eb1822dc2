package bruteforce

import (
	"fmt"
	"maps"
	"slices"
)

// ServerResponse is a response of the server, for a comparison with the correct ones.
type ServerResponse struct {
	Candidates []Candidate
	Summaries  map[string]Summary
}

// Differences returns one line for each difference between the response and the correct ones.
func (a *Response) Differences(shown *ServerResponse) []string {
	if a.Refused != "" {
		return []string{"not refused: " + a.Refused}
	}
	var lines []string
	switch {
	case a.request.order.isSequence():
		lines = a.wrongSequence(shown.Candidates)
	case a.LimitPerTree > 0:
		lines = a.wrongPerTree(shown.Candidates)
	default:
		lines = a.wrongCandidates(shown.Candidates)
	}
	if len(lines) > 0 {
		return lines // the summaries depend on the candidates
	}
	wanted := a.Summaries(shown.Candidates)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if found, exists := shown.Summaries[name]; !exists {
			lines = append(lines, "no summary of "+name)
		} else if found.String() != wanted[name].String() {
			lines = append(lines, fmt.Sprintf("summary of %s: %s", name, found),
				fmt.Sprintf("     instead of: %s", wanted[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shown.Summaries)) {
		if _, exists := wanted[name]; !exists {
			lines = append(lines, "needless summary of "+name)
		}
	}
	return lines
}

// wrongCandidates compares multisets. With more candidates than the limit, the response may have
// any of them, but exactly as many as the limit.
func (a *Response) wrongCandidates(shown []Candidate) []string {
	left := map[string]int{}
	for _, candidate := range a.Candidates {
		left[a.key(candidate)]++
	}
	var lines []string
	for _, candidate := range shown {
		key := a.key(candidate)
		if left[key]--; left[key] < 0 || a.conditions != nil && !a.isOfAnyTree(candidate) {
			lines = append(lines, "must not be: "+candidate.String())
		}
	}
	if a.Limit > 0 && a.Limit < len(a.Candidates) {
		if len(shown) != a.Limit {
			lines = append(lines, fmt.Sprintf("%d candidates, not %d", len(shown), a.Limit))
		}
		return lines
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		for range left[key] {
			lines = append(lines, "missing:     "+key)
		}
	}
	return lines
}

// isOfAnyTree reports whether a candidate has the mappings of one of its anchors.
func (a *Response) isOfAnyTree(candidate Candidate) bool {
	return slices.ContainsFunc(a.trees, func(t tree) bool { return t.texts[a.key(candidate)] == candidate.String() })
}
