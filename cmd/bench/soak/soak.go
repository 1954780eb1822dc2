// Package soak runs a server at half load for a long time and checks that nothing
// grows: memory, goroutines, connections, tables, indexes, latencies.
//
// It starts a private PostgreSQL with fsync and a `berth serve` program, measures the
// throughput of 16 clients, and runs them at half of that rate. The amount of data is
// constant: the clients delete every consumer that they create. It writes all samples
// into a CSV file and an SVG picture, runs `berth db check`, prints a verdict, and exits
// with 1 if something grew beyond its bound.
//
// It is not a benchmark: the latencies include other load on the machine.
package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/internal/test/process"
)

type settings struct {
	berth    string
	duration time.Duration
	full     time.Duration
	clients  int
	samples  int
	out      string
	vacuum   bool
	alone    bool
}

// Command is 'bench soak'.
func Command() *cobra.Command {
	var s settings
	command := &cobra.Command{
		Use:   "soak",
		Short: "Run a server at half load and check that nothing grows",
		Long: `Run 'berth serve' at half load and check that memory, goroutines, connections,
tables, indexes and latencies stay within their bounds. Write the samples into
soak-test.csv and soak-test.svg. The database is private and is removed at the end.

Exit codes: 0 nothing grew, 1 something grew, 2 the run or the audit failed.

  go build -o bin/berth ./cmd/berth && go -C cmd/bench run . soak --berth bin/berth
  go -C cmd/bench run . soak --berth bin/berth --duration 2m --vacuum=false`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), s)
		},
	}
	flags := command.Flags()
	flags.StringVar(&s.berth, "berth", "", "`file` of the berth program to run (required)")
	flags.DurationVar(&s.duration, "duration", time.Hour, "duration of the half load")
	flags.DurationVar(&s.full, "full", 10*time.Second, "duration of the full load that sets the rate")
	flags.IntVar(&s.clients, "clients", 16, "number of concurrent clients")
	flags.IntVar(&s.samples, "samples", 120, "number of samples, at least 12")
	flags.StringVar(&s.out, "out", ".", "`directory` for soak-test.csv and soak-test.svg")
	flags.BoolVar(&s.vacuum, "vacuum", true, "autovacuum of PostgreSQL; false plants a fault that the verdict must name")
	flags.BoolVar(&s.alone, "alone", true, "check of the latencies too; false where other load runs on the machine")
	return command
}

// run runs the soak test. If something grew, its error is a rig.Failure.
func run(ctx context.Context, s settings) (err error) {
	if s.berth == "" || s.samples < 12 {
		return errors.New("--berth names no program, or --samples is below 12")
	}
	// PostgreSQL looks for what to vacuum every ten seconds, so that a short run sees
	// as many rounds of it as an hour does at the default of one minute.
	vacuum := map[bool]string{true: "on", false: "off"}[s.vacuum]
	opened, err := rig.Open(ctx, map[string]string{"autovacuum_naptime": "10s", "autovacuum": vacuum})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	service, err := start(ctx, s.berth, opened.URL(""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Stop()) }()
	work, err := newWork(ctx, opened, service.URL, s.clients)
	if err != nil {
		return err
	}
	fullRate, err := work.fullLoad(ctx, s.full)
	if err != nil {
		return err
	}
	fmt.Printf("full load of %d clients: %.0f requests a second; now half of it for %s\n", s.clients, fullRate, s.duration)
	taken, err := sampleLoad(ctx, s, work, service, opened, fullRate/2)
	if err != nil {
		return err
	}
	if err := write(filepath.Join(s.out, "soak-test.csv"), asCSV(taken)); err != nil {
		return err
	}
	if err := write(filepath.Join(s.out, "soak-test.svg"), asSVG(taken)); err != nil {
		return err
	}
	if err := audit(ctx, s.berth, opened.URL("")); err != nil {
		return err
	}
	text, flat := verdict(taken, s.alone)
	fmt.Print(text)
	peak, err := service.PeakMemory()
	if err != nil {
		return err
	}
	fmt.Printf("peak memory of the service: %d MiB, at most %d\n", peak>>20, maxPeak>>20)
	if !flat {
		return rig.Failure("something grew beyond its bound")
	}
	if peak > maxPeak {
		return rig.Failure("the peak memory of the service is too high")
	}
	return nil
}

// sampleLoad runs the clients at a rate and takes samples at equal intervals.
func sampleLoad(ctx context.Context, s settings, work *work, service *process.Process, on *rig.Rig, rate float64) ([]sample, error) {
	pool, err := on.Pool(ctx, "")
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	enough, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- work.paced(enough, rate) }()
	var taken []sample
	begun, ticks := time.Now(), time.NewTicker(s.duration/time.Duration(s.samples))
	defer ticks.Stop()
	for {
		select {
		case err := <-failed:
			return taken, errors.Join(err, ctx.Err())
		case <-ticks.C:
			one, err := take(ctx, pool, service)
			if err != nil {
				return nil, err
			}
			one.after = time.Since(begun)
			one.rate, one.p50, one.p99 = work.since()
			taken = append(taken, one)
		}
	}
}

func write(file, text string) error { return os.WriteFile(file, []byte(text), 0o644) }
