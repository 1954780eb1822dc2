// Command endurance runs a service at half load for a long time and looks whether
// anything grows: memory, goroutines, connections, tables and indexes, latencies.
//
// It starts a private PostgreSQL with fsync and a `berth serve` as it is built,
// measures how much 16 clients get at most, and then lets them ask for half of
// that. What there is stays the same all the time: every consumer that is made is
// deleted again. It writes all samples into a CSV file and a picture, asks `berth db
// check` whether what is left contradicts itself, says its verdict, and ends with 1 if
// something grew beyond its bound.
//
// It is not a benchmark: the latencies are those of a machine that does other
// things too.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
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

func main() {
	var s settings
	flag.StringVar(&s.berth, "berth", "", "the program to run, as built")
	flag.DurationVar(&s.duration, "duration", time.Hour, "how long the half load lasts")
	flag.DurationVar(&s.full, "full", 10*time.Second, "how long the full load is measured")
	flag.IntVar(&s.clients, "clients", 16, "how many clients ask")
	flag.IntVar(&s.samples, "samples", 120, "how many samples are taken")
	flag.StringVar(&s.out, "out", ".", "directory for endurance.csv and endurance.svg")
	flag.BoolVar(&s.vacuum, "vacuum", true, "let PostgreSQL vacuum; false plants a fault that the verdict must name")
	flag.BoolVar(&s.alone, "alone", true, "nothing else runs on the machine: latencies may not grow either")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	flat, err := run(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "endurance:", err)
		os.Exit(2)
	}
	if !flat {
		os.Exit(1)
	}
}

// run does it all and tells whether everything stayed flat.
func run(ctx context.Context, s settings) (flat bool, err error) {
	if s.berth == "" || s.samples < 12 {
		return false, errors.New("-berth names no program, or there are fewer than 12 -samples")
	}
	// PostgreSQL looks for what to vacuum every ten seconds, so that a short run sees
	// as many rounds of it as an hour does at the default of one minute.
	vacuum := map[bool]string{true: "on", false: "off"}[s.vacuum]
	opened, err := rig.Open(ctx, map[string]string{"autovacuum_naptime": "10s", "autovacuum": vacuum})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	service, err := start(ctx, s.berth, opened.URL(""))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, service.stop()) }()
	work, err := newWork(ctx, opened, service.url, s.clients)
	if err != nil {
		return false, err
	}
	fullRate, err := work.full(ctx, s.full)
	if err != nil {
		return false, err
	}
	fmt.Printf("full load of %d clients: %.0f requests a second; now half of it for %s\n", s.clients, fullRate, s.duration)
	taken, err := endure(ctx, s, work, service, opened, fullRate/2)
	if err != nil {
		return false, err
	}
	if err := write(filepath.Join(s.out, "endurance.csv"), asCSV(taken)); err != nil {
		return false, err
	}
	if err := write(filepath.Join(s.out, "endurance.svg"), asSVG(taken)); err != nil {
		return false, err
	}
	if err := audit(ctx, s.berth, opened.URL("")); err != nil {
		return false, err
	}
	text, flat := verdict(taken, s.alone)
	fmt.Print(text)
	return flat, nil
}

// endure works at a rate and takes samples, evenly over the time.
func endure(ctx context.Context, s settings, work *work, service *service, on *rig.Rig, rate float64) ([]sample, error) {
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
