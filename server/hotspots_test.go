package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// herd is how many clients want the same at once.
const herd = 16

// hotspot is a service with a connection for each of the herd.
type hotspot struct {
	testing.TB
	handler http.Handler
	store   *store.Store
}

func newHotspot(t testing.TB) *hotspot {
	t.Helper()
	db := dbtest.Guarded(t)
	opened, err := store.Open(t.Context(), store.Options{URL: db.URL, MaxConns: herd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if err := opened.SyncStandardNames(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &hotspot{TB: t, store: opened, handler: server.New(server.Options{
		Store: opened, Log: slog.New(slog.DiscardHandler), EnforceNewDefaults: true, MaxCandidates: -1, MaxBodyBytes: 1 << 20,
	})}
}

// ask sends a request of a service and wants one of some statuses.
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
		h.Errorf("%s %s: got %d %s, want one of %v", method, path, w.Code, w.Body, statuses)
	}
	return w.Code, w.Body.Bytes()
}

// host makes a provider with so much VCPU.
func (h *hotspot) host(total int) uuid.UUID {
	h.Helper()
	id := uuid.New()
	h.ask("POST", "/resource_providers", map[string]any{"name": "host-" + id.String(), "uuid": id}, 200)
	h.ask("PUT", fmt.Sprintf("/resource_providers/%s/inventories", id), map[string]any{
		"resource_provider_generation": 0, "inventories": map[string]any{"VCPU": map[string]int{"total": total}},
	}, 200)
	return id
}

// claim asks for some VCPU of a host, for a new consumer.
func (h *hotspot) claim(host, consumer uuid.UUID, amount int) (status int) {
	h.Helper()
	status, answer := h.ask("PUT", "/allocations/"+consumer.String(), map[string]any{
		"allocations": map[string]any{host.String(): map[string]any{"resources": map[string]int{"VCPU": amount}}},
		"project_id":  "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
	}, 204, 409)
	// The other conflicts ask to send the request again; here nobody may have to.
	if status == 409 && !strings.Contains(string(answer), "exceed") {
		h.Errorf("a claim is refused, and not for want of room: %s", answer)
	}
	return status
}

// used reads how much of a host's VCPU is taken.
func (h *hotspot) used(host uuid.UUID) int {
	h.Helper()
	_, answer := h.ask("GET", fmt.Sprintf("/resource_providers/%s/usages", host), nil, 200)
	var body struct{ Usages map[string]int }
	if err := json.Unmarshal(answer, &body); err != nil {
		h.Error(err)
	}
	return body.Usages["VCPU"]
}

// together lets every client of the herd run at once.
func together(run func(client int)) {
	var clients sync.WaitGroup
	start := make(chan struct{})
	for client := range herd {
		clients.Go(func() { <-start; run(client) })
	}
	close(start)
	clients.Wait()
}

// TestAHerdOnOneProviderGetsExactlyItsCapacity: all claim of one provider until it is
// full. What is handed out is its capacity, nobody is refused before it is full, and
// nobody is left behind.
func TestAHerdOnOneProviderGetsExactlyItsCapacity(t *testing.T) {
	t.Parallel()
	const total = 100 * herd
	h := newHotspot(t)
	host := h.host(total)
	got := make([]int, herd)
	together(func(client int) {
		for h.claim(host, uuid.New(), 1) == 204 {
			got[client]++
		}
		// Nothing is given back, so what was full when it refused is full now.
		if used := h.used(host); used != total {
			t.Errorf("client %d was refused, and %d of %d were taken", client, used, total)
		}
	})
	sum := 0
	for _, claims := range got {
		sum += claims
	}
	if sum != total || h.used(host) != total {
		t.Errorf("%d were handed out and %d are taken, of %d", sum, h.used(host), total)
	}
	t.Logf("the clients got %v; %d writes begun again", got, h.store.Retries())
	if least := slices.Min(got); least < total/herd/4 {
		t.Errorf("of %d each, one client got only %d", total/herd, least)
	}
	if h.store.Retries() > 0 {
		t.Errorf("%d writes were begun again", h.store.Retries())
	}
}

// TestNobodyIsRefusedWhereThereIsRoomForAll: each client takes its share of a provider
// and gives it back, again and again. There is room for all of them at any moment.
func TestNobodyIsRefusedWhereThereIsRoomForAll(t *testing.T) {
	t.Parallel()
	const share, rounds = 3, 60
	h := newHotspot(t)
	host := h.host(share * herd)
	together(func(client int) {
		for round := range rounds {
			consumer := uuid.New()
			if h.claim(host, consumer, share) != 204 {
				t.Errorf("client %d was refused in round %d, and its share was free", client, round)
				return
			}
			h.ask("DELETE", "/allocations/"+consumer.String(), nil, 204)
		}
	})
	if used := h.used(host); used != 0 {
		t.Errorf("%d are taken and nobody has them", used)
	}
}

// candidates are the hosts that a scheduler is offered.
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

// schedule takes slots as a scheduler does: it asks where there is room, tries one, and
// asks again when somebody was faster. It ends when there is no room anywhere.
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
			h.Errorf("host %s was offered again after it had been found full", host)
			return claims, lost
		}
		lost = append(lost, host)
	}
}

// TestAHerdOfSchedulersFillsTheLastSlotsOfACloud: on each host one slot is left. All
// are filled, no host gets one too many, and a scheduler loses the race for a slot at
// most once, whether it takes any host or, as is worst, the first as all the others do.
func TestAHerdOfSchedulersFillsTheLastSlotsOfACloud(t *testing.T) {
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
			claims, conflicts := make([]int, herd), make([]int, herd)
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
			t.Logf("the schedulers filled %v slots and lost the race for %v", claims, conflicts)
			if sum != slots {
				t.Errorf("%d slots were filled of %d", sum, slots)
			}
			for _, host := range hosts {
				if used := h.used(host); used != size {
					t.Errorf("host %s has %d of %d taken", host, used, size)
				}
			}
		})
	}
}
