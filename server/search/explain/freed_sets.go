package explain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"
)

// trySets tries sets of consumers with the search itself, because what providers share of a split amount depends on what is
// free: first the small ones, then all consumers, of whom each is kept whose amounts the query does not need.
func (f *freeing) trySets(ctx context.Context, holders []holder) ([]holder, error) {
	slices.SortFunc(holders, func(a, b holder) int {
		return cmp.Or(cmp.Compare(a.total, b.total), bytes.Compare(a.consumer[:], b.consumer[:]))
	})
	sets := smallSets(holders)
	for _, set := range sets[:min(len(sets), maxFreedTries)] {
		fits, err := f.fitsWithout(ctx, set)
		if fits || err != nil {
			return set, err
		}
		if time.Now().After(f.until) {
			f.isInexact = true
			return nil, nil
		}
	}
	f.isInexact = f.isInexact || len(sets) > maxFreedTries || len(holders) > maxTogether
	return f.reduce(ctx, holders)
}

// smallSets returns the sets of up to maxTogether holders: those with fewer holders, then with a smaller sum first. It ends
// with the first size of which not all sets can be tried.
func smallSets(holders []holder) (all [][]holder) {
	sets := [][]int{{}}
	for range maxTogether {
		var larger [][]int
		for _, set := range sets {
			from := 0
			if len(set) > 0 {
				from = set[len(set)-1] + 1
			}
			for i := from; i < len(holders); i++ {
				larger = append(larger, append(slices.Clone(set), i))
			}
		}
		sum := func(set []int) (total int64) {
			for _, i := range set {
				total += holders[i].total
			}
			return total
		}
		slices.SortStableFunc(larger, func(a, b []int) int { return cmp.Compare(sum(a), sum(b)) })
		for _, set := range larger {
			result := make([]holder, len(set))
			for place, i := range set {
				result[len(set)-1-place] = holders[i] // the largest first
			}
			all = append(all, result)
		}
		if sets = larger; len(all) > maxFreedTries {
			break
		}
	}
	return all
}

// reduce returns a set of consumers of which none can stay, nil if the query does not fit without all of them.
func (f *freeing) reduce(ctx context.Context, holders []holder) ([]holder, error) {
	set := slices.Clone(holders)
	slices.Reverse(set)
	fits, err := f.fitsWithout(ctx, set)
	if !fits || err != nil {
		return nil, err
	}
	for i := 0; i < len(set); {
		without := slices.Delete(slices.Clone(set), i, i+1)
		if fits, err = f.fitsWithout(ctx, without); err != nil {
			return nil, err
		}
		if time.Now().After(f.until) {
			break // a search that has not ended found nothing
		}
		if fits {
			set = without
		} else {
			i++
		}
	}
	return set, nil
}

func compareStocks(a, b stockKey) int {
	return cmp.Or(cmp.Compare(a.provider, b.provider), cmp.Compare(a.class, b.class))
}

// appendNumbers appends numbers to a key.
func appendNumbers(key []byte, numbers ...int64) []byte {
	for _, number := range numbers {
		key = binary.BigEndian.AppendUint64(key, uint64(number))
	}
	return key
}
