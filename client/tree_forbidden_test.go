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

// forbidsTrees answers requests for trees as a policy that permits only the requests for single providers.
func forbidsTrees(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/tree") || request.Method != http.MethodGet {
		return nil, nil
	}
	body := `{"errors": [{"status": 403, "title": "Forbidden", "detail": "Policy does not allow berth:tree:show to be performed.", "request_id": "req-1"}]}`
	return &http.Response{
		StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}, "Openstack-Api-Version": {"placement 1.39", "berth 1.4"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: request,
	}, nil
}

func TestClient_TreeForbidden_ReadsSingleProviders(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	c.wire.Before = forbidsTrees
	if _, err := c.client.TreeShow(t.Context(), cn); !errors.Is(err, ErrForbidden) {
		t.Errorf("error = %v, want ErrForbidden", err)
	}
	tree := must(c.client.GetProviderTreeAndEnsureRoot(t.Context(), cn, "cn", uuid.Nil))(t)
	if members := must(tree.UUIDsInTree("cn"))(t); !slices.Equal(sortedIDs(members), ids(1, 2, 3)) {
		t.Errorf("members = %v", members)
	}
	if node := must(tree.Provider("numa1"))(t); node.Inventories["VCPU"].Total != 8 {
		t.Errorf("provider = %+v", node)
	}
	found := must(c.client.GetAllocationsForProviderTree(t.Context(), "cn"))(t)
	if got := found.Consumers(); !slices.Equal(got, []uuid.UUID{instanceA, instanceB}) || found[instanceA].Allocations[storage]["DISK_GB"] != 10 {
		t.Errorf("consumers = %v", got)
	}
}
