package explain

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// holdersOf returns holders of amounts by inventory; 0: none.
func holdersOf(amounts ...[]int64) []holder {
	made := make([]holder, len(amounts))
	for i, held := range amounts {
		made[i] = holder{consumer: uuid.UUID{byte(i >> 8), byte(i)}, held: map[stockKey]int64{}}
		for provider, amount := range held {
			if amount > 0 {
				made[i].held[stockKey{int64(provider), 0}] = amount
				made[i].total += amount
			}
		}
	}
	return made
}

// needs returns deficits by inventory; 0: none.
func needs(amounts ...int64) (made []deficit) {
	for provider, amount := range amounts {
		if amount > 0 {
			made = append(made, deficit{stockKey{int64(provider), 0}, amount})
		}
	}
	return made
}

// smallestOfAll returns the size and the sum of the best of all sets; ok is false if none covers.
func smallestOfAll(holders []holder, deficits []deficit) (size int, total int64, ok bool) {
	for set := range 1 << len(holders) {
		left, count, sum := slices.Clone(deficits), 0, int64(0)
		for i := range holders {
			if set>>i&1 == 0 {
				continue
			}
			count, sum = count+1, sum+holders[i].total
			for j := range left {
				left[j].need -= holders[i].held[left[j].of]
			}
		}
		if slices.ContainsFunc(left, func(d deficit) bool { return d.need > 0 }) {
			continue
		}
		if !ok || count < size || count == size && sum < total {
			size, total, ok = count, sum, true
		}
	}
	return size, total, ok
}

func TestExplain_RandomCovers_AreTheSmallest(t *testing.T) {
	t.Parallel()
	dice := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		amounts := make([][]int64, 1+dice.IntN(9))
		for i := range amounts {
			amounts[i] = []int64{dice.Int64N(4), dice.Int64N(4) * dice.Int64N(2), dice.Int64N(3)}
		}
		holders, wanted := holdersOf(amounts...), needs(dice.Int64N(7), dice.Int64N(5), 1+dice.Int64N(4))
		size, total, ok := smallestOfAll(holders, wanted)
		found := newCover(holders, time.Now().Add(time.Hour))
		found.add(wanted)
		if found.isInexact || (found.best != nil) != ok || ok && (len(found.best) != size || found.bestTotal != total) {
			t.Fatalf("%v for %v: %v with %d, want %d with %d", holders, wanted, found.best, found.bestTotal, size, total)
		}
	}
}

// Many equal consumers are one case: the first set is as small as all others.
func TestExplain_CoverOfEqualHolders_IsExact(t *testing.T) {
	t.Parallel()
	ones := make([][]int64, 200)
	for i := range ones {
		ones[i] = []int64{1}
	}
	found := newCover(holdersOf(ones...), time.Now().Add(time.Hour))
	found.add(needs(120))
	if len(found.best) != 120 || found.isInexact {
		t.Errorf("%d holders, inexact: %t, want 120", len(found.best), found.isInexact)
	}
	found = newCover(holdersOf(ones...), time.Now().Add(time.Hour))
	if found.add(needs(201)); found.best != nil {
		t.Errorf("%d holders for more than all hold", len(found.best))
	}
}

func TestExplain_CoverAfterItsTime_IsInexact(t *testing.T) {
	t.Parallel()
	many := make([][]int64, 60)
	for i := range many {
		many[i] = []int64{int64(3 + i%7), int64(2 + i%5), int64(1 + i%3)}
	}
	found := newCover(holdersOf(many...), time.Now().Add(-time.Hour))
	found.add(needs(101, 83, 59))
	if !found.isInexact {
		t.Error("a search without time claims to be exact")
	}
}
