package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
)

// leasedConsumers creates a host with a consumer for each lease; nil: none.
func leasedConsumers(t *testing.T, client *Client, leases ...*LeaseTerms) {
	t.Helper()
	must(client.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := client.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 9}}); err != nil {
		t.Fatal(err)
	}
	for i, lease := range leases {
		places, err := client.ClaimCreate(t.Context(), ClaimSearch{
			Consumers:  []ClaimConsumer{{UUID: id(11 + i), ProjectID: "p", UserID: "u", Type: "JOB", Lease: lease}},
			Candidates: []ClaimCandidate{{Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": 1}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := places.Claims[0].Lease; (got != nil) != (lease != nil) || got != nil && lease.Seconds > 0 && *got.Seconds != lease.Seconds {
			t.Fatalf("claimed with the lease %+v, want %+v", got, lease)
		}
	}
}

func TestClient_Leases_WrittenReadAndRenewed(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	leasedConsumers(t, client, &LeaseTerms{Seconds: 60}, &LeaseTerms{Until: until}, nil)
	renewed, err := client.LeaseRenew(t.Context(), 120, id(11), id(12), id(13), id(14))
	if err != nil || renewed.Renewed[id(11)].Seconds != 120 || len(renewed.Renewed) != 1 ||
		!slices.Equal(renewed.Without, []uuid.UUID{id(12), id(13)}) || !slices.Equal(renewed.Gone, []uuid.UUID{id(14)}) {
		t.Errorf("renewed %+v, %v", renewed, err)
	}
	list := func(filter ConsumerFilter) (ids []uuid.UUID) {
		t.Helper()
		for found, err := range client.Consumers(t.Context(), filter) {
			if err != nil {
				t.Fatal(err)
			}
			if found.UUID == id(12) && (found.Lease == nil || !found.Lease.Until.Equal(until) || !found.Lease.ExpiresAt.Equal(until)) {
				t.Errorf("lease %+v, want one until %s", found.Lease, until)
			}
			ids = append(ids, found.UUID)
		}
		return ids
	}
	for name, c := range map[string]struct {
		filter ConsumerFilter
		want   []uuid.UUID
	}{
		"leased":         {ConsumerFilter{Leased: new(true)}, []uuid.UUID{id(11), id(12)}},
		"not leased":     {ConsumerFilter{Leased: new(false)}, []uuid.UUID{id(13)}},
		"by expiry":      {ConsumerFilter{ByExpiry: true, PageSize: 1}, []uuid.UUID{id(11), id(12)}},
		"expires before": {ConsumerFilter{ExpiresBefore: until}, []uuid.UUID{id(11)}},
		"until before":   {ConsumerFilter{UntilBefore: until.Add(time.Second)}, []uuid.UUID{id(12)}},
	} {
		if got := list(c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if _, err := client.AllocationPatch(t.Context(), id(12), AllocationChanges{Lease: &LeaseTerms{}}); err != nil {
		t.Fatal(err)
	}
	if got := list(ConsumerFilter{Leased: new(true)}); !slices.Equal(got, []uuid.UUID{id(11)}) {
		t.Errorf("leased after taking a lease away: %v", got)
	}
}

func TestClient_LeaseOfReplacedAllocations_WrittenAndRead(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	leasedConsumers(t, client, nil)
	ctx := WithExtensions(t.Context(), berth16)
	for name, c := range map[string]struct {
		lease *LeaseTerms
		want  int
	}{"given": {&LeaseTerms{Seconds: 60}, 60}, "kept": {nil, 60}, "taken away": {&LeaseTerms{}, 0}} {
		write := func(lease *LeaseTerms) *Lease {
			t.Helper()
			record := must(client.AllocationList(ctx, id(11)))(t)
			record.NewLease = lease
			if err := client.AllocationReplace(t.Context(), id(11), record, nil); err != nil {
				t.Fatal(err)
			}
			return must(client.AllocationList(ctx, id(11)))(t).Lease
		}
		write(&LeaseTerms{Seconds: 60})
		if got := write(c.lease); (got != nil) != (c.want > 0) || got != nil && *got.Seconds != c.want {
			t.Errorf("%s: lease %+v, want %d seconds", name, got, c.want)
		}
	}
	record := must(client.AllocationList(t.Context(), id(11)))(t)
	record.Type, record.NewLease = NoType, &LeaseTerms{Seconds: 60}
	if err := client.AllocationReplace(t.Context(), id(11), record, nil); err == nil || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("a lease of a consumer without a type: %v", err)
	}
}

func TestClient_Keep_RenewsUntilContextEnds(t *testing.T) {
	t.Parallel()
	renewals := 0
	wire := &faultyTransport{Extended: true}
	client := newClient(t, WithTransport(wire))
	leasedConsumers(t, client, &LeaseTerms{Seconds: 3}, &LeaseTerms{Seconds: 60})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wire.Before = func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/leases" {
			if renewals++; renewals == 4 {
				cancel()
			}
		}
		return nil, nil
	}
	if err := client.Keep(ctx, id(11), id(12)); err != nil || renewals < 4 {
		t.Errorf("kept with %d renewals: %v", renewals, err)
	}
	if err := client.Keep(ctx); err != nil {
		t.Errorf("kept nothing: %v", err)
	}
}

func TestClient_KeepLosesConsumer_ReturnsErrLeaseLost(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	leasedConsumers(t, client, &LeaseTerms{Seconds: 1}, nil)
	if err := client.Keep(t.Context(), id(11), id(12)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("a consumer without a lease: %v", err)
	}
	if err := client.Keep(t.Context(), id(11), id(19)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("a consumer that is gone: %v", err)
	}
}

func TestClient_KeepWithoutService_ReturnsErrLeaseLostAfterItsLength(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{Extended: true}
	client := newClient(t, WithTransport(wire))
	leasedConsumers(t, client, &LeaseTerms{Seconds: 1})
	renewals := 0
	wire.Before = func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/leases" {
			if renewals++; renewals > 1 {
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
			}
		}
		return nil, nil
	}
	if err := client.Keep(t.Context(), id(11)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("error = %v", err)
	}
}

// TestClient_KeepUntilLost_RepeatsFirstRenewal: Keep returns the error of the first renewal, because it does not know the lease.
func TestClient_KeepUntilLost_RepeatsFirstRenewal(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{Extended: true}
	client := newClient(t, WithTransport(wire))
	leasedConsumers(t, client, &LeaseTerms{Seconds: 600})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	renewals := 0
	wire.Before = func(r *http.Request) (*http.Response, error) {
		if r.URL.Path != "/leases" {
			return nil, nil
		}
		if renewals++; renewals > 1 {
			cancel()
		}
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"3600"}}, Body: http.NoBody, Request: r}, nil
	}
	if err := client.Keep(t.Context(), id(11)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("Keep: %v", err)
	}
	renewals = 0
	if err := client.KeepUntilLost(ctx, time.Now().Add(10*time.Minute), id(11)); err != nil || renewals < 2 {
		t.Errorf("KeepUntilLost: %v after %d renewals", err, renewals)
	}
	if err := client.KeepUntilLost(t.Context(), time.Now().Add(-time.Second), id(11)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("KeepUntilLost after the end: %v", err)
	}
}
