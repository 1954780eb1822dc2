// Command benchcandidates measures requests for allocation candidates on clouds of
// growing size, at several utilisations, beside floors of the same run, and says
// which of the aims set for them are met.
//
// Everything is a ratio, measured in turns: to F, a net/http handler that does one
// SELECT 1 on the same PostgreSQL; for requests without limit to one pass over the
// rows that the answer is made of, with as many bytes written; for a database
// without statistics and for shuffled candidates to the ordinary case. Every cloud
// has a database of its own, which is dropped before the next is loaded. fsync is
// off, since nothing is written while anything is measured, and so is autovacuum,
// which would come at some time.
//
// It is not a test: it checks how many candidates each answer has, so that no wrong
// answer looks fast, and fails for nothing but an error. An aim that is missed is
// said and no error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

type settings struct {
	sizes          []int
	utilisations   []utilisation
	only           []string
	rounds         int
	length         time.Duration
	unlimitedUpTo  int
	output, toPlot string
}

func main() {
	settings, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		debug.SetGCPercent(400) // as berth serve does
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err = run(ctx, settings)
		stop()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcandidates:", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("benchcandidates", flag.ContinueOnError)
	sizes := flags.String("sizes", "1000,10000,100000", "numbers of trees")
	utilisations := flags.String("utilisation", "0,50,99,full", "percentages of the trees that are used up; full: all but three")
	only := flags.String("only", "", "measure only queries, or queries on shapes, with these names")
	flags.IntVar(&s.rounds, "rounds", 5, "rounds of each pair; the median counts")
	flags.DurationVar(&s.length, "length", 150*time.Millisecond, "length of one measurement")
	flags.IntVar(&s.unlimitedUpTo, "unlimited", 10000, "ask without limit for candidates of up to so many trees")
	flags.StringVar(&s.output, "output", "table", "table or json")
	flags.StringVar(&s.toPlot, "plot", "", "write a plot of latencies into this SVG file")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	for word := range strings.SplitSeq(*sizes, ",") {
		size, err := strconv.Atoi(word)
		if err != nil || size < 10 {
			return s, fmt.Errorf("a size is a number of trees from 10, not %q", word)
		}
		s.sizes = append(s.sizes, size)
	}
	slices.Sort(s.sizes)
	var err error
	if s.utilisations, err = parseUtilisations(*utilisations); err != nil {
		return s, err
	}
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	if s.rounds < 1 || s.output != "table" && s.output != "json" || flags.NArg() > 0 {
		return s, errors.New("at least one round, table or json, and no further arguments")
	}
	return s, nil
}

// run measures, and prints what there is even when somebody interrupts it.
func run(ctx context.Context, settings settings) error {
	progress("starting a private PostgreSQL ...")
	opened, err := rig.Open(ctx, map[string]string{
		"fsync": "off", "full_page_writes": "off", "autovacuum": "off",
		"shared_buffers": "1GB", "max_wal_size": "8GB", "checkpoint_timeout": "1h",
	})
	if err != nil {
		return err
	}
	b := &bench{Rig: opened, settings: settings}
	measured := b.everything(ctx)
	if err := opened.Close(); err != nil {
		progress("stopping PostgreSQL: %v", err)
	}
	b.results = append(b.results, growths(b.results)...)
	report := report{Machine: b.machine, Results: b.results, Verdicts: judge(b.results)}
	if err := errors.Join(measured, report.print(settings)); err != nil {
		return err
	}
	return report.failures()
}

// progress tells whoever waits.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", arguments...)
}
