package client

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestClient_TreeShown_HasPartsSharingAndConsumers(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	c.claim(t, id(120), map[uuid.UUID]Resources{storage: {"DISK_GB": 5}})
	tree := must(c.client.TreeShow(t.Context(), numa1, TreeInventories, TreeUsages, TreeTraits, TreeAggregates, TreeSharing, TreeConsumers))(t)
	if tree.Root != cn || len(tree.Providers) != 3 || tree.Providers[0].UUID != cn || tree.Providers[1].Parent != cn {
		t.Errorf("tree = %+v", tree)
	}
	if one := tree.Providers[0]; one.Usages["VGPU"] != 2 || one.Inventories["VGPU"].Total != 4 || !slices.Equal(one.Aggregates, ids(201)) {
		t.Errorf("root = %+v", one)
	}
	if len(tree.Sharing) != 1 || tree.Sharing[0].UUID != storage || !slices.Equal(tree.Sharing[0].Traits, []string{sharingTrait}) {
		t.Errorf("sharing providers = %+v", tree.Sharing)
	}
	if len(tree.Consumers) != 3 || !tree.Consumers[id(120)].SharingOnly || tree.Consumers[instanceA].SharingOnly {
		t.Errorf("consumers = %+v", tree.Consumers)
	}
	single := must(c.operator.AllocationList(t.Context(), instanceA))(t)
	shown := tree.Consumers[instanceA]
	if *shown.Generation != *single.Generation || shown.ProjectID != single.ProjectID || shown.Type != single.Type ||
		shown.Allocations[numa1]["VCPU"] != 2 || shown.Places[storage].Name != "ssp" || shown.Places[storage].CreatedAt.IsZero() {
		t.Errorf("consumer = %+v, want %+v", shown, single)
	}
}

func TestClient_TreeShownByOlderService_ReturnsErrExtensions(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	c.wire.Newest = "1.3"
	if _, err := c.client.TreeShow(t.Context(), cn); !errors.Is(err, ErrExtensions) {
		t.Errorf("error = %v, want ErrExtensions", err)
	}
}

func TestClient_TreeShownOfUnknownProvider_ReturnsErrNotFound(t *testing.T) {
	t.Parallel()
	if _, err := extendedCloud(t).client.TreeShow(t.Context(), id(199)); !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}

// TestClient_AllocationsOfTree_IncludeSharingOnly compares what one request and one for each provider find.
func TestClient_AllocationsOfTree_IncludeSharingOnly(t *testing.T) {
	t.Parallel()
	tooMany := func(request *http.Request) (*http.Response, error) {
		if !strings.Contains(request.URL.RawQuery, "consumers") {
			return nil, nil
		}
		body := `{"errors": [{"status": 400, "title": "Bad Request", "code": "berth.tree.too_many_consumers", "detail": "too many", "request_id": "req-1"}]}`
		return &http.Response{
			StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/json"}, "Openstack-Api-Version": {"placement 1.39", "berth 1.4"}},
			Body: io.NopCloser(strings.NewReader(body)), Request: request,
		}, nil
	}
	for name, test := range map[string]struct {
		newest string
		before func(*http.Request) (*http.Response, error)
		want   []uuid.UUID
		shown  bool
	}{
		"berth 1.4":          {"1.4", nil, []uuid.UUID{instanceA, instanceB, id(120)}, true},
		"too many consumers": {"1.4", tooMany, []uuid.UUID{instanceA, instanceB}, true},
		"berth 1.3":          {"1.3", nil, []uuid.UUID{instanceA, instanceB}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := extendedCloud(t)
			c.wire.Newest, c.wire.Before = test.newest, test.before
			c.claim(t, id(120), map[uuid.UUID]Resources{storage: {"DISK_GB": 5}})
			c.load(t)
			c.requests()
			found := must(c.client.GetAllocationsForProviderTree(t.Context(), "cn"))(t)
			sent := c.requests()
			if got := found.Consumers(); !slices.Equal(got, sortedIDs(test.want)) {
				t.Errorf("consumers = %v, want %v", got, test.want)
			}
			if shown := slices.Contains(sent, "GET /rp/CN/tree?include=sharing,consumers"); shown != test.shown || test.before == nil && test.shown != (len(sent) == 1) {
				t.Errorf("sent %q", sent)
			}
			for consumer, record := range found {
				single := must(c.operator.AllocationList(t.Context(), consumer))(t)
				if *record.Generation != *single.Generation || len(record.Allocations) != len(single.Allocations) || record.Type != single.Type {
					t.Errorf("record = %+v, want %+v", record, single)
				}
			}
		})
	}
}
