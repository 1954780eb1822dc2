package soak

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/cmd/bench/rig"
)

const (
	hosts = 200
	// kept is the maximum number of consumers of a client.
	kept = 40
)

// work is a set of clients of a service that create, read and delete, so that the amount
// of data is constant.
type work struct {
	*rig.Rig
	url     string
	hosts   []string
	clients []*client

	mutex sync.Mutex // of the times since the last sample
	times []time.Duration
	last  time.Time
}

// client has providers of its own for what needs a generation.
type client struct {
	own        string
	generation int
	consumers  []string
	turn       int
}

func newWork(ctx context.Context, on *rig.Rig, url string, clients int) (*work, error) {
	w := &work{Rig: on, url: url, last: time.Now()}
	for range hosts {
		host, err := w.host(ctx)
		if err != nil {
			return nil, err
		}
		w.hosts = append(w.hosts, host)
	}
	for range clients {
		own, err := w.host(ctx)
		if err != nil {
			return nil, err
		}
		w.clients = append(w.clients, &client{own: own, generation: 1})
	}
	return w, nil
}

// host makes a provider with three classes.
func (w *work) host(ctx context.Context) (string, error) {
	id := uuid.NewString()
	err := w.Request(ctx, http.MethodPost, w.url+"/resource_providers", fmt.Sprintf(`{"name": "host-%s", "uuid": "%[1]s"}`, id), http.StatusOK)
	if err != nil {
		return "", err
	}
	return id, w.inventories(ctx, id, 0)
}

func (w *work) inventories(ctx context.Context, host string, generation int) error {
	body := fmt.Sprintf(`{"resource_provider_generation": %d, "inventories": {
		"VCPU": {"total": %d}, "MEMORY_MB": {"total": 10000000}, "DISK_GB": {"total": 10000000}}}`, generation, 100000+generation%2)
	return w.Request(ctx, http.MethodPut, w.url+"/resource_providers/"+host+"/inventories", body, http.StatusOK)
}

// step sends one request: of ten, three create a consumer, three delete one, three read,
// and one writes inventories.
func (w *work) step(ctx context.Context, of *client) error {
	of.turn++
	some := w.hosts[(of.turn*7919)%hosts]
	switch turn := of.turn % 10; {
	case turn < 3:
		return w.claim(ctx, of, some)
	case turn < 6 && len(of.consumers) >= kept:
		gone := of.consumers[0]
		of.consumers = slices.Delete(of.consumers, 0, 1)
		return w.Request(ctx, http.MethodDelete, w.url+"/allocations/"+gone, "", http.StatusNoContent)
	case turn < 7:
		return w.Request(ctx, http.MethodGet, w.url+"/resource_providers/"+some+"/usages", "", http.StatusOK)
	case turn < 9:
		return w.Request(ctx, http.MethodGet, w.url+"/allocation_candidates?resources=VCPU:1,MEMORY_MB:512&limit=20", "", http.StatusOK)
	}
	err := w.inventories(ctx, of.own, of.generation)
	of.generation++
	return err
}

func (w *work) claim(ctx context.Context, of *client, host string) error {
	consumer := uuid.NewString()
	body := fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 10}}},
		"project_id": "soak-test", "user_id": "soak-test", "consumer_generation": null, "consumer_type": "INSTANCE"}`, host)
	of.consumers = append(of.consumers, consumer)
	return w.Request(ctx, http.MethodPut, w.url+"/allocations/"+consumer, body, http.StatusNoContent)
}

// fullLoad measures the throughput without pauses, after a warm-up of the same length.
func (w *work) fullLoad(ctx context.Context, length time.Duration) (rate float64, err error) {
	for range 2 {
		enough, cancel := context.WithTimeout(ctx, length)
		err = w.paced(enough, 0)
		cancel()
		if rate, _, _ = w.since(); err != nil {
			return 0, err
		}
	}
	return rate, nil
}

// paced runs the clients until the context ends, at a common rate in requests per second;
// 0: without pauses. A client that is late does not catch up.
func (w *work) paced(enough context.Context, rate float64) error {
	var pause time.Duration
	if rate > 0 {
		pause = time.Duration(float64(len(w.clients)) / rate * float64(time.Second))
	}
	failures := make(chan error, len(w.clients))
	var working sync.WaitGroup
	for i, one := range w.clients {
		working.Go(func() {
			next := time.Now().Add(pause * time.Duration(i) / time.Duration(len(w.clients)))
			for enough.Err() == nil {
				time.Sleep(time.Until(next))
				begun := time.Now()
				// A request that has begun may end, so that its outcome is known.
				if err := w.step(context.WithoutCancel(enough), one); err != nil {
					failures <- err
					return
				}
				w.note(time.Since(begun))
				if next = next.Add(pause); next.Before(time.Now()) {
					next = time.Now()
				}
			}
		})
	}
	working.Wait()
	close(failures)
	return <-failures
}

func (w *work) note(took time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.times = append(w.times, took)
}

// since returns the measurements since the last call.
func (w *work) since() (rate float64, p50, p99 time.Duration) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	slices.Sort(w.times)
	if count := len(w.times); count > 0 {
		rate = float64(count) / time.Since(w.last).Seconds()
		p50, p99 = w.times[count/2], w.times[count*99/100]
	}
	w.times, w.last = nil, time.Now()
	return rate, p50, p99
}
