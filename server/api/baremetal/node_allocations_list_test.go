package baremetal_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestNodeAllocation_Microversions_HaveTheirMembersAndMethods(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.send(http.MethodPost, "/v1/allocations", "1.52", map[string]any{"resource_class": "gold", "name": "a"}).wants(http.StatusCreated)
	want := made.plain(map[string]any{"name": "a"})
	delete(want, "owner")
	made.is(want)
	s.get("/v1/allocations/a", "1.59").wants(http.StatusOK).is(want)
	s.get("/v1/allocations", "1.59").wants(http.StatusOK).is(map[string]any{"allocations": []any{want}})
	want["owner"] = nil
	s.get("/v1/allocations/a", "1.60").wants(http.StatusOK).is(want)

	for _, path := range []string{"/v1/allocations", "/v1/allocations/a", "/v1/nodes/a/allocation"} {
		if s.get(path, "1.51").wants(http.StatusNotFound); path == "/v1/nodes/a/allocation" {
			s.send(http.MethodDelete, path, "1.51", nil).wants(http.StatusNotFound)
		}
	}
	for method, path := range map[string]string{
		http.MethodPost: "/v1/allocations", http.MethodPatch: "/v1/allocations/a", http.MethodDelete: "/v1/allocations/a",
	} {
		s.send(method, path, "1.51", `[]`).wants(http.StatusMethodNotAllowed)
	}
	s.send(http.MethodPatch, "/v1/allocations/a", "1.56", `[]`).wants(http.StatusMethodNotAllowed)
	s.send(http.MethodPatch, "/v1/allocations/a", "1.57", `[]`).wants(http.StatusOK)
	s.send(http.MethodHead, "/v1/allocations", "1.82", nil).wants(http.StatusMethodNotAllowed)

	s.send(http.MethodPost, "/v1/allocations", "1.57", map[string]any{"resource_class": "gold", "node": nil}).invalid(
		"JSON does not validate: Additional properties are not allowed ('node' was unexpected)")
	s.send(http.MethodPost, "/v1/allocations", "1.59", map[string]any{"resource_class": "gold", "owner": nil}).refuses(
		http.StatusNotAcceptable, "The field owner can be sent from version 1.60 on; this request is of version 1.59.")
	for _, query := range []string{"fields=owner", "fields=uuid,owner", "owner=ada", "sort_key=owner"} {
		s.get("/v1/allocations?"+query, "1.59").wants(http.StatusNotAcceptable)
		s.get("/v1/allocations?"+query, "1.60").wants(http.StatusOK)
	}
}

func TestNodeAllocation_Fields_SelectMembers(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.allocate(map[string]any{"resource_class": "gold", "name": "a"}).wants(http.StatusCreated)
	some := map[string]any{"name": "a", "state": "allocating", "links": allocationLinks(made.body["uuid"])}
	s.get("/v1/allocations/a?fields=State,name,NAME", "1.82").wants(http.StatusOK).is(some)
	s.get("/v1/allocations/?fields=name,state", "1.82").wants(http.StatusOK).is(map[string]any{"allocations": []any{some}})
	for _, path := range []string{"/v1/allocations", "/v1/allocations/a"} {
		s.get(path+"?fields=foo", "1.82").refuses(http.StatusBadRequest, `Field(s) "foo" are not valid`)
		s.get(path+"?detail=True", "1.82").refuses(http.StatusBadRequest, "Unexpected arguments: detail")
	}
	s.get("/v1/allocations/a?limit=1", "1.82").refuses(http.StatusBadRequest, "Unexpected arguments: limit")
	s.get("/v1/allocations/no%20name", "1.82").refuses(http.StatusBadRequest, "Expected a logical name or UUID but received no name.")
	s.get("/v1/allocations/b", "1.82").refuses(http.StatusNotFound, "Allocation b could not be found.")
	const unknown = "ba5eba11-0000-4000-8000-000000000001"
	s.get("/v1/allocations/"+unknown, "1.82").refuses(http.StatusNotFound, "Allocation "+unknown+" could not be found.")
}

// listed returns the names in a list and the URL of its next page.
func (s *service) listed(query string) (names []string, next string) {
	s.t.Helper()
	shown := s.get("/v1/allocations?"+query, "1.82").wants(http.StatusOK)
	names = []string{}
	for _, one := range shown.body["allocations"].([]any) {
		names = append(names, one.(map[string]any)["name"].(string))
	}
	next, _ = shown.body["next"].(string)
	return names, next
}

func TestNodeAllocation_List_FilteredSortedPaged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	node := s.free("rack-7", "gold")
	ids := map[string]string{}
	for _, body := range []map[string]any{
		{"name": "c", "resource_class": "gold", "owner": "ada"}, {"name": "a", "resource_class": "silver"},
		{"name": "d", "resource_class": "gold"}, {"name": "b", "resource_class": "gold"},
	} {
		ids[body["name"].(string)] = s.allocate(body).wants(http.StatusCreated).body["uuid"].(string)
	}
	s.decide("d").shows(map[string]any{"state": "active", "node_uuid": node.UUID})
	s.decide("b").shows(map[string]any{"state": "error"})
	for query, want := range map[string]string{
		"":                                       "c a d b",
		"state=active":                           "d",
		"state=odd":                              "",
		"resource_class=gold":                    "c d b",
		"resource_class=odd":                     "",
		"owner=ada":                              "c",
		"node=rack-7":                            "d",
		"node=" + node.UUID.String():             "d",
		"node=rack-7&state=active":               "d",
		"node=rack-7&state=error":                "",
		"sort_key=name":                          "a b c d",
		"sort_key=name&sort_dir=desc":            "d c b a",
		"sort_dir=desc":                          "b d a c",
		"limit=2000":                             "c a d b",
		"marker=" + ids["a"]:                     "d b",
		"sort_key=name&marker=" + ids["b"]:       "c d",
		"resource_class=gold&marker=" + ids["c"]: "d b",
	} {
		if names, next := s.listed(query); strings.Join(names, " ") != want || next != "" {
			t.Errorf("%s: %v, next = %q, want %s", query, names, next, want)
		}
	}
	names, next := s.listed("resource_class=gold&limit=2&fields=name,uuid")
	want := base + "/v1/allocations?sort_key=id&sort_dir=asc&resource_class=gold&fields=name%2Cuuid&limit=2&marker=" + ids["d"]
	if !slices.Equal(names, []string{"c", "d"}) || next != want {
		t.Errorf("first page = %v, next = %s, want %s", names, next, want)
	}
	_, query, _ := strings.Cut(next, "?")
	if names, next := s.listed(query); !slices.Equal(names, []string{"b"}) || next != "" {
		t.Errorf("second page = %v, next = %q", names, next)
	}
}

func TestNodeAllocation_InvalidListQuery_Returns400(t *testing.T) {
	t.Parallel()
	s := newService(t)
	const unknown = "ba5eba11-0000-4000-8000-000000000001"
	for query, want := range map[string]string{
		"node=rack-8":              "Node rack-8 could not be found.",
		"node=" + unknown:          "Node " + unknown + " could not be found.",
		"node=no%20name":           "Expected a logical name or UUID but received no name.",
		"limit=0":                  "Limit must be positive",
		"limit=x":                  "Invalid value 'x' for limit: it is not an integer.",
		"marker=x":                 "Expected UUID for marker: x",
		"sort_key=extra":           `The sort_key value "extra" is an invalid field for sorting`,
		"sort_key=candidate_nodes": `The sort_key value "candidate_nodes" is an invalid field for sorting`,
		"sort_key=traits":          `The sort_key value "traits" is an invalid field for sorting`,
		"sort_key=node_uuid":       `The sort_key value "node_uuid" is an invalid field for sorting`,
		"sort_key=links":           `The sort_key value "links" is an invalid field for sorting`,
		"sort_dir=up":              "Invalid sort direction: up. Acceptable values are 'asc' or 'desc'",
		"color=red&detail=1":       "Unexpected arguments: color, detail",
	} {
		s.get("/v1/allocations?"+query, "1.82").refuses(http.StatusBadRequest, want)
	}
	s.get("/v1/allocations?marker="+unknown, "1.82").refuses(http.StatusNotFound, "Allocation "+unknown+" could not be found.")
}
