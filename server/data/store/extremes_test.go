package store_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/berthd/berth/server/data/store"
)

// extreme is an inventory at the limits of the API; a reshape does not check its capacity.
func extreme(total, reserved int32, ratio float64) store.Inventory {
	made := inventory("VCPU", total)
	made.Reserved, made.AllocationRatio = reserved, ratio
	return made
}

func TestClaim_ExtremeInventoryValues_NoInternalError(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt32
	b := setup(t, 1)
	for name, c := range map[string]struct {
		record store.Inventory
		amount int64
		want   store.Rule
	}{
		"the largest total":                {extreme(most, 0, 1), most, ""},
		"more than the largest total":      {extreme(most, 0, 1), most + 1, store.AllocationViolatesUnits},
		"the largest amount":               {extreme(most, 0, 3.4e38), math.MaxInt64, store.AllocationViolatesUnits},
		"the largest ratio":                {extreme(most, 0, 3.40282e38), most, ""},
		"the largest ratio, all reserved":  {extreme(most, most, 3.40282e38), 1, store.AllocationExceedsCapacity},
		"the largest ratio, over-reserved": {extreme(1, most, 3.40282e38), 1, store.AllocationExceedsCapacity},
		"a negative ratio":                 {extreme(most, 0, -3.40282e38), 1, store.AllocationExceedsCapacity},
		"a negative ratio, over-reserved":  {extreme(1, most, -1), most - 1, ""},
		"the smallest ratio":               {extreme(most, 0, math.SmallestNonzeroFloat64), 1, store.AllocationExceedsCapacity},
		"no ratio":                         {extreme(most, 0, 0), 1, store.AllocationExceedsCapacity},
		"almost one":                       {extreme(1, 0, 0.9999999999999999), 1, store.AllocationExceedsCapacity},
		"the largest units": {store.Inventory{
			Class: "VCPU", Total: most, MinUnit: most, MaxUnit: most, StepSize: most, AllocationRatio: 1,
		}, most, ""},
		"less than the largest units": {store.Inventory{
			Class: "VCPU", Total: most, MinUnit: most, MaxUnit: most, StepSize: most, AllocationRatio: 1,
		}, most - 1, store.AllocationViolatesUnits},
		"units without a valid amount": {store.Inventory{
			Class: "VCPU", Total: 10, MinUnit: 5, MaxUnit: 4, StepSize: 3, AllocationRatio: 1,
		}, 5, store.AllocationViolatesUnits},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			host := b.provider("a host with "+name, nil, nil)
			b.must(b.Reshape(t.Context(), []store.ReshapedProvider{{Provider: host, Records: []store.Inventory{c.record}}}, nil))
			if got := outcome(b.AllocationReplace(t.Context(), []store.Claim{claim("a "+name, nil, host, c.amount)}, true)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			found, err := b.InventoryList(t.Context(), host)
			c.record.ModifiedAt = found.Records[0].ModifiedAt
			if c.want == "" {
				c.record.Used = c.amount
			}
			if err != nil || found.Records[0] != c.record {
				t.Errorf("got %+v, %v, want %+v", found.Records, err, c.record)
			}
		})
	}
}

// Sums may exceed 32 bits by far, and those of a request even 64.
func TestClaim_ExtremeSums_NoInternalError(t *testing.T) {
	t.Parallel()
	const most, many = math.MaxInt32, 40
	b := setup(t, 1)
	host := b.provider("a host", nil, nil)
	b.must(b.Reshape(t.Context(), []store.ReshapedProvider{{Provider: host, Records: []store.Inventory{extreme(most, 0, 3.4e38)}}}, nil))
	var claims, huge []store.Claim
	for i := range many {
		claims = append(claims, claim(fmt.Sprintf("%x server %d", i%16, i), nil, host, most))
		huge = append(huge, claim(fmt.Sprintf("%x huge server %d", i%16, i), nil, host, math.MaxInt64))
	}
	b.must(b.AllocationReplace(t.Context(), claims, true))
	if got := b.used(host); got != most*many {
		t.Errorf("used: got %d, want %d", got, int64(most*many))
	}
	if got := outcome(b.AllocationReplace(t.Context(), huge, true)); got != store.AllocationViolatesUnits {
		t.Errorf("got %q", got)
	}
	usage, err := b.UsageList(t.Context(), store.UsageFilter{ProjectID: "project"})
	if err != nil || len(usage) != 1 || usage[0].Used != most*many || usage[0].ConsumerCount != many {
		t.Errorf("usage: got %+v, %v", usage, err)
	}

	// The ratio falls to the minimum under all of them: the allocations may stay and be deleted.
	b.must(b.Reshape(t.Context(), []store.ReshapedProvider{{
		Provider: host, Generation: b.generation(host), Records: []store.Inventory{extreme(1, most, 3.4e38)},
	}}, nil))
	if got := outcome(b.AllocationReplace(t.Context(), []store.Claim{claim("f more", nil, host, 1)}, true)); got != store.AllocationExceedsCapacity {
		t.Errorf("got %q", got)
	}
	for i := range claims {
		claims[i].Generation = at(1)
	}
	b.must(b.AllocationReplace(t.Context(), claims, true))
	for i := range claims {
		claims[i].Generation, claims[i].Allocations = at(2), nil
	}
	b.must(b.AllocationReplace(t.Context(), claims, true))
	if got := b.used(host); got != 0 {
		t.Errorf("used: got %d", got)
	}
}

// The lists find providers with free capacity by a column that must hold all these values.
func TestProvider_ListByExtremeResources_NoInternalError(t *testing.T) {
	t.Parallel()
	const most = math.MaxInt32
	b := setup(t, 1)
	for name, record := range map[string]store.Inventory{
		"a boundless": extreme(most, 0, 3.4e38), "b full": extreme(most, most, 1), "c negative": extreme(most, 0, -3.4e38),
	} {
		host := b.provider(name, nil, nil)
		b.must(b.Reshape(t.Context(), []store.ReshapedProvider{{Provider: host, Records: []store.Inventory{record}}}, nil))
	}
	for amount, want := range map[int64]int{1: 1, most: 1, most + 1: 0, math.MaxInt64: 0} {
		rows, err := b.ProviderList(t.Context(), store.ProviderFilter{Resources: []store.Amount{{Class: "VCPU", Amount: amount}}})
		b.must(err)
		found := 0
		for _, err := range rows.All() {
			b.must(err)
			found++
		}
		b.must(rows.Close())
		if found != want {
			t.Errorf("providers with free capacity = %d for amount %d, want %d", found, amount, want)
		}
	}
}
