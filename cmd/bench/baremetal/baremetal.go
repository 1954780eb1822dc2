// Package baremetal measures how many node allocations are decided in a second, with
// both backends, on few and on many nodes, beside baselines of the same run.
//
// Each request has four measurements, which alternate, with parallel clients and the same
// number of requests. HTTP: POST /v1/allocations against the server, with a conductor
// in the same process as berth serve has it, from the first request until all are
// decided. Its baseline: for each allocation two prepared statements without any check, the
// INSERT and then the row writes of the decision. Store: the decision alone,
// Store.NodeAllocationProcess on allocations that were made before. Its baseline: the row
// writes of the decision. fsync is on, and the baselines have the triggers of nodes off.
//
// Before each measurement all nodes are released and the tables vacuumed, so that 84 % of
// the nodes are free; autovacuum is off, because it would start at a random time.
//
// It is not a test: it checks that every node allocation has a node, so that a failure
// cannot look fast, and fails only with an error. A missed target is printed and is not
// an error.
package baremetal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

// Command is 'bench baremetal'.
func Command() *cobra.Command {
	var s settings
	var nodes string
	command := &cobra.Command{
		Use:   "baremetal",
		Short: "Measure how many node allocations are decided in a second",
		Long: `Measure how many node allocations are decided in a second beside a baseline, with
both backends, through HTTP and in the store alone. Print whether the target is met; a
missed target is not an error, a node allocation without a node is. The database is
private and is removed at the end.

Each round is a result in Go's benchmark format, for benchstat.

  go -C cmd/bench run . baremetal --nodes 1000 --rounds 1
  go -C cmd/bench run . baremetal --only placement --profile cpu.pprof`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := s.parse(nodes); err != nil {
				return err
			}
			debug.SetGCPercent(400) // as berth serve does
			return run(command.Context(), s)
		},
	}
	flags := command.Flags()
	flags.StringVar(&nodes, "nodes", "1000,10000", "numbers of nodes, separated by commas, each at least 1000")
	flags.IntVar(&s.requests, "requests", 400, "number of node allocations in one measurement")
	flags.IntVar(&s.clients, "clients", 8, "number of concurrent clients")
	flags.IntVar(&s.workers, "workers", 4, "number of node allocations that the conductor decides at once; berth serve has 4")
	flags.IntVar(&s.rounds, "rounds", 6, "number of rounds of each measurement; benchstat needs 6 for a confidence interval")
	flags.StringVar(&s.only, "only", "", "part of the names of the cases to measure, such as placement or '20 classes' (default: all)")
	flags.StringVar(&s.profile, "profile", "", "`file` for a CPU profile of this program (default: none)")
	return command
}

// parse reads the list of nodes and checks the rest.
func (s *settings) parse(nodes string) error {
	for word := range strings.SplitSeq(nodes, ",") {
		number, err := strconv.Atoi(word)
		if err != nil || number < 1000 {
			return fmt.Errorf("invalid number %q in --nodes: at least 1000", word)
		}
		s.nodes = append(s.nodes, number)
	}
	slices.Sort(s.nodes)
	if most := s.nodes[0] * 6 / 10; s.requests < 1 || s.requests > most {
		return fmt.Errorf("invalid --requests %d: 1 to %d, so that a tenth of %d nodes stays free and every class has enough",
			s.requests, most, s.nodes[0])
	}
	if s.rounds < 1 || s.clients < 1 || s.workers < 1 {
		return errors.New("--rounds, --clients and --workers must be at least 1")
	}
	return nil
}

// run measures, and prints each result at once.
func run(ctx context.Context, settings settings) (err error) {
	if settings.profile != "" {
		stop, err := startProfile(settings.profile)
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
	fmt.Printf("%d allocations in a round, %d clients, %d workers of the conductor, pools of %d connections, fsync on\n",
		settings.requests, settings.clients, settings.workers, rig.Connections)
	for _, nodes := range settings.nodes {
		for _, one := range cases() {
			if !strings.Contains(one.name(), settings.only) {
				continue
			}
			progress("%d nodes, %s", nodes, one.name())
			rates, err := measure(ctx, opened, settings, one, nodes)
			if err != nil {
				return fmt.Errorf("%d nodes, %s: %w", nodes, one.name(), err)
			}
			printTarget(one, nodes, rates)
		}
	}
	return nil
}

func startProfile(path string) (stop func(), err error) {
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

// progress prints a line with the time to standard error.
func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", arguments...)
}
