package frame

import "slices"

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
