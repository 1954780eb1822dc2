package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// clientCounts are how many clients ask at the same time.
var clientCounts = []int{1, 4, 16}

// ask does one request as one client; n is different in every call.
type ask func(ctx context.Context, client int, n int64) error

// figures are what a measurement gives.
type figures struct {
	p50  time.Duration
	rate float64 // requests a second
}

// measure lets clients ask for some time.
func measure(ctx context.Context, clients int, length time.Duration, numbers *counter, do ask) (figures, error) {
	deadline := time.Now().Add(length)
	all := make([][]time.Duration, clients)
	failures := make(chan error, clients)
	start := time.Now()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for time.Now().Before(deadline) && ctx.Err() == nil {
				begun := time.Now()
				if err := do(ctx, client, numbers.next()); err != nil {
					failures <- err
					return
				}
				all[client] = append(all[client], time.Since(begun))
			}
		})
	}
	group.Wait()
	took := time.Since(start)
	close(failures)
	if err := <-failures; err != nil {
		return figures{}, err
	}
	times := slices.Concat(all...)
	slices.Sort(times)
	if len(times) == 0 {
		return figures{}, ctx.Err()
	}
	return figures{p50: times[len(times)/2], rate: float64(len(times)) / took.Seconds()}, nil
}

// counter gives every request of a run a number of its own.
type counter struct {
	mutex sync.Mutex
	last  int64
}

func (c *counter) next() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.last++
	return c.last
}

// compare measures a case and its floor in turns and prints the medians, and the
// median of the ratios of the pairs.
func compare(ctx context.Context, settings settings, of measured, clients int) error {
	var ours, floors []figures
	var ratios []float64
	for round := range settings.rounds + 1 {
		floor, err := measure(ctx, clients, settings.length, of.numbers, of.floor)
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		our, err := measure(ctx, clients, settings.length, of.numbers, of.ask)
		if err != nil {
			return err
		}
		if round == 0 {
			continue // warms up connections, prepared statements and caches
		}
		ours, floors = append(ours, our), append(floors, floor)
		ratios = append(ratios, our.rate/floor.rate)
	}
	fmt.Fprintf(os.Stdout, "  %2d clients: p50 %8s, %7.0f/s   floor p50 %8s, %7.0f/s   throughput %3.0f %% of the floor (%.0f to %.0f), p50 %.1f floors\n",
		clients, latency(medianTime(ours)), medianRate(ours), latency(medianTime(floors)), medianRate(floors),
		100*median(ratios), 100*slices.Min(ratios), 100*slices.Max(ratios),
		float64(medianTime(ours))/float64(medianTime(floors)))
	return nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func medianRate(of []figures) float64 {
	var values []float64
	for _, one := range of {
		values = append(values, one.rate)
	}
	return median(values)
}

func medianTime(of []figures) time.Duration {
	var values []float64
	for _, one := range of {
		values = append(values, float64(one.p50))
	}
	return time.Duration(median(values))
}

func latency(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}

func rates(of []figures) string {
	var texts []string
	for _, one := range of {
		texts = append(texts, fmt.Sprintf("%.0f", one.rate))
	}
	return strings.Join(texts, ", ")
}
