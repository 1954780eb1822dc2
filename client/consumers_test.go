package client

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// someConsumers creates a host, and three consumers on it.
func someConsumers(t *testing.T, client *Client) {
	t.Helper()
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := client.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 9}, "MEMORY_MB": {Total: 9}}); err != nil {
		t.Fatal(err)
	}
	for number := 11; number <= 13; number++ {
		if err := client.AllocationReplace(t.Context(), id(number), &Consumer{
			ProjectID: "p", UserID: "u", Type: "INSTANCE", Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": 1, "MEMORY_MB": 2}},
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func TestClient_Consumers_FollowsLinksInEveryOrder(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	someConsumers(t, client)
	list := func(filter ConsumerFilter) (ids []uuid.UUID) {
		t.Helper()
		for found, err := range client.Consumers(t.Context(), filter) {
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, found.UUID)
		}
		return ids
	}
	forward := []uuid.UUID{id(11), id(12), id(13)}
	backward := []uuid.UUID{id(13), id(12), id(11)}
	for name, c := range map[string]struct {
		filter ConsumerFilter
		want   []uuid.UUID
	}{
		"all":    {ConsumerFilter{}, forward},
		"pages":  {ConsumerFilter{PageSize: 1}, forward},
		"newest": {ConsumerFilter{PageSize: 2, NewestFirst: true}, backward},
		"search": {ConsumerFilter{PageSize: 2, NewestFirst: true, Search: id(11).String()[:35]}, forward},
		"all filters": {ConsumerFilter{
			UUIDs: forward[:2], ProjectID: "p", UserID: "u", Type: "INSTANCE", Providers: []uuid.UUID{id(1)}, InTree: id(1).String(), Classes: []string{"VCPU"},
			CreatedAfter: time.Now().Add(-time.Hour), UpdatedBefore: time.Now().Add(time.Hour),
		}, forward[:2]},
		"unknown trait": {ConsumerFilter{Trait: "CUSTOM_NONE"}, nil},
	} {
		if got := list(c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%s: consumers = %v, want %v", name, got, c.want)
		}
	}
	wire.Requests()
	for range client.Consumers(t.Context(), ConsumerFilter{PageSize: 1}) {
		break
	}
	if got := wire.Requests(); !slices.Equal(got, []string{"GET /consumers?limit=1"}) {
		t.Errorf("requests = %q, want one page", got)
	}
}

func TestClient_ConsumerShow_ReturnsAllocationsInOrder(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	someConsumers(t, client)
	found := must(client.ConsumerShow(t.Context(), id(12)))(t)
	if found.UUID != id(12) || found.Type != "INSTANCE" || found.ProviderCount != 1 || len(found.Allocations) != 1 || found.Allocations[0].Name != "host" ||
		found.Allocations[0].Provider != id(1) || !slices.Equal(found.Resources, ClassAmounts{{"VCPU", 1}, {"MEMORY_MB", 2}}) || found.NodeAllocation != nil {
		t.Errorf("consumer = %+v", found)
	}
	written := must(json.Marshal(found))(t)
	var again ListedConsumer
	if err := json.Unmarshal(written, &again); err != nil || len(again.Allocations) != 1 || !strings.Contains(string(written), `"resources":{"VCPU":1,"MEMORY_MB":2}`) {
		t.Errorf("JSON = %s, %v", written, err)
	}
	if _, err := client.ConsumerShow(t.Context(), id(99)); !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}

func TestClient_ConsumersOfOlderService_ReturnErrExtensions(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{After: func(_ *http.Request, answer *http.Response) (*http.Response, error) {
		answer.Header.Set(versionHeader, "placement 1.39")
		return answer, nil
	}}
	client := newClient(t, WithTransport(wire))
	for _, err := range client.Consumers(t.Context(), ConsumerFilter{}) {
		if !errors.Is(err, ErrExtensions) {
			t.Errorf("error = %v, want ErrExtensions", err)
		}
	}
	if _, err := client.ConsumerShow(t.Context(), id(1)); !errors.Is(err, ErrExtensions) {
		t.Errorf("error = %v, want ErrExtensions", err)
	}
}
