package command

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

var slowRounds = flag.Int("slowreaders.rounds", 0, "number of rounds of TestLimits_SlowReaders_Latency; 0 skips it")

// fastClients is the number of clients that send requests without a pause.
const fastClients = 4

// latencies are the latencies of the fast requests of one phase.
type latencies struct{ get, put []time.Duration }

// TestLimits_SlowReaders_Latency measures fast GETs and PUTs, alternately without and with slow readers
// of large responses. It does not check the latencies, which are for
// docs/decisions/0010-bounded-answers.md. Run it with 'make bench-slow-readers'.
func TestLimits_SlowReaders_Latency(t *testing.T) {
	if *slowRounds == 0 {
		t.Skip("-slowreaders.rounds is 0")
	}
	c := setupCrowd(t, "--db-max-connections", "8", "--spool-dir", t.TempDir(), "--access-log=false")
	var providers []string
	rows, err := c.db.Pool.Query(t.Context(), "SELECT uuid::text FROM resource_providers")
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var provider string
		if err := rows.Scan(&provider); err != nil {
			t.Fatal(err)
		}
		providers = append(providers, provider)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	c.measure(providers, 2*time.Second) // warm-up
	var p99 [2]struct{ get, put []time.Duration }
	for range *slowRounds {
		for phase := range 2 {
			wait, end := func() {}, func() {}
			if phase == 1 {
				wait, end = c.startReaders()
			}
			found := c.measure(providers, *slowFor)
			end()
			wait()
			p99[phase].get = append(p99[phase].get, quantile(found.get))
			p99[phase].put = append(p99[phase].put, quantile(found.put))
		}
	}
	for name, pair := range map[string][2][]time.Duration{"GET": {p99[0].get, p99[1].get}, "PUT": {p99[0].put, p99[1].put}} {
		alone, beside := median(pair[0]), median(pair[1])
		t.Logf("p99 of %s, median of %d rounds: %v alone, %v beside %d slow readers, %.2f times", name, *slowRounds,
			alone, beside, *slowReaders, float64(beside)/float64(alone))
	}
}

// startReaders starts slow readers and waits until the server has completed their responses.
func (c *crowd) startReaders() (wait, end func()) {
	ctx, cancel := context.WithCancel(c.t.Context())
	var all sync.WaitGroup
	for i := range *slowReaders {
		conn, err := c.open("unix", c.socket, largeResponses[i%len(largeResponses)])
		if err != nil {
			c.t.Fatal(err)
		}
		all.Go(func() {
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			trickle(ctx, conn, 100*time.Millisecond)
		})
	}
	c.until("the server writes all responses", func() bool { return c.metric("berth_http_answers_writing") >= float64(*slowReaders) })
	return all.Wait, cancel
}

// measure sends fast requests for a duration.
func (c *crowd) measure(providers []string, duration time.Duration) (all latencies) {
	c.t.Helper()
	var mutex sync.Mutex
	var clients sync.WaitGroup
	end := time.Now().Add(duration)
	for range fastClients {
		clients.Go(func() {
			var own latencies
			for time.Now().Before(end) {
				provider := providers[rand.IntN(len(providers))]
				own.get = append(own.get, c.timed(http.MethodGet, "/resource_providers/"+provider, "", http.StatusOK))
				own.put = append(own.put, c.timed(http.MethodPut, "/allocations/"+uuid.NewString(), fmt.Sprintf(
					`{"allocations": {%q: {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u", "consumer_generation": null}`, provider),
					http.StatusNoContent, http.StatusConflict))
			}
			mutex.Lock()
			defer mutex.Unlock()
			all.get, all.put = append(all.get, own.get...), append(all.put, own.put...)
		})
	}
	clients.Wait()
	return all
}

// timed sends a request and returns its latency.
func (c *crowd) timed(method, path, body string, want ...int) time.Duration {
	start := time.Now()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Error(err)
		return 0
	}
	for name, value := range map[string]string{"X-Auth-Token": "admin", "X-Roles": "admin,service", "OpenStack-API-Version": "placement 1.28", "Content-Type": "application/json"} {
		r.Header.Set(name, value)
	}
	response, err := c.client.Do(r)
	if err != nil {
		c.t.Error(err)
		return 0
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil || !slices.Contains(want, response.StatusCode) {
		c.t.Errorf("%s %s: status %d, %v", method, path, response.StatusCode, err)
	}
	return time.Since(start)
}

// quantile returns the 99th percentile.
func quantile(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)*99/100]
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}
