package candidates

import (
	"context"
	"errors"
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
	// programs are the one to measure and that of --against.
	programs []program
	postgres rig.PostgresCPU
	results  []result
}

// manyClients is the number of concurrent clients of throughput measurements.
const manyClients = 8

// measureAll builds one cloud after the other and measures its queries.
func (b *bench) measureAll(ctx context.Context) error {
	machine, err := b.describe(ctx)
	if err != nil {
		return err
	}
	fmt.Println(machine)
	printUnits()
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
	return fmt.Sprintf("%s, shared_buffers %s, pools of %d connections, %d rounds of %s",
		version, buffers, rig.Connections, b.settings.rounds, b.settings.length), err
}

// cloud measures all queries on one cloud: without statistics, with them, and then at
// rising utilization.
func (b *bench) cloud(ctx context.Context, of shape, trees int, asked []query) (err error) {
	s, err := build(ctx, b.Rig, b.programs, of, trees)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.destroy()) }()
	if err := b.empty(ctx, s, asked); err != nil {
		return err
	}
	rows := rowsOf(asked)
	if len(rows) == 0 {
		return nil
	}
	used := 0
	for _, at := range rising(b.settings.utilizations, trees) {
		begun := time.Now()
		if err := s.exhaust(ctx, used, at.exhaustedTrees(trees)); err != nil {
			return err
		}
		used = at.exhaustedTrees(trees)
		progress("%s, %d trees, %s used up (%.1f s)", of.name, trees, at, time.Since(begun).Seconds())
		if b.settings.compare {
			b.compareAll(ctx, s, rows, at, trees-used)
		}
		for _, one := range rows {
			if one.needsUsage && used == 0 {
				continue
			}
			if at.allButThree && one.limit > few && !one.memory {
				continue // three trees have fewer candidates: that is the row of the usual limit
			}
			if err := b.ordinary(ctx, s, one, at, trees-used); err != nil {
				return err
			}
		}
	}
	return nil
}

// rowsOf returns the rows that are measured at each utilization.
func rowsOf(asked []query) []query {
	var rows []query
	for _, one := range asked {
		if !one.memoryOnly {
			rows = append(rows, one.rows()...)
		}
	}
	return rows
}

// empty measures the cloud without usage, and leaves the servers running.
func (b *bench) empty(ctx context.Context, s *cloudDB, asked []query) error {
	var chilled []coldStart
	for _, one := range asked {
		if one.cold {
			chilled = append(chilled, b.measureCold(ctx, s, one))
		}
	}
	if err := s.settle(ctx); err != nil {
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
			b.results = append(b.results, b.unlimited(ctx, s, one.withLimit(0))...)
		}
		if one.memoryOnly {
			b.results = append(b.results, b.measureMemory(ctx, s, one))
		}
	}
	return ctx.Err()
}
