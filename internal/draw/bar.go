package draw

import (
	"math"
	"strings"
)

// Bar returns a bar of a fraction from 0 to 1, in the characters of the drawings.
func Bar(fraction float64, length int, ascii bool) string {
	chars := boxGlyphs
	if ascii {
		chars = asciiGlyphs
	}
	filled := filledCells(fraction, length)
	return strings.Repeat(chars.full, filled) + strings.Repeat(chars.empty, length-filled)
}

// filledCells returns the number of filled cells of a bar. Any positive fraction fills at least one cell, and only the whole
// fills all of them.
func filledCells(fraction float64, length int) int {
	switch cells := int(math.Round(min(max(fraction, 0), 1) * float64(length))); {
	case fraction > 0 && cells == 0:
		return 1
	case fraction < 1 && cells == length:
		return length - 1
	default:
		return cells
	}
}
