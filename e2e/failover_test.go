//go:build client

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/test/dbtest"
)

// answer is what a plain HTTP client gets.
type answer struct {
	status int
	body   string
	header http.Header
}

// isOutcomeUnknown reports whether an error response states that the write may have been executed.
func isOutcomeUnknown(body string) bool {
	return strings.Contains(body, "while the change was being written") ||
		strings.Contains(body, "may or may not have been applied")
}

// ask sends one request, without the retries of a client library.
func ask(t *testing.T, method, url string, body any) answer {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Body = io.NopCloser(bytes.NewReader(encoded))
		request.ContentLength = int64(len(encoded))
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("X-Roles", "admin,service")
	request.Header.Set("OpenStack-API-Version", "placement 1.39, baremetal 1.82")
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Errorf("%s %s: %v", method, url, err)
		return answer{}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Errorf("%s %s: the answer breaks off: %v", method, url, err)
	}
	return answer{response.StatusCode, string(text), response.Header}
}

// mustAsk is ask where the answer is known.
func mustAsk(t *testing.T, want int, method, url string, body any) answer {
	t.Helper()
	got := ask(t, method, url, body)
	if got.status != want {
		t.Fatalf("%s %s: got %d %s, want %d", method, url, got.status, got.body, want)
	}
	return got
}

// newProvider makes a provider with so much VCPU.
func newProvider(t *testing.T, url, name string, total int) uuid.UUID {
	t.Helper()
	id := uuid.New()
	mustAsk(t, 200, "POST", url+"/resource_providers", map[string]any{"name": name, "uuid": id})
	mustAsk(t, 200, "PUT", fmt.Sprintf("%s/resource_providers/%s/inventories", url, id), map[string]any{
		"resource_provider_generation": 0, "inventories": map[string]any{"VCPU": map[string]any{"total": total}},
	})
	return id
}

func claimBody(provider uuid.UUID, generation any) map[string]any {
	return map[string]any{
		"allocations": map[string]any{provider.String(): map[string]any{"resources": map[string]int{"VCPU": 1}}},
		"project_id":  "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": generation,
	}
}

// claimer claims for one consumer after the other and keeps the books.
type claimer struct {
	url       string
	providers []uuid.UUID
	done      <-chan struct{}

	mu sync.Mutex
	// acknowledged are consumers by provider.
	acknowledged map[uuid.UUID]uuid.UUID
	// late is how many were acknowledged lately, since they were last counted.
	late, refusals, doubts int
}

func (c *claimer) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	counted := c.late
	c.late = 0
	return counted
}

// claim claims once, and sends the same again for as long as it may.
func (c *claimer) claim(t *testing.T, provider uuid.UUID) {
	consumer := uuid.New()
	doubtful := false
	for {
		got := ask(t, "PUT", c.url+"/allocations/"+consumer.String(), claimBody(provider, nil))
		switch {
		case got.status == 204,
			// The server executed the first attempt, whose outcome was unknown.
			got.status == 409 && doubtful && strings.Contains(got.body, "consumer generation conflict"):
			c.mu.Lock()
			defer c.mu.Unlock()
			c.acknowledged[consumer] = provider
			c.late++
			return
		case !retryable(t, "a claim", got):
			return
		}
		c.mu.Lock()
		c.refusals++
		if isOutcomeUnknown(got.body) {
			c.doubts, doubtful = c.doubts+1, true
		}
		c.mu.Unlock()
		select {
		case <-c.done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// retryable says that an answer is the one error that clients may see.
func retryable(t *testing.T, what string, got answer) bool {
	t.Helper()
	after, err := strconv.Atoi(got.header.Get("Retry-After"))
	if got.status != 503 || err != nil || after < 1 {
		t.Errorf("%s: got %d %s with Retry-After %q", what, got.status, got.body, got.header.Get("Retry-After"))
		return false
	}
	return true
}

// TestFailover_SyncStandbyPromoted_KeepsAcknowledgedWrites kills the primary while clients of two
// servers write and read, and promotes its synchronous standby.
func TestFailover_SyncStandbyPromoted_KeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t)
	standby := newStandby(t, primary, "standby")
	primary.await("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')")
	primary.exec("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
	primary.await("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")

	url := primary.url(standby) // and no word about target_session_attrs
	hurried := []string{"--baremetal-heartbeat-interval", "200ms", "--baremetal-heartbeat-timeout", "2s", "--baremetal-takeover-interval", "500ms"}
	servers := []*served{serveOn(t, url, hurried...), serveOn(t, url, hurried...)}
	var providers []uuid.UUID
	for i := range 4 {
		providers = append(providers, newProvider(t, servers[i%2].url, fmt.Sprintf("host-%d", i), 1000000))
	}

	done := make(chan struct{})
	var clients sync.WaitGroup
	t.Cleanup(clients.Wait) // also after a Fatal, which closes nothing else
	stop := sync.OnceFunc(func() { close(done) })
	t.Cleanup(stop)
	var claimers []*claimer
	for i := range 6 {
		one := &claimer{url: servers[i%2].url, providers: providers, done: done, acknowledged: map[uuid.UUID]uuid.UUID{}}
		claimers = append(claimers, one)
		clients.Go(func() {
			for n := 0; !isClosed(done); n++ {
				one.claim(t, providers[n%len(providers)])
			}
		})
	}
	for i, path := range []string{"/allocation_candidates?resources=VCPU:1", "/resource_providers", "/v1/nodes"} {
		clients.Go(func() {
			for !isClosed(done) {
				if got := ask(t, "GET", servers[i%2].url+path, nil); got.status != 200 {
					retryable(t, path, got)
					time.Sleep(50 * time.Millisecond)
				}
			}
		})
	}

	awaitClaims(t, claimers, 20)
	primary.crash()
	time.Sleep(2 * time.Second) // longer than any request waits
	standby.promote()
	promoted := time.Now()
	awaitClaims(t, claimers, 20)
	t.Logf("all clients had 20 claims %s after the promotion", time.Since(promoted).Round(time.Millisecond))
	stop()
	clients.Wait()

	checkClaims(t, servers[1].url, claimers)
	dbtest.Audit(t, &dbtest.DB{Pool: standby.pool("berth")})
	hearsOfWork(t, servers)
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// awaitClaims waits until each has had so many more claims acknowledged.
func awaitClaims(t *testing.T, claimers []*claimer, wanted int) {
	t.Helper()
	for _, one := range claimers {
		one.count()
	}
	since := time.Now()
	for _, one := range claimers {
		for had := 0; had < wanted; had += one.count() {
			if time.Since(since) > 20*time.Second {
				t.Fatalf("a client had only %d claims in %s", had, time.Since(since))
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// checkClaims finds every claim that was acknowledged.
func checkClaims(t *testing.T, url string, claimers []*claimer) {
	t.Helper()
	total, refusals, doubts := 0, 0, 0
	for _, one := range claimers {
		refusals, doubts = refusals+one.refusals, doubts+one.doubts
		for consumer, provider := range one.acknowledged {
			total++
			got := mustAsk(t, 200, "GET", url+"/allocations/"+consumer.String(), nil)
			if !strings.Contains(got.body, provider.String()) || !strings.Contains(got.body, `"VCPU":1`) && !strings.Contains(got.body, `"VCPU": 1`) {
				t.Errorf("the claim of %s was acknowledged and is gone: %s", consumer, got.body)
			}
		}
	}
	t.Logf("%d claims were acknowledged, %d refused for a while, %d of those with an unknown outcome", total, refusals, doubts)
	if refusals == 0 {
		t.Error("no request failed: the failover was not during the load")
	}
}

// hearsOfWork makes a machine at one server and has it from the other: the conductors
// have found the new primary as well, and hear of work there.
func hearsOfWork(t *testing.T, servers []*served) {
	t.Helper()
	provideNodes(t, bareMetalOf(t, servers[0].url), 1)
	given, err := bareMetalOf(t, servers[1].url).NodeAllocationCreate(t.Context(), baremetal.NewAllocation{ResourceClass: "gold"})
	if err != nil {
		t.Fatal(err)
	}
	if given, err = bareMetalOf(t, servers[0].url).WaitForAllocation(t.Context(), given.UUID.String(), nil); err != nil || given.NodeUUID == nil {
		t.Errorf("got %+v and %v", given, err)
	}
}
