// Package requests measures single requests beside a baseline: the least that the same
// machine, PostgreSQL and clients need for such a request. Both are measured in the
// same run and alternate, so that their ratio holds on a noisy machine.
//
// The baseline of reads is F, a net/http handler that runs one SELECT 1. That of writes
// is the same row writes as one prepared statement with data-modifying CTEs,
// without any check, through a pool of the same size. fsync is on, and commits wait
// for the WAL flush, except in the case that names synchronous_commit=off.
//
// Comparisons have other requests of the same server instead of a baseline.
//
// It is not a test: it has no bound that fails, only errors.
package requests

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Command is 'bench requests'.
func Command() *cobra.Command {
	var s settings
	command := &cobra.Command{
		Use:   "requests",
		Short: "Measure single requests beside a baseline",
		Long: `Measure the commonest reads and writes beside a baseline, in turns, with 1, 4 and
16 clients, and some writes beside the requests that they replace, in turns, with one
client, claims also with 16. The database is private and is removed at the end.

Each round or turn is a result in Go's benchmark format. benchstat prints their medians,
with confidence intervals, and how they differ from the baseline.

  go -C cmd/bench run . requests --only writes >writes.txt
  go -C cmd/bench tool benchstat -col /of "$PWD/writes.txt"
  go -C cmd/bench run . requests --only 'POST claims'
  go -C cmd/bench run . requests --rounds 1 --length 200ms`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			debug.SetGCPercent(400) // as berth serve does
			return run(command.Context(), s)
		},
	}
	flags := command.Flags()
	flags.IntVar(&s.rounds, "rounds", 6, "number of rounds of each pair; benchstat needs 6 for a confidence interval")
	flags.DurationVar(&s.length, "length", 800*time.Millisecond, "duration of one measurement")
	flags.IntVar(&s.providers, "providers", 1000, "number of resource providers in the database")
	flags.IntVar(&s.turns, "turns", 300, "number of turns of each comparison")
	flags.StringVar(&s.only, "only", "", "cases to measure: 'reads', 'writes', 'comparisons' or the beginning of their names (default: all)")
	return command
}

type settings struct {
	rounds    int
	length    time.Duration
	providers int
	turns     int
	only      string
}

func run(ctx context.Context, settings settings) error {
	fmt.Fprintln(os.Stderr, "starting a private PostgreSQL and loading data ...")
	env, err := open(ctx, settings)
	if err != nil {
		return err
	}
	defer env.close()
	fmt.Print(env.describe())
	if err := env.bareSelect(ctx, settings); err != nil {
		return err
	}
	for _, measured := range env.cases() {
		if !measured.selected(settings.only) {
			continue
		}
		trips, err := env.countRoundTrips(ctx, measured)
		if err != nil {
			return fmt.Errorf("%s: %w", measured.name, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %d round trip(s); baseline: %s\n", measured.name, trips, measured.baselineName)
		for _, clients := range clientCounts {
			title := fmt.Sprintf("Requests/case=%s/clients=%d", measured.name, clients)
			if err := env.Alternate(ctx, title, clients, settings.rounds, settings.length, measured.baseline, measured.request); err != nil {
				return fmt.Errorf("%s: %w", measured.name, err)
			}
		}
	}
	if strings.HasPrefix(claimsBeside, settings.only) || settings.only == string(comparisons) {
		if err := env.compareClaimsBesideDryRuns(ctx, 25*settings.length); err != nil {
			return fmt.Errorf("%s: %w", claimsBeside, err)
		}
	}
	for _, one := range env.comparisons() {
		if !one.selected(settings.only) {
			continue
		}
		if err := env.compareRequests(ctx, settings.turns, one); err != nil {
			return fmt.Errorf("%s: %w", one.name, err)
		}
	}
	return nil
}
