package rig

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// RequestFunc sends one request as one client; n is different in every call.
type RequestFunc func(ctx context.Context, client int, n int64) error

// Figures are what a measurement gives.
type Figures struct {
	P50      time.Duration
	Rate     float64 // requests a second
	Requests int
}

// Measure runs clients for a time. Each sends at least one request.
func (r *Rig) Measure(ctx context.Context, clients int, length time.Duration, do RequestFunc) (Figures, error) {
	deadline := time.Now().Add(length)
	all := make([][]time.Duration, clients)
	failures := make(chan error, clients)
	start := time.Now()
	var group sync.WaitGroup
	for client := range clients {
		group.Go(func() {
			for time.Now().Before(deadline) && ctx.Err() == nil {
				begun := time.Now()
				if err := do(ctx, client, r.Numbers.Next()); err != nil {
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
		return Figures{}, err
	}
	times := slices.Concat(all...)
	slices.Sort(times)
	if len(times) == 0 {
		return Figures{}, ctx.Err()
	}
	return Figures{P50: times[len(times)/2], Rate: float64(len(times)) / took.Seconds(), Requests: len(times)}, nil
}

// Counter gives every request of a run a number of its own.
type Counter struct {
	mutex sync.Mutex
	last  int64
}

// Next is the next number.
func (c *Counter) Next() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.last++
	return c.last
}

// Rounds are the alternating measurements of requests and of their baseline.
type Rounds struct{ Measured, Baseline []Figures }

// Alternate alternates between a baseline and requests, for some rounds. A round before
// those warms up connections, prepared statements and caches.
func (r *Rig) Alternate(ctx context.Context, clients, rounds int, length time.Duration, baseline, ask RequestFunc) (Rounds, error) {
	var turns Rounds
	for round := range rounds + 1 {
		below, err := r.Measure(ctx, clients, length, baseline)
		if err != nil {
			return turns, fmt.Errorf("baseline: %w", err)
		}
		our, err := r.Measure(ctx, clients, length, ask)
		if err != nil {
			return turns, err
		}
		if round > 0 {
			turns.Measured, turns.Baseline = append(turns.Measured, our), append(turns.Baseline, below)
		}
	}
	return turns, nil
}

// Shares are the throughputs as parts of the baseline's, round by round.
func (t Rounds) Shares() []float64 {
	var shares []float64
	for i, our := range t.Measured {
		shares = append(shares, our.Rate/t.Baseline[i].Rate)
	}
	return shares
}

// Multiples are the latencies as multiples of the baseline's, round by round.
func (t Rounds) Multiples() []float64 {
	var multiples []float64
	for i, our := range t.Measured {
		multiples = append(multiples, float64(our.P50)/float64(t.Baseline[i].P50))
	}
	return multiples
}

// Median of at least one value.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// MedianRate is the median throughput.
func MedianRate(of []Figures) float64 {
	var values []float64
	for _, one := range of {
		values = append(values, one.Rate)
	}
	return Median(values)
}

// MedianTime is the median of the latencies.
func MedianTime(of []Figures) time.Duration {
	var values []float64
	for _, one := range of {
		values = append(values, float64(one.P50))
	}
	return time.Duration(Median(values))
}

// Latency is a duration in milliseconds, for people.
func Latency(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}
