package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// concurrentClients is the number of concurrent clients.
const concurrentClients = 16

// hotspot is a server with a database connection for each client.
type hotspot struct {
	testing.TB
	handler http.Handler
	store   *store.Store
}

func newHotspot(t testing.TB) *hotspot {
	t.Helper()
	made := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: concurrentClients}, StandardNames: true})
	return &hotspot{TB: t, store: made.Store, handler: made.Handler}
}

// ask sends a request of a service user and checks that the status is one of statuses.
func (h *hotspot) ask(method, path string, body any, statuses ...int) (status int, answer []byte) {
	h.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		h.Fatal(err)
	}
	r := httptest.NewRequestWithContext(h.Context(), method, path, bytes.NewReader(encoded))
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.handler.ServeHTTP(w, r)
	if !slices.Contains(statuses, w.Code) {
		h.Errorf("%s %s: status = %d %s, want one of %v", method, path, w.Code, w.Body, statuses)
	}
	return w.Code, w.Body.Bytes()
}

// host creates a provider with an inventory of VCPU.
func (h *hotspot) host(total int) uuid.UUID {
	h.Helper()
	id := uuid.New()
	h.ask("POST", "/resource_providers", map[string]any{"name": "host-" + id.String(), "uuid": id}, 200)
	h.ask("PUT", fmt.Sprintf("/resource_providers/%s/inventories", id), map[string]any{
		"resource_provider_generation": 0, "inventories": map[string]any{"VCPU": map[string]int{"total": total}},
	}, 200)
	return id
}

// claim claims VCPUs of a host for a new consumer.
func (h *hotspot) claim(host, consumer uuid.UUID, amount int) (status int) {
	h.Helper()
	status, answer := h.ask("PUT", "/allocations/"+consumer.String(), map[string]any{
		"allocations": map[string]any{host.String(): map[string]any{"resources": map[string]int{"VCPU": amount}}},
		"project_id":  "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
	}, 204, 409)
	// Other conflicts tell the client to retry, which must not happen here.
	if status == 409 && !strings.Contains(string(answer), "exceed") {
		h.Errorf("a claim failed for another reason than capacity: %s", answer)
	}
	return status
}

// used returns the used VCPUs of a host.
func (h *hotspot) used(host uuid.UUID) int {
	h.Helper()
	_, answer := h.ask("GET", fmt.Sprintf("/resource_providers/%s/usages", host), nil, 200)
	var body struct{ Usages map[string]int }
	if err := json.Unmarshal(answer, &body); err != nil {
		h.Error(err)
	}
	return body.Usages["VCPU"]
}

// together runs every client concurrently.
func together(run func(client int)) {
	var clients sync.WaitGroup
	start := make(chan struct{})
	for client := range concurrentClients {
		clients.Go(func() { <-start; run(client) })
	}
	close(start)
	clients.Wait()
}

// TestClaim_ConcurrentUntilFull_UsesExactCapacity checks concurrent claims on one provider until it is
// full. They allocate exactly its capacity, no claim fails before it is full, and every client gets a
// part.
func TestClaim_ConcurrentUntilFull_UsesExactCapacity(t *testing.T) {
	t.Parallel()
	const total = 100 * concurrentClients
	h := newHotspot(t)
	host := h.host(total)
	got := make([]int, concurrentClients)
	together(func(client int) {
		for h.claim(host, uuid.New(), 1) == 204 {
			got[client]++
		}
		// The clients release nothing, so a host that was full is still full.
		if used := h.used(host); used != total {
			t.Errorf("a claim of client %d failed with %d of %d used", client, used, total)
		}
	})
	sum := 0
	for _, claims := range got {
		sum += claims
	}
	if sum != total || h.used(host) != total {
		t.Errorf("clients claimed %d, used = %d, capacity %d", sum, h.used(host), total)
	}
	t.Logf("claims of the clients = %v; %d writes retried", got, h.store.Pool().Retries())
	if least := slices.Min(got); least < total/concurrentClients/4 {
		t.Errorf("fair share is %d, one client got only %d", total/concurrentClients, least)
	}
	if h.store.Pool().Retries() > 0 {
		t.Errorf("%d writes were retried", h.store.Pool().Retries())
	}
}

// TestClaim_CapacityForAll_NoConflicts repeats that each client claims its share of a provider and
// releases it. The capacity suffices for all clients at any moment.
func TestClaim_CapacityForAll_NoConflicts(t *testing.T) {
	t.Parallel()
	const share, rounds = 3, 60
	h := newHotspot(t)
	host := h.host(share * concurrentClients)
	together(func(client int) {
		for round := range rounds {
			consumer := uuid.New()
			if h.claim(host, consumer, share) != 204 {
				t.Errorf("a claim of client %d failed in round %d although its share was free", client, round)
				return
			}
			h.ask("DELETE", "/allocations/"+consumer.String(), nil, 204)
		}
	})
	if used := h.used(host); used != 0 {
		t.Errorf("used = %d without allocations", used)
	}
}

// candidates returns the hosts of the allocation candidates.
func (h *hotspot) candidates() (hosts []uuid.UUID) {
	h.Helper()
	_, answer := h.ask("GET", "/allocation_candidates?resources=VCPU:1", nil, 200)
	var body struct {
		Requests []struct {
			Allocations map[uuid.UUID]any
		} `json:"allocation_requests"`
	}
	if err := json.Unmarshal(answer, &body); err != nil {
		h.Error(err)
	}
	for _, request := range body.Requests {
		for host := range request.Allocations {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// schedule claims slots as a scheduler does: it queries candidates, tries one, and queries again after a
// conflict. It ends when there are no candidates.
func (h *hotspot) schedule(dice *rand.Rand) (claims int, lost []uuid.UUID) {
	h.Helper()
	for {
		offered := h.candidates()
		if len(offered) == 0 {
			return claims, lost
		}
		host := offered[0]
		if dice != nil {
			host = offered[dice.IntN(len(offered))]
		}
		if h.claim(host, uuid.New(), 1) == 204 {
			claims++
			continue
		}
		if slices.Contains(lost, host) {
			h.Errorf("host %s is a candidate again after it was full", host)
			return claims, lost
		}
		lost = append(lost, host)
	}
}

// TestClaim_ConcurrentOnLastSlots_FillsEachHost leaves one slot on each host. The schedulers fill all
// hosts, no host exceeds its capacity, and a scheduler loses at most one conflict for each slot, whether
// it picks a random host or, the worst case, the first one like all others.
func TestClaim_ConcurrentOnLastSlots_FillsEachHost(t *testing.T) {
	t.Parallel()
	for name, random := range map[string]bool{"any host": true, "the first host": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const slots, size = 48, 8
			h := newHotspot(t)
			var hosts []uuid.UUID
			for range slots {
				host := h.host(size)
				hosts = append(hosts, host)
				h.claim(host, uuid.New(), size-1)
			}
			claims, conflicts := make([]int, concurrentClients), make([]int, concurrentClients)
			together(func(client int) {
				var dice *rand.Rand
				if random {
					dice = rand.New(rand.NewPCG(uint64(client), 5))
				}
				made, lost := h.schedule(dice)
				claims[client], conflicts[client] = made, len(lost)
			})
			sum := 0
			for _, made := range claims {
				sum += made
			}
			t.Logf("slots filled by each scheduler = %v, conflicts = %v", claims, conflicts)
			if sum != slots {
				t.Errorf("%d slots were filled, want %d", sum, slots)
			}
			for _, host := range hosts {
				if used := h.used(host); used != size {
					t.Errorf("host %s: used = %d, want %d", host, used, size)
				}
			}
		})
	}
}
