package bruteforce_test

import (
	"math/bits"

	"pgregory.net/rapid"
)

// generator draws for generators. It draws bits, because rapid's own numbers come out
// small more often than not, and odds would not be what they say. All zeros is the
// smallest: the first of a list, and nothing special happens.
type generator struct{ *rapid.T }

var bit = rapid.Bool()

// below is a number from 0 to n-1.
func (d generator) below(n int) int {
	drawn := 0
	for range bits.Len(uint(n)) + 3 {
		drawn *= 2
		if bit.Draw(d.T, "") {
			drawn++
		}
	}
	return drawn % n
}

// chance is true in so many of a hundred cases.
func (d generator) chance(percent int) bool { return d.below(100) >= 100-percent }

// pick takes one of a list, the first when shrunk.
func pick[T any](d generator, list ...T) T { return list[d.below(len(list))] }

// some takes each element with the same odds.
func some[T any](d generator, percent int, list ...T) []T {
	var taken []T
	for _, element := range list {
		if d.chance(percent) {
			taken = append(taken, element)
		}
	}
	return taken
}
