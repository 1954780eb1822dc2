package planfile_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/agent/planfile"
	"github.com/berthd/berth/client"
)

// drawHost draws a host with up to four children and with allocations of two classes.
func drawHost(t *testing.T, r *rapid.T) *host {
	h := newHost(t, nil)
	providers := []string{"compute-1"}
	for n := range rapid.IntRange(0, 4).Draw(r, "children") {
		parent := rapid.SampledFrom(providers).Draw(r, "parent")
		name := fmt.Sprintf("old%d", n)
		h.child(name, parent, nil)
		providers = append(providers, name)
	}
	used := map[string]client.Resources{}
	for n := range rapid.IntRange(0, 6).Draw(r, "consumers") {
		for _, provider := range providers {
			has := client.Resources{}
			for _, class := range []string{"VGPU", "VCPU"} {
				if amount := rapid.Int64Range(0, 3).Draw(r, "amount"); amount > 0 {
					has[class] = amount
				}
			}
			if len(has) == 0 {
				continue
			}
			h.claim(fmt.Sprintf("aaaaaaa%d-0000-4000-8000-000000000001", n), provider, has)
			for class, amount := range has {
				if used[provider] == nil {
					used[provider] = client.Resources{}
				}
				used[provider][class] += amount
			}
		}
	}
	for provider, has := range used {
		inventories := client.Inventories{}
		for class, amount := range has {
			inventories[class] = client.InventoryRecord{Total: int32(amount) + rapid.Int32Range(0, 2).Draw(r, "free")}
		}
		h.has(provider, inventories)
	}
	return h
}

// drawPlan draws a plan that moves some classes of some providers to one, two or three new providers.
func drawPlan(r *rapid.T, h *host) *planfile.Plan {
	plan := &planfile.Host{Root: "compute-1"}
	for _, node := range h.tree.Nodes() {
		for _, class := range slices.Sorted(maps.Keys(node.Inventories)) {
			if !rapid.Bool().Draw(r, "moves") {
				continue
			}
			move := &planfile.Move{Class: class, As: class, From: node.Name, To: map[string]*planfile.Record{}, Consumers: planfile.Consumers{Spread: true}}
			if rapid.Bool().Draw(r, "renamed") {
				move.As = "CUSTOM_" + class
			}
			for n := range rapid.IntRange(1, 3).Draw(r, "destinations") {
				// Each has capacity for all allocations.
				move.To[fmt.Sprintf("new%d_%s", n, move.As)] = &planfile.Record{Total: 200}
			}
			if rapid.IntRange(0, 3).Draw(r, "keeps") == 0 {
				move.Keep = &planfile.Record{Total: node.Inventories[class].Total + 1}
			}
			plan.Moves = append(plan.Moves, move)
		}
	}
	return &planfile.Plan{Hosts: []*planfile.Host{plan}}
}

// sums returns the sum of allocations by consumer and class, without the prefix of renamed classes.
func (h *host) sums() string {
	all := map[uuid.UUID]client.Resources{}
	for consumer, record := range h.allocations {
		all[consumer] = client.Resources{}
		for _, has := range record.Allocations {
			for class, amount := range has {
				all[consumer][strings.TrimPrefix(class, "CUSTOM_")] += amount
			}
		}
	}
	return fmt.Sprint(all)
}

func TestPlanfile_RandomPlan_KeepsSumsAndIsReversible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		h := drawHost(t, r)
		plan := drawPlan(r, h)
		before, sums := h.text(), h.sums()
		back, err := plan.Inverse("compute-1", h.tree, h.allocations)
		if err != nil {
			r.Fatal(err)
		}
		if err := plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations); err != nil {
			r.Fatal(err)
		}
		if h.sums() != sums {
			r.Fatalf("sums changed from %s to %s", sums, h.sums())
		}
		after := h.text()
		if err := plan.UpdateProviderTree(t.Context(), h.tree, "compute-1", nil); err != nil || h.text() != after {
			r.Fatalf("second update: %v\n%s\nwant\n%s", err, h.text(), after)
		}
		if len(back.Hosts) == 0 {
			if after != before {
				r.Fatalf("no undo plan for\n%s", after)
			}
			return
		}
		var file strings.Builder
		if err := back.Encode(&file, ""); err != nil {
			r.Fatal(err)
		}
		read, err := planfile.Parse("back", []byte(file.String()))
		if err != nil {
			r.Fatalf("%v in\n%s", err, &file)
		}
		if err := read.UpdateProviderTree(t.Context(), h.tree, "compute-1", h.allocations); err != nil || h.text() != before {
			r.Fatalf("%v\nundo plan\n%s\nyields\n%s\nfrom\n%s\nwant\n%s", err, &file, h.text(), after, before)
		}
	})
}
