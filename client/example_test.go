package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/berthd/berth/client"
)

// address is where the examples find the service.
var address = "http://localhost:8778"

var host, instance = uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"), uuid.MustParse("c0ffee00-5ca1-4b1e-8000-00000000000a")

// A provider is made, told what it has, and shown.
func Example() {
	ctx := context.Background()
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	made, err := placement.ProviderCreate(ctx, "compute-1", host, uuid.Nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, generation, err := placement.InventoryReplace(ctx, host, made.Generation, client.Inventories{
		"VCPU":      {Total: 16, AllocationRatio: new(4.0)},
		"MEMORY_MB": {Total: 65536, Reserved: new(int32(2048))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(made.Name, "is at generation", generation)
	// It prints: compute-1 is at generation 1
}

// What went wrong is asked of the error; what the service said stands in it.
func ExampleError() {
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _, err = placement.InventoryReplace(context.Background(), host, 0, client.Inventories{"VCPU": {Total: 8}})
	if errors.Is(err, client.ErrConcurrentUpdate) {
		fmt.Println("read it again")
	}
	var answered *client.Error
	if errors.As(err, &answered) {
		fmt.Println(answered.Status, answered.Detail)
	}
	// It prints:
	// read it again
	// 409 resource provider generation conflict
}

// The first of the candidates that is still free is claimed.
func ExampleClient_Claim() {
	ctx := context.Background()
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := placement.CandidateList(ctx, client.CandidateQuery{Resources: "VCPU:2,MEMORY_MB:2048", Limit: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, candidate := range found.AllocationRequests {
		wanted, err := client.ClaimOf(candidate, "project", "user", "INSTANCE")
		if err != nil {
			fmt.Println(err)
			return
		}
		claimed, err := placement.Claim(ctx, instance, wanted)
		if err != nil {
			fmt.Println(err)
			return
		}
		if claimed {
			fmt.Println("claimed", wanted.Allocations[host]["VCPU"], "VCPU")
			break
		}
	}
	// It prints: claimed 2 VCPU
}

// An instance that migrates moves its allocations to its migration, and claims on the target.
func ExampleClient_Move() {
	ctx := context.Background()
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	migration := uuid.MustParse("c0ffee00-5ca1-4b1e-8000-00000000000b")
	if _, err := placement.Move(ctx, instance, migration); err != nil {
		fmt.Println(err)
		return
	}
	had, err := placement.Release(ctx, migration, false)
	fmt.Println(had, err)
	// It prints: true <nil>
}

// An instance that is claimed on a new host, whose tree is then read with its consumers.
func ExampleClient_TreeShow() {
	ctx := context.Background()
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := hostWithInstances(ctx, placement); err != nil {
		fmt.Println(err)
		return
	}
	tree, err := placement.TreeShow(ctx, secondHost, client.TreeUsages, client.TreeConsumers)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, provider := range tree.Providers {
		fmt.Println(provider.Name, "uses", provider.Usages["VCPU"], "VCPU")
	}
	for _, consumer := range tree.Consumers {
		fmt.Println(consumer.Type, "has", consumer.Allocations[secondHost]["VCPU"], "VCPU")
	}
	// It prints:
	// compute-2 uses 3 VCPU
	// INSTANCE has 3 VCPU
}

// The consumers of a project, in pages that the client requests as the loop goes on.
func ExampleClient_Consumers() {
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	for consumer, err := range placement.Consumers(context.Background(), client.ConsumerFilter{ProjectID: "project", InTree: secondHost.String()}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, amount := range consumer.Resources {
			fmt.Println(consumer.Type, "has", amount.Amount, amount.Class)
		}
	}
	// It prints: INSTANCE has 3 VCPU
}

// The providers whose names begin with a prefix, with what they have and use.
func ExampleClient_Providers() {
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	query := client.ProviderQuery{Prefix: "compute-", Include: []string{"inventories", "usages"}, PageSize: 1}
	for provider, err := range placement.Providers(context.Background(), query) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(provider.Name, "uses", provider.Usages["VCPU"], "of", provider.Inventories["VCPU"].Total, "VCPU")
	}
	// It prints:
	// compute-1 uses 0 of 16 VCPU
	// compute-2 uses 3 of 8 VCPU
}

// The sums of a cloud, and how many servers of two VCPU the free ones are.
func ExampleClient_CapacityList() {
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	query := client.CapacityQuery{Classes: []string{"VCPU"}, Units: []client.CapacityUnit{{Class: "VCPU", Amount: 2}}}
	capacity, err := placement.CapacityList(context.Background(), query)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, sum := range capacity.Capacity {
		fmt.Println(sum.Free, "of", sum.Capacity, "VCPU are free,", sum.Largest, "of them at", sum.LargestAt.Name)
		fmt.Println(*sum.Units, "units of 2 leave", *sum.Stranded)
	}
	// It prints:
	// 69 of 72 VCPU are free, 64 of them at compute-1
	// 34 units of 2 leave 1
}

// How many servers of a flavor fit, as things are and with one more host.
func ExampleClient_CapacityFit() {
	placement, err := client.New(address)
	if err != nil {
		fmt.Println(err)
		return
	}
	fit, err := placement.CapacityFit(context.Background(), client.CapacityFitQuery{
		Query:   client.CandidateQuery{Resources: "VCPU:4,MEMORY_MB:4096"},
		Changes: []client.CapacityChange{{Like: &host, Count: 1}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(fit.Before.Fit, "fit, and", fit.Fit, "with another host")
	fmt.Println(*fit.EndsFirst, "ends first")
	// It prints:
	// 15 fit, and 30 with another host
	// MEMORY_MB ends first
}

// With Keystone the address comes from the catalog.
func ExampleWithKeystone() {
	_, err := client.New("", client.WithKeystone(gophercloud.AuthOptions{
		IdentityEndpoint: "https://keystone.example/v3",
		Username:         "placement-agent", Password: "secret", DomainName: "Default", TenantName: "service",
	}, client.KeystoneOptions{Region: "RegionOne", Interface: "internal"}))
	fmt.Println(err)
	// Output: <nil>
}

var secondHost = uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000002")

// hostWithInstances creates a host, and a consumer of it.
func hostWithInstances(ctx context.Context, placement *client.Client) error {
	made, err := placement.ProviderCreate(ctx, "compute-2", secondHost, uuid.Nil)
	if err != nil {
		return err
	}
	if _, _, err := placement.InventoryReplace(ctx, secondHost, made.Generation, client.Inventories{"VCPU": {Total: 8}}); err != nil {
		return err
	}
	_, err = placement.Claim(ctx, uuid.MustParse("c0ffee00-5ca1-4b1e-8000-00000000000c"), client.ClaimRequest{
		ProjectID: "project", UserID: "user", Type: "INSTANCE", Allocations: map[uuid.UUID]client.Resources{secondHost: {"VCPU": 3}},
	})
	return err
}

// TestClient_Examples_PrintDocumentedOutput runs the examples, which follow one another,
// against a real server. go test itself would run them without one, if they said
// Output.
func TestClient_Examples_PrintDocumentedOutput(t *testing.T) {
	address = client.Serve(t).URL
	for _, example := range []struct {
		run   func()
		print string
	}{
		{Example, "compute-1 is at generation 1\n"}, {ExampleError, "read it again\n409 resource provider generation conflict\n"},
		{ExampleClient_Claim, "claimed 2 VCPU\n"}, {ExampleClient_Move, "true <nil>\n"},
		{ExampleClient_TreeShow, "compute-2 uses 3 VCPU\nINSTANCE has 3 VCPU\n"}, {ExampleClient_Consumers, "INSTANCE has 3 VCPU\n"},
		{ExampleClient_Providers, "compute-1 uses 0 of 16 VCPU\ncompute-2 uses 3 of 8 VCPU\n"},
		{ExampleClient_CapacityList, "69 of 72 VCPU are free, 64 of them at compute-1\n34 units of 2 leave 1\n"},
		{ExampleClient_CapacityFit, "15 fit, and 30 with another host\nMEMORY_MB ends first\n"},
	} {
		if got := printed(t, example.run); got != example.print {
			t.Errorf("it prints\n%s\nwant\n%s", strings.TrimSpace(got), example.print)
		}
	}
}

// printed is what a function writes to standard output.
func printed(t *testing.T, run func()) string {
	t.Helper()
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func(before *os.File) { os.Stdout = before }(os.Stdout)
	os.Stdout = writing
	run()
	if err := writing.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reading)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
