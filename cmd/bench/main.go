// Command bench measures Berth beside a floor: what the same machine, the same
// PostgreSQL and the same clients can do at best for such a request, measured in
// the same run and in turns, so that the ratio means something on a noisy
// machine.
//
// Reads have the floor F, a raw net/http handler that does one SELECT 1. Writes
// have the same row writes as one prepared statement with data-modifying CTEs,
// without any check, through a pool of the same size. fsync is on, and commits wait
// for the disk but for one case, which says so.
//
// It is not a test: it asserts nothing and fails for nothing but an error.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

func main() {
	var settings settings
	flag.IntVar(&settings.rounds, "rounds", 5, "rounds of each pair; the median counts")
	flag.DurationVar(&settings.length, "length", 800*time.Millisecond, "length of one measurement")
	flag.IntVar(&settings.providers, "providers", 1000, "resource providers in the database")
	flag.StringVar(&settings.only, "only", "", "measure only the reads, the writes, or the cases whose names begin like this")
	flag.Parse()
	debug.SetGCPercent(400) // as berth serve does
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, settings); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type settings struct {
	rounds    int
	length    time.Duration
	providers int
	only      string
}

func run(ctx context.Context, settings settings) error {
	fmt.Fprintln(os.Stderr, "starting a private PostgreSQL and loading data ...")
	place, err := open(ctx, settings)
	if err != nil {
		return err
	}
	defer place.close()
	fmt.Print(place.describe())
	bare, err := place.bareSelect(ctx, settings)
	if err != nil {
		return err
	}
	fmt.Printf("SELECT 1 through the pool, without HTTP: p50 %s, %s/s at 1, 4 and 16 clients\n\n",
		rig.Latency(bare[0].P50), rates(bare))
	for _, measured := range place.cases() {
		if !measured.selected(settings.only) {
			continue
		}
		trips, err := place.countRoundTrips(ctx, measured)
		if err != nil {
			return fmt.Errorf("%s: %w", measured.name, err)
		}
		fmt.Printf("%s: %d round trip(s); floor: %s\n", measured.name, trips, measured.floorName)
		for _, clients := range clientCounts {
			if err := compare(ctx, place, settings, measured, clients); err != nil {
				return fmt.Errorf("%s: %w", measured.name, err)
			}
		}
		fmt.Println()
	}
	return nil
}
