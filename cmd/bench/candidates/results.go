package candidates

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

// kind says what a ratio is a ratio of.
type kind string

const (
	// latency is the median latency as a multiple of F's.
	latency kind = "latency"
	// throughput is that of several clients as a share of F's.
	throughput kind = "throughput"
	// growth is the exponent with which the multiple of F grows with the trees.
	growth kind = "growth"
	// noLimit is the latency without limit as a multiple of reading the rows.
	noLimit kind = "unlimited"
	// coldFirst and coldSettled are latencies without statistics, of the first
	// request and of later ones, as multiples of that with them.
	coldFirst   kind = "cold, first request"
	coldSettled kind = "cold, later requests"
	// random is the latency of shuffled candidates as a multiple of the ordinary.
	random kind = "random"
)

// result is one figure and how it came about.
type result struct {
	Kind  kind   `json:"kind"`
	Query string `json:"query"`
	Trees int    `json:"trees"`
	// Used says how many trees were used up.
	Used                 string  `json:"used"`
	Ratio                float64 `json:"ratio"`
	Lowest               float64 `json:"lowest_ratio,omitempty"`
	Highest              float64 `json:"highest_ratio,omitempty"`
	Milliseconds         float64 `json:"milliseconds,omitempty"`
	BaselineMilliseconds float64 `json:"baseline_milliseconds,omitempty"`
	Rate                 float64 `json:"rate,omitempty"`
	BaselineRate         float64 `json:"baseline_rate,omitempty"`
	Candidates           int     `json:"candidates"`
	Bytes                int64   `json:"bytes,omitempty"`
	RoundTrips           int64   `json:"round_trips,omitempty"`
	PeakMiB              float64 `json:"peak_mib,omitempty"`
	Error                string  `json:"error,omitempty"`
	// singleSize results are of a cloud that comes in one size.
	singleSize bool
}

func (r result) as(what kind) result {
	r.Kind = what
	return r
}

func (r result) failed(err error) result {
	r.Error = err.Error()
	progress("%s of %s, %d trees, %s used up: %v", r.Kind, r.Query, r.Trees, r.Used, err)
	return r
}

// with takes the figures of all rounds, and their ratios.
func (r result) with(turns rig.Rounds, ratios []float64) result {
	r.Ratio, r.Lowest, r.Highest = rig.Median(ratios), slices.Min(ratios), slices.Max(ratios)
	r.Milliseconds, r.BaselineMilliseconds = milliseconds(rig.MedianTime(turns.Measured)), milliseconds(rig.MedianTime(turns.Baseline))
	r.Rate, r.BaselineRate = rig.MedianRate(turns.Measured), rig.MedianRate(turns.Baseline)
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// where tells results of a query apart.
func (r result) where() string { return fmt.Sprintf("%d trees, %s used up", r.Trees, r.Used) }

// growths are how multiples of F grow from the smallest cloud to the largest: with
// the number of trees to the power of this. They take multiples and not times, so
// that a machine that is slower for some minutes does not count.
func growths(of []result) []result {
	var all []result
	for _, first := range of {
		if first.Kind != latency || first.Error != "" {
			continue
		}
		smallest, largest := first, first
		for _, other := range of {
			if other.Kind != latency || other.Query != first.Query || other.Used != first.Used || other.Error != "" {
				continue
			}
			if other.Trees < smallest.Trees {
				smallest = other
			}
			if other.Trees > largest.Trees {
				largest = other
			}
		}
		if smallest != first || largest == first {
			continue
		}
		exponent := math.Log(largest.Ratio/smallest.Ratio) / math.Log(float64(largest.Trees)/float64(smallest.Trees))
		all = append(all, result{Kind: growth, Query: first.Query, Trees: largest.Trees, Used: first.Used, Ratio: exponent})
	}
	return all
}
