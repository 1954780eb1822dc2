package split

import (
	"cmp"
	"slices"
)

// partsOf returns what each of some providers gives of a class, nil if they cannot give the amount. All that give
// anything have the same step. Of the possible ways it is the one in which the provider with the most free capacity gives
// the most, then the next one.
func (s *Search) partsOf(class int, members []int) []int64 {
	places := make([]int, len(members))
	for i := range places {
		places[i] = i
	}
	of := func(place int) *Range { return &s.providers[members[place]].Parts[class] }
	slices.SortFunc(places, func(a, b int) int {
		return cmp.Or(cmp.Compare(of(b).Free, of(a).Free), cmp.Compare(s.providers[members[a]].Rank, s.providers[members[b]].Rank))
	})
	var best []int64
	var steps []int64
	for _, place := range places {
		step := of(place).Step
		if of(place).isEmpty() || slices.Contains(steps, step) || s.needs[class]%step != 0 {
			continue
		}
		steps = append(steps, step)
		ranges := make([]interval, len(places))
		for i, place := range places {
			if r := of(place); !r.isEmpty() && r.Step == step && r.Min <= s.needs[class] {
				ranges[i] = interval{r.Min / step, min(r.Max, s.needs[class]) / step}
			}
		}
		parts, sums := greatest(ranges, s.needs[class]/step)
		s.charge(sums / sumsPerStep)
		for i := range parts {
			parts[i] *= step
		}
		if parts != nil && slices.Compare(parts, best) > 0 {
			best = parts
		}
	}
	if best == nil {
		return nil
	}
	numbers := make([]int64, len(members))
	for i, place := range places {
		numbers[place] = best[i]
	}
	return numbers
}

// interval is the numbers from min to max. The zero interval stands for a provider that gives nothing.
type interval struct{ min, max int64 }

// greatest returns the lexicographically greatest numbers that sum up to the total, each 0 or in its interval; nil if
// there are none. work is the number of intervals of possible sums.
func greatest(ranges []interval, total int64) (parts []int64, work int) {
	// sums[i] are the possible sums of the numbers from i on.
	sums := make([][]interval, len(ranges)+1)
	sums[len(ranges)] = []interval{{0, 0}}
	for i := len(ranges) - 1; i >= 0; i-- {
		sums[i] = sums[i+1]
		if ranges[i].max > 0 {
			sums[i] = union(sums[i+1], ranges[i], total)
			work += len(sums[i])
		}
	}
	if !slices.ContainsFunc(sums[0], func(s interval) bool { return s.min <= total && total <= s.max }) {
		return nil, work
	}
	parts = make([]int64, len(ranges))
	for i, r := range ranges {
		for _, rest := range sums[i+1] {
			most := min(total-rest.min, r.max)
			if r.max > 0 && most >= max(total-rest.max, r.min) {
				parts[i] = max(parts[i], most)
			}
		}
		total -= parts[i]
	}
	return parts, work
}

// union returns the sums up to a total with a further number that is 0 or in a range, as disjoint intervals.
func union(sums []interval, further interval, total int64) []interval {
	all := slices.Clone(sums)
	for _, s := range sums {
		if s.min <= total-further.min {
			all = append(all, interval{s.min + further.min, s.max + min(further.max, total-s.max)})
		}
	}
	slices.SortFunc(all, func(a, b interval) int { return cmp.Compare(a.min, b.min) })
	merged := all[:1]
	for _, s := range all[1:] {
		if last := &merged[len(merged)-1]; s.min-1 <= last.max {
			last.max = max(last.max, s.max)
		} else {
			merged = append(merged, s)
		}
	}
	return merged
}
