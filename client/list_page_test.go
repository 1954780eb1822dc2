package client

import (
	"encoding/json"
	"errors"
	"net/url"
	"testing"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

func TestClient_ListPage_HasTheMarkerOfTheNext(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	for n, name := range []string{"a-host", "b-host", "c-host"} {
		must(client.ProviderCreate(t.Context(), name, id(n+1), uuid.Nil))(t)
	}
	query := url.Values{"sort": {"name"}, "limit": {"2"}, "total": {"true"}, "q": {""}, "marker": {""}}
	page := must(client.ListPage(t.Context(), "resource_providers", query))(t)
	if len(page.Providers) != 2 || page.Providers[0].Name != "a-host" || page.Marker == "" || page.Total == nil || *page.Total != (api.Total{Count: 3, Exact: true}) {
		t.Errorf("first page = %+v", page)
	}
	query.Set("marker", page.Marker)
	page = must(client.ListPage(t.Context(), "resource_providers", query))(t)
	if len(page.Providers) != 1 || page.Providers[0].Name != "c-host" || page.Marker != "" {
		t.Errorf("second page = %+v", page)
	}
	if _, err := client.ListPage(t.Context(), "consumers", url.Values{"marker": {"x"}}); err == nil {
		t.Error("an invalid marker is accepted")
	}
	raw := must(client.ListText(t.Context(), "resource_providers/"+id(1).String()+"/tree", nil))(t)
	var tree struct {
		Root uuid.UUID `json:"root_provider_uuid"`
	}
	if err := json.Unmarshal(raw, &tree); err != nil || tree.Root != id(1) {
		t.Errorf("tree = %s, %v", raw, err)
	}
	if _, err := client.ListText(t.Context(), "consumers/"+id(9).String(), nil); !errors.Is(err, ErrNotFound) {
		t.Errorf("error = %v, want ErrNotFound", err)
	}
}
