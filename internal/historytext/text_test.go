package historytext_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/historytext"
)

const (
	host  = "c0ffee00-0000-4000-8000-000000000001"
	numa  = "c0ffee00-0000-4000-8000-000000000010"
	gone  = "c0ffee00-0000-4000-8000-000000000099"
	vm    = "1d5ecafe-0000-4000-8000-0000000000e1"
	node  = "0defaced-0000-4000-8000-000000000001"
	group = "a99e0001-0000-4000-8000-000000000001"
	log   = "7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10"
)

// texts has names of a host, a NUMA node of it, a node and an aggregate.
func texts() *historytext.Texts {
	names := func(id, name string) map[uuid.UUID]string { return map[uuid.UUID]string{uuid.MustParse(id): name} }
	known := &historytext.Texts{Names: historytext.Names{Providers: names(host, "compute-2"), Nodes: names(node, "rack-1"), Aggregates: names(group, "rack 1")}}
	known.Providers[uuid.MustParse(numa)] = "compute-2-numa-0"
	return known
}

func quoted(text string) string { return `"` + text + `"` }

// event parses an event with these changes. It replaces the names of constants in them.
func event(t *testing.T, changes string) *client.HistoryEvent {
	t.Helper()
	changes = strings.NewReplacer(`"HOST"`, quoted(host), `"NUMA"`, quoted(numa), `"GONE"`, quoted(gone), `"VM"`, quoted(vm), `"NODE"`, quoted(node),
		`"GROUP"`, quoted(group), `"LOG"`, quoted(log)).Replace(changes)
	var parsed client.HistoryEvent
	if err := json.Unmarshal([]byte(`{"kind": "write", "index": 41822, "at": "2026-11-22T14:11:00.123456Z", "by": {}, "changes": `+changes+`}`), &parsed); err != nil {
		t.Fatal(err)
	}
	return &parsed
}

const whole = `"reserved": 0, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 1.0`

func TestHistory_Lines_HaveEveryForm(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		changes string
		want    []string
	}{
		"new consumer": {`{"resource_providers": {"HOST": {"before": {}, "after": {"generation": 4}}}, "consumers": {"VM": {"before": null, "after": {
			"consumer_generation": 1, "project_id": "demo", "user_id": "alice", "consumer_type": "INSTANCE", "lease": {"seconds": 600, "until": null, "expires_at": "2026-11-22T14:21:00Z"},
			"allocations": {"NUMA": {"resources": {"VCPU": 4, "MEMORY_MB": 8192}}, "HOST": {"resources": {"DISK_GB": 20}}}}}}}`,
			[]string{"consumer 1d5ecafe…00e1 (INSTANCE, demo): compute-2 +DISK_GB 20, compute-2-numa-0 +MEMORY_MB 8192 +VCPU 4, lease 10m"}},
		"consumer gone": {`{"consumers": {"VM": {"after": null, "before": {"project_id": "demo", "consumer_type": "unknown", "allocations": {"GONE": {"resources": {"VCPU": 4}}}}}}}`,
			[]string{"consumer 1d5ecafe…00e1 (demo) is gone: c0ffee00…0099 −VCPU 4"}},
		"consumer moved": {`{"consumers": {"VM": {"before": {"consumer_generation": 1, "allocations": {"HOST": {"resources": {"VCPU": 4, "DISK_GB": 1}}}},
			"after": {"consumer_generation": 2, "allocations": {"NUMA": {"resources": {"VCPU": 4}}, "HOST": {"resources": {"DISK_GB": 2}}}}}}}`,
			[]string{"consumer 1d5ecafe…00e1: compute-2 DISK_GB 1 → 2 −VCPU 4, compute-2-numa-0 +VCPU 4"}},
		"owner and lease": {`{"consumers": {"VM": {"before": {"consumer_type": "unknown", "project_id": "0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22", "user_id": "alice", "lease": null},
			"after": {"consumer_type": "JOB", "project_id": "demo", "user_id": "bob", "lease": {"seconds": 5400, "until": "2026-11-22T18:00:00Z", "expires_at": "2026-11-22T15:41:00Z"}}}}}`,
			[]string{"consumer 1d5ecafe…00e1: type unknown → JOB, project 0f2d6c5a…1d22 → demo, user alice → bob, lease none → 90m until 2026-11-22T18:00:00Z"}},
		"lease lost": {`{"consumers": {"VM": {"before": {"lease": {"seconds": 61, "until": null, "expires_at": "2026-11-22T14:21:00Z"}}, "after": {"lease": null}}}}`,
			[]string{"consumer 1d5ecafe…00e1: lease 61s → none"}},
		"consumer generation": {`{"consumers": {"VM": {"before": {"consumer_generation": 1}, "after": {"consumer_generation": 2}}}}`,
			[]string{"consumer 1d5ecafe…00e1: generation 2"}},
		"provider generation alone": {`{"resource_providers": {"HOST": {"before": {}, "after": {"generation": 4}}}}`, []string{"compute-2: generation 4"}},
		"new provider": {`{"resource_providers": {"NUMA": {"before": null, "after": {"name": "compute-2-numa-0", "parent_provider_uuid": "HOST", "root_provider_uuid": "HOST", "generation": 1,
			"inventories": {"VCPU": {"total": 32, "reserved": 2, "min_unit": 2, "max_unit": 16, "step_size": 2, "allocation_ratio": 1.5}}, "traits": ["HW_NUMA_ROOT"], "aggregates": []}}}}`,
			[]string{"provider compute-2-numa-0 created below compute-2: inventory +VCPU total 32 reserved 2 min_unit 2 max_unit 16 step_size 2 allocation_ratio 1.5, traits +HW_NUMA_ROOT"}},
		"new root": {`{"resource_providers": {"GONE": {"before": null, "after": {"name": "compute-9", "parent_provider_uuid": null, "root_provider_uuid": "GONE", "generation": 0}}}}`,
			[]string{"provider compute-9 created"}},
		"provider deleted": {`{"resource_providers": {"GONE": {"before": {"name": "compute-9", "inventories": {}}, "after": null}}}`, []string{"provider compute-9 deleted"}},
		"renamed":          {`{"resource_providers": {"HOST": {"before": {"name": "compute-1"}, "after": {"name": "compute-2", "generation": 3}}}}`, []string{"provider compute-2 renamed from compute-1"}},
		"moved": {`{"resource_providers": {"NUMA": {"before": {"parent_provider_uuid": "HOST", "root_provider_uuid": "HOST"}, "after": {"parent_provider_uuid": "GONE", "root_provider_uuid": "GONE"}},
			"HOST": {"before": {"name": "x", "root_provider_uuid": "HOST"}, "after": {"name": "compute-2", "root_provider_uuid": "GONE"}}}}`,
			[]string{"provider compute-2 renamed from x and moved with its tree from compute-2 to c0ffee00…0099", "provider compute-2-numa-0 moved from compute-2 to c0ffee00…0099"}},
		"moved below": {`{"resource_providers": {"NUMA": {"before": {"parent_provider_uuid": null, "root_provider_uuid": "NUMA"}, "after": {"parent_provider_uuid": "HOST", "root_provider_uuid": "HOST", "traits": ["CUSTOM_A"]}}}}`,
			[]string{"provider compute-2-numa-0 moved below compute-2: traits +CUSTOM_A"}},
		"became a root": {`{"resource_providers": {"NUMA": {"before": {"parent_provider_uuid": "HOST", "root_provider_uuid": "HOST"}, "after": {"parent_provider_uuid": null, "root_provider_uuid": "NUMA"}}}}`,
			[]string{"provider compute-2-numa-0 moved from compute-2 to the root of a tree"}},
		"inventories": {`{"resource_providers": {"NUMA": {"before": {"inventories": {"VCPU": {"total": 32, ` + whole + `}, "PCPU": {"total": 1, ` + whole + `}}},
			"after": {"inventories": {"VCPU": {"total": 16, "reserved": 2, "min_unit": 1, "max_unit": 2147483647, "step_size": 1, "allocation_ratio": 1.0}, "VGPU": {"total": 2, ` + whole + `}}}}}}`,
			[]string{"compute-2-numa-0: inventory −PCPU, VCPU total 32 → 16 reserved 0 → 2, +VGPU total 2"}},
		"traits and aggregates": {`{"resource_providers": {"HOST": {"before": {"traits": ["CUSTOM_A"], "aggregates": []}, "after": {"traits": ["COMPUTE_STATUS_DISABLED"], "aggregates": ["GROUP", "GONE"]}}}}`,
			[]string{"compute-2: traits +COMPUTE_STATUS_DISABLED −CUSTOM_A, aggregates +c0ffee00…0099 +rack 1"}},
		"names": {`{"resource_classes": {"CUSTOM_B": {"before": {"name": "CUSTOM_A"}, "after": {}}, "CUSTOM_C": {"before": null, "after": {}}}, "traits": {"CUSTOM_T": {"before": {}, "after": null}}}`,
			[]string{"resource class CUSTOM_A renamed to CUSTOM_B", "resource class CUSTOM_C created", "trait CUSTOM_T deleted"}},
		"node": {`{"nodes": {"NODE": {"before": {"provision_state": "available", "instance_uuid": null, "traits": ["CUSTOM_A"], "maintenance": false, "extra": {}},
			"after": {"provision_state": "active", "instance_uuid": "VM", "hidden": ["instance_info"], "traits": ["CUSTOM_B"], "maintenance": true, "extra": {"rack": 7, "a": [1]}}}}}`,
			[]string{"node rack-1: extra none → {\"a\":[1],\"rack\":7}, instance_info changed, instance_uuid none → 1d5ecafe…00e1, maintenance none → true, provision_state available → active, traits +CUSTOM_B −CUSTOM_A"}},
		"nodes": {`{"nodes": {"GONE": {"before": null, "after": {"name": "rack-2", "driver": "ipmi", "protected": false, "fault": null}}, "NODE": {"before": {"name": "rack-0"}, "after": null}}}`,
			[]string{"node rack-0 deleted", "node rack-2 created: driver ipmi"}},
		"node allocation": {`{"node_allocations": {"VM": {"before": {"state": "allocating", "node_uuid": null}, "after": {"state": "active", "node_uuid": "NODE"}},
			"GONE": {"before": null, "after": {"name": "web", "state": "allocating", "traits": ["CUSTOM_A"], "candidate_nodes": []}}}}`,
			[]string{"node allocation 1d5ecafe…00e1: node_uuid none → rack-1, state allocating → active", "node allocation web created: state allocating, traits +CUSTOM_A"}},
		"record": {`{"history": {"before": {"state": "off", "keep_days": 7, "log": "GONE"}, "after": {"state": "on", "keep_days": 30, "log": "LOG"}}}`,
			[]string{"record: turned on, keep_days 7 → 30, new log 7c1e0b54…7f10"}},
		"later kind": {`{"later": {"x": {"before": null, "after": {}}}}`, []string{"changes of a kind that this version does not know"}},
		"nothing":    {`{"consumers": {"VM": {"before": null, "after": null}}, "resource_providers": {"HOST": {"before": null, "after": null}}}`, []string{"consumer 1d5ecafe…00e1"}},
	} {
		if got := texts().Lines(event(t, test.changes)); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%q, want\n%q", name, got, test.want)
		}
	}
}

func TestHistory_LinesInASCII_HaveNoOtherCharacters(t *testing.T) {
	t.Parallel()
	ascii := texts()
	ascii.ASCII = true
	got := ascii.Lines(event(t, `{"consumers": {"VM": {"before": {"allocations": {"HOST": {"resources": {"VCPU": 4, "DISK_GB": 1}}}}, "after": {"allocations": {"HOST": {"resources": {"VCPU": 2}}}}}}}`))
	if want := []string{"consumer 1d5ecafe...00e1: compute-2 -DISK_GB 1 VCPU 4 -> 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestHistory_Refusal_HasSummaryOrReason(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"reason": "no_tree", "summary": "compute-1 lacks VCPU."`: "nothing found: compute-1 lacks VCPU.",
		`"reason": "no_tree"`: "nothing found: no_tree",
	} {
		var refusal client.HistoryEvent
		if err := json.Unmarshal([]byte(`{"kind": "refused", "at": "2026-11-22T14:11:00Z", "by": {"request_id": "req-x"}, "request_id": "req-x", `+members+`}`), &refusal); err != nil {
			t.Fatal(err)
		}
		if got := texts().Lines(&refusal); !slices.Equal(got, []string{want}) {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := historytext.Heading(&refusal), "request that found nothing at 2026-11-22T14:11:00.000000Z, request req-x"; got != want {
			t.Errorf("heading %q, want %q", got, want)
		}
	}
}

func TestHistory_Caller_IsShortUnlessWhole(t *testing.T) {
	t.Parallel()
	for by, want := range map[string][3]string{
		`{}`:                   {"", "", "event 7 at 2026-11-22T14:11:00.000000Z"},
		`{"process": "lease"}`: {"lease", "", "event 7 at 2026-11-22T14:11:00.000000Z, by lease"},
		`{"user_id": "0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22", "project_id": "demo", "service_user_id": "nova", "operation": "claim-create",
			"request_id": "req-6b6837d1-5af3-4138-b4ed-e0275c3efda4", "global_request_id": "req-own"}`: {"0f2d6c5a…1d22 (demo) by nova", "req-6b6837d1",
			"event 7 at 2026-11-22T14:11:00.000000Z, by 0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22 (demo) by nova, operation claim-create, request req-6b6837d1-5af3-4138-b4ed-e0275c3efda4, global request req-own"},
		`{"user_id": "admin", "request_id": "req-own"}`: {"admin", "req-own", "event 7 at 2026-11-22T14:11:00.000000Z, by admin, request req-own"},
	} {
		var read client.HistoryEvent
		if err := json.Unmarshal([]byte(`{"kind": "write", "index": 7, "at": "2026-11-22T14:11:00Z", "by": `+by+`}`), &read); err != nil {
			t.Fatal(err)
		}
		if got := [3]string{texts().Caller(&read.By), texts().Request(&read.By), historytext.Heading(&read)}; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestHistory_Values_HaveAllMembers(t *testing.T) {
	t.Parallel()
	got, err := texts().Values(event(t, `{"history": {"before": {"state": "off"}, "after": {"state": "on"}},
		"resource_providers": {"HOST": {"before": {"inventories": {}, "traits": ["CUSTOM_A"]}, "after": {"generation": 9007199254740993, "inventories": {"VCPU": {"total": 16}}, "traits": []}}},
		"traits": {"CUSTOM_T": {"before": null, "after": {}}},
		"consumers": {"VM": {"before": {"lease": null, "allocations": {"HOST": {"resources": {"VCPU": 1}}}}, "after": null}},
		"later_kind": {"x": {"before": {"a": "<b>"}, "after": {"a": false}}}}`))
	want := []historytext.Value{
		{"record", "state", "off", "on"},
		{"trait CUSTOM_T", "-", "-", "exists"},
		{"provider compute-2 " + host, "generation", "-", "9007199254740993"},
		{"provider compute-2 " + host, "inventories", "{}", "-"},
		{"provider compute-2 " + host, "inventories.VCPU.total", "-", "16"},
		{"provider compute-2 " + host, "traits", `["CUSTOM_A"]`, "[]"},
		{"consumer " + vm, "allocations.compute-2.resources.VCPU", "1", "-"},
		{"consumer " + vm, "lease", "null", "-"},
		{"later_kind x", "a", "<b>", "false"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %q, want\n%q", err, got, want)
	}
}

// FuzzLines checks that events of any form have lines and values.
func FuzzLines(f *testing.F) {
	f.Add(`{"consumers": {"` + vm + `": {"before": null, "after": {"lease": null}}}, "history": {"before": null, "after": {"log": 3}}}`)
	f.Add(`{"nodes": {"x": {"before": {"name": 3, "traits": {}}, "after": {"hidden": "a"}}}}`)
	f.Add(`{"resource_providers": {"x": {"before": {}, "after": {}}, "` + host + `": {"before": {"inventories": {"A": {}}}, "after": null}}}`)
	f.Fuzz(func(t *testing.T, changes string) {
		var read client.HistoryEvent
		if json.Unmarshal([]byte(`{"kind": "write", "changes": `+changes+`}`), &read) != nil {
			return
		}
		for _, line := range texts().Lines(&read) {
			if line == "" {
				t.Error("a line is empty")
			}
		}
		_, _ = texts().Values(&read)
		_ = historytext.Heading(&read)
	})
}

func TestHistory_Marks_StandForObjects(t *testing.T) {
	t.Parallel()
	marked := texts()
	marked.Mark = func(kind, key, text string) string { return "[" + kind + " " + key[:3] + " " + text + "]" }
	got := marked.Lines(event(t, `{"traits": {"CUSTOM_T": {"before": null, "after": {}}}, "nodes": {"NODE": {"before": {"fault": "x"}, "after": {"fault": "y"}}},
		"resource_providers": {"NUMA": {"before": {"parent_provider_uuid": "HOST"}, "after": {"parent_provider_uuid": "GONE"}}, "HOST": {"before": {"traits": ["A"]}, "after": {"traits": []}}},
		"consumers": {"VM": {"before": null, "after": {"project_id": "demo", "allocations": {"NUMA": {"resources": {"VCPU": 4}}}}}}}`))
	want := []string{
		"trait [trait CUS CUSTOM_T] created", "[provider c0f compute-2]: traits −A", "provider [provider c0f compute-2-numa-0] moved from [provider c0f compute-2] to [provider c0f c0ffee00…0099]",
		"node [node 0de rack-1]: fault x → y", "consumer [consumer 1d5 1d5ecafe…00e1] ([project dem demo]): [provider c0f compute-2-numa-0] +VCPU 4",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want\n%q", got, want)
	}
}
