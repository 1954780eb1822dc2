package bruteforce

import (
	"cmp"
	"slices"
	"strings"
)

// maxSimilar is the number of similar names in a conflict.
const maxSimilar = 3

// Similar returns the names of a list that are similar to any of others: by edit distance, then by name
// (docs/contract/berth/explain.md#similar-names).
func Similar(to, names []string) []string {
	distances := map[string]int{}
	for _, name := range names {
		for _, wanted := range to {
			distance, known := editDistance(wanted, name), distances[name]
			if _, isKnown := distances[name]; isSimilar(wanted, name) && (!isKnown || distance < known) {
				distances[name] = distance
			}
		}
	}
	found := slices.DeleteFunc(sorted(names), func(name string) bool {
		_, isFound := distances[name]
		return !isFound || slices.Contains(to, name)
	})
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(distances[a], distances[b]) })
	return append([]string{}, found[:min(len(found), maxSimilar)]...)
}

func isSimilar(wanted, name string) bool {
	words := func(text string) []string { return slices.Sorted(slices.Values(strings.Split(text, "_"))) }
	short := func(text string) string { return strings.TrimPrefix(text, "CUSTOM_") }
	return editDistance(wanted, name) <= max(2, len(wanted)/5) || slices.Equal(words(wanted), words(name)) || short(wanted) == short(name)
}

// editDistance returns the least number of inserted, deleted, replaced and swapped characters. No character is edited twice.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
