package candidates

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

// coldStart is the latency of a query on a database without statistics, in multiples of
// F measured at the same time: of the first request of a new server, and the median of
// those that follow.
type coldStart struct {
	query          query
	first, settled []float64
	err            error
}

// measureCold sends a query to new servers, whose connections have no plans or caches.
func (b *bench) measureCold(ctx context.Context, s *cloudDB, of query) coldStart {
	c := coldStart{query: of}
	for range b.settings.rounds {
		if c.err = b.measureColdOnce(ctx, s, &c); c.err != nil {
			break
		}
	}
	return c
}

func (b *bench) measureColdOnce(ctx context.Context, s *cloudDB, c *coldStart) error {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	baseline, err := b.Measure(ctx, 1, b.settings.length, s.requestBaseline)
	if err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.close()
	// This request opens the HTTP connection, which is not measured; it runs no query.
	if err := s.Request(ctx, http.MethodGet, s.berth.URL+"/", "", http.StatusOK); err != nil {
		return err
	}
	ask := s.candidateRequest(s.berth, c.query)
	begun := time.Now()
	if err := ask(ctx, 0, 0); err != nil {
		return err
	}
	first := time.Since(begun)
	settled, err := b.Measure(ctx, 1, b.settings.length, ask)
	if err != nil {
		return err
	}
	if _, err := count(ctx, s, s.berth, c.query, s.trees); err != nil {
		return err
	}
	c.first = append(c.first, float64(first)/float64(baseline.P50))
	c.settled = append(c.settled, float64(settled.P50)/float64(baseline.P50))
	return nil
}

// warmStart measures the same query with statistics and compares.
func (b *bench) warmStart(ctx context.Context, s *cloudDB, c coldStart) []result {
	about := result{Query: c.query.name, Trees: s.trees, Used: utilization{}.String()}
	if c.err != nil {
		return []result{about.as(coldFirst).failed(c.err)}
	}
	rounds, err := b.check(ctx, s, c.query, s.trees, &about)
	if err != nil {
		return []result{about.as(coldFirst).failed(err)}
	}
	turns, err := b.Alternate(ctx, 1, rounds, b.settings.length, s.requestBaseline, s.candidateRequest(s.berth, c.query))
	if err != nil {
		return []result{about.as(coldFirst).failed(err)}
	}
	warm, baseline := rig.Median(turns.Multiples()), milliseconds(rig.MedianTime(turns.Baseline))
	compared := func(as kind, cold []float64) result {
		of := about.as(as)
		of.Ratio, of.Lowest, of.Highest = rig.Median(cold)/warm, slices.Min(cold)/warm, slices.Max(cold)/warm
		of.Milliseconds, of.BaselineMilliseconds = rig.Median(cold)*baseline, warm*baseline
		return of
	}
	return []result{compared(coldFirst, c.first), compared(coldSettled, c.settled)}
}
