package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
)

// newClaiming starts a server on a new database that explains as berth serve does, except in the background.
func newClaiming(t *testing.T, change func(*server.Options)) *explaining {
	t.Helper()
	made := &explaining{t: t}
	made.Server = servertest.New(t, servertest.Options{DB: dbtest.New(t), StandardNames: true, Server: func(options *server.Options) {
		made.log = explainlog.New(explainlog.Options{
			Settings: explainlog.Settings{Keep: time.Hour, Rows: 1000, Timeout: 5 * time.Second}, Store: options.Store,
			Log:     slog.New(slog.DiscardHandler),
			Explain: placement.StoredExplainer(options.Store, options.Placement.Candidates, 5*time.Second),
		})
		options.Explanations = made.log
		if change != nil {
			change(options)
		}
	}})
	made.log.Start()
	t.Cleanup(func() { made.log.Close(context.Background()) })
	return made
}

// send sends a request with a body.
func (s *explaining) send(method, target, version string, body any, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.sendText(method, target, string(encoded), version, headers...)
}

// must fails the test unless a request has succeeded.
func (s *explaining) must(w *httptest.ResponseRecorder) {
	s.t.Helper()
	if w.Code >= 300 {
		s.t.Fatalf("status = %d: %s", w.Code, w.Body)
	}
}

type object = map[string]any

// provider creates a provider with inventories.
func (s *explaining) provider(name string, inventories object) string {
	s.t.Helper()
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(name)).String()
	s.must(s.send(http.MethodPost, "/resource_providers", withExplanations, object{"name": name, "uuid": id}))
	s.must(s.send(http.MethodPut, "/resource_providers/"+id+"/inventories", withExplanations,
		object{"resource_provider_generation": 0, "inventories": inventories}))
	return id
}

// claimOf is the body of a claim. Its allocations are in the order of a JSON text, because that of items depends on it.
func claimOf(allocations string, generation any) object {
	return object{
		"allocations": json.RawMessage(allocations), "project_id": "p", "user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": generation,
	}
}

// claim claims for a new consumer.
func (s *explaining) claim(consumer, allocations string, headers ...string) *httptest.ResponseRecorder {
	return s.send(http.MethodPut, "/allocations/"+consumer, withExplanations, claimOf(allocations, nil), headers...)
}

func on(provider, resources string) string {
	return fmt.Sprintf(`"%s": {"resources": {%s}}`, provider, resources)
}

// refusal is the body of a 409.
type refusal struct {
	Errors []struct {
		Detail, Code string
		RequestID    string `json:"request_id"`
		Explanation  *explain.Explanation
	}
}

// explained returns the explanation of a 409.
func (s *explaining) explained(w *httptest.ResponseRecorder) *explain.Explanation {
	s.t.Helper()
	var body refusal
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusConflict || body.Errors[0].Explanation == nil {
		s.t.Fatalf("response = %d %s, want a 409 with an explanation", w.Code, w.Body)
	}
	return body.Errors[0].Explanation
}

// withoutTimes decodes JSON, and removes made_at and took_ms after checking that they are there.
func withoutTimes(t *testing.T, text []byte) (made object) {
	t.Helper()
	if err := json.Unmarshal(text, &made); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if made["made_at"] == nil || made["took_ms"] == nil {
		t.Errorf("explanation = %s, want made_at and took_ms", text)
	}
	delete(made, "made_at")
	delete(made, "took_ms")
	return made
}

// workedExample creates the cloud of the example in the contract, and returns the claim and its explanation.
func workedExample(s *explaining) (consumer, allocations, want string) {
	host := s.provider("host-1", object{"VCPU": object{"total": 16, "max_unit": 16}, "MEMORY_MB": object{"total": 65536}})
	pool := s.provider("disk-pool", object{"DISK_GB": object{"total": 1000, "min_unit": 10, "max_unit": 500, "step_size": 10}})
	vcpus, memory := []int{3, 3, 3, 3, 2}, []int{2048, 2048, 2048, 1024, 1024}
	for i := range 9 {
		disk := 20
		if i == 0 {
			disk = 40
		}
		parts := []string{on(pool, fmt.Sprintf(`"DISK_GB": %d`, disk))}
		if i < len(vcpus) {
			parts = append(parts, on(host, fmt.Sprintf(`"VCPU": %d, "MEMORY_MB": %d`, vcpus[i], memory[i])))
		}
		s.must(s.claim(uuid.NewString(), "{"+strings.Join(parts, ",")+"}"))
	}
	const item = `{"consumer": "%s", "provider": {"uuid": "%s", "name": "%s"}, "class": "%s", "amount": %d, "verdict": "%s", "capacity": %d, "used": %d,
		"own": 0, "free": %d, "min_unit": %d, "max_unit": %d, "step_size": %d, "consumers": %d}`
	consumer = "c0ffee00-0000-4000-8000-0000000000a3"
	want = `{"kind": "claim", "reason": "capacity",
		"summary": "host-1 has no room for 8 VCPU: 14 of 16 are used by 5 consumers, 2 are left. disk-pool gives DISK_GB in multiples of 10, not 25.",
		"items": [` +
		fmt.Sprintf(item, consumer, host, "host-1", "VCPU", 8, "capacity", 16, 14, 2, 1, 16, 1, 5) + "," +
		fmt.Sprintf(item, consumer, pool, "disk-pool", "DISK_GB", 25, "units", 1000, 200, 500, 10, 500, 10, 9) + "," +
		fmt.Sprintf(item, consumer, host, "host-1", "MEMORY_MB", 1024, "fits", 65536, 8192, 57344, 1, 2147483647, 1, 5) + `]}`
	return consumer, "{" + on(host, `"VCPU": 8, "MEMORY_MB": 1024`) + "," + on(pool, `"DISK_GB": 25`) + "}", want
}

func TestExplain_ClaimConflict_ListsAllAllocations(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	consumer, allocations, text := workedExample(s)
	for i := range 37 {
		s.provider(fmt.Sprintf("other-%d", i), object{"VCPU": object{"total": 8}, "MEMORY_MB": object{"total": 1024}, "DISK_GB": object{"total": 25}})
	}
	var want object
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	global := "req-" + uuid.NewString()
	w := s.claim(consumer, allocations, "X-Openstack-Request-Id", global)
	var body struct{ Errors []object }
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusConflict {
		t.Fatalf("response = %d %s, want a 409", w.Code, w.Body)
	}
	explanation, _ := json.Marshal(body.Errors[0]["explanation"])
	if got := withoutTimes(t, explanation); !reflect.DeepEqual(got, want) {
		t.Errorf("explanation = %s\nwant %s", explanation, text)
	}
	delete(body.Errors[0], "explanation")
	id := w.Header().Get("X-Openstack-Request-Id")
	wantError := object{
		"status": 409.0, "title": "Conflict", "code": "placement.undefined_code", "request_id": id,
		"detail": "There was a conflict when trying to complete your request.\n\n Unable to allocate inventory: Unable to create allocation for 'VCPU' on resource provider '" +
			uuid.NewSHA1(uuid.NameSpaceURL, []byte("host-1")).String() + "'. The requested amount would exceed the capacity.  ",
	}
	if !reflect.DeepEqual(body.Errors, []object{wantError}) {
		t.Errorf("error = %v\nwant %v", body.Errors, wantError)
	}
	s.checkStored(want, consumer, id, global)
}

// checkStored looks up the claim of the example by its ids.
func (s *explaining) checkStored(want object, consumer string, ids ...string) {
	t := s.t
	s.log.Close(t.Context())
	want["elsewhere"] = object{"candidates": 37.0, "more": false, "query": "resources=VCPU:8,MEMORY_MB:1024,DISK_GB:25&limit=100"}
	for _, known := range ids {
		shown := decode[struct{ Explanations []map[string]json.RawMessage }](t, s.get("/explanations/"+known, withExplanations)).Explanations
		if len(shown) != 1 {
			t.Fatalf("explanations of %s = %v, want one", known, shown)
		}
		if got := withoutTimes(t, shown[0]["explanation"]); !reflect.DeepEqual(got, want) {
			t.Errorf("stored explanation = %s\nwant %v", shown[0]["explanation"], want)
		}
		question := fmt.Sprintf(`{"%s":{"%s":{"VCPU":8,"MEMORY_MB":1024},"%s":{"DISK_GB":25}}}`, consumer,
			uuid.NewSHA1(uuid.NameSpaceURL, []byte("host-1")), uuid.NewSHA1(uuid.NameSpaceURL, []byte("disk-pool")))
		var asked string
		if err := json.Unmarshal(shown[0]["question"], &asked); err != nil || asked != question {
			t.Errorf("question = %s, want %s", asked, question)
		}
	}
	listed := s.get("/explanations?kind=claim&reason=capacity", withExplanations)
	if !strings.Contains(listed.Body.String(), `"summary":"host-1 has no room for 8 VCPU`) {
		t.Errorf("list = %d %s, want the summary", listed.Code, listed.Body)
	}
}

// noExplanations returns a policy that denies explanations to all callers.
func noExplanations(t *testing.T) *policy.Policy {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(file, []byte(policy.ExplanationsMake+": \"!\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rules, problems, err := policy.Open(policy.Defaults(), policy.Files{Main: file})
	if err != nil || problems != nil {
		t.Fatal(err, problems)
	}
	return rules
}

// TestExplain_ClaimConflict_OtherClientsGetNoExplanation compares the errors of clients without the extension, or without the right to
// explanations, with those of a server that records nothing.
func TestExplain_ClaimConflict_OtherClientsGetNoExplanation(t *testing.T) {
	t.Parallel()
	s := newClaiming(t, nil)
	consumer, allocations, _ := workedExample(s)
	denied := servertest.Handlers(s.Store, func(options *server.Options) { options.Policy, options.Explanations = noExplanations(t), s.log })
	none := servertest.Handlers(s.Store, nil)
	for version, handler := range map[string]http.Handler{
		"placement 1.39": s.Handler, "placement 1.39, berth 1.1": s.Handler, "placement 1.38": s.Handler, withExplanations: denied.Public,
	} {
		got := (&explaining{Server: &servertest.Server{Handler: handler}, t: t}).send(http.MethodPut, "/allocations/"+consumer, version, claimOf(allocations, nil))
		want := (&explaining{Server: &servertest.Server{Handler: none.Public}, t: t}).send(http.MethodPut, "/allocations/"+consumer, "placement 1.39", claimOf(allocations, nil))
		same := strings.Replace(want.Body.String(), want.Header().Get("X-Openstack-Request-Id"), got.Header().Get("X-Openstack-Request-Id"), 1)
		if got.Code != http.StatusConflict || got.Body.String() != same {
			t.Errorf("%s: %d %s, want %s", version, got.Code, got.Body, same)
		}
	}
	metrics := s.get("/metrics", "placement 1.39").Body.String()
	for _, line := range []string{
		`berth_claims_refused_total{reason="capacity"} 3`, `berth_claims_refused_total{reason="inventory"} 0`, `berth_claims_refused_total{reason="units"} 0`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
}
