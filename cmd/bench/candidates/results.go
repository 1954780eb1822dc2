package candidates

import (
	"fmt"
	"math"
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
	// memory is the peak memory of the server during one request; it has no ratio.
	memory kind = "memory"
	// comparison is whether the programs return the same response; it has no figures.
	comparison kind = "comparison"
)

// result is what the targets and pictures need of the rounds of a query, and how it came about.
type result struct {
	Kind  kind
	Query string
	// Limit is that of the request, 0 for none.
	Limit int
	Trees int
	// Used says how many trees were used up.
	Used string
	// Ratio is the median of the ratios of the rounds.
	Ratio float64
	measurement
	BaselineMilliseconds float64
	Candidates           int
	// Against is the same of the program of --against.
	Against *measurement
	Error   string
	// singleSize results are of a cloud that comes in one size.
	singleSize bool
}

// measurement are the figures of one program.
type measurement struct {
	Milliseconds float64
	// CPU is that of one request.
	CPU        cpuTime
	Bytes      int64
	RoundTrips int64
	PeakMB     float64
}

func (r result) as(what kind) result {
	r.Kind = what
	return r
}

// of names the query and the limit of a result.
func (r result) of(query query) result {
	r.Query, r.Limit = query.name, query.limit
	return r
}

func (r result) failed(err error) result {
	r.Error = err.Error()
	progress("%s of %s, %s: %v", r.Kind, label(r.Query, r.Limit), r.where(), err)
	return r
}

// with takes the figures of all rounds: of a baseline, of the measured program and, if there is one, of the program of
// --against. It prints them.
func (r result) with(all []samples, ratios []float64) result {
	r.Ratio, r.BaselineMilliseconds = rig.Median(ratios), all[0].latency()
	if r.Against != nil {
		older := *r.Against // other results have the same pointer
		r.Against = &older
	}
	for i := range all[1:] {
		into := r.program(i)
		into.Milliseconds, into.CPU = all[i+1].latency(), all[i+1].cpu()
	}
	if err := r.printRounds(all); err != nil {
		return r.failed(err)
	}
	return r
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// where tells results of a query apart.
func (r result) where() string { return fmt.Sprintf("%d trees, %s used up", r.Trees, r.Used) }

// label names a row: its limit too, unless it is the usual one.
func label(query string, limit int) string {
	switch limit {
	case few:
		return query
	case 0:
		return query + ", no limit"
	}
	return fmt.Sprintf("%s, limit=%d", query, limit)
}

// growths are how multiples of F grow from the smallest cloud to the largest: with
// the number of trees to the power of this. They take multiples and not times, so
// that a machine that is slower for some minutes does not count. Larger limits have
// none: a small cloud has fewer candidates than the limit.
func growths(of []result) []result {
	var all []result
	for _, first := range of {
		if first.Kind != latency || first.Limit != few || first.Error != "" {
			continue
		}
		smallest, largest := first, first
		for _, other := range of {
			if other.Kind != latency || other.Limit != few || other.Query != first.Query || other.Used != first.Used || other.Error != "" {
				continue
			}
			if other.Trees < smallest.Trees {
				smallest = other
			}
			if other.Trees > largest.Trees {
				largest = other
			}
		}
		if smallest.Trees != first.Trees || largest.Trees == first.Trees {
			continue
		}
		exponent := math.Log(largest.Ratio/smallest.Ratio) / math.Log(float64(largest.Trees)/float64(smallest.Trees))
		all = append(all, result{Kind: growth, Query: first.Query, Limit: few, Trees: largest.Trees, Used: first.Used, Ratio: exponent})
	}
	return all
}
