package candidates

// bits is a set of numbers of conditions or of amounts. Nearly all queries have fewer than wordBits of them, so that one
// word suffices, and one query to the database.
type bits struct {
	first int64
	more  []int64
}

// wordBits is how many numbers one word has. PostgreSQL compares words as bigint.
const wordBits = 62

// bit returns the bit of a number in its word.
func bit(number int) int64 { return 1 << (number % wordBits) }

// allBits returns the word with the bits of the first count numbers.
func allBits(count int) int64 { return 1<<min(count, wordBits) - 1 }

// isEmpty reports whether the set has no number.
func (b *bits) isEmpty() bool { return b.first == 0 && len(b.more) == 0 }

// add adds a number.
func (b *bits) add(number int) {
	if number < wordBits {
		b.first |= bit(number)
		return
	}
	for len(b.more) < number/wordBits {
		b.more = append(b.more, 0)
	}
	b.more[number/wordBits-1] |= bit(number)
}
