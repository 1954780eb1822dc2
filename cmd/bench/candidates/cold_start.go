package candidates

import (
	"context"
	"errors"
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

func (b *bench) measureColdOnce(ctx context.Context, s *cloudDB, c *coldStart) (err error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	on := s.first()
	baseline, err := b.Measure(ctx, 1, b.settings.length, s.f().request)
	if err != nil {
		return err
	}
	if on.ordered, err = on.program.serve(ctx, on.URL(on.database), rig.Connections); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.close()) }()
	// This request opens the HTTP connection, which is not measured; it runs no query.
	if err := on.get(on.ordered.URL+"/")(ctx, 0, 0); err != nil {
		return err
	}
	ask := on.contender(c.query).request
	begun := time.Now()
	if err := ask(ctx, 0, 0); err != nil {
		return err
	}
	first := time.Since(begun)
	settled, err := b.Measure(ctx, 1, b.settings.length, ask)
	if err != nil {
		return err
	}
	if _, err := count(ctx, on, on.ordered, c.query, s.trees); err != nil {
		return err
	}
	about := result{Trees: s.trees, Used: utilization{}.String()}.of(c.query)
	if err := about.printCold(baseline, settled, first); err != nil {
		return err
	}
	c.first = append(c.first, float64(first)/float64(baseline.P50))
	c.settled = append(c.settled, float64(settled.P50)/float64(baseline.P50))
	return nil
}

// warmStart measures the same query with statistics and compares.
func (b *bench) warmStart(ctx context.Context, s *cloudDB, c coldStart) []result {
	about := result{Trees: s.trees, Used: utilization{}.String()}.of(c.query)
	if c.err != nil {
		return []result{about.as(coldFirst).failed(c.err)}
	}
	repeat, err := b.check(ctx, s, c.query, s.trees, &about)
	if err != nil {
		return []result{about.as(coldFirst).failed(err)}
	}
	all, err := b.alternate(ctx, 1, repeat, []contender{s.f(), s.first().contender(c.query)})
	if err != nil {
		return []result{about.as(coldFirst).failed(err)}
	}
	warm, baseline := rig.Median(all[1].multiples(all[0])), all[0].latency()
	compared := func(as kind, cold []float64) result {
		of := about.as(as)
		of.Against = nil
		of.Ratio = rig.Median(cold) / warm
		of.Milliseconds, of.BaselineMilliseconds = rig.Median(cold)*baseline, warm*baseline
		return of
	}
	return []result{compared(coldFirst, c.first), compared(coldSettled, c.settled)}
}
