// Command benchbaremetal measures how many allocations of bare metal nodes are
// decided in a second, with both backends, on few and on many nodes, beside floors of
// the same run.
//
// Each request is measured in four ways, in turns, with parallel clients and as many
// requests each time. HTTP: POST /v1/allocations against the server, with a conductor
// in the same process as berth serve has it, from the first request until all are
// decided. Its floor: for each allocation two prepared statements without any check, the
// INSERT and then the row writes of the decision. Store: the decision alone,
// Store.NodeAllocationProcess on allocations that were made before. Its floor: the row
// writes of the decision. fsync is on, and the floors have the triggers of nodes off.
//
// Before each measurement everything is given back and vacuumed, so that 84 % of the
// nodes are free when it begins; autovacuum, which would come at some time, is off.
//
// It is not a test: it checks that every allocation has got a node, so that no
// refusal looks fast, and fails for nothing but an error. An aim that is missed is
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
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/bench/rig"
)

type settings struct {
	nodes    []int
	requests int
	clients  int
	workers  int
	rounds   int
	only     string
	profile  string
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
		fmt.Fprintln(os.Stderr, "benchbaremetal:", err)
		os.Exit(1)
	}
}

func parse(arguments []string) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("benchbaremetal", flag.ContinueOnError)
	nodes := flags.String("nodes", "1000,10000", "numbers of nodes")
	flags.IntVar(&s.requests, "requests", 400, "allocations in one measurement")
	flags.IntVar(&s.clients, "clients", 8, "clients that ask at the same time")
	flags.IntVar(&s.workers, "workers", 4, "allocations that the conductor decides at once; 4 is what berth serve has")
	flags.IntVar(&s.rounds, "rounds", 3, "rounds of each way; the median counts")
	flags.StringVar(&s.only, "only", "", "measure only cases whose name contains this, as placement or '20 classes'")
	flags.StringVar(&s.profile, "profile", "", "write a CPU profile of this program into this file")
	if err := flags.Parse(arguments); err != nil {
		return s, err
	}
	for word := range strings.SplitSeq(*nodes, ",") {
		number, err := strconv.Atoi(word)
		if err != nil || number < 1000 {
			return s, fmt.Errorf("nodes are a number from 1000, not %q", word)
		}
		s.nodes = append(s.nodes, number)
	}
	slices.Sort(s.nodes)
	if s.requests < 1 || s.requests > s.nodes[0]*6/10 {
		return s, fmt.Errorf("from 1 to %d requests, so that a tenth of %d nodes stays free and every class has enough", s.nodes[0]*6/10, s.nodes[0])
	}
	if s.rounds < 1 || s.clients < 1 || s.workers < 1 || flags.NArg() > 0 {
		return s, errors.New("at least one round, client and worker, and no further arguments")
	}
	return s, nil
}

// run measures, and prints what there is even when somebody interrupts it.
func run(ctx context.Context, settings settings) (err error) {
	if settings.profile != "" {
		stop, err := profiled(settings.profile)
		if err != nil {
			return err
		}
		defer stop()
	}
	progress("starting a private PostgreSQL ...")
	opened, err := rig.Open(ctx, map[string]string{
		"autovacuum": "off", "max_wal_size": "4GB", "checkpoint_timeout": "1h",
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	report := report{settings: settings}
	defer func() { report.print() }()
	for _, nodes := range settings.nodes {
		for _, one := range cases() {
			if !strings.Contains(one.name(), settings.only) {
				continue
			}
			progress("%d nodes, %s", nodes, one.name())
			measured, err := measure(ctx, opened, settings, one, nodes)
			if err != nil {
				return fmt.Errorf("%d nodes, %s: %w", nodes, one.name(), err)
			}
			report.results = append(report.results, measured)
		}
	}
	return nil
}

func profiled(path string) (stop func(), err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			progress("the profile: %v", err)
		}
	}, nil
}

// progress tells whoever waits.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", arguments...)
}
