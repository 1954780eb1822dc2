package main

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

// chill is how a query does on a database without statistics, in multiples of F
// measured at the time: the first request of a server that has just been started,
// and the median of those that follow.
type chill struct {
	query          query
	first, settled []float64
	err            error
}

// chill asks servers with connections of their own, on which nothing is planned or
// cached yet.
func (b *bench) chill(ctx context.Context, s *site, of query) chill {
	c := chill{query: of}
	for range b.settings.rounds {
		if c.err = b.chillOnce(ctx, s, &c); c.err != nil {
			break
		}
	}
	return c
}

func (b *bench) chillOnce(ctx context.Context, s *site, c *chill) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	floor, err := b.Measure(ctx, 1, b.settings.length, s.askOne)
	if err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	defer s.close()
	// The connection of HTTP is not what is measured; this page asks no database.
	if err := s.Request(ctx, http.MethodGet, s.berth.URL+"/", "", http.StatusOK); err != nil {
		return err
	}
	ask := s.asking(s.berth, c.query)
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
	c.first = append(c.first, float64(first)/float64(floor.P50))
	c.settled = append(c.settled, float64(settled.P50)/float64(floor.P50))
	return nil
}

// thaw measures the same with statistics and compares.
func (b *bench) thaw(ctx context.Context, s *site, c chill) []result {
	about := result{Query: c.query.name, Trees: s.trees, Used: utilisation{}.String()}
	if c.err != nil {
		return []result{about.as(coldFirst).failed(c.err)}
	}
	rounds, err := b.check(ctx, s, c.query, s.trees, &about)
	if err != nil {
		return []result{about.as(coldFirst).failed(err)}
	}
	turns, err := b.InTurns(ctx, 1, rounds, b.settings.length, s.askOne, s.asking(s.berth, c.query))
	if err != nil {
		return []result{about.as(coldFirst).failed(err)}
	}
	warm, floor := rig.Median(turns.Multiples()), milliseconds(rig.MedianTime(turns.Floors))
	compared := func(as kind, cold []float64) result {
		of := about.as(as)
		of.Ratio, of.Lowest, of.Highest = rig.Median(cold)/warm, slices.Min(cold)/warm, slices.Max(cold)/warm
		of.Milliseconds, of.FloorMilliseconds = rig.Median(cold)*floor, warm*floor
		return of
	}
	return []result{compared(coldFirst, c.first), compared(coldSettled, c.settled)}
}
