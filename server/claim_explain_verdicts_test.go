package server_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/explain"
)

// generation returns the generation of a consumer, nil for a new one.
func (s *explaining) generation(consumer string) any {
	s.t.Helper()
	found := decode[object](s.t, s.get("/allocations/"+consumer, withExplanations))
	return found["consumer_generation"]
}

// replace claims an amount without a generation, at a version that compares none, and returns the status and the error.
func (s *explaining) replace(consumer, provider string, amount int64) (int, string) {
	w := s.send(http.MethodPut, "/allocations/"+consumer, "placement 1.12", object{
		"allocations": json.RawMessage("{" + on(provider, fmt.Sprintf(`"VCPU": %d`, amount)) + "}"), "project_id": "p", "user_id": "u",
	})
	return w.Code, w.Body.String()
}

// wordsOf are parts of the texts of errors.
var wordsOf = map[explain.Reason]string{
	explain.NoInventory: "invalid.", explain.Units: "would violate inventory constraints.", explain.Capacity: "would exceed the capacity.",
}

// randomInventory creates a provider of which consumers hold something, perhaps more than its capacity.
func (s *explaining) randomInventory(rng *rand.Rand, name, consumer string) (host string, inventory object) {
	total := 1 + rng.IntN(40)
	inventory = object{
		"total": total, "reserved": rng.IntN(total), "min_unit": 1 + rng.IntN(4), "max_unit": 4 + rng.IntN(40), "step_size": 1 + rng.IntN(4),
		"allocation_ratio": []float64{0.5, 1, 1.5, 2.3}[rng.IntN(4)],
	}
	host = s.provider(name, object{"VCPU": inventory})
	for _, one := range []string{consumer, uuid.NewString(), uuid.NewString()} {
		s.replace(one, host, int64(1+rng.IntN(16))) // some fit
	}
	if rng.IntN(4) == 0 {
		inventory = object{"total": 1 + rng.IntN(10)}
		s.must(s.send(http.MethodPut, "/resource_providers/"+host+"/inventories/VCPU", withExplanations,
			object{"resource_provider_generation": s.providerGeneration(host), "total": inventory["total"]}))
	}
	return host, inventory
}

// TestExplain_ClaimVerdicts_EqualFurtherClaims explains claims of random amounts on random inventories, which fail because
// of another class, and compares the verdicts with the results of claims that have only that amount, of exactly the free
// amount, and of one step more.
func TestExplain_ClaimVerdicts_EqualFurtherClaims(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	rng := rand.New(rand.NewPCG(18, 9))
	verdicts, ended, over := map[explain.Reason]int{}, map[string]int{}, 0
	for round := range 60 {
		consumer := uuid.NewString()
		host, inventory := s.randomInventory(rng, fmt.Sprintf("host-%d", round), consumer)
		amount := int64(1 + rng.IntN(24))
		w := s.send(http.MethodPut, "/allocations/"+consumer, withExplanations,
			claimOf("{"+on(host, fmt.Sprintf(`"VCPU": %d, "VGPU": 1`, amount))+"}", s.generation(consumer)))
		items := s.explained(w).Items
		item := items[0]
		if item.Class != "VCPU" {
			item = items[1]
		}
		if item.Used > item.Capacity {
			over++
		}
		verdicts[item.Verdict]++
		status, text := s.replace(consumer, host, amount)
		if fits := status == http.StatusNoContent; fits != (item.Verdict == explain.Fits) || !fits && !strings.Contains(text, wordsOf[item.Verdict]) {
			t.Fatalf("claim of %d on %v = %d %s, want %s of %+v", amount, inventory, status, text, item.Verdict, item.ClaimedInventory)
		}
		exact := item.Free / item.StepSize * item.StepSize
		if exact >= item.MinUnit {
			ended["free"]++
			if status, text := s.replace(consumer, host, exact); status != http.StatusNoContent {
				t.Fatalf("claim of the free %d on %v = %d %s, want 204 of %+v", exact, inventory, status, text, item.ClaimedInventory)
			}
		}
		if more := exact + item.StepSize; more > 0 && (more > item.Own || more > item.MaxUnit) {
			ended["more"]++
			if status, _ := s.replace(consumer, host, more); status != http.StatusConflict {
				t.Fatalf("claim of %d on %v = %d, want 409 of %+v", more, inventory, status, item.ClaimedInventory)
			}
		}
	}
	if verdicts[explain.Fits] < 5 || verdicts[explain.Units] < 5 || verdicts[explain.Capacity] < 5 || ended["free"] < 20 || ended["more"] < 20 || over < 3 {
		t.Errorf("verdicts = %v, further claims = %v, over capacity = %d: the cases do not cover enough", verdicts, ended, over)
	}
}

func (s *explaining) providerGeneration(provider string) any {
	return decode[object](s.t, s.get("/resource_providers/"+provider, withExplanations))["generation"]
}

// TestExplain_SeveralConsumers_AddsUp claims for several consumers, one of which replaces what it has.
func TestExplain_SeveralConsumers_AddsUp(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	host := s.provider("host-1", object{"VCPU": object{"total": 16}})
	a, b, c, d := "a0000000-0000-4000-8000-000000000001", "b0000000-0000-4000-8000-000000000001", "c0000000-0000-4000-8000-000000000001",
		"d0000000-0000-4000-8000-000000000001"
	s.must(s.claim(a, "{"+on(host, `"VCPU": 4`)+"}"))
	s.must(s.claim(d, "{"+on(host, `"VCPU": 1`)+"}"))
	claim := func(consumer string, amount int, generation any) string {
		body, _ := json.Marshal(claimOf("{"+on(host, fmt.Sprintf(`"VCPU": %d`, amount))+"}", generation))
		return fmt.Sprintf(`"%s": %s`, consumer, body)
	}
	w := s.send(http.MethodPost, "/allocations", withExplanations,
		json.RawMessage("{"+claim(b, 8, nil)+","+claim(a, 5, 1)+","+claim(c, 3, nil)+"}"))
	made := s.explained(w)
	wantSummary := "host-1 has no room for 16 VCPU: 5 of 16 are used by 2 consumers, 15 are left."
	if made.Reason != explain.Capacity || made.Summary != wantSummary {
		t.Errorf("explanation = %s %s, want %s", made.Reason, made.Summary, wantSummary)
	}
	state := explain.ClaimedInventory{Capacity: 16, Used: 5, Own: 4, Free: 15, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1, Consumers: 2}
	item := func(consumer string, amount, soFar int64, verdict explain.Reason) explain.ClaimItem {
		return explain.ClaimItem{
			Consumer: uuid.MustParse(consumer), Provider: explain.Provider{UUID: uuid.MustParse(host), Name: "host-1"}, Class: "VCPU",
			Amount: amount, SoFar: soFar, Verdict: verdict, ClaimedInventory: &state,
		}
	}
	want := []explain.ClaimItem{item(c, 3, 16, explain.Capacity), item(b, 8, 0, explain.Fits), item(a, 5, 13, explain.Fits)}
	if !reflect.DeepEqual(made.Items, want) {
		t.Errorf("items = %s, want %+v", w.Body, want)
	}
	one := s.send(http.MethodPut, "/allocations/"+d, withExplanations, claimOf("{"+on(host, `"VCPU": 14`)+"}", 1))
	if got, want := s.explained(one).Summary, "host-1 has no room for 14 VCPU: 5 of 16 are used by 2 consumers, 12 are left."; got != want {
		t.Errorf("summary = %s, want %s", got, want)
	}
}

// TestExplain_Reshape_ComparesNewInventories reshapes to inventories that are too small, now and when it is looked up.
func TestExplain_Reshape_ComparesNewInventories(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	host := s.provider("host-1", object{"VCPU": object{"total": 16}, "DISK_GB": object{"total": 50}})
	consumer := "a0000000-0000-4000-8000-000000000001"
	s.must(s.claim(consumer, "{"+on(host, `"VCPU": 4`)+"}"))
	w := s.send(http.MethodPost, "/reshaper", withExplanations, object{
		"inventories": object{host: object{
			"resource_provider_generation": s.providerGeneration(host),
			"inventories":                  object{"VCPU": object{"total": 8, "max_unit": 2}, "MEMORY_MB": object{"total": 10, "reserved": 9}},
		}},
		"allocations": object{consumer: claimOf("{"+on(host, `"VCPU": 4, "MEMORY_MB": 4, "DISK_GB": 5`)+"}", 1)},
	}, "X-Roles", "service")
	id := uuid.MustParse(host)
	item := func(class string, amount int64, verdict explain.Reason, state explain.ClaimedInventory) explain.ClaimItem {
		return explain.ClaimItem{
			Consumer: uuid.MustParse(consumer), Provider: explain.Provider{UUID: id, Name: "host-1"}, Class: class, Amount: amount,
			Verdict: verdict, ClaimedInventory: &state,
		}
	}
	want := []explain.ClaimItem{
		item("VCPU", 4, explain.Units, explain.ClaimedInventory{Capacity: 8, Used: 4, Own: 4, Free: 2, MinUnit: 1, MaxUnit: 2, StepSize: 1, Consumers: 1}),
		item("MEMORY_MB", 4, explain.Capacity, explain.ClaimedInventory{Capacity: 1, Free: 1, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1}),
		item("DISK_GB", 5, explain.Fits, explain.ClaimedInventory{Capacity: 50, Free: 50, MinUnit: 1, MaxUnit: 2147483647, StepSize: 1}),
	}
	const summary = "host-1 gives at most 2 VCPU at once, not 4. host-1 has no room for 4 MEMORY_MB: 0 of 1 are used by 0 consumers, 1 is left."
	made := s.explained(w)
	if made.Reason != explain.Units || made.Summary != summary || !reflect.DeepEqual(made.Items, want) {
		t.Errorf("explanation = %s, want %s", w.Body, summary)
	}
	s.log.Close(t.Context())
	stored := decode[struct {
		Explanations []struct{ Explanation explain.Explanation }
	}](t, s.get("/explanations/"+w.Header().Get("X-Openstack-Request-Id"), withExplanations)).Explanations
	if len(stored) != 1 {
		t.Fatalf("stored = %v, want one", stored)
	}
	found := stored[0].Explanation
	elsewhere := explain.Elsewhere{Query: "resources=VCPU:4,MEMORY_MB:4,DISK_GB:5&limit=100"}
	if found.Summary != summary || !reflect.DeepEqual(found.Items, want) || found.Elsewhere == nil || *found.Elsewhere != elsewhere {
		t.Errorf("stored = %+v, want the same with %+v", found, elsewhere)
	}
}
