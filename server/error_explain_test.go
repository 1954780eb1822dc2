package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
)

// occupy takes both places for explanations until the test ends.
func (s *explaining) occupy() {
	taken, done := make(chan struct{}), make(chan struct{})
	for range 2 {
		go func() {
			_, _ = s.log.Maker().Make(context.Background(), explainlog.OnRequest, func(context.Context) (*explain.Explanation, error) {
				taken <- struct{}{}
				<-done
				return &explain.Explanation{}, nil
			})
		}()
	}
	<-taken
	<-taken
	s.t.Cleanup(func() { close(done) })
}

func TestExplain_BothPlacesTaken_ReturnsShortForm(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	host := s.provider("host-1", object{"VCPU": object{"total": 16, "max_unit": 4}})
	s.must(s.claim(uuid.NewString(), "{"+on(host, `"VCPU": 4`)+"}"))
	s.occupy()
	for resources, want := range map[string]string{
		`"VGPU": 1`: `"explanation":{"kind":"claim","reason":"inventory","summary":"A provider has no inventory of one of the classes.","incomplete":true}}]}`,
		`"VCPU": 5`: `"explanation":{"kind":"claim","reason":"units","summary":"One of the amounts violates min_unit, max_unit or step_size.","incomplete":true}}]}`,
	} {
		if w := s.claim(uuid.NewString(), "{"+on(host, resources)+"}"); w.Code != http.StatusConflict || !strings.HasSuffix(strings.TrimSpace(w.Body.String()), want) {
			t.Errorf("response = %d %s, want the end %s", w.Code, w.Body, want)
		}
	}
	s.must(s.send(http.MethodPut, "/resource_providers/"+host+"/inventories/VCPU", withExplanations,
		object{"resource_provider_generation": s.providerGeneration(host), "total": 4}))
	want := `"explanation":{"kind":"claim","reason":"capacity","summary":"A provider has no room for one of the amounts.","incomplete":true}}]}`
	if w := s.claim(uuid.NewString(), "{"+on(host, `"VCPU": 1`)+"}"); w.Code != http.StatusConflict || !strings.HasSuffix(strings.TrimSpace(w.Body.String()), want) {
		t.Errorf("response = %d %s, want the end %s", w.Code, w.Body, want)
	}
	w := s.get("/allocation_candidates?resources=VCPUS:1", withExplanations)
	want = `"explanation":{"kind":"names","conflicts":[{"conflict":"class_unknown","name":"VCPUS"}],"incomplete":true}}]}`
	if w.Code != http.StatusBadRequest || !strings.HasSuffix(strings.TrimSpace(w.Body.String()), want) {
		t.Errorf("response = %d %s, want the end %s", w.Code, w.Body, want)
	}
}

// shownOld returns the explanation of a request of version 1.0.
func (s *explaining) shownOld(id string) object {
	s.t.Helper()
	shown := decode[struct{ Explanations []object }](s.t, s.get("/explanations/"+id, withExplanations)).Explanations
	if len(shown) != 1 || shown[0]["microversion"] != "1.0" || shown[0]["berth"] != nil {
		s.t.Fatalf("shown = %v, want one of version 1.0", shown)
	}
	made := shown[0]["explanation"].(object)
	delete(made, "made_at")
	delete(made, "took_ms")
	return made
}

// TestExplain_RecordedClaim_ShowsLaterState looks up claims of old versions, after capacity was released.
func TestExplain_RecordedClaim_ShowsLaterState(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	host := s.provider("host-1", object{"VCPU": object{"total": 8, "min_unit": 2}})
	holder, consumer := uuid.NewString(), uuid.NewString()
	s.must(s.claim(holder, "{"+on(host, `"VCPU": 7`)+"}"))
	listed := object{"allocations": []any{object{"resource_provider": object{"uuid": host}, "resources": object{"VCPU": 4}}}}
	old := s.send(http.MethodPut, "/allocations/"+consumer, "placement 1.0", listed)
	small := s.send(http.MethodPut, "/allocations/"+consumer, "placement 1.0",
		object{"allocations": []any{object{"resource_provider": object{"uuid": host}, "resources": object{"VCPU": 1, "VGPU": 2}}}})
	if old.Code != http.StatusConflict || strings.Contains(old.Body.String(), "explanation") || small.Code != http.StatusConflict {
		t.Fatalf("responses = %d %s, %d, want 409 without an explanation", old.Code, old.Body, small.Code)
	}
	s.must(s.send(http.MethodDelete, "/allocations/"+holder, withExplanations, nil))
	s.log.Close(t.Context())
	provider := object{"uuid": host, "name": "host-1"}
	state := object{"capacity": 8.0, "used": 0.0, "own": 0.0, "free": 8.0, "min_unit": 2.0, "max_unit": 2147483647.0, "step_size": 1.0, "consumers": 0.0}
	item := func(class string, amount float64, verdict string, with object) object {
		made := object{"consumer": consumer, "provider": provider, "class": class, "amount": amount, "verdict": verdict}
		for name, value := range with {
			made[name] = value
		}
		return made
	}
	for id, want := range map[string]object{
		old.Header().Get("X-Openstack-Request-Id"): {
			"kind": "claim", "reason": "capacity", "summary": "All amounts fit now.", "items": []any{item("VCPU", 4, "fits", state)},
		},
		small.Header().Get("X-Openstack-Request-Id"): {
			"kind": "claim", "reason": "units", "summary": "host-1 gives at least 2 VCPU, not 1. host-1 has no inventory of VGPU.",
			"items":     []any{item("VCPU", 1, "units", state), item("VGPU", 2, "inventory", nil)},
			"elsewhere": object{"candidates": 0.0, "more": false, "query": "resources=VCPU:1,VGPU:2&limit=100"},
		},
	} {
		if got := s.shownOld(id); !reflect.DeepEqual(got, want) {
			t.Errorf("explanation = %v\nwant %v", got, want)
		}
	}
}

// TestExplain_RecordedClaim_ExplainedInBackground waits for the content of a claim, and searches it and its request for what
// identifies the owner.
func TestExplain_RecordedClaim_ExplainedInBackground(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, func(options *server.Options) { options.Explanations.Rate = 6 })
	host := s.provider("host-1", object{"VCPU": object{"total": 8}})
	consumer := uuid.NewString()
	w := s.send(http.MethodPut, "/allocations/"+consumer, "placement 1.8", object{
		"allocations": []any{object{"resource_provider": object{"uuid": host}, "resources": object{"VCPU": 9}}},
		"project_id":  "project-5ec7e7", "user_id": "user-5ec7e7",
	}, "X-User-Id", "caller-5ec7e7")
	if w.Code != http.StatusConflict {
		t.Fatalf("response = %d %s, want 409", w.Code, w.Body)
	}
	var text string
	for deadline := time.Now().Add(20 * time.Second); text == ""; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timeout: no explanation")
		}
		if err := s.DB.Pool.QueryRow(t.Context(), "SELECT COALESCE(string_agg(e::text || r::text, ''), '') FROM explanations AS e, explanation_requests AS r "+
			"WHERE e.content IS NOT NULL").Scan(&text); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{consumer, "host-1 has no room for 9 VCPU: 0 of 8 are used by 0 consumers, 8 are left.", "resources=VCPU:9&limit=100"} {
		if !strings.Contains(text, want) {
			t.Errorf("tables = %s, want %s", text, want)
		}
	}
	if strings.Contains(text, "5ec7e7") {
		t.Errorf("tables = %s, want no owner and no caller", text)
	}
}

// TestExplain_LargeClaim_Shows100Items claims on 130 providers, the last of which do not fit.
func TestExplain_LargeClaim_Shows100Items(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	var parts []string
	for i := range 130 {
		host := s.provider(fmt.Sprintf("host-%d", i), object{"VCPU": object{"total": 4}})
		amount := 2
		if i >= 120 {
			amount = 4
			s.must(s.claim(uuid.NewString(), "{"+on(host, `"VCPU": 1`)+"}"))
		}
		parts = append(parts, on(host, fmt.Sprintf(`"VCPU": %d`, amount)))
	}
	made := s.explained(s.claim(uuid.NewString(), "{"+strings.Join(parts, ",")+"}"))
	if len(made.Items) != 100 {
		t.Fatalf("items = %d, want 100", len(made.Items))
	}
	for i, item := range made.Items {
		name, verdict, consumers := fmt.Sprintf("host-%d", i-10), explain.Fits, int64(0)
		if i < 10 {
			name, verdict, consumers = fmt.Sprintf("host-%d", 120+i), explain.Capacity, 1
		}
		if item.Provider.Name != name || item.Verdict != verdict || item.Consumers != consumers {
			t.Errorf("item %d = %+v, want %s on %s with %d consumers", i, item, verdict, name, consumers)
		}
	}
	want := "host-120 has no room for 4 VCPU: 1 of 4 is used by 1 consumer, 3 are left. " +
		"host-121 has no room for 4 VCPU: 1 of 4 is used by 1 consumer, 3 are left. " +
		"host-122 has no room for 4 VCPU: 1 of 4 is used by 1 consumer, 3 are left."
	if made.Summary != want {
		t.Errorf("summary = %s, want %s", made.Summary, want)
	}
}

// TestExplain_ClaimAboveBound_NotRecorded refuses a claim whose text exceeds 64 KiB.
func TestExplain_ClaimAboveBound_NotRecorded(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	host := s.provider("host-1", object{"VCPU": object{"total": 1}})
	var consumers []string
	body, _ := json.Marshal(claimOf("{"+on(host, `"VCPU": 1`)+"}", nil))
	for range 800 {
		consumers = append(consumers, fmt.Sprintf(`"%s": %s`, uuid.NewString(), body))
	}
	w := s.send(http.MethodPost, "/allocations", "placement 1.39", json.RawMessage("{"+strings.Join(consumers, ",")+"}"))
	s.log.Close(t.Context())
	if w.Code != http.StatusConflict {
		t.Fatalf("status = %d: %s", w.Code, w.Body)
	}
	if shown := s.get("/explanations/"+w.Header().Get("X-Openstack-Request-Id"), withExplanations); shown.Code != http.StatusNotFound {
		t.Errorf("look-up = %d %s, want 404", shown.Code, shown.Body)
	}
	if line := `berth_explanations_dropped_total{why="queue"} 1` + "\n"; !strings.Contains(s.get("/metrics", "placement 1.39").Body.String(), line) {
		t.Errorf("metrics lack %s", line)
	}
}

func TestExplain_UnknownNames_ReturnSimilarOnes(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	s.must(s.send(http.MethodPut, "/traits/CUSTOM_GOLD", withExplanations, nil))
	s.must(s.send(http.MethodPut, "/resource_classes/CUSTOM_BIG_FPGA", withExplanations, nil))
	denied := servertest.Handlers(s.Store, func(options *server.Options) { options.Policy, options.Explanations = noExplanations(t), s.log })
	refused := &explaining{Server: &servertest.Server{Handler: denied.Public}, t: t}
	for query, conflicts := range map[string]string{
		"resources=VCPUS:1": `[{"conflict":"class_unknown","name":"VCPUS","similar":["VCPU","PCPU","VGPU"]}]`,
		"resources=CUSTOM_FPGA_BIG:1&required=CUSTOM_GULD": `[{"conflict":"class_unknown","name":"CUSTOM_FPGA_BIG","similar":["CUSTOM_BIG_FPGA"]}]`,
		"resources=VCPU:1&required=GOLD,HW_CPU_X86_AVX9999,!CUSTOM_XYZZY_FORBIDDEN": `[{"conflict":"trait_unknown","name":"GOLD","similar":["CUSTOM_GOLD"]},` +
			`{"conflict":"trait_unknown","name":"HW_CPU_X86_AVX9999","similar":[]}]`,
		"resources=VCPU:1&root_required=CUSTOM_GLOD": `[{"conflict":"trait_unknown","name":"CUSTOM_GLOD","similar":["CUSTOM_GOLD"]}]`,
	} {
		target := "/allocation_candidates?" + query
		w, plain := s.get(target, withExplanations), s.get(target, "placement 1.39, berth 1.1")
		want := strings.Replace(strings.TrimSpace(plain.Body.String()), plain.Header().Get("X-Openstack-Request-Id"), w.Header().Get("X-Openstack-Request-Id"), 1)
		want = strings.TrimSuffix(want, "}]}") + `,"explanation":{"kind":"names","conflicts":` + conflicts + "}}]}"
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusBadRequest || got != want {
			t.Errorf("%s: %d %s\nwant %s", query, w.Code, got, want)
		}
		if w := refused.get(target, withExplanations); w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), "explanation") {
			t.Errorf("%s: %d %s, want no explanation", query, w.Code, w.Body)
		}
	}
}
