package consumers_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/agent/consumers"
	"github.com/berthd/berth/client"
)

func twoNodes() *consumers.Fit {
	return consumers.NewFit(map[string]client.Resources{"numa:0": have(8, 8192), "numa:1": have(8, 8192)})
}

func TestAgent_Fit_PrefersFreeDeviceAndSplitsLast(t *testing.T) {
	t.Parallel()
	fit := twoNodes()
	expect(t, fit, first, have(6, 1024), share("numa:0", 6, 1024))
	expect(t, fit, second, have(6, 1024), share("numa:1", 6, 1024))
	expect(t, fit, third, have(3, 1024), share("numa:0", 2, 1024), share("numa:1", 1, 0))
	// A second query releases the shares of the first.
	expect(t, fit, third, have(2, 1024), share("numa:0", 2, 1024))
	if _, _, err := fit.Shares(t.Context(), third, have(5, 1024)); err == nil || !strings.Contains(err.Error(), "has 5 of VCPU, but there is free capacity for only 4") {
		t.Errorf("amount over capacity: %v", err)
	}
	if _, _, err := fit.Shares(t.Context(), third, client.Resources{"VGPU": 1}); err == nil || !strings.Contains(err.Error(), "has 1 of VGPU, but there is free capacity for only 0") {
		t.Errorf("class that no device has: %v", err)
	}
	fit.Begin()
	expect(t, fit, third, have(8, 1024), share("numa:0", 8, 1024))
}

func TestAgent_CollectShares_KnownFirstThenLargest(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/consumers.json"
	write(t, path, `{"`+third.String()+`": [{"device": "numa:0", "resources": {"VCPU": 1, "MEMORY_MB": 1024}}]}`)
	chain := consumers.Chain{consumers.NewFile(path), twoNodes()}
	requests := map[uuid.UUID]client.Resources{first: have(1, 2048), second: have(8, 8192), third: have(1, 1024)}
	for range 3 {
		shares, unknown, err := consumers.CollectShares(t.Context(), chain, requests)
		if err != nil || len(unknown) != 0 {
			t.Fatal(unknown, err)
		}
		want := map[uuid.UUID][]consumers.Share{
			first: {share("numa:0", 1, 2048)}, second: {share("numa:1", 8, 8192)}, third: {share("numa:0", 1, 1024)},
		}
		if !reflect.DeepEqual(shares, want) {
			t.Errorf("got %v, want %v", shares, want)
		}
	}

	// Single queries in the same order return the same shares.
	chain.Begin()
	expect(t, chain, third, requests[third], share("numa:0", 1, 1024))
	expect(t, chain, second, requests[second], share("numa:1", 8, 8192))

	_, unknown, err := consumers.CollectShares(t.Context(), consumers.NewFile(path), requests)
	if err != nil || len(unknown) != 2 {
		t.Errorf("unknown without Fit = %v, %v, want two consumers", unknown, err)
	}
}

func TestAgent_FitRandomRequests_NeverExceedsCapacity(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		capacity := map[string]client.Resources{}
		total := client.Resources{}
		for _, device := range []string{"numa:0", "numa:1", "numa:2"} {
			capacity[device] = have(rapid.Int64Range(1, 8).Draw(r, "cpus"), rapid.Int64Range(1, 64).Draw(r, "memory"))
			for class, amount := range capacity[device] {
				total[class] += amount
			}
		}
		fit := consumers.NewFit(capacity)
		for range rapid.IntRange(1, 12).Draw(r, "consumers") {
			demand := have(rapid.Int64Range(1, 6).Draw(r, "vcpu"), rapid.Int64Range(1, 40).Draw(r, "mb"))
			shares, known, err := fit.Shares(t.Context(), uuid.New(), demand)
			if enough := demand["VCPU"] <= total["VCPU"] && demand["MEMORY_MB"] <= total["MEMORY_MB"]; known != enough || (err == nil) != enough {
				r.Fatalf("demand %v of %v: known = %v, error %v", demand, total, known, err)
			}
			given := client.Resources{}
			for _, share := range shares {
				for class, amount := range share.Resources {
					given[class] += amount
					total[class] -= amount
					capacity[share.Device][class] -= amount
					if amount <= 0 || capacity[share.Device][class] < 0 {
						r.Fatalf("share %v exceeds the free capacity of %s", share, class)
					}
				}
			}
			if known && !reflect.DeepEqual(given, demand) {
				r.Fatalf("shares = %v, want the sum %v", given, demand)
			}
		}
	})
}
