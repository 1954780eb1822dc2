package baremetal_test

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// names returns the names of the nodes in a list.
func (r *response) names() []string {
	r.t.Helper()
	r.wants(http.StatusOK)
	found := []string{}
	nodes, _ := r.body["nodes"].([]any)
	for _, one := range nodes {
		node, _ := one.(map[string]any)
		name, _ := node["name"].(string)
		found = append(found, name)
	}
	return found
}

// park creates nodes that differ in all filtered members.
func park(t *testing.T) *service {
	t.Helper()
	s := newService(t)
	s.machine(map[string]any{"name": "a", "resource_class": "gold", "owner": "me", "description": "below the window", "shard": "s1"})
	s.machine(map[string]any{"name": "b", "resource_class": "gold", "instance_uuid": idA, "lessee": "you", "retired": true})
	s.machine(map[string]any{"name": "c", "maintenance": true, "shard": "s2"})
	s.machine(map[string]any{"name": "d", "uuid": idB})
	s.becomes("a", "available", nil)
	s.becomes("b", "active", nil)
	return s
}

func TestNode_ListFilters_SelectNodes(t *testing.T) {
	t.Parallel()
	s := park(t)
	for query, want := range map[string]string{
		"": "abcd", "provision_state=available": "a", "provision_state=enroll": "cd", "provision_state=rescue": "",
		"resource_class=gold": "ab", "resource_class=silver": "", "associated=True": "b", "associated=false": "acd", "associated=1": "b",
		"maintenance=yes": "c", "maintenance=off": "abd", "instance_uuid=" + idA: "b", "instance_uuid=" + idB: "",
		"driver=" + fakeDriver: "abcd", "driver=ipmi": "", "owner=me": "a", "lessee=you": "b", "conductor_group=": "abcd", "conductor_group=x": "",
		"fault=clean+failure": "", "retired=on": "b", "retired=n": "acd", "conductor=berth-1": "", "conductor=unknown": "",
		"description_contains=window": "a", "chassis_uuid=" + idA: "", "shard=s1": "a", "shard=s1,s2": "ac", "sharded=true": "ac", "sharded=no": "bd",
		"resource_class=gold&associated=false": "a", "provision_state=available&resource_class=gold&associated=false&maintenance=false": "a",
		"sort_key=name&sort_dir=desc": "dcba", "sort_dir=desc": "dcba", "sort_key=resource_class": "cdab", "sort_key=description&sort_dir=desc&limit=1": "a",
	} {
		separator := "&"
		if query == "" {
			separator = ""
		}
		if got := strings.Join(s.get("/v1/nodes?fields=name"+separator+query, "1.82").names(), ""); got != want {
			t.Errorf("%s lists %s, want %s", query, got, want)
		}
		if got := strings.Join(s.get("/v1/nodes/detail?"+query, "1.82").names(), ""); got != want {
			t.Errorf("%s details %s, want %s", query, got, want)
		}
	}
}

func TestNode_InvalidListFilter_Returns400(t *testing.T) {
	t.Parallel()
	s := park(t)
	for query, want := range map[string]string{
		"provision_state=asleep":  `Provision state "asleep" is not valid`,
		"associated=maybe":        "Invalid value 'maybe' for associated: it is neither true nor false.",
		"instance_uuid=x":         "Expected UUID for instance_uuid: x",
		"chassis_uuid=x":          "Expected UUID for chassis_uuid: x",
		"color=red":               "Unexpected arguments: color",
		"limit=0":                 "Limit must be positive",
		"marker=a":                "Expected UUID for marker: a",
		"sort_key=properties":     `The sort_key value "properties" is an invalid field for sorting`,
		"sort_key=traits":         `The sort_key value "traits" is an invalid field for sorting`,
		"fields=bogus":            `Field(s) "bogus" are not valid`,
		"detail=True&fields=uuid": "Can't fetch a subset of fields with 'detail' set",
	} {
		s.get("/v1/nodes?"+query, "1.82").refuses(http.StatusBadRequest, want)
	}
	s.get("/v1/nodes/detail?fields=uuid", "1.82").refuses(http.StatusBadRequest, "Unexpected arguments: fields")
	s.get("/v1/nodes?marker="+idA, "1.82").refuses(http.StatusNotFound, "The marker "+idA+" could not be found.")
	s.get("/v1/nodes?sort_key=resource_class", "1.20").refuses(http.StatusBadRequest,
		`The sort_key value "resource_class" is an invalid field for sorting`)
	for name, versions := range map[string][2]string{
		"fields=uuid": {"1.7", "1.8"}, "provision_state=enroll": {"1.8", "1.9"}, "driver=x": {"1.15", "1.16"}, "resource_class=x": {"1.20", "1.21"},
		"fault=x": {"1.41", "1.42"}, "detail=true": {"1.42", "1.43"}, "conductor_group=x": {"1.45", "1.46"}, "conductor=x": {"1.48", "1.49"},
		"owner=x": {"1.49", "1.50"}, "description_contains=x": {"1.50", "1.51"}, "retired=true": {"1.60", "1.61"}, "lessee=x": {"1.64", "1.65"},
		"shard=x": {"1.81", "1.82"}, "sharded=true": {"1.81", "1.82"},
	} {
		argument, _, _ := strings.Cut(name, "=")
		s.get("/v1/nodes?"+name, versions[0]).refuses(http.StatusNotAcceptable,
			"Only later versions than "+versions[0]+" have the arguments: "+argument)
		s.get("/v1/nodes?"+name, versions[1]).wants(http.StatusOK)
	}
}

func TestNode_ListWithoutDetail_ReturnsDefaultFields(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.machine(map[string]any{"uuid": idA, "name": "rack-7"})
	s.becomes(idA, "available", nil)
	brief := map[string]any{
		"uuid": idA, "name": "rack-7", "instance_uuid": nil, "maintenance": false, "power_state": nil, "provision_state": "available",
		"links": nodeLinks(idA),
	}
	list := func(target, version string) *response { return s.get(target, version).wants(http.StatusOK) }
	if got := list("/v1/nodes", "1.82").body; !reflect.DeepEqual(got, asJSON(t, map[string]any{"nodes": []any{brief}})) {
		t.Errorf("got %v", got)
	}
	delete(brief, "name")
	brief["provision_state"] = nil
	list("/v1/nodes/", "1.1").shows(map[string]any{"nodes": []any{brief}})
	whole := s.get("/v1/nodes/"+idA, "1.82").body
	list("/v1/nodes/detail", "1.82").shows(map[string]any{"nodes": []any{whole}})
	list("/v1/nodes?detail=True", "1.82").shows(map[string]any{"nodes": []any{whole}})
	list("/v1/nodes/?fields=UUID,%20traits,uuid", "1.82").shows(map[string]any{
		"nodes": []any{map[string]any{"uuid": idA, "traits": []string{}, "links": nodeLinks(idA)}},
	})
	if got := list("/v1/nodes/"+idA+"?fields=driver", "1.8").body; !reflect.DeepEqual(got, asJSON(t, map[string]any{
		"driver": fakeDriver, "links": nodeLinks(idA),
	})) {
		t.Errorf("got %v", got)
	}
	list("/v1/nodes/detail?instance_uuid="+idB, "1.82").shows(map[string]any{"nodes": []any{}})
}

func TestNode_ListPages_FollowNextLinks(t *testing.T) {
	t.Parallel()
	s := park(t)
	for query, want := range map[string]string{
		"/v1/nodes?fields=uuid,name&limit=1&associated=false": "acd", "/v1/nodes/detail?limit=3": "abcd",
		"/v1/nodes?fields=name&limit=2&sort_key=name&sort_dir=desc": "dcba",
	} {
		var got []string
		for target, pages := query, 0; target != ""; pages++ {
			page := s.get(target, "1.82")
			got = append(got, page.names()...)
			next, _ := page.body["next"].(string)
			target = strings.TrimPrefix(next, base)
			if pages > 5 {
				t.Fatal("the pages do not end")
			}
		}
		if strings.Join(got, "") != want {
			t.Errorf("%s: %v, want %s", query, got, want)
		}
	}
	first := s.get("/v1/nodes?limit=1&associated=false&sort_key=name", "1.82")
	nodes, _ := first.body["nodes"].([]any)
	only, _ := nodes[0].(map[string]any)
	id, _ := only["uuid"].(string)
	first.shows(map[string]any{"next": base + "/v1/nodes?sort_key=name&sort_dir=asc&associated=false&limit=1&marker=" + id})
	if _, more := s.get("/v1/nodes?limit=1&instance_uuid="+idA, "1.82").wants(http.StatusOK).body["next"]; more {
		t.Error("a list of one node has a next page")
	}
	if names := s.get("/v1/nodes?limit=5000", "1.82").names(); !slices.Equal(names, []string{"a", "b", "c", "d"}) {
		t.Errorf("got %v", names)
	}
}
