package rig

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Ask does one request as one client; n is different in every call.
type Ask func(ctx context.Context, client int, n int64) error

// Figures are what a measurement gives.
type Figures struct {
	P50  time.Duration
	Rate float64 // requests a second
}

// Measure lets clients ask for some time, and each at least once.
func (r *Rig) Measure(ctx context.Context, clients int, length time.Duration, do Ask) (Figures, error) {
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
	return Figures{P50: times[len(times)/2], Rate: float64(len(times)) / took.Seconds()}, nil
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

// Turns are measurements of requests and of their floor, one after the other.
type Turns struct{ Ours, Floors []Figures }

// InTurns measures a floor and requests in turns, for some rounds. A round before
// those warms up connections, prepared statements and caches.
func (r *Rig) InTurns(ctx context.Context, clients, rounds int, length time.Duration, floor, ask Ask) (Turns, error) {
	var turns Turns
	for round := range rounds + 1 {
		below, err := r.Measure(ctx, clients, length, floor)
		if err != nil {
			return turns, fmt.Errorf("floor: %w", err)
		}
		our, err := r.Measure(ctx, clients, length, ask)
		if err != nil {
			return turns, err
		}
		if round > 0 {
			turns.Ours, turns.Floors = append(turns.Ours, our), append(turns.Floors, below)
		}
	}
	return turns, nil
}

// Shares are the throughputs as parts of the floor's, round by round.
func (t Turns) Shares() []float64 {
	var shares []float64
	for i, our := range t.Ours {
		shares = append(shares, our.Rate/t.Floors[i].Rate)
	}
	return shares
}

// Multiples are the latencies as multiples of the floor's, round by round.
func (t Turns) Multiples() []float64 {
	var multiples []float64
	for i, our := range t.Ours {
		multiples = append(multiples, float64(our.P50)/float64(t.Floors[i].P50))
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
