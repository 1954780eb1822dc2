//go:build client

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestTakeover_ServerKilled_KeepsAllocations sends many allocations to two servers on one
// database and kills one of them while they come. Whatever was acknowledged is
// decided all the same, and no machine is given twice.
func TestTakeover_ServerKilled_KeepsAllocations(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"database", "placement"} {
		t.Run("with the backend "+backend, func(t *testing.T) {
			t.Parallel()
			killInTheMiddle(t, backend)
		})
	}
}

func killInTheMiddle(t *testing.T, backend string) {
	t.Helper()
	const machines, requests = 20, 60
	database := dbtest.NewEmpty(t).URL
	hurried := []string{"--baremetal-backend", backend,
		"--baremetal-heartbeat-interval", "100ms", "--baremetal-heartbeat-timeout", "1s", "--baremetal-takeover-interval", "200ms"}
	victim := serveOn(t, database, append([]string{"--baremetal-hostname", "victim"}, hurried...)...)
	survivor := serveOn(t, database, append([]string{"--baremetal-hostname", "survivor"}, hurried...)...)
	safe := bareMetalOf(t, survivor.url)
	provideNodes(t, safe, machines)

	// Locks keep the conductors from assigning nodes, so that no node allocation is processed before the kill.
	release := lockNodes(t, database)
	acknowledged := allocateMany(t, requests, []*baremetal.Client{bareMetalOf(t, victim.url), safe}, func(made int) {
		if made == requests/2 {
			victim.kill(t)
		}
	})
	waiting, err := safe.NodeAllocationList(t.Context(), baremetal.AllocationFilter{State: baremetal.Allocating})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d of %d were acknowledged, and %d wait for a decision", len(acknowledged), requests, len(waiting))
	if len(waiting) < len(acknowledged) || len(acknowledged) < requests/2 {
		t.Errorf("the kill was not in the middle")
	}
	release()

	limited, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, one := range waiting {
		if _, err := safe.WaitForAllocation(limited, one.UUID.String(), nil); limited.Err() != nil {
			t.Fatalf("allocation %s was never decided: %v", one.UUID, err)
		}
	}
	checkGiven(t, safe, machines, acknowledged)
}

func bareMetalOf(t *testing.T, url string) *baremetal.Client {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	// Of many requests at once some open a connection that is then not needed. A server
	// that is asked to stop waits for what may come through it.
	t.Cleanup(transport.CloseIdleConnections)
	service, err := client.New(url, client.WithTransport(transport))
	if err != nil {
		t.Fatal(err)
	}
	return baremetal.New(service)
}

// provideNodes makes so many nodes that are free.
func provideNodes(t *testing.T, service *baremetal.Client, machines int) {
	t.Helper()
	ctx := t.Context()
	for i := range machines {
		name := fmt.Sprintf("rack-%d", i)
		if _, err := service.NodeCreate(ctx, baremetal.NewNode{Name: name, Driver: "fake-hardware", ResourceClass: "gold"}); err != nil {
			t.Fatal(err)
		}
		for _, step := range [][2]string{{"manage", "manageable"}, {"provide", "available"}} {
			if err := service.NodeProvision(ctx, name, step[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := service.WaitForNode(ctx, name, step[1], nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// lockNodes holds all nodes until the function it returns is called.
func lockNodes(t *testing.T, database string) func() {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := connection.Exec(t.Context(), "BEGIN; SELECT FROM nodes FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	return func() { connection.Close(context.WithoutCancel(t.Context())) }
}

// allocateMany creates so many node allocations concurrently, each on the next service, and returns the acknowledged
// ones. It calls told after each.
func allocateMany(t *testing.T, requests int, services []*baremetal.Client, told func(made int)) map[uuid.UUID]bool {
	t.Helper()
	var mutex sync.Mutex
	var all sync.WaitGroup
	acknowledged := map[uuid.UUID]bool{}
	for i := range requests {
		all.Go(func() {
			made, err := services[i%len(services)].NodeAllocationCreate(t.Context(), baremetal.NewAllocation{
				Name: fmt.Sprintf("request-%d", i), ResourceClass: "gold",
			})
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				acknowledged[made.UUID] = true
				told(len(acknowledged))
			}
		})
	}
	all.Wait()
	return acknowledged
}

// checkGiven compares node allocations with nodes, each of which must have one.
func checkGiven(t *testing.T, service *baremetal.Client, machines int, acknowledged map[uuid.UUID]bool) {
	t.Helper()
	allocations, err := service.NodeAllocationList(t.Context(), baremetal.AllocationFilter{})
	if err != nil {
		t.Fatal(err)
	}
	owners := map[uuid.UUID]uuid.UUID{}
	for _, one := range allocations {
		delete(acknowledged, one.UUID)
		switch {
		case one.State == baremetal.Failed && one.NodeUUID == nil && one.LastError != nil:
		case one.State == baremetal.Active && one.NodeUUID != nil:
			if other, taken := owners[*one.NodeUUID]; taken {
				t.Errorf("node %s was given to %s and to %s", one.NodeUUID, other, one.UUID)
			}
			owners[*one.NodeUUID] = one.UUID
		default:
			t.Errorf("allocation %s is %s with the node %v and the error %v", one.UUID, one.State, one.NodeUUID, one.LastError)
		}
	}
	for lost := range acknowledged {
		t.Errorf("allocation %s was acknowledged and is gone", lost)
	}
	if len(owners) != machines {
		t.Errorf("%d of %d machines were given", len(owners), machines)
	}
	nodes, err := service.NodeList(t.Context(), baremetal.NodeFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		owner, given := owners[node.UUID]
		if !given || node.InstanceUUID == nil || *node.InstanceUUID != owner || node.AllocationUUID == nil || *node.AllocationUUID != owner {
			t.Errorf("node %s belongs to %v by its own account (allocation %v), and to %v by that of the allocations",
				node.UUID, node.InstanceUUID, node.AllocationUUID, owner)
		}
	}
}
