package placement_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/microversion"
)

// object is a JSON object.
type object = map[string]any

// rehearsed is a server on which writes are compared with their dry runs.
type rehearsed struct {
	*servertest.Server
	t    *testing.T
	dice *rand.Rand
	// undone counts the writes that were reversed, by path.
	undone map[string]int
	// until is the end of leases.
	until time.Time
}

// These are the names that random requests use. Some of them never exist.
var (
	rehearsedProviders = []string{
		"d0000000-0000-4000-8000-000000000001", "d0000000-0000-4000-8000-000000000002", "d0000000-0000-4000-8000-000000000003",
		"d0000000-0000-4000-8000-000000000004",
	}
	rehearsedConsumers = []string{
		"e0000000-0000-4000-8000-000000000001", "e0000000-0000-4000-8000-000000000002", "e0000000-0000-4000-8000-000000000003",
	}
	rehearsedAggregates = []string{"a0000000-0000-4000-8000-000000000001", "a0000000-0000-4000-8000-000000000002"}
	rehearsedClasses    = []string{"VCPU", "MEMORY_MB", "CUSTOM_A", "CUSTOM_B"}
	rehearsedTraits     = []string{"HW_CPU_X86_VMX", "CUSTOM_A", "CUSTOM_B"}
)

// send sends a request of an administrator with berth 1.7 and returns the status, the body and the object in it.
func (r *rehearsed) send(method, target string, body any) (int, string, object) {
	r.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			r.t.Fatal(err)
		}
	}
	sent := httptest.NewRequestWithContext(r.t.Context(), method, target, bytes.NewReader(text))
	sent.Header.Set("X-Auth-Token", "admin")
	sent.Header.Set("X-Roles", "admin,service")
	sent.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.7")
	if body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	answer := httptest.NewRecorder()
	r.Handler.ServeHTTP(answer, sent)
	var decoded object
	if answer.Body.Len() > 0 {
		if err := json.Unmarshal(answer.Body.Bytes(), &decoded); err != nil {
			r.t.Fatalf("%s %s: %v in %s", method, target, err, answer.Body)
		}
	}
	return answer.Code, answer.Body.String(), decoded
}

func (r *rehearsed) pick(of []string) string { return of[r.dice.IntN(len(of))] }

// some returns some elements of a list, without repetition.
func (r *rehearsed) some(of []string) []string {
	return slices.DeleteFunc(slices.Clone(of), func(string) bool { return r.dice.IntN(2) == 0 })
}

// generation returns the generation of a provider, or sometimes a wrong one.
func (r *rehearsed) generation(provider string) any {
	_, _, shown := r.send(http.MethodGet, "/resource_providers/"+provider, nil)
	if generation, ok := shown["generation"].(float64); ok && r.dice.IntN(8) > 0 {
		return generation
	}
	return 99
}

// owned adds project, user, type and generation of a consumer to a body with allocations.
func (r *rehearsed) owned(consumer string, body object) object {
	_, _, shown := r.send(http.MethodGet, "/allocations/"+consumer, nil)
	body["consumer_generation"] = shown["consumer_generation"]
	if r.dice.IntN(8) == 0 {
		body["consumer_generation"] = 99
	}
	body["project_id"], body["user_id"] = r.pick([]string{"p1", "p2"}), "u"
	body["consumer_type"] = r.pick([]string{"INSTANCE", "MIGRATION"})
	return body
}

// leased gives a consumer a lease, takes it away, or adds nothing. The end of the lease does not depend on the time of the request.
func (r *rehearsed) leased(body object) object {
	switch r.dice.IntN(3) {
	case 0:
		body["lease"] = object{"until": r.until.Add(time.Duration(r.dice.IntN(3)) * time.Minute), "seconds": 31536000}
	case 1:
		body["lease"] = nil
	}
	return body
}

// allocations returns allocations on some providers. Most of them have inventories of these classes.
func (r *rehearsed) allocations(atLeast int) object {
	made := object{}
	for len(made) < atLeast || r.dice.IntN(2) == 0 {
		made[r.pick(rehearsedProviders[:3])] = object{"resources": object{r.pick(rehearsedClasses[:3]): 1 + r.dice.IntN(6)}}
	}
	return made
}

// inventories returns inventories of some classes.
func (r *rehearsed) inventories() object {
	made := object{}
	for _, class := range append(r.some(rehearsedClasses), "VCPU") {
		made[class] = object{"total": 8 + r.dice.IntN(8), "reserved": r.dice.IntN(2), "allocation_ratio": 1 + r.dice.Float64()}
	}
	return made
}

// rehearsedRequests makes a random request of each write operation: its path variables, query and body.
var rehearsedRequests = map[string]func(r *rehearsed) (path, query string, body any){
	"provider-create": func(r *rehearsed) (string, string, any) {
		id := r.pick(rehearsedProviders)
		r.send(http.MethodDelete, "/resource_providers/"+id, nil)
		body := object{"name": "host-" + id[len(id)-1:], "uuid": id}
		if r.dice.IntN(2) == 0 {
			body["parent_provider_uuid"] = r.pick(rehearsedProviders)
		}
		return "/resource_providers", "", body
	},
	"provider-update": func(r *rehearsed) (string, string, any) {
		body := object{"name": "renamed-" + fmt.Sprint(r.dice.IntN(4))}
		switch r.dice.IntN(3) {
		case 0:
			body["parent_provider_uuid"] = r.pick(rehearsedProviders)
		case 1:
			body["parent_provider_uuid"] = nil
		}
		return "/resource_providers/" + r.pick(rehearsedProviders), "", body
	},
	"provider-delete": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders), "", nil
	},
	"inventory-replace": func(r *rehearsed) (string, string, any) {
		id := r.pick(rehearsedProviders)
		return "/resource_providers/" + id + "/inventories", "", object{"resource_provider_generation": r.generation(id), "inventories": r.inventories()}
	},
	"inventory-clear": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders) + "/inventories", "", nil
	},
	"inventory-create": func(r *rehearsed) (string, string, any) {
		id := r.pick(rehearsedProviders)
		return "/resource_providers/" + id + "/inventories", "", object{"resource_class": r.pick(rehearsedClasses), "total": 10}
	},
	"inventory-update": func(r *rehearsed) (string, string, any) {
		id := r.pick(rehearsedProviders)
		return "/resource_providers/" + id + "/inventories/" + r.pick(rehearsedClasses), "",
			object{"resource_provider_generation": r.generation(id), "total": 5 + r.dice.IntN(9)}
	},
	"inventory-delete": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders) + "/inventories/" + r.pick(rehearsedClasses), "", nil
	},
	"inventory-patch": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders) + "/inventories", "",
			object{"inventories": object{r.pick(rehearsedClasses): object{"total": 12}, "DISK_GB": nil}}
	},
	"provider-trait-replace": func(r *rehearsed) (string, string, any) {
		id := r.pick(rehearsedProviders)
		return "/resource_providers/" + id + "/traits", "", object{"resource_provider_generation": r.generation(id), "traits": r.some(rehearsedTraits)}
	},
	"provider-trait-clear": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders) + "/traits", "", nil
	},
	"provider-trait-patch": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders) + "/traits", "", object{"traits": object{r.pick(rehearsedTraits): true, "HW_CPU_X86_AVX2": nil}}
	},
	"provider-aggregate-replace": func(r *rehearsed) (string, string, any) {
		id := r.pick(rehearsedProviders)
		return "/resource_providers/" + id + "/aggregates", "", object{"resource_provider_generation": r.generation(id), "aggregates": r.some(rehearsedAggregates)}
	},
	"provider-aggregate-patch": func(r *rehearsed) (string, string, any) {
		return "/resource_providers/" + r.pick(rehearsedProviders) + "/aggregates", "",
			object{"aggregates": object{rehearsedAggregates[0]: nil, rehearsedAggregates[1]: true}}
	},
	"resource-class-create": func(r *rehearsed) (string, string, any) {
		return "/resource_classes", "", object{"name": r.pick(rehearsedClasses[2:])}
	},
	"resource-class-ensure": func(r *rehearsed) (string, string, any) {
		return "/resource_classes/" + r.pick(rehearsedClasses[2:]), "", nil
	},
	"resource-class-delete": func(r *rehearsed) (string, string, any) {
		return "/resource_classes/" + r.pick(rehearsedClasses), "", nil
	},
	"trait-ensure": func(r *rehearsed) (string, string, any) { return "/traits/" + r.pick(rehearsedTraits[1:]), "", nil },
	"trait-delete": func(r *rehearsed) (string, string, any) { return "/traits/" + r.pick(rehearsedTraits), "", nil },
	"allocation-replace": func(r *rehearsed) (string, string, any) {
		consumer := r.pick(rehearsedConsumers)
		return "/allocations/" + consumer, "", r.leased(r.owned(consumer, object{"allocations": r.allocations(1)}))
	},
	"allocation-replace-many": func(r *rehearsed) (string, string, any) {
		body := object{}
		for _, consumer := range append(r.some(rehearsedConsumers), rehearsedConsumers[0]) {
			body[consumer] = r.leased(r.owned(consumer, object{"allocations": r.allocations(0)}))
		}
		return "/allocations", "", body
	},
	"allocation-delete": func(r *rehearsed) (string, string, any) { return "/allocations/" + r.pick(rehearsedConsumers), "", nil },
	"allocation-patch": func(r *rehearsed) (string, string, any) {
		return "/allocations/" + r.pick(rehearsedConsumers), "",
			r.leased(object{"allocations": object{r.pick(rehearsedProviders): nil, rehearsedProviders[1]: object{"resources": object{"VCPU": 1 + r.dice.IntN(3)}}}})
	},
	"reshape": func(r *rehearsed) (string, string, any) {
		r.supply()
		id, consumer := r.pick(rehearsedProviders[:3]), r.pick(rehearsedConsumers)
		records := object{"VCPU": object{"total": 20}, "MEMORY_MB": object{"total": 20}, "DISK_GB": object{"total": 20}}
		return "/reshaper", "", object{
			"inventories": object{id: object{"resource_provider_generation": r.generation(id), "inventories": records}},
			"allocations": object{consumer: r.owned(consumer, object{"allocations": object{id: object{"resources": object{"DISK_GB": 2}}}})},
		}
	},
	"reshape-patch": func(r *rehearsed) (string, string, any) {
		id, consumer := r.pick(rehearsedProviders[:3]), r.pick(rehearsedConsumers)
		moved := object{"resources": object{"DISK_GB": 1 + r.dice.IntN(3), "VCPU": nil}}
		return "/reshaper", "", object{
			"inventories": object{id: object{"inventories": object{"DISK_GB": object{"total": 10 + r.dice.IntN(3)}, r.pick(rehearsedClasses): nil}}},
			"allocations": object{consumer: r.owned(consumer, object{"allocations": object{id: moved}})},
		}
	},
	"tree-replace": func(r *rehearsed) (string, string, any) { r.supply(); return r.tree() },
	"claim-create": func(r *rehearsed) (string, string, any) {
		r.supply()
		consumer := r.pick(rehearsedConsumers)
		owner := r.leased(r.owned(consumer, object{"uuid": consumer}))
		body := object{"consumers": []any{owner}}
		if owner["consumer_generation"] != nil {
			body["existing"] = "replace"
		}
		if r.dice.IntN(2) == 0 {
			body["candidates"] = []any{object{"allocations": r.allocations(1)}, object{"allocations": r.allocations(1)}}
		} else {
			body["queries"] = []any{object{"groups": object{"_A": object{"resources": object{"VCPU": 1 + r.dice.IntN(5)}, "in_tree": r.pick(rehearsedProviders)}}, "order": "id"}}
		}
		return "/claims", "", body
	},
	"lease-renew": func(r *rehearsed) (string, string, any) {
		r.supply()
		body := object{"consumers": []any{rehearsedConsumers[0], rehearsedConsumers[1]}}
		if r.dice.IntN(2) == 0 {
			body["seconds"] = 31535000 + r.dice.IntN(900) // after each until, which then is the end
		}
		return "/leases", "", body
	},
	"history-settings-update": func(r *rehearsed) (string, string, any) { // a new log has a random UUID, so it stays off
		_, _, shown := r.send(http.MethodGet, "/history/settings", nil)
		body := object{"state": "off", "generation": shown["generation"]}
		if r.dice.IntN(2) == 0 {
			body["keep_days"] = r.dice.IntN(40)
		}
		if r.dice.IntN(4) == 0 {
			body["generation"] = 99
		}
		return "/history/settings", "", body
	},
}

// tree makes a request for the tree of a provider, with others below it. Sometimes it deletes one of them.
func (r *rehearsed) tree() (string, string, any) {
	var root any
	listed, deleted := []any{}, object{}
	for _, id := range rehearsedProviders {
		status, _, shown := r.send(http.MethodGet, "/resource_providers/"+id, nil)
		exists := status == http.StatusOK
		switch {
		case root == nil && exists:
			root = shown["root_provider_uuid"]
		case exists && shown["root_provider_uuid"] != root:
			continue
		}
		provider := object{"uuid": id, "name": "tree-" + id[35:], "parent_provider_uuid": nil, "generation": nil, "traits": r.some(rehearsedTraits)}
		if exists {
			provider["generation"] = r.generation(id)
		}
		if id != root {
			provider["parent_provider_uuid"] = root
		}
		switch r.dice.IntN(4) {
		case 0:
			provider["inventories"], provider["aggregates"] = r.inventories(), r.some(rehearsedAggregates)
		case 1:
			if exists && id != root {
				deleted[id] = object{"generation": provider["generation"]}
				continue
			}
		}
		listed = append(listed, provider)
	}
	consumer := r.pick(rehearsedConsumers)
	consumers := object{consumer: r.owned(consumer, object{"allocations": object{}})}
	if r.dice.IntN(2) == 0 {
		consumers = object{}
	}
	return fmt.Sprintf("/resource_providers/%s/tree", root), "", object{"resource_providers": listed, "deleted_providers": deleted, "consumers": consumers}
}

// undo sends the inverse of a write, and compares the state with the one before the write. Generations differ, and names that
// the write created stay.
func (r *rehearsed) undo(method, path string, inverse, before object) {
	r.t.Helper()
	if path == "/reshaper" {
		method = http.MethodPatch
	}
	status, answer, _ := r.send(method, path, inverse)
	if status != http.StatusOK {
		r.t.Errorf("the inverse %v of %s %s returns %d %s", inverse, method, path, status, answer)
	}
	after := r.world()
	for _, world := range []object{before, after} {
		delete(world, "resource_classes")
		delete(world, "traits")
		for _, of := range []string{"resource_providers", "consumers"} {
			for _, shown := range world[of].(object) {
				delete(shown.(object), "generation")
				delete(shown.(object), "consumer_generation")
				delete(shown.(object), "lease") // an inverse does not restore it
			}
		}
	}
	if left := difference(before, after); len(left["resource_providers"].(object))+len(left["consumers"].(object)) > 0 {
		r.t.Errorf("%s %s and its inverse %v leave %v", method, path, inverse, left)
	}
}

// supply creates the providers that are missing and their inventories, so that some of the requests succeed.
func (r *rehearsed) supply() {
	for _, id := range rehearsedProviders[:3] {
		r.send(http.MethodPost, "/resource_providers", object{"name": "host-" + id[len(id)-1:], "uuid": id})
		r.send(http.MethodPatch, "/resource_providers/"+id+"/inventories", object{"inventories": object{
			"VCPU": object{"total": 16}, "MEMORY_MB": object{"total": 16},
		}})
	}
}

// world returns what the GETs show of the names, in the form of the changes of dry runs.
func (r *rehearsed) world() object {
	r.t.Helper()
	found := object{"resource_providers": object{}, "consumers": object{}, "resource_classes": object{}, "traits": object{}}
	for _, id := range rehearsedProviders {
		status, _, shown := r.send(http.MethodGet, "/resource_providers/"+id, nil)
		if status != http.StatusOK {
			continue
		}
		_, _, inventories := r.send(http.MethodGet, "/resource_providers/"+id+"/inventories", nil)
		_, _, usages := r.send(http.MethodGet, "/resource_providers/"+id+"/usages", nil)
		_, _, traits := r.send(http.MethodGet, "/resource_providers/"+id+"/traits", nil)
		_, _, aggregates := r.send(http.MethodGet, "/resource_providers/"+id+"/aggregates", nil)
		found["resource_providers"].(object)[id] = object{
			"name": shown["name"], "parent_provider_uuid": shown["parent_provider_uuid"], "generation": shown["generation"],
			"inventories": inventories["inventories"], "usages": usages["usages"],
			"traits": sorted(traits["traits"]), "aggregates": sorted(aggregates["aggregates"]),
		}
	}
	for _, id := range rehearsedConsumers {
		_, _, shown := r.send(http.MethodGet, "/allocations/"+id, nil)
		if shown["consumer_generation"] == nil {
			continue
		}
		for _, held := range shown["allocations"].(object) {
			delete(held.(object), "generation")
		}
		found["consumers"].(object)[id] = shown
	}
	for kind, names := range map[string][]string{"resource_classes": rehearsedClasses, "traits": rehearsedTraits} {
		for _, name := range names {
			if status, _, _ := r.send(http.MethodGet, "/"+kind+"/"+name, nil); status < 300 {
				found[kind].(object)[name] = object{}
			}
		}
	}
	return found
}

func sorted(list any) []any {
	names := list.([]any)
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return names
}

// difference returns what changes would say of two worlds.
func difference(before, after object) object {
	found := object{}
	for kind := range before {
		changed := object{}
		was, is := before[kind].(object), after[kind].(object)
		for _, key := range slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is))) {
			switch {
			case reflect.DeepEqual(was[key], is[key]):
			case was[key] == nil || is[key] == nil:
				changed[key] = object{"before": was[key], "after": is[key]}
			default:
				changed[key] = object{"before": part(was[key].(object), is[key].(object)), "after": part(is[key].(object), was[key].(object))}
			}
		}
		found[kind] = changed
	}
	return found
}

// part returns the members of an object that differ from another: of objects whose members are objects or numbers by name
// single members, of lists single elements. An inventory and a lease are one value.
func part(of, other object) object {
	found := object{}
	for name, value := range of {
		known := other[name]
		_, isInventory := of["max_unit"]
		switch value := value.(type) {
		case object:
			_, whole := value["max_unit"]
			if _, isLease := value["expires_at"]; isLease {
				whole = true
			}
			if nested, ok := known.(object); !whole && !isInventory {
				if !ok {
					nested = object{}
				}
				if left := part(value, nested); len(left) > 0 {
					found[name] = left
				}
			} else if !reflect.DeepEqual(value, known) {
				found[name] = value
			}
		case []any:
			if left := slices.DeleteFunc(slices.Clone(value), func(element any) bool {
				return slices.Contains(known.([]any), element)
			}); len(left) > 0 {
				found[name] = left
			}
		default:
			if !reflect.DeepEqual(value, known) {
				found[name] = value
			}
		}
	}
	return found
}

// anyRequest matches the request IDs and times of responses.
var anyRequest = regexp.MustCompile(`req-[0-9a-f-]{36}|"made_at":"[^"]*","took_ms":\d+`)

func stripped(answer string) string {
	return anyRequest.ReplaceAllStringFunc(answer, func(found string) string {
		if strings.HasPrefix(found, "req-") {
			return ""
		}
		return `"made_at":0`
	})
}

// compare sends a request as a dry run and then as a write, and compares them. It returns the status of the write.
func (r *rehearsed) compare(method, path, query string, body any) int {
	r.t.Helper()
	before, stored := r.world(), dbtest.Snapshot(r.t, r.DB)
	status, text, dry := r.send(method, path+"?dry_run=true"+query, body)
	if diff := stored.Diff(dbtest.Snapshot(r.t, r.DB)); len(diff) > 0 {
		r.t.Fatalf("%s %s: the dry run has changed %q", method, path, diff)
	}
	wrote, answer, _ := r.send(method, path+strings.Replace(query, "&", "?", 1), body)
	if status != http.StatusOK {
		if status != wrote || stripped(text) != stripped(answer) {
			r.t.Errorf("%s %s: the dry run returns %d %s, the write %d %s", method, path, status, text, wrote, answer)
		}
		return wrote
	}
	var written any
	if answer != "" {
		if err := json.Unmarshal([]byte(stripped(answer)), &written); err != nil {
			r.t.Fatal(err)
		}
	}
	var shown object
	if err := json.Unmarshal([]byte(stripped(text)), &shown); err != nil {
		r.t.Fatal(err)
	}
	if dry["would"] != float64(wrote) || !reflect.DeepEqual(shown["body"], written) {
		r.t.Errorf("%s %s %v: the dry run returns %s, the write %d %s", method, path, body, text, wrote, answer)
	}
	if want := difference(before, r.world()); !reflect.DeepEqual(dry["changes"], want) {
		r.t.Errorf("%s %s %v: changes = %v, want %v", method, path, body, dry["changes"], want)
	}
	if inverse, ok := dry["inverse"].(object); ok && wrote < 300 && r.dice.IntN(2) == 0 {
		r.undone[path]++
		r.undo(method, path, inverse, before)
	}
	return wrote
}

// TestScenario_DryRunOfEveryWrite_EqualsWrite sends random requests of each write operation of the route table: first as
// a dry run, then as a write.
func TestScenario_DryRunOfEveryWrite_EqualsWrite(t *testing.T) {
	t.Parallel()
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	r := &rehearsed{t: t, Server: servertest.New(t, servertest.Options{}), dice: rand.New(rand.NewPCG(1, 3)), undone: map[string]int{},
		until: time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour)}
	succeeded, tried := map[string]bool{}, 0
	for round := 0; round < rounds || round < 4*rounds && len(succeeded) < len(rehearsedRequests); round++ {
		for _, op := range server.Table(server.Options{}).Operations() {
			if op.Method == http.MethodGet || op.ReadOnly || op.Variants[len(op.Variants)-1].Gone {
				continue
			}
			request := rehearsedRequests[op.ID]
			if request == nil {
				t.Fatalf("no requests of operation %s", op.ID)
			}
			if r.dice.IntN(2) == 0 {
				r.supply()
			}
			path, query, body := request(r)
			tried++
			if status := r.compare(op.Method, path, query, body); status < 300 {
				succeeded[op.ID] = true
			}
		}
	}
	for id := range rehearsedRequests {
		if !succeeded[id] {
			t.Errorf("no request of operation %s succeeded", id)
		}
	}
	if len(r.undone) < 2 {
		t.Errorf("reversed writes = %v, want some of reshapes and of trees", r.undone)
	}
	t.Logf("%d requests at %s", tried, microversion.Berth(7).Label())
}

// TestLimits_ManyDryRuns_RunOrReturn503 sends many dry runs at once on a small pool.
func TestLimits_ManyDryRuns_RunOrReturn503(t *testing.T) {
	t.Parallel()
	r := &rehearsed{t: t, dice: rand.New(rand.NewPCG(1, 3)), Server: servertest.New(t, servertest.Options{
		Store: postgres.Options{MaxConns: 2, ReadReserve: 1},
	})}
	provider := rehearsedProviders[0]
	r.send(http.MethodPost, "/resource_providers", object{"name": "host", "uuid": provider})
	stored := dbtest.Snapshot(t, r.DB)
	var sent sync.WaitGroup
	statuses := make(chan int, 128)
	for n := range 64 {
		sent.Go(func() {
			status, text, _ := r.send(http.MethodPut, "/resource_providers/"+provider+"?dry_run=true", object{"name": fmt.Sprint("name-", n)})
			if status == http.StatusServiceUnavailable && !strings.Contains(text, "berth.dry_run.busy") {
				t.Errorf("503 with %s", text)
			}
			statuses <- status
		})
		sent.Go(func() {
			if status, text, _ := r.send(http.MethodGet, "/resource_providers/"+provider, nil); status != http.StatusOK {
				t.Errorf("read: %d %s", status, text)
			}
		})
	}
	sent.Wait()
	close(statuses)
	counts := map[int]int{}
	for status := range statuses {
		counts[status]++
	}
	if counts[200] == 0 || counts[200]+counts[503] != 64 {
		t.Errorf("statuses = %v", counts)
	}
	if diff := stored.Diff(dbtest.Snapshot(t, r.DB)); len(diff) > 0 {
		t.Errorf("the dry runs have changed %q", diff)
	}
	if idle := r.Store.Pool().Stat().AcquiredConns(); idle != 0 {
		t.Errorf("%d connections are in use", idle)
	}
}
