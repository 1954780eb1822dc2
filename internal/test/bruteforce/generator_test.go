package bruteforce_test

import (
	"math/bits"

	"pgregory.net/rapid"
)

// generator draws values for generators. It draws bits, because the numbers of rapid are biased to
// small values, which would distort the odds. All zero bits are the smallest value: the first of a
// list, without unusual values.
type generator struct{ *rapid.T }

var bit = rapid.Bool()

// below returns a number from 0 to n-1.
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

// chance returns true with a probability in percent.
func (d generator) chance(percent int) bool { return d.below(100) >= 100-percent }

// pick returns an element of a list; the shrunk value is the first.
func pick[T any](d generator, list ...T) T { return list[d.below(len(list))] }

// some returns a subset with the same probability for each element.
func some[T any](d generator, percent int, list ...T) []T {
	var taken []T
	for _, element := range list {
		if d.chance(percent) {
			taken = append(taken, element)
		}
	}
	return taken
}
