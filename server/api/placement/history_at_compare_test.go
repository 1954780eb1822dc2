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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
)

// shownThen is what the two routes show of all names: of now, or with a parameter at as it was. An object that does not exist is nil.
func (r recorder) shownThen(at string) object {
	r.t.Helper()
	shown := object{}
	ask := func(key, target string) {
		switch status, text, found := r.send(http.MethodGet, target, nil); status {
		case http.StatusOK:
			shown[key] = found
		case http.StatusNotFound:
			shown[key] = nil
		default:
			r.t.Fatalf("GET %s: %d %s", target, status, text)
		}
	}
	for _, id := range append(slices.Clone(rehearsedProviders), "d0000000-0000-4000-8000-000000000009") {
		ask("tree "+id, "/resource_providers/"+id+"/tree?include=inventories,usages,traits,aggregates,consumers"+strings.Replace(at, "?", "&", 1))
	}
	for _, id := range rehearsedConsumers {
		ask("consumer "+id, "/consumers/"+id+at)
	}
	return shown
}

// savedState is what was shown while an event was the newest one.
type savedState struct {
	index float64
	at    string
	shown object
	// generations are those of the providers in the events up to it.
	generations map[string]any
}

// historyFindings compares what was shown with what the record tells.
type historyFindings struct{ found []string }

func (f *historyFindings) add(format string, values ...any) {
	f.found = append(f.found, fmt.Sprintf(format, values...))
}

// compare compares the states with answers of how it was.
func (f *historyFindings) compare(saved *savedState, then object) {
	for key, was := range saved.shown {
		got := then[key]
		if was == nil || got == nil {
			if was != nil || got != nil {
				f.add("at %.0f: %s: %v, want %v", saved.index, key, got, was)
			}
			continue
		}
		// A copy, because comparable changes it.
		encoded, _ := json.Marshal(was)
		want := object{}
		_ = json.Unmarshal(encoded, &want)
		at, _ := got.(object)["at"].(object)
		if at["index"] != saved.index || at["time"] != saved.at {
			f.add("at %.0f (%s): %s: moment %v", saved.index, saved.at, key, at)
		}
		delete(got.(object), "at")
		f.comparable(saved, key, want, got.(object))
		if !reflect.DeepEqual(got, any(want)) {
			f.add("at %.0f: %s:\n%v, want\n%v", saved.index, key, got, want)
		}
	}
}

// comparable gives what was shown the generations of the record, and takes from both what the record does not have: times of what is gone,
// and what a write without an event has changed since.
func (f *historyFindings) comparable(saved *savedState, key string, want, got object) {
	for _, name := range []string{"created_at", "updated_at", "consumer_generation"} {
		if _, isShown := want[name]; !isShown {
			continue
		}
		if is := got[name]; is != nil && (name == "created_at" && is != want[name] || fmt.Sprint(is) < fmt.Sprint(want[name])) {
			f.add("at %.0f: %s: %s is %v, was %v", saved.index, key, name, is, want[name])
		}
		delete(want, name)
		delete(got, name)
	}
	for _, shown := range []object{want, got} {
		if lease, ok := shown["lease"].(object); ok {
			delete(lease, "expires_at")
		}
		if providers, ok := shown["resource_providers"].([]any); ok {
			shown["resource_providers"] = f.byUUID(providers)
		}
	}
	generation := func(id string, of any) {
		if member, ok := of.(object); ok && member["generation"] != nil {
			member["generation"] = saved.generations[id]
		}
	}
	for _, of := range []string{"resource_providers", "consumers", "allocations"} {
		members, ok := want[of].(object)
		if !ok {
			continue
		}
		for id, member := range members {
			generation(id, member)
			if other, ok := got[of].(object)[id].(object); ok {
				f.comparable(saved, key+" "+id, member.(object), other)
			}
		}
	}
}

// byUUID returns the providers of a tree by UUID. Parents precede their children.
func (f *historyFindings) byUUID(providers []any) object {
	listed := object{}
	for _, provider := range providers {
		member := provider.(object)
		if parent, ok := member["parent_provider_uuid"].(string); ok && listed[parent] == nil {
			f.add("%v precedes its parent", member["uuid"])
		}
		for _, set := range []string{"traits", "aggregates"} {
			if names, ok := member[set].([]any); ok {
				member[set] = sorted(names)
			}
		}
		listed[member["uuid"].(string)] = member
	}
	return listed
}

// compareAll compares all states.
func (r recorder) compareAll(states []savedState) []string {
	r.t.Helper()
	var findings historyFindings
	for i := range states {
		findings.compare(&states[i], r.shownThen(fmt.Sprintf("?at=%.0f", states[i].index)))
	}
	return findings.found
}

// renameClass renames a custom class, which only requests below 1.7 do.
func (r recorder) renameClass(from, to string) {
	r.t.Helper()
	body, _ := json.Marshal(object{"name": to})
	request := httptest.NewRequestWithContext(r.t.Context(), http.MethodPut, "/resource_classes/"+from, bytes.NewReader(body))
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("X-Roles", "admin,service")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("OpenStack-API-Version", "placement 1.6")
	r.Handler.ServeHTTP(httptest.NewRecorder(), request)
}

// write changes something at random: a request of each write operation in turn, or a renamed class. Most requests succeed.
func (r recorder) randomWrites(rounds int, written func()) {
	r.t.Helper()
	for range rounds {
		for _, op := range server.Table(server.Options{}).Operations() {
			request := rehearsedRequests[op.ID]
			if request == nil || op.ID == "history-settings-update" {
				continue
			}
			if r.dice.IntN(2) == 0 {
				r.supply()
				written()
			}
			path, query, body := request(r.rehearsed)
			written() // the request can be made with writes
			r.send(op.Method, path+strings.Replace(query, "&", "?", 1), body)
			written()
			if r.dice.IntN(8) == 0 {
				r.renameClass(r.pick(rehearsedClasses[2:]), r.pick(append(rehearsedClasses[2:], "CUSTOM_C")))
				written()
			}
		}
	}
}

// saver saves what is shown after each write.
type saver struct {
	recorder
	states      []savedState
	generations map[string]any
}

// newSaver returns a recorder whose random requests depend on a seed.
func newSaver(t *testing.T, seed uint64) *saver {
	t.Helper()
	s := &saver{recorder: newRecording(t), generations: map[string]any{}}
	s.dice, s.undone = rand.New(rand.NewPCG(1, seed)), map[string]int{}
	s.until = time.Now().UTC().Truncate(time.Second).Add(24 * time.Hour)
	return s
}

// save saves what is shown now, in place of what was shown at the same event. It reports whether there are new events.
func (s *saver) save() bool {
	s.t.Helper()
	since, saved := 0.0, len(s.states)
	if saved > 0 {
		since = s.states[saved-1].index
	}
	for _, event := range s.events(fmt.Sprintf("?sort=index&since=%.0f&limit=1000", since+1)) {
		providers, _ := event["changes"].(object)["resource_providers"].(object)
		for id, change := range providers {
			switch after, isThere := change.(object)["after"].(object); {
			case !isThere:
				delete(s.generations, id)
			case after["generation"] != nil:
				s.generations[id] = after["generation"]
			}
		}
		// Of several events between two saves only the last one has a state.
		s.states = append(s.states, savedState{index: event["index"].(float64), at: event["at"].(string), generations: maps.Clone(s.generations)})
	}
	s.states[len(s.states)-1].shown = s.shownThen("")
	return len(s.states) > saved
}

// seldomWrites are writes that random ones seldom are: classes of inventories and allocations are renamed twice, and a consumer without a
// lease is deleted and comes again with one.
func (s *saver) seldomWrites() {
	s.t.Helper()
	host, vm, other := "d0000000-0000-4000-8000-000000000009", rehearsedConsumers[0], rehearsedConsumers[1]
	write := func(method, path string, body any) {
		s.t.Helper()
		s.write(method, path, body)
		s.save()
	}
	allocate := func(consumer, class string, amount int, lease any) {
		s.t.Helper()
		_, _, shown := s.send(http.MethodGet, "/allocations/"+consumer, nil)
		write(http.MethodPut, "/allocations/"+consumer, object{"allocations": object{host: object{"resources": object{class: amount}}}, "project_id": "p",
			"user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": shown["consumer_generation"], "lease": lease})
	}
	names := []string{"CUSTOM_FIRST", "CUSTOM_SECOND", "CUSTOM_THIRD"}
	write(http.MethodPost, "/resource_providers", object{"name": "seldom", "uuid": host})
	write(http.MethodPut, "/resource_classes/"+names[0], nil)
	write(http.MethodPut, "/resource_providers/"+host+"/inventories", object{"resource_provider_generation": 0,
		"inventories": object{names[0]: object{"total": 8}, "VCPU": object{"total": 8}}})
	allocate(vm, names[0], 2, nil)
	allocate(other, names[0], 1, nil)
	for _, renamed := range [][]string{names[:2], names[1:]} {
		s.renameClass(renamed[0], renamed[1])
		s.save()
		allocate(vm, renamed[1], 3, nil)
		write(http.MethodPatch, "/resource_providers/"+host+"/inventories", object{"inventories": object{"VCPU": object{"total": 9}}})
	}
	allocate(vm, names[2], 4, nil)
	write(http.MethodPatch, "/resource_providers/"+host+"/inventories", object{"inventories": object{names[2]: object{"total": 9}}})
	write(http.MethodDelete, "/allocations/"+other, nil)
	allocate(other, "VCPU", 1, object{"seconds": 600})
	write(http.MethodDelete, "/allocations/"+other, nil)
	allocate(other, "VCPU", 1, nil)
	write(http.MethodDelete, "/allocations/"+other, nil)
	_, _, shown := s.send(http.MethodGet, "/allocations/"+vm, nil)
	write(http.MethodPost, "/allocations", object{
		other: object{"allocations": object{host: object{"resources": object{"VCPU": 1}}}, "project_id": "p", "user_id": "u",
			"consumer_type": "INSTANCE", "consumer_generation": nil, "lease": object{"seconds": 600}},
		vm: object{"allocations": object{host: object{"resources": object{"VCPU": 1}}}, "project_id": "p", "user_id": "u",
			"consumer_type": "INSTANCE", "consumer_generation": shown["consumer_generation"]},
	})
	allocate(other, "VCPU", 2, object{"seconds": 700})
	for _, trait := range []string{"HW_CPU_X86_VMX", "HW_CPU_X86_AVX2"} {
		write(http.MethodPatch, "/resource_providers/"+host+"/traits", object{"traits": object{trait: true}})
	}
	second := "d0000000-0000-4000-8000-000000000008"
	write(http.MethodPost, "/resource_providers", object{"name": "second", "uuid": second})
	write(http.MethodPatch, "/resource_providers/"+second+"/inventories", object{"inventories": object{"VCPU": object{"total": 9}}})
	write(http.MethodPatch, "/allocations/"+other, object{"allocations": object{second: object{"resources": object{"VCPU": 1}}}})
	write(http.MethodPatch, "/allocations/"+other, object{"allocations": object{second: object{"resources": object{"VCPU": 2}}}})
}

// known returns the states of which it is known what was shown.
func (s *saver) known() []savedState {
	return slices.DeleteFunc(slices.Clone(s.states), func(state savedState) bool { return state.shown == nil })
}
