package requests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/berthd/berth/cmd/bench/rig"
)

// comparison is a request beside other requests of the same server that do the same or read what it compares.
type comparison struct {
	name, against    string
	request, instead rig.RequestFunc
	// limit is the target of the ratio, 0 if there is none.
	limit float64
	// clients is the number of clients that send at once.
	clients int
	// prepare runs before the requests of each number, outside of the measured time; nil: there is nothing to prepare.
	prepare rig.RequestFunc
	// share divides the number of turns, if it is not 0: requests that take long have fewer.
	share int
	// undo runs after the requests of each number, outside of the measured time; nil: nothing to undo.
	undo rig.RequestFunc
}

// beside is a comparison for one client, with nothing to undo.
func beside(name, against string, request, instead rig.RequestFunc, limit float64) comparison {
	return comparison{name: name, against: against, request: request, instead: instead, limit: limit, clients: 1}
}

const comparisons kind = "comparisons"

// selected is that of measured.
func (c comparison) selected(only string) bool {
	return string(comparisons) == only || strings.HasPrefix(c.name, only)
}

// cost is the time and the CPU time of one side of a turn, for each client.
type cost struct{ latency, postgres, process time.Duration }

// compareRequests sends both sides of a comparison in turns and prints the cost of each side of a turn. A tenth of the
// turns before those warms up. In a turn of several clients each sends one request, all at once; there are a quarter
// as many of these.
func (p *benchEnv) compareRequests(ctx context.Context, turns int, of comparison) error {
	postgres, err := p.PostgresCPU(ctx)
	if err != nil {
		return err
	}
	if of.clients > 1 {
		turns = max(1, turns/4)
	}
	if of.share > 0 {
		turns = max(5, turns/of.share)
	}
	of.announce()
	ctx = rig.WithVersions(ctx, "placement 1.39, berth 1.3")
	warmUps := turns / 10
	for turn := range warmUps + turns {
		ours, err := measureTurn(ctx, postgres, p.turn(of), of.request)
		if err != nil {
			return err
		}
		others, err := measureTurn(ctx, postgres, p.turn(of), of.instead)
		if err != nil {
			return fmt.Errorf("%s: %w", of.against, err)
		}
		if turn < warmUps {
			continue
		}
		title := "Requests/case=" + of.name + "/beside=" + of.against
		if err := errors.Join(others.print(title+rig.OfBaseline), ours.print(title+rig.OfBerth)); err != nil {
			return err
		}
	}
	return nil
}

// announce prints what is measured next.
func (c comparison) announce() {
	target := ""
	if c.limit > 0 {
		target = fmt.Sprintf(" (target: %g times as long)", c.limit)
	}
	fmt.Fprintf(os.Stderr, "%s, beside %s%s\n", c.name, c.against, target)
}

func (c cost) print(name string) error {
	return rig.PrintResult(name, 1,
		benchfmt.Value{Value: c.latency.Seconds(), Unit: "sec/op"},
		benchfmt.Value{Value: c.postgres.Seconds(), Unit: "postgresql-CPU-sec/op"},
		benchfmt.Value{Value: c.process.Seconds(), Unit: "process-CPU-sec/op"},
		benchfmt.Value{Value: (c.postgres + c.process).Seconds(), Unit: "CPU-sec/op"})
}

// turn is one side of a turn: a number for each client, and what to do before and afterwards.
type turn struct {
	numbers       []int64
	prepare, undo rig.RequestFunc
}

func (p *benchEnv) turn(of comparison) turn {
	made := turn{prepare: of.prepare, undo: of.undo}
	for range of.clients {
		made.numbers = append(made.numbers, p.Numbers.Next())
	}
	return made
}

// send calls a function for all clients at once and returns the time of each.
func (t turn) send(ctx context.Context, do rig.RequestFunc) ([]time.Duration, error) {
	took, errs := make([]time.Duration, len(t.numbers)), make([]error, len(t.numbers))
	var group sync.WaitGroup
	for client, n := range t.numbers {
		group.Go(func() {
			begun := time.Now()
			errs[client] = do(ctx, client, n)
			took[client] = time.Since(begun)
		})
	}
	group.Wait()
	return took, errors.Join(errs...)
}

// measureTurn sends one side of a turn and returns the median of the latencies, and the CPU time for each client.
func measureTurn(ctx context.Context, postgres rig.PostgresCPU, of turn, do rig.RequestFunc) (cost, error) {
	if of.prepare != nil {
		if _, err := of.send(ctx, of.prepare); err != nil {
			return cost{}, err
		}
	}
	used, err := postgres.Read()
	if err != nil {
		return cost{}, err
	}
	own := processCPU()
	took, err := of.send(ctx, do)
	if err != nil {
		return cost{}, err
	}
	own = processCPU() - own
	after, err := postgres.Read()
	if err != nil {
		return cost{}, err
	}
	slices.Sort(took)
	clients := time.Duration(len(of.numbers))
	measured := cost{took[len(took)/2], (after - used) / clients, own / clients}
	if of.undo != nil {
		_, err = of.send(ctx, of.undo)
	}
	return measured, err
}

// processCPU returns the CPU time of this process: the server and the client.
func processCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails for wrong arguments only
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
