// Command extensions searches for allocation candidates with the client that oapi-codegen generates from the OpenAPI
// document of the extensions. TestOpenAPI_ExtensionClients_SearchForCandidates adds the generated file to this package,
// and runs it with the URL of a server. It exits with 1 at the first unexpected result.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"reflect"

	"github.com/google/uuid"
)

const version = MicroversionPlacement139Berth17

func main() {
	log.SetFlags(0)
	berth, err := NewClientWithResponses(os.Args[1], WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-Auth-Token", "admin")
		return nil
	}))
	check(err == nil, err)
	host := create(berth, "host", nil)
	below := &host
	gpus := []uuid.UUID{create(berth, "gpu-0", below), create(berth, "gpu-1", below)}
	stock(berth, host, "VCPU", 8)
	for _, gpu := range gpus {
		stock(berth, gpu, "VGPU", 2)
	}
	found := search(berth)
	check(len(found.AllocationRequests) == 2, "candidates:", found.AllocationRequests)
	for _, candidate := range found.AllocationRequests {
		a, b := candidate.Mappings["_A"], candidate.Mappings["_B"]
		check(len(a) == 1 && len(b) == 1 && a[0] != b[0] && len(candidate.Allocations) == 3, "candidate:", candidate)
	}
	refuse(berth)
	explain(berth)
	read(berth, gpus[0], host)
	fmt.Println("all results were as expected")
}

// search sends the same query with GET and with POST, and returns their response.
func search(berth *ClientWithResponses) Candidates {
	listed, err := berth.CandidateListWithResponse(context.Background(), &CandidateListParams{
		OpenStackAPIVersion: version,
		Resources:           new("VCPU:2"), Groups: map[string]string{"resources_A": "VGPU:1", "resources_B": "VGPU:1"},
		Isolate: []string{"_A,_B"}, CanSplit: []string{"VCPU"}, Order: new("pack:VGPU"), LimitPerTree: new(5),
	})
	check(err == nil && listed.JSON200 != nil, err, listed)
	searched, err := berth.CandidateSearchWithResponse(context.Background(), &CandidateSearchParams{version}, CandidateSearch{
		Groups: map[string]SearchedGroup{
			"": {Resources: map[string]int64{"VCPU": 2}}, "_A": {Resources: map[string]int64{"VGPU": 1}}, "_B": {Resources: map[string]int64{"VGPU": 1}},
		},
		Isolate: [][]string{{"_A", "_B"}}, CanSplit: []string{"VCPU"}, Order: new("pack:VGPU"), LimitPerTree: new(int64(5)),
	})
	check(err == nil && searched.JSON200 != nil, err, searched)
	check(reflect.DeepEqual(listed.JSON200, searched.JSON200), "GET and POST differ:", string(listed.Body), string(searched.Body))
	check(reflect.DeepEqual(searched.HTTPResponse.Header.Values("OpenStack-API-Version"), []string{"placement 1.39", "berth 1.7"}),
		"header:", searched.HTTPResponse.Header)
	return *searched.JSON200
}

// explain checks the explanation of a query without candidates.
func explain(berth *ClientWithResponses) {
	empty := CandidateListParamsExplainEmpty
	listed, err := berth.CandidateListWithResponse(context.Background(), &CandidateListParams{
		OpenStackAPIVersion: version, Resources: new("VCPU:9"), Explain: &empty,
	})
	check(err == nil && listed.JSON200 != nil, err, listed)
	why := listed.JSON200.Explanation
	check(why != nil && why.Reason == "amount" && len(why.Facts) == 1 && why.Facts[0].Providers == 1, string(listed.Body))
}

// read checks the tree of a provider, the consumers and the number of members that fit.
func read(berth *ClientWithResponses, gpu, root uuid.UUID) {
	tree, err := berth.TreeShowWithResponse(context.Background(), gpu.String(), &TreeShowParams{OpenStackAPIVersion: version})
	check(err == nil && tree.JSON200 != nil, err, tree)
	check(tree.JSON200.RootProviderUUID == root && len(tree.JSON200.ResourceProviders) == 3, string(tree.Body))
	consumers, err := berth.ConsumerListWithResponse(context.Background(), &ConsumerListParams{OpenStackAPIVersion: version, Limit: new(1)})
	check(err == nil && consumers.JSON200 != nil && len(consumers.JSON200.Consumers) == 0, err, consumers)
	fits, err := berth.CapacityFitWithResponse(context.Background(), &CapacityFitParams{version}, CapacityFitQuery{
		Query: ClaimQuery{Groups: map[string]SearchedGroup{"": {Resources: map[string]int64{"VCPU": 2}}}},
	})
	check(err == nil && fits.JSON200 != nil && fits.JSON200.Fit == 4, err, fits)
}

// refuse checks the code of an invalid query.
func refuse(berth *ClientWithResponses) {
	searched, err := berth.CandidateSearchWithResponse(context.Background(), &CandidateSearchParams{version}, CandidateSearch{
		Groups:  map[string]SearchedGroup{"_A": {Resources: map[string]int64{"VGPU": 1}}},
		Isolate: [][]string{{"_A", "_B"}},
	})
	check(err == nil && searched.JSON400 != nil, err, searched)
	code := searched.JSON400.Errors[0].Code
	check(code != nil && *code == ErrorCodeBerthQueryUnknownGroup && code.Valid(), string(searched.Body))
}

func create(berth *ClientWithResponses, name string, parent *uuid.UUID) uuid.UUID {
	created, err := berth.ProviderCreateWithResponse(context.Background(), &ProviderCreateParams{OpenStackAPIVersion: version},
		ProviderCreate{Name: name, ParentProviderUUID: parent})
	check(err == nil && created.JSON200 != nil, err, created)
	provider, err := created.JSON200.AsProvider() // with dry_run it would be a DryRun
	check(err == nil, err)
	return provider.UUID
}

// stock sets the only inventory of a new provider.
func stock(berth *ClientWithResponses, provider uuid.UUID, class string, total int32) {
	replaced, err := berth.InventoryReplaceWithResponse(context.Background(), provider.String(), &InventoryReplaceParams{OpenStackAPIVersion: version},
		InventoriesReplace{Inventories: map[string]InventoryRecord{class: {Total: total}}})
	check(err == nil && replaced.JSON200 != nil, err, replaced)
}

// check ends the program unless a condition holds.
func check(holds bool, found ...any) {
	if !holds {
		log.Fatalln(found...)
	}
}
