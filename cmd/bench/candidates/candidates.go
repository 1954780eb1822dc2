// Package candidates measures allocation candidate queries on clouds of growing size, at
// several utilizations, beside baselines of the same run, and prints which targets are
// met.
//
// Every result is a ratio of alternating measurements. The baseline is F, a net/http
// handler that runs one SELECT 1 on the same PostgreSQL; for queries without limit, one
// pass over the rows of the response with as many bytes written; for a database without
// statistics, the ordinary case. With --against, a second berth program is measured in
// turn with the first, on a database of its own with the same cloud. Every cloud has its
// own database, which is dropped before the next is loaded. fsync is off, because no
// measurement writes, and autovacuum is off, because it would start at a random time.
//
// The servers, that of F included, are processes of their own. The CPU time of a request
// is the time that Linux has given to the processes of PostgreSQL and to the server, and
// does not include the client, which is this process.
//
// It is not a test: it checks the number of candidates in each response, so that a wrong
// response cannot look fast, and fails only with an error. A missed target is printed and
// is not an error.
package candidates

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/bench/rig"
)

type settings struct {
	sizes          []int
	utilizations   []utilization
	only           []string
	rounds         int
	length         time.Duration
	unlimitedUpTo  int
	plots          string
	berth, against string
	compare        bool
}

// Command is 'bench candidates'.
func Command() *cobra.Command {
	var s settings
	var sizes, utilizations, only string
	command := &cobra.Command{
		Use:   "candidates",
		Short: "Measure allocation candidate queries on clouds of growing size",
		Long: `Measure allocation candidate queries beside a baseline, on clouds of 1,000 to
100,000 provider trees and at several utilizations: latency, and CPU time of PostgreSQL
and of the server. Print which targets are met: a missed target is not an error, a wrong
number of candidates is. The database is private and is removed at the end; 100,000
trees need about 2 GB of disk and memory, 1,000,000 ten times that, twice that with --against. CPU times are
those of Linux; other systems are not supported.

With --against, measure a second berth program in turn with the first, on a database of
its own with the same cloud. With --compare, also check that both return the same bytes.

Each round is a result in Go's benchmark format, for benchstat. The targets are those of
the medians, and go to standard error.

  go -C cmd/bench run . candidates --sizes 1000
  go -C cmd/bench run . candidates --only nested,pci-8
  go -C cmd/bench run . candidates --against ../../berth-older --compare --plot ../../docs/plots`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := s.parse(sizes, utilizations, only); err != nil {
				return err
			}
			debug.SetGCPercent(400) // the client collects garbage rarely
			return run(command.Context(), s)
		},
	}
	flags := command.Flags()
	flags.StringVar(&sizes, "sizes", "1000,10000,100000", "numbers of trees, separated by commas")
	flags.StringVar(&utilizations, "utilization", "0,50,99,full",
		"percentages of trees without free capacity, separated by commas; full: all trees except three")
	flags.StringVar(&only, "only", "", "names of the queries or shapes to measure, separated by commas (default: all)")
	flags.IntVar(&s.rounds, "rounds", 6, "number of rounds of each pair; benchstat needs 6 for a confidence interval")
	flags.DurationVar(&s.length, "length", 150*time.Millisecond, "duration of one measurement")
	flags.IntVar(&s.unlimitedUpTo, "unlimited", 10000, "largest number of trees at which queries without limit are measured")
	flags.StringVar(&s.plots, "plot", "", "`directory` for the plots "+latencyPlot+" and "+cpuPlot+" (default: none)")
	flags.StringVar(&s.berth, "berth", "", "`file` of the berth program to measure (default: built from the module that this one is in)")
	flags.StringVar(&s.against, "against", "", "`file` of a second berth program to measure in turn with the first (default: none)")
	flags.BoolVar(&s.compare, "compare", false, "check that both programs return the same bytes; needs --against")
	command.AddCommand(baselineCommand())
	return command
}

// parse reads the flags that are lists and checks the rest.
func (s *settings) parse(sizes, utilizations, only string) error {
	for word := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(word)
		if err != nil || size < 10 {
			return fmt.Errorf("invalid size %q in --sizes: a number of trees, at least 10", word)
		}
		s.sizes = append(s.sizes, size)
	}
	slices.Sort(s.sizes)
	var err error
	if s.utilizations, err = parseUtilizations(utilizations); err != nil {
		return err
	}
	if only != "" {
		s.only = strings.Split(only, ",")
	}
	if s.rounds < 1 {
		return errors.New("--rounds must be at least 1")
	}
	if s.compare && s.against == "" {
		return errors.New("--compare needs a second program: pass --against")
	}
	if s.plots != "" {
		if at, err := os.Stat(s.plots); err != nil || !at.IsDir() {
			return fmt.Errorf("invalid --plot %q: not a directory", s.plots)
		}
	}
	return nil
}

// run measures, and prints its results even if it is interrupted.
func run(ctx context.Context, settings settings) error {
	dir, remove, err := temporary()
	if err != nil {
		return err
	}
	defer remove()
	progress("starting a private PostgreSQL ...")
	opened, err := rig.Open(ctx, map[string]string{
		"fsync": "off", "full_page_writes": "off", "autovacuum": "off",
		"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "1h",
	})
	if err != nil {
		return err
	}
	b := &bench{Rig: opened, settings: settings}
	measured := b.measure(ctx, dir)
	if err := opened.Close(); err != nil {
		progress("stopping PostgreSQL: %v", err)
	}
	exponents := growths(b.results)
	b.results = append(b.results, exponents...)
	report := report{Results: b.results, Verdicts: judge(b.results)}
	if err := errors.Join(measured, printGrowths(exponents), report.print(settings)); err != nil {
		return err
	}
	return report.failures()
}

// measure prepares the programs and measures everything.
func (b *bench) measure(ctx context.Context, dir string) error {
	var err error
	if b.postgres, err = b.PostgresCPU(ctx); err != nil {
		return err
	}
	if b.programs, err = programs(ctx, b.Rig, b.settings, dir); err != nil {
		return err
	}
	return b.measureAll(ctx)
}

// progress prints a line with the time to standard error.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", arguments...)
}
