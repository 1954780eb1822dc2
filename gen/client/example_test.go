package client_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/client"
)

// signed is asked before every request: it says who asks and for which
// microversion, so that params may be nil.
func signed(_ context.Context, request *http.Request) error {
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", string(client.MicroversionPlacement139))
	return nil
}

// A provider is created and told what it has; a writer that comes too late learns
// so from the code of the error.
func Example() {
	ctx := context.Background()
	placement, err := client.NewClientWithResponses("http://127.0.0.1:8778", client.WithRequestEditorFn(signed))
	if err != nil {
		fmt.Println(err)
		return
	}
	created, err := placement.ProviderCreateWithResponse(ctx, nil, client.ProviderCreate{
		Name: "compute-17", UUID: new(uuid.New()),
	})
	if err != nil || created.JSON200 == nil {
		fmt.Println("not created:", err, string(created.Body))
		return
	}
	host, err := created.JSON200.AsProvider()
	if err != nil {
		fmt.Println("no provider:", err)
		return
	}
	replaced, err := placement.InventoryReplaceWithResponse(ctx, host.UUID.String(), nil, client.InventoriesReplace{
		ResourceProviderGeneration: host.Generation,
		Inventories: map[string]client.InventoryRecord{
			"VCPU": {Total: 64, AllocationRatio: new(4.0)}, "MEMORY_MB": {Total: 262144, Reserved: new(int32(4096))},
		},
	})
	switch {
	case err != nil:
		fmt.Println(err)
	case replaced.JSON409 != nil && *replaced.JSON409.Errors[0].Code == client.ErrorCodePlacementConcurrentUpdate:
		fmt.Println("generation conflict: read the provider again")
	case replaced.JSON200 != nil:
		if now, err := replaced.JSON200.AsInventories(); err == nil {
			fmt.Println("the next write sends generation", now.ResourceProviderGeneration)
		}
	}
}

// Two devices on different providers of one tree, the second with two traits that
// must both hold. The repeated parameter is added to the query by hand.
func Example_groups() {
	ctx := context.Background()
	placement, err := client.NewClientWithResponses("http://127.0.0.1:8778", client.WithRequestEditorFn(signed))
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := placement.CandidateListWithResponse(ctx, &client.CandidateListParams{
		OpenStackAPIVersion: client.MicroversionPlacement139,
		GroupPolicy:         new(client.CandidateListParamsGroupPolicyIsolate),
		Groups: map[string]string{
			"resources_CPU": "VCPU:2,MEMORY_MB:2048",
			"resources_NET": "SRIOV_NET_VF:1", "required_NET": "in:CUSTOM_FAST,CUSTOM_FASTER",
		},
	}, func(_ context.Context, request *http.Request) error {
		request.URL.RawQuery += "&required_NET=CUSTOM_PHYSNET_BLUE"
		return nil
	})
	if err != nil || found.JSON200 == nil {
		fmt.Println("not answered:", err)
		return
	}
	for _, candidate := range found.JSON200.AllocationRequests {
		fmt.Println("the device is of provider", candidate.Mappings["_NET"])
	}
}
