package requests

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

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

// cost is the time and the CPU time of some requests in turns.
type cost struct{ latency, postgres, process []float64 }

// compareRequests sends both sides of a comparison in turns and prints the medians and their ratios. A tenth of the
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
	ctx = rig.WithVersions(ctx, "placement 1.39, berth 1.3")
	var ours, others cost
	for turn := range turns + turns/10 {
		if turn == turns/10 {
			ours, others = cost{}, cost{}
		}
		if err := ours.add(ctx, postgres, p.turn(of), of.request); err != nil {
			return err
		}
		if err := others.add(ctx, postgres, p.turn(of), of.instead); err != nil {
			return fmt.Errorf("%s: %w", of.against, err)
		}
	}
	of.print(ours, others)
	return nil
}

// print prints the medians of both sides, their ratio, and the median of the ratios of the turns.
func (c comparison) print(ours, others cost) {
	target := ""
	if c.limit > 0 {
		target = fmt.Sprintf(" (target %g)", c.limit)
	}
	fmt.Printf("%s, beside %s%s\n", c.name, c.against, target)
	for _, one := range []struct {
		name         string
		ours, others []float64
	}{
		{"latency", ours.latency, others.latency},
		{"CPU of PostgreSQL", ours.postgres, others.postgres},
		{"CPU of server and client", ours.process, others.process},
		{"CPU of all", sums(ours.postgres, ours.process), sums(others.postgres, others.process)},
	} {
		fmt.Printf("  %-25s %8.3f ms, %8.3f ms: %.2f, median of the turns %.2f\n", one.name, rig.Median(one.ours), rig.Median(one.others),
			rig.Median(one.ours)/rig.Median(one.others), rig.Median(ratios(one.ours, one.others)))
	}
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

// send calls a function for all clients at once and returns the time of each in milliseconds.
func (t turn) send(ctx context.Context, do rig.RequestFunc) ([]float64, error) {
	took, errs := make([]float64, len(t.numbers)), make([]error, len(t.numbers))
	var group sync.WaitGroup
	for client, n := range t.numbers {
		group.Go(func() {
			begun := time.Now()
			errs[client] = do(ctx, client, n)
			took[client] = time.Since(begun).Seconds() * 1000
		})
	}
	group.Wait()
	return took, errors.Join(errs...)
}

// add sends one side of a turn and adds the median of the latencies, and the CPU time for each client.
func (c *cost) add(ctx context.Context, postgres rig.PostgresCPU, of turn, do rig.RequestFunc) error {
	if of.prepare != nil {
		if _, err := of.send(ctx, of.prepare); err != nil {
			return err
		}
	}
	used, err := postgres.Read()
	if err != nil {
		return err
	}
	own := processCPU()
	took, err := of.send(ctx, do)
	if err != nil {
		return err
	}
	own = processCPU() - own
	after, err := postgres.Read()
	if err != nil {
		return err
	}
	clients := float64(len(of.numbers))
	c.latency = append(c.latency, rig.Median(took))
	c.postgres = append(c.postgres, (after-used).Seconds()*1000/clients)
	c.process = append(c.process, own.Seconds()*1000/clients)
	if of.undo == nil {
		return nil
	}
	_, err = of.send(ctx, of.undo)
	return err
}

// processCPU returns the CPU time of this process: the server and the client.
func processCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails for wrong arguments only
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// ratios returns the ratio of each turn that took measurable time.
func ratios(a, b []float64) []float64 {
	var all []float64
	for i := range a {
		if b[i] > 0 {
			all = append(all, a[i]/b[i])
		}
	}
	return all
}

func sums(a, b []float64) []float64 {
	var all []float64
	for i := range a {
		all = append(all, a[i]+b[i])
	}
	return all
}
