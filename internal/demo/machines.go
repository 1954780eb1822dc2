package demo

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
)

// machine is a bare metal node: the verbs that bring it to its state, and the reason of its maintenance.
type machine struct {
	name, class string
	verbs       []string
	maintenance string
}

// machines are bare metal nodes in different states.
var machines = []machine{
	{"metal-01", "gold", []string{"manage", "provide"}, ""},
	{"metal-02", "gold", []string{"manage", "provide"}, ""},
	{"metal-03", "gold", []string{"manage", "provide"}, ""},
	{"metal-04", "gold", []string{"manage", "provide"}, "a fan fails"},
	{"metal-05", "silver", []string{"manage", "provide"}, ""},
	{"metal-06", "silver", []string{"manage"}, ""},
	{"metal-07", "silver", nil, ""},
}

// requests are node allocations; the last one finds no node.
var requests = []baremetal.NewAllocation{
	{Name: "db-primary", ResourceClass: "gold"}, {Name: "db-standby", ResourceClass: "gold"}, {Name: "training", ResourceClass: "platinum"},
}

// stable are the states in which a transition ends.
var stable = map[string]string{"manage": "manageable", "provide": "available"}

// loadMachines creates the nodes and node allocations that do not exist. A server without the Bare Metal API has none.
func loadMachines(ctx context.Context, service *baremetal.Client, progress *counter, sum *Summary) error {
	if _, err := service.NodeList(ctx, baremetal.NodeFilter{Most: 1}); errors.Is(err, client.ErrNotFound) {
		return nil
	}
	if err := progress.each(ctx, "nodes", len(machines), func(ctx context.Context, i int) error {
		return machines[i].load(ctx, service)
	}); err != nil {
		return err
	}
	sum.Nodes = len(machines)
	for _, request := range requests {
		result := id("allocation", request.Name)
		request.UUID = &result
		if _, err := service.NodeAllocationShow(ctx, result.String()); !errors.Is(err, client.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := service.NodeAllocationCreate(ctx, request); err != nil {
			return fmt.Errorf("node allocation %s: %w", request.Name, err)
		}
		// A failed one is wanted, too.
		var failed *baremetal.StateError
		if _, err := service.WaitForAllocation(ctx, result.String(), func(baremetal.Allocation) {}); err != nil && !errors.As(err, &failed) {
			return err
		}
	}
	sum.Allocations = len(requests)
	return nil
}

// load creates a node that does not exist and brings it to its state.
func (m machine) load(ctx context.Context, service *baremetal.Client) error {
	result := id("node", m.name)
	if _, err := service.NodeShow(ctx, result.String()); !errors.Is(err, client.ErrNotFound) {
		return err
	}
	if _, err := service.NodeCreate(ctx, baremetal.NewNode{
		UUID: &result, Name: m.name, Driver: "fake-hardware", ResourceClass: m.class, Extra: map[string]any{Trait: true},
		Description: "sample data of berth demo", Properties: map[string]any{"cpus": 64, "memory_mb": 524_288, "cpu_arch": "x86_64"},
	}); err != nil {
		return fmt.Errorf("node %s: %w", m.name, err)
	}
	for _, verb := range m.verbs {
		if err := service.NodeProvision(ctx, result.String(), verb); err != nil {
			return fmt.Errorf("node %s: %w", m.name, err)
		}
		if _, err := service.WaitForNode(ctx, result.String(), stable[verb], func(baremetal.Node) {}); err != nil {
			return fmt.Errorf("node %s: %w", m.name, err)
		}
	}
	if m.maintenance != "" {
		return service.NodeMaintenanceSet(ctx, result.String(), m.maintenance)
	}
	return nil
}

// removeMachines deletes the node allocations and nodes of the cloud. Nodes have their UUIDs from this package.
func removeMachines(ctx context.Context, service *baremetal.Client, progress *counter) error {
	drop := func(remove func(context.Context, string) error, result uuid.UUID) error {
		if err := remove(ctx, result.String()); err != nil && !errors.Is(err, client.ErrNotFound) {
			return err
		}
		return nil
	}
	for _, request := range requests {
		if err := drop(service.NodeAllocationDelete, id("allocation", request.Name)); err != nil {
			return err
		}
	}
	return progress.each(ctx, "nodes", len(machines), func(ctx context.Context, i int) error {
		result := id("node", machines[i].name)
		if machines[i].maintenance != "" {
			if err := drop(service.NodeMaintenanceUnset, result); err != nil {
				return err
			}
		}
		return drop(service.NodeDelete, result)
	})
}
