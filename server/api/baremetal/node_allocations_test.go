package baremetal_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	work "github.com/berthd/berth/server/work/conductor"
)

// free creates a node that can be assigned.
func (s *service) free(name, class string, traits ...string) store.Node {
	s.t.Helper()
	return s.node(store.Node{Name: &name, ResourceClass: &class, ProvisionState: "available"}, traits...)
}

// node creates a node with a driver and power.
func (s *service) node(wanted store.Node, traits ...string) store.Node {
	s.t.Helper()
	wanted.UUID, wanted.Driver, wanted.PowerState = uuid.New(), fakeDriver, new("power off")
	made, err := s.store.NodeCreate(s.t.Context(), wanted)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.store.NodeTraitReplace(s.t.Context(), made.UUID.String(), traits); err != nil {
		s.t.Fatal(err)
	}
	return made
}

// works starts the conductor of the service until the end of the test.
func (s *service) works() {
	s.t.Helper()
	running := &work.Conductor{
		Options: work.Options{
			Hostname: conductor, Workers: 4, HeartbeatInterval: time.Second, HeartbeatTimeout: time.Minute, CheckInterval: time.Second,
		},
		Store: s.store, Drivers: work.Drivers(), Log: slog.New(slog.DiscardHandler),
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(s.t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- running.Run(ctx) }()
	s.t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			s.t.Errorf("conductor: %v", err)
		}
	})
}

// decided waits until a node allocation is decided and returns the response that shows it.
func (s *service) decided(ident string) *response {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if shown := s.get("/v1/allocations/"+ident, "1.82").wants(http.StatusOK); shown.body["state"] != "allocating" {
			return shown
		}
	}
	s.t.Fatalf("allocation %s was not decided in 30 seconds", ident)
	return nil
}

// decide decides a node allocation synchronously, in tests without a conductor.
func (s *service) decide(ident string) *response {
	s.t.Helper()
	shown := s.get("/v1/allocations/"+ident, "1.82").wants(http.StatusOK)
	id := uuid.MustParse(shown.body["uuid"].(string))
	if _, err := s.store.NodeAllocationProcess(s.t.Context(), id, conductor); err != nil {
		s.t.Fatal(err)
	}
	return s.get("/v1/allocations/"+ident, "1.82").wants(http.StatusOK)
}

func (s *service) allocate(body any) *response {
	s.t.Helper()
	return s.send(http.MethodPost, "/v1/allocations", "1.82", body)
}

// invalid compares the text of a 400 up to the part that quotes the schema.
func (r *response) invalid(text string) {
	r.t.Helper()
	message, _ := r.body["error_message"].(string)
	var inner struct {
		Text string `json:"faultstring"`
	}
	if err := json.Unmarshal([]byte(message), &inner); err != nil || r.status != http.StatusBadRequest {
		r.t.Errorf("%s: status %d, %s", r.what, r.status, r.raw)
		return
	}
	if got, _, _ := strings.Cut(inner.Text, " Failed validating"); got != text {
		r.t.Errorf("%s: %q, want %q", r.what, got, text)
	}
}

// is compares the whole body.
func (r *response) is(want map[string]any) *response {
	r.t.Helper()
	if expected := asJSON(r.t, want); !reflect.DeepEqual(any(r.body), expected) {
		r.t.Errorf("%s: got %v\nwant %v", r.what, r.body, expected)
	}
	return r
}

func allocationLinks(id any) []map[string]any {
	text := "/allocations/" + id.(string)
	return []map[string]any{{"rel": "self", "href": base + "/v1" + text}, {"rel": "bookmark", "href": base + text}}
}

// plain returns the representation of a node allocation whose request contained only a class. Its times are those of
// the response.
func (r *response) plain(changed map[string]any) map[string]any {
	want := map[string]any{
		"uuid": r.body["uuid"], "name": nil, "state": "allocating", "resource_class": "gold", "traits": []string{},
		"candidate_nodes": []string{}, "extra": map[string]any{}, "node_uuid": nil, "last_error": nil, "owner": nil,
		"created_at": r.body["created_at"], "updated_at": nil, "links": allocationLinks(r.body["uuid"]),
	}
	maps.Copy(want, changed)
	return want
}

// wireTime is RFC 3339 with microseconds and an offset.
var wireTime = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$`)

func TestNodeAllocation_Create_StateAllocatingWithAllMembers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node := s.free("rack-7", "gold")
	made := s.allocate(map[string]any{
		"name": "web-1", "uuid": "BA5EBA110000400080000000000000A1", "resource_class": "gold", "owner": "ada",
		"traits": []string{"CUSTOM_B", "HW_CPU_X86_AVX2", "CUSTOM_B"}, "candidate_nodes": []string{"rack-7", node.UUID.String()},
		"extra": map[string]any{"deep": []any{1, "<b>"}},
	}).wants(http.StatusCreated)
	made.is(made.plain(map[string]any{
		"uuid": "ba5eba11-0000-4000-8000-0000000000a1", "name": "web-1", "owner": "ada",
		"traits":          []string{"CUSTOM_B", "HW_CPU_X86_AVX2", "CUSTOM_B"},
		"candidate_nodes": []string{node.UUID.String(), node.UUID.String()},
		"extra":           map[string]any{"deep": []any{1, "<b>"}},
	}))
	if at := made.body["created_at"].(string); !wireTime.MatchString(at) {
		t.Errorf("created_at = %s", at)
	}
	want := base + "/v1/allocations/ba5eba11-0000-4000-8000-0000000000a1"
	if got := made.header.Get("Location"); got != want {
		t.Errorf("Location = %s, want %s", got, want)
	}
	for _, ident := range []string{"web-1", "ba5eba11-0000-4000-8000-0000000000a1", "BA5EBA110000400080000000000000A1", "web-1/"} {
		s.get("/v1/allocations/"+ident, "1.82").wants(http.StatusOK).is(made.body)
	}
}

func TestNodeAllocation_NullMembers_EqualOmitted(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.allocate(`{"resource_class": "gold", "name": null, "uuid": null, "traits": null, "candidate_nodes": null,
		"extra": null, "node": null, "owner": null}`).wants(http.StatusCreated)
	made.is(made.plain(nil))
	unusual := s.allocate(map[string]any{"resource_class": "ein Gestell, größer"}).wants(http.StatusCreated)
	unusual.is(unusual.plain(map[string]any{"resource_class": "ein Gestell, größer"}))
}

func TestNodeAllocation_InvalidCreate_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const noClass = "The resource_class field is mandatory when not backfilling"
	long := strings.Repeat("x", 256)
	for body, want := range map[string]string{
		"":                         noClass,
		"{}":                       noClass,
		`{"resource_class": null}`: noClass,
		`{"resource_class": ""}`:   noClass,
		`{"resource_class": "gold", "uuid": "abc"}`:                      "Expected UUID for uuid: abc",
		`{"resource_class": "gold", "candidate_nodes": ["x", "a node"]}`: "Nodes cannot be found: x, a node",
		`{"resource_class": "gold", "traits": ["CUSTOM_A", "FAST"]}`:     "Invalid trait 'FAST': it is neither a standard one nor CUSTOM_ and then capital letters, digits and underscores, 255 characters at most.",
		`{"resource_class": "gold", "traits": ["CUSTOM_a"]}`:             "Invalid trait 'CUSTOM_a': it is neither a standard one nor CUSTOM_ and then capital letters, digits and underscores, 255 characters at most.",
		`{"resource_class": "gold", "traits": [""]}`:                     "Invalid trait '': it is neither a standard one nor CUSTOM_ and then capital letters, digits and underscores, 255 characters at most.",
		`{"resource_class": "gold", "name": "a b"}`:                      `JSON does not validate: 'a b' does not match '^[A-Za-z0-9-._~]+$'`,
		`{"resource_class": "gold", "name": ""}`:                         `JSON does not validate: '' does not match '^[A-Za-z0-9-._~]+$'`,
		`{"resource_class": "gold", "node": "no such"}`:                  "Expected a logical name or UUID but received no such.",
		`{"node": "rack-7"}`:                                             "Node rack-7 could not be found.",
		`{"resource_class": "gold", "wait": 1}`:                          "JSON does not validate: Additional properties are not allowed ('wait' was unexpected)",
		`{"resource_class": "gold", "extra": []}`:                        "JSON does not validate: [] is not of type 'object', 'null'",
		`{"resource_class": 1}`:                                          "JSON does not validate: 1 is not of type 'string', 'null'",
		`["gold"]`:                                                       "JSON does not validate: ['gold'] is not of type 'object'",
		`{"resource_class": "` + long[:81] + `"}`:                        "JSON does not validate: '" + long[:81] + "' is too long",
		`{"resource_class": "gold", "name": "` + long + `"}`:             "JSON does not validate: '" + long + "' is too long",
		`{"resource_class": `:                                            "Malformed JSON: unexpected end where a value should be: line 1 column 20",
	} {
		s.send(http.MethodPost, "/v1/allocations", "1.82", body).invalid(want)
	}
	for _, member := range []string{"state", "node_uuid", "last_error", "links", "created_at", "updated_at", "candidates"} {
		s.allocate(map[string]any{"resource_class": "gold", member: nil}).invalid(
			"JSON does not validate: Additional properties are not allowed ('" + member + "' was unexpected)")
	}
	s.get("/v1/allocations", "1.82").wants(http.StatusOK).is(map[string]any{"allocations": []any{}})
}

func TestNodeAllocation_DuplicateNameOrUUID_Returns409(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const id, instance = "ba5eba11-0000-4000-8000-000000000001", "ba5eba11-0000-4000-8000-000000000002"
	used := s.node(store.Node{Name: new("used"), ResourceClass: new("gold"), ProvisionState: "active", InstanceUUID: new(uuid.MustParse(instance))})
	s.allocate(map[string]any{"resource_class": "gold", "name": "web-1", "uuid": id}).wants(http.StatusCreated)
	s.decide("web-1").shows(map[string]any{"state": "error"})
	s.allocate(map[string]any{"resource_class": "gold", "uuid": strings.ToUpper(id)}).refuses(http.StatusConflict,
		"An allocation with UUID "+id+" already exists.")
	s.allocate(map[string]any{"resource_class": "gold", "name": "web-1"}).refuses(http.StatusConflict,
		"An allocation with name web-1 already exists.")
	s.allocate(map[string]any{"resource_class": "gold", "name": "Web-1"}).wants(http.StatusCreated)
	s.allocate(map[string]any{"resource_class": "gold", "name": "used"}).wants(http.StatusCreated)
	s.allocate(map[string]any{"resource_class": "gold", "uuid": instance}).refuses(http.StatusConflict,
		"Instance "+instance+" is already associated with node "+used.UUID.String()+".")
}

func TestNodeAllocation_ConductorRunning_Decided(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.works()
	node := s.free("rack-7", "gold", "CUSTOM_FAST")
	made := s.allocate(map[string]any{"resource_class": "gold", "name": "rack-7", "traits": []string{"CUSTOM_FAST"}}).wants(http.StatusCreated)
	made.shows(map[string]any{"state": "allocating", "node_uuid": nil, "updated_at": nil})
	active := s.decided("rack-7")
	active.is(made.plain(map[string]any{
		"name": "rack-7", "state": "active", "node_uuid": node.UUID, "traits": []string{"CUSTOM_FAST"},
		"updated_at": active.body["updated_at"],
	}))
	if at, _ := active.body["updated_at"].(string); !wireTime.MatchString(at) {
		t.Errorf("updated_at = %v", active.body["updated_at"])
	}
	s.get("/v1/nodes/rack-7/allocation", "1.82").wants(http.StatusOK).is(active.body)
	for class, reason := range map[string]string{
		"gold": "no available nodes match the resource class gold",
		"lead": "no available nodes match the resource class lead",
	} {
		failed := s.allocate(map[string]any{"resource_class": class}).wants(http.StatusCreated)
		id := failed.body["uuid"].(string)
		s.decided(id).shows(map[string]any{
			"state": "error", "node_uuid": nil, "last_error": "Failed to process allocation " + id + ": " + reason + ".",
		})
	}
	s.free("rack-8", "gold")
	traits := s.allocate(map[string]any{"resource_class": "gold", "traits": []string{"CUSTOM_A", "CUSTOM_B"}})
	s.decided(traits.body["uuid"].(string)).shows(map[string]any{"last_error": "Failed to process allocation " +
		traits.body["uuid"].(string) + ": no suitable nodes have the requested traits CUSTOM_A, CUSTOM_B."})
	candidates := s.allocate(map[string]any{"resource_class": "gold", "candidate_nodes": []string{"rack-7"}})
	s.decided(candidates.body["uuid"].(string)).shows(map[string]any{"last_error": "Failed to process allocation " +
		candidates.body["uuid"].(string) + ": none of the requested nodes are available and match the resource class gold."})
}

// steps converts texts such as `add /name "x"` to a patch.
func steps(t *testing.T, texts ...string) []map[string]any {
	t.Helper()
	patch := []map[string]any{}
	for _, text := range texts {
		parts := strings.SplitN(text, " ", 3)
		step := map[string]any{"op": parts[0], "path": parts[1]}
		if len(parts) == 3 {
			step["value"] = json.RawMessage(parts[2])
		}
		patch = append(patch, step)
	}
	return patch
}
