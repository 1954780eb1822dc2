package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// newTree is newHost with a child 2 "numa0" that has 8 PCPU, and a provider 3
// "storage" that is no part of the tree and has 100 DISK_GB. Consumer 10 has
// something of all three.
func newTree(t testing.TB, options ...Option) *Client {
	t.Helper()
	ctx, client := t.Context(), newHost(t, options...)
	must(client.ProviderCreate(ctx, "numa0", id(2), id(1)))(t)
	must(client.ProviderCreate(ctx, "storage", id(3), uuid.Nil))(t)
	_, _, err := client.InventoryReplace(ctx, id(2), 0, Inventories{"PCPU": {Total: 8}})
	if err == nil {
		_, _, err = client.InventoryReplace(ctx, id(3), 0, Inventories{"DISK_GB": {Total: 100}})
	}
	if err != nil {
		t.Fatal(err)
	}
	request := aClaim(2)
	request.Allocations[id(2)], request.Allocations[id(3)] = Resources{"PCPU": 2}, Resources{"DISK_GB": 10}
	if !must(client.Claim(ctx, id(10), request))(t) {
		t.Fatal("the claim does not fit")
	}
	return client
}

func TestClient_Resources_AddedAndRemoved(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newTree(t)
	if err := client.AddResources(ctx, id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 3}, id(2): {"PCPU": 1}}); err != nil {
		t.Fatal(err)
	}
	want := instance(2, 5)
	want.Allocations[id(2)], want.Allocations[id(3)] = Resources{"PCPU": 3}, Resources{"DISK_GB": 10}
	wantConsumer(t, client, id(10), want)
	if err := client.RemoveResources(ctx, id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 1}, id(2): {"PCPU": 3}}); err != nil {
		t.Fatal(err)
	}
	want = instance(3, 4)
	want.Allocations[id(3)] = Resources{"DISK_GB": 10}
	wantConsumer(t, client, id(10), want)
	for says, less := range map[string]map[uuid.UUID]Resources{
		"has 4 VCPU of provider " + id(1).String() + "; cannot remove 5": {id(1): {"VCPU": 5}},
		"has 0 PCPU of provider " + id(2).String():                       {id(2): {"PCPU": 1}},
	} {
		if err := client.RemoveResources(ctx, id(10), less); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want one that says %q", err, says)
		}
	}
	wantConsumer(t, client, id(10), want)
	wantErrors(t, client.AddResources(ctx, id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 5}}), ErrCapacityExceeded)
	wantErrors(t, client.AddResources(ctx, id(11), map[uuid.UUID]Resources{id(1): {"VCPU": 1}}), ErrNotFound)
	if err := client.RemoveResources(ctx, id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 4}, id(3): {"DISK_GB": 10}}); err != nil {
		t.Fatal(err)
	}
	wantConsumer(t, client, id(10), gone)
}

func TestClient_EditConflict_Retried(t *testing.T) {
	t.Parallel()
	for _, detail := range []string{lostProvider, lostConsumer} {
		through := &faultyTransport{}
		client := newTree(t, WithTransport(through))
		through.Requests()
		through.Before = failing("PUT", "/allocations", 3, raced(detail)).Before
		if err := client.AddResources(t.Context(), id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 1}}); err != nil {
			t.Error(err)
		}
		wantWrites(t, through, 4)
	}
}

func TestClient_RemoveTree_KeepsOtherAllocations(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	ctx, client := t.Context(), newTree(t, WithTransport(through))
	through.Requests()
	// Any member stands for the tree.
	for range 2 { // the second time there is nothing to do
		if err := client.RemoveTree(ctx, id(10), id(2)); err != nil {
			t.Fatal(err)
		}
	}
	wantWrites(t, through, 1)
	want := instance(2, 0)
	want.Allocations = map[uuid.UUID]Resources{id(3): {"DISK_GB": 10}}
	wantConsumer(t, client, id(10), want)
	wantErrors(t, client.RemoveTree(ctx, id(10), id(9)), ErrNotFound)
	wantErrors(t, client.RemoveTree(ctx, id(11), id(1)), ErrNotFound)
}

func TestClient_ReleaseWithAndWithoutForce_RemovesAllocations(t *testing.T) {
	t.Parallel()
	for _, force := range []bool{false, true} {
		through := &faultyTransport{}
		ctx, client := t.Context(), newTree(t, WithTransport(through))
		if !must(client.Release(ctx, id(10), force))(t) {
			t.Error("it is said to have had nothing")
		}
		wantConsumer(t, client, id(10), gone)
		through.Requests()
		if must(client.Release(ctx, id(10), force))(t) {
			t.Error("it is said to have had something")
		}
	}
}

func TestClient_ReleaseWithoutForceConflict_ReturnsError(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	client := newTree(t, WithTransport(through))
	through.Before = failing("PUT", "/allocations", 1, raced(lostConsumer)).Before
	had, err := client.Release(t.Context(), id(10), false)
	wantErrors(t, err, ErrConcurrentUpdate, ErrConsumerGeneration)
	if had {
		t.Error("what was not released is said to be")
	}
}

func TestClient_ReleaseResponseLost_DetectedAsApplied(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	client := newTree(t, WithTransport(through))
	through.After = losing("PUT", "/allocations", 1).After
	through.Requests()
	if !must(client.Release(t.Context(), id(10), false))(t) {
		t.Error("it is said to have had nothing")
	}
	wantWrites(t, through, 1)
}

func TestClient_DeleteHost_DeletesBottomUp(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	ctx, client := t.Context(), newTree(t, WithTransport(through))
	// A parent that was made after its child.
	must(client.ProviderCreate(ctx, "socket0", id(4), id(1)))(t)
	must(client.ProviderUpdate(ctx, id(2), "numa0", id(4)))(t)
	err := client.DeleteHost(ctx, id(2), false)
	wantErrors(t, err, ErrProviderInUse, ErrHasChildren)
	if !strings.Contains(err.Error(), "provider numa0 stays: ") {
		t.Errorf("it reads %q", err)
	}
	through.Requests()
	if err := client.DeleteHost(ctx, id(1), true); err != nil {
		t.Fatal(err)
	}
	want := []string{"DELETE /allocations/" + id(10).String()}
	for _, number := range []int{2, 4, 1} {
		want = append(want, "DELETE /resource_providers/"+id(number).String())
	}
	if got := writes(through.Requests()); !slices.Equal(got, want) {
		t.Errorf("deleted: %q, want %q", got, want)
	}
	if left := names(must(client.ProviderList(ctx, ProviderFilter{}))(t)); !slices.Equal(left, []string{"storage"}) {
		t.Errorf("left: %q", left)
	}
	if err := client.DeleteHost(ctx, id(1), true); err != nil {
		t.Errorf("a host that is gone: %v", err)
	}
}

func TestClient_DeleteHostCanceled_ReturnsContextError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client := newTree(t)
	cancel()
	if err := client.DeleteHost(ctx, id(1), true); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestClient_HostAggregate_AddedAndRemovedByName(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	ctx, client := t.Context(), newHost(t, WithTransport(through))
	if _, _, err := client.ProviderAggregateReplace(ctx, id(1), 1, []uuid.UUID{id(100)}); err != nil {
		t.Fatal(err)
	}
	through.Before = failing("PUT", "/resource_providers", 2, raced("Resource provider's generation already changed.")).Before
	for _, step := range []struct {
		do   func(context.Context, string, uuid.UUID) (bool, error)
		want bool
		in   []uuid.UUID
	}{
		{client.AddHostAggregate, true, []uuid.UUID{id(100), id(101)}}, {client.AddHostAggregate, false, []uuid.UUID{id(100), id(101)}},
		{client.RemoveHostAggregate, true, []uuid.UUID{id(100)}}, {client.RemoveHostAggregate, false, []uuid.UUID{id(100)}},
	} {
		if got := must(step.do(ctx, "host", id(101)))(t); got != step.want {
			t.Errorf("it is said to have changed: %t, want %t", got, step.want)
		}
		in, _, err := client.ProviderAggregateList(ctx, id(1))
		if err != nil || !slices.Equal(in, step.in) {
			t.Errorf("it is in %v, want %v (%v)", in, step.in, err)
		}
	}
	_, err := client.AddHostAggregate(ctx, "missing", id(101))
	wantErrors(t, err, ErrNotFound)
}
