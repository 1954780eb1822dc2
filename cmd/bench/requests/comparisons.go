package requests

import (
	"context"
	"fmt"
	"strings"
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
}

const comparisons kind = "comparisons"

// selected is that of measured.
func (c comparison) selected(only string) bool {
	return string(comparisons) == only || strings.HasPrefix(c.name, only)
}

// cost is the time and the CPU time of some requests in turns.
type cost struct{ latency, postgres, process []float64 }

// compareRequests sends both sides of a comparison in turns, as one client, and prints the medians and their
// ratios. A tenth of the turns before those warms up.
func (p *benchEnv) compareRequests(ctx context.Context, turns int, of comparison) error {
	postgres, err := p.PostgresCPU(ctx)
	if err != nil {
		return err
	}
	ctx = rig.WithVersions(ctx, "placement 1.39, berth 1.3")
	var ours, others cost
	for turn := range turns + turns/10 {
		if turn == turns/10 {
			ours, others = cost{}, cost{}
		}
		if err := ours.add(ctx, postgres, p.Numbers.Next(), of.request); err != nil {
			return err
		}
		if err := others.add(ctx, postgres, p.Numbers.Next(), of.instead); err != nil {
			return fmt.Errorf("%s: %w", of.against, err)
		}
	}
	target := ""
	if of.limit > 0 {
		target = fmt.Sprintf(" (target %.1f)", of.limit)
	}
	fmt.Printf("%s, beside %s%s\n", of.name, of.against, target)
	for _, one := range []struct {
		name         string
		ours, others []float64
	}{
		{"latency", ours.latency, others.latency},
		{"CPU of PostgreSQL", ours.postgres, others.postgres},
		{"CPU of server and client", ours.process, others.process},
		{"CPU of all", sums(ours.postgres, ours.process), sums(others.postgres, others.process)},
	} {
		fmt.Printf("  %-25s %8.3f ms, %8.3f ms: %.2f\n", one.name, rig.Median(one.ours), rig.Median(one.others),
			rig.Median(one.ours)/rig.Median(one.others))
	}
	return nil
}

// add sends one request, or the requests of one turn.
func (c *cost) add(ctx context.Context, postgres rig.PostgresCPU, n int64, do rig.RequestFunc) error {
	used, err := postgres.Read()
	if err != nil {
		return err
	}
	own := processCPU()
	begun := time.Now()
	if err := do(ctx, 0, n); err != nil {
		return err
	}
	took := time.Since(begun)
	own = processCPU() - own
	after, err := postgres.Read()
	if err != nil {
		return err
	}
	c.latency = append(c.latency, took.Seconds()*1000)
	c.postgres = append(c.postgres, (after-used).Seconds()*1000)
	c.process = append(c.process, own.Seconds()*1000)
	return nil
}

// processCPU returns the CPU time of this process: the server and the client.
func processCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // fails for wrong arguments only
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func sums(a, b []float64) []float64 {
	var all []float64
	for i := range a {
		all = append(all, a[i]+b[i])
	}
	return all
}
