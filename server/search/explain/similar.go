package explain

import (
	"cmp"
	"slices"
	"strings"
)

// maxSimilar is how many similar names are shown.
const maxSimilar = 3

// similarToAny returns the known names that are most similar to any of some names.
func similarToAny(names, known []string) []string {
	type scored struct {
		name     string
		distance int
	}
	var found []scored
	for _, other := range known {
		best := scored{other, -1}
		for _, name := range names {
			if distance, isSimilar := compare(name, other); isSimilar && (best.distance < 0 || distance < best.distance) {
				best.distance = distance
			}
		}
		if best.distance >= 0 && !slices.Contains(names, other) {
			found = append(found, best)
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name)) })
	shown := []string{}
	for _, scored := range found[:min(len(found), maxSimilar)] {
		shown = append(shown, scored.name)
	}
	return shown
}

// compare returns the edit distance of two names, and whether they differ by few edits, by the order of words, or by CUSTOM_.
// The distance of other names may be missing: names of different lengths need no comparison of their characters.
func compare(name, other string) (distance int, isSimilar bool) {
	maxDistance, longer := max(2, len(name)/5), max(len(name), len(other))-min(len(name), len(other))
	hasSame := longer == 0 && sortedWords(name) == sortedWords(other) || strings.TrimPrefix(name, "CUSTOM_") == strings.TrimPrefix(other, "CUSTOM_")
	if !hasSame && longer > maxDistance {
		return 0, false
	}
	distance = editDistance(name, other)
	return distance, hasSame || distance <= maxDistance
}

func sortedWords(name string) string {
	return strings.Join(slices.Sorted(strings.SplitSeq(name, "_")), "_")
}

// editDistance returns how many insertions, deletions, replacements and swaps of neighbors make one text of another.
func editDistance(a, b string) int {
	before, last := []int(nil), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
