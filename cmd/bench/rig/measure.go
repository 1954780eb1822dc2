package rig

import (
	"context"
	"errors"
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

// Alternate alternates between a baseline and requests, for some rounds, and prints the figures of each round. A round
// before those warms up connections, prepared statements and caches.
func (r *Rig) Alternate(ctx context.Context, name string, clients, rounds int, length time.Duration, baseline, ask RequestFunc) error {
	for round := range rounds + 1 {
		below, err := r.Measure(ctx, clients, length, baseline)
		if err != nil {
			return fmt.Errorf("baseline: %w", err)
		}
		our, err := r.Measure(ctx, clients, length, ask)
		if err != nil {
			return err
		}
		if round == 0 {
			continue
		}
		if err := errors.Join(below.Print(name+OfBaseline), our.Print(name+OfBerth)); err != nil {
			return err
		}
	}
	return nil
}

// Median of at least one value.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
