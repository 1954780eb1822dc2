package frame

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the known name with the smallest Distance from name.
func Nearest(name string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int {
		return Distance(name, a) - Distance(name, b)
	})
}

// Distance returns the number of bytes to insert, delete, replace or swap with a neighbor
// (Damerau-Levenshtein).
func Distance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// Similar returns up to three of the names, those that begin with the input or differ little from it first.
func Similar(input string, names []string) []string {
	lower := strings.ToLower(input)
	rank := func(name string) int {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, lower) {
			return 0
		}
		return Distance(lower, name)
	}
	similar := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return rank(name) > max(2, len(input)/4) })
	slices.SortFunc(similar, func(a, b string) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a, b)) })
	return similar[:min(3, len(similar))]
}
