package client

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"
)

func TestClient_Providers_FollowsLinksWithParts(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	smallHost(t, client)
	must(client.ProviderCreate(t.Context(), "a-host", id(2), uuid.Nil))(t)
	must(client.ProviderCreate(t.Context(), "host-3", id(3), uuid.Nil))(t)
	var names []string
	query := ProviderQuery{Include: []string{"inventories", "usages", "traits", "aggregates"}, Sort: "name", PageSize: 1}
	for provider, err := range client.Providers(t.Context(), query) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, provider.Name)
		if provider.Name == "host" && (provider.Inventories["VCPU"].Total != 4 || !reflect.DeepEqual(provider.Usages, map[string]int64{"VCPU": 0})) {
			t.Errorf("provider = %+v, want its inventories and usages", provider)
		}
	}
	if !slices.Equal(names, []string{"a-host", "host", "host-3"}) {
		t.Errorf("names = %q", names)
	}
	names = nil
	for provider, err := range client.Providers(t.Context(), ProviderQuery{Prefix: "host"}) {
		if err != nil || provider.Inventories != nil {
			t.Fatal(err, provider.Inventories)
		}
		names = append(names, provider.Name)
	}
	if !slices.Equal(names, []string{"host", "host-3"}) {
		t.Errorf("names = %q", names)
	}
}

func TestClient_Aggregates_FollowsLinks(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	provider := must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := client.ProviderAggregateReplace(t.Context(), id(1), provider.Generation, []uuid.UUID{id(7), id(8)}); err != nil {
		t.Fatal(err)
	}
	for name, query := range map[string]AggregateQuery{"pages": {PageSize: 1}, "by UUID": {UUIDs: []uuid.UUID{id(7), id(8)}}, "of a provider": {Provider: id(1)}} {
		var listed []uuid.UUID
		for aggregate, err := range client.Aggregates(t.Context(), query) {
			if err != nil || aggregate.ResourceProviderCount != 1 || aggregate.SharingProviderCount != 0 || aggregate.CreatedAt.IsZero() {
				t.Fatal(err, aggregate)
			}
			listed = append(listed, aggregate.UUID)
		}
		slices.SortFunc(listed, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
		if !slices.Equal(listed, []uuid.UUID{id(7), id(8)}) {
			t.Errorf("%s = %v", name, listed)
		}
	}
}
