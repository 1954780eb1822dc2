package candidates

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/bench/rig"
)

// bench is a run and its results so far.
type bench struct {
	*rig.Rig
	settings settings
	machine  string
	results  []result
}

// manyClients is the number of concurrent clients of throughput measurements.
const manyClients = 8

// measureAll builds one cloud after the other and measures its queries.
func (b *bench) measureAll(ctx context.Context) error {
	var err error
	if b.machine, err = b.describe(ctx); err != nil {
		return err
	}
	for _, shape := range shapes() {
		var asked []query
		for _, one := range queries() {
			if one.shape == shape.name && one.chosen(b.settings.only) {
				asked = append(asked, one)
			}
		}
		if len(asked) == 0 {
			continue
		}
		sizes := b.settings.sizes
		if shape.trees > 0 {
			sizes = []int{shape.trees}
		}
		for _, trees := range sizes {
			if err := b.cloud(ctx, shape, trees, asked); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) describe(ctx context.Context) (string, error) {
	conn, err := pgx.Connect(ctx, b.URL("postgres"))
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version, buffers string
	err = conn.QueryRow(ctx, "SELECT version(), current_setting('shared_buffers')").Scan(&version, &buffers)
	version, _, _ = strings.Cut(version, " on ")
	return fmt.Sprintf("%s, shared_buffers %s, pools of %d connections, median of %d rounds of %s",
		version, buffers, rig.Connections, b.settings.rounds, b.settings.length), err
}

// cloud measures all queries on one cloud: without statistics, with them, and then at
// rising utilization.
func (b *bench) cloud(ctx context.Context, of shape, trees int, asked []query) (err error) {
	s, err := build(ctx, b.Rig, of, trees)
	if err != nil {
		return err
	}
	defer func() {
		if razed := s.destroy(); err == nil {
			err = razed
		}
	}()
	if err := b.empty(ctx, s, asked); err != nil {
		return err
	}
	defer s.close()
	used := 0
	for _, at := range rising(b.settings.utilizations, trees) {
		begun := time.Now()
		if err := exhaust(ctx, s.conn, used, at.exhaustedTrees(trees)); err != nil {
			return err
		}
		used = at.exhaustedTrees(trees)
		progress("%s, %d trees, %s used up (%.1f s)", of.name, trees, at, time.Since(begun).Seconds())
		for _, one := range asked {
			if err := b.ordinary(ctx, s, one, at, trees-used); err != nil {
				return err
			}
		}
	}
	return nil
}

// empty measures the cloud without usage, and leaves a server running.
func (b *bench) empty(ctx context.Context, s *cloudDB, asked []query) error {
	var chilled []coldStart
	for _, one := range asked {
		if one.cold {
			chilled = append(chilled, b.measureCold(ctx, s, one))
		}
	}
	if err := settle(ctx, s.conn); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	for _, one := range chilled {
		b.results = append(b.results, b.warmStart(ctx, s, one)...)
	}
	for _, one := range asked {
		if one.unlimited && s.trees <= b.settings.unlimitedUpTo {
			b.results = append(b.results, b.unlimited(ctx, s, one.withoutLimit()))
		}
	}
	return ctx.Err()
}

// ordinary measures one query beside F, and its other measurements. A failure is a
// result too; only an interruption ends the run.
func (b *bench) ordinary(ctx context.Context, s *cloudDB, of query, at utilization, free int) error {
	about := result{Query: of.name, Trees: s.trees, Used: at.String(), singleSize: s.shape.trees > 0}
	rounds, err := b.check(ctx, s, of, free, &about)
	if err != nil {
		b.results = append(b.results, about.as(latency).failed(err))
		return ctx.Err()
	}
	b.results = append(b.results, b.compareToBaseline(ctx, s, of, about, rounds))
	if of.clients {
		b.results = append(b.results, b.measureThroughput(ctx, s, of, about, rounds))
	}
	if of.random {
		b.results = append(b.results, b.measureRandomOrder(ctx, s, of, about, free, rounds))
	}
	return ctx.Err()
}

// compareToBaseline compares a query with F.
func (b *bench) compareToBaseline(ctx context.Context, s *cloudDB, of query, about result, rounds int) result {
	about = about.as(latency)
	ask := s.candidateRequest(s.berth, of)
	var err error
	if about.RoundTrips, err = b.roundTrips(ctx, s, of); err != nil {
		return about.failed(err)
	}
	if of.memory {
		if about.PeakMiB, err = peak(func() error { return ask(ctx, 0, 0) }); err != nil {
			return about.failed(err)
		}
	}
	turns, err := b.Alternate(ctx, 1, rounds, b.settings.length, s.requestBaseline, ask)
	if err != nil {
		return about.failed(err)
	}
	return about.with(turns, turns.Multiples())
}

// measureThroughput compares the throughputs of several clients.
func (b *bench) measureThroughput(ctx context.Context, s *cloudDB, of query, about result, rounds int) result {
	about = about.as(throughput)
	turns, err := b.Alternate(ctx, manyClients, rounds, b.settings.length, s.requestBaseline, s.candidateRequest(s.berth, of))
	if err != nil {
		return about.failed(err)
	}
	return about.with(turns, turns.Shares())
}

// measureRandomOrder compares a server that shuffles with one that does not.
func (b *bench) measureRandomOrder(ctx context.Context, s *cloudDB, of query, about result, free, rounds int) result {
	about = about.as(random)
	if _, err := count(ctx, s, s.shuffled, of, free); err != nil {
		return about.failed(err)
	}
	turns, err := b.Alternate(ctx, 1, rounds, b.settings.length, s.candidateRequest(s.berth, of), s.candidateRequest(s.shuffled, of))
	if err != nil {
		return about.failed(err)
	}
	return about.with(turns, turns.Multiples())
}

// unlimited compares all candidates with one pass over their rows.
func (b *bench) unlimited(ctx context.Context, s *cloudDB, of query) result {
	about := result{Query: of.name, Trees: s.trees, Used: utilization{}.String()}.as(noLimit)
	rounds, err := b.check(ctx, s, of, s.trees, &about)
	if err != nil {
		return about.failed(err)
	}
	ask := s.candidateRequest(s.berth, of)
	if about.PeakMiB, err = peak(func() error { return ask(ctx, 0, 0) }); err != nil {
		return about.failed(err)
	}
	baseline, err := s.readingRows(ctx, about.Bytes)
	if err != nil {
		return about.failed(err)
	}
	turns, err := b.Alternate(ctx, 1, rounds, b.settings.length, baseline, ask)
	if err != nil {
		return about.failed(err)
	}
	return about.with(turns, turns.Multiples())
}
