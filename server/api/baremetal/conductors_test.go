package baremetal_test

import (
	"net/http"
	"reflect"
	"testing"
)

func TestConductor_List_ShowsAliveState(t *testing.T) {
	t.Parallel()
	s := newService(t)
	if err := s.store.ConductorRegister(t.Context(), "gone", []string{"ipmi"}); err != nil {
		t.Fatal(err)
	}
	if err := s.store.ConductorUnregister(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	links := func(name string) []map[string]string {
		return []map[string]string{
			{"href": base + "/v1/conductors/" + name, "rel": "self"}, {"href": base + "/conductors/" + name, "rel": "bookmark"},
		}
	}
	alive := map[string]any{"hostname": conductor, "conductor_group": "", "alive": true, "links": links(conductor)}
	gone := map[string]any{"hostname": "gone", "conductor_group": "", "alive": false, "links": links("gone")}
	if got := s.get("/v1/conductors", "1.49").wants(http.StatusOK); !reflect.DeepEqual(got.body, asJSON(t, map[string]any{"conductors": []any{alive, gone}})) {
		t.Errorf("got %s", got.raw)
	}
	s.get("/v1/conductors?fields=alive", "1.49").shows(map[string]any{"conductors": []any{
		map[string]any{"alive": true, "links": links(conductor)}, map[string]any{"alive": false, "links": links("gone")},
	}})
	one := s.get("/v1/conductors/gone/", "1.82").wants(http.StatusOK).shows(gone).shows(map[string]any{"drivers": []string{"ipmi"}})
	for _, name := range []string{"created_at", "updated_at"} {
		if at, _ := one.body[name].(string); !wireTime.MatchString(at) {
			t.Errorf("%s is %v", name, one.body[name])
		}
	}
	if members := len(one.body); members != 7 {
		t.Errorf("%d members: %s", members, one.raw)
	}
	detailed := s.get("/v1/conductors?detail=true", "1.82").wants(http.StatusOK).body["conductors"].([]any)
	if !reflect.DeepEqual(detailed[1], any(one.body)) {
		t.Errorf("got %v, want %v", detailed[1], one.body)
	}
	for query, want := range map[string][]string{
		"": {conductor, "gone"}, "?sort_dir=desc": {"gone", conductor}, "?limit=1": {conductor}, "?marker=" + conductor: {"gone"}, "?marker=gone": {},
		"?sort_key=created_at": {conductor, "gone"}, "?sort_key=conductor_group&sort_dir=desc&limit=5": {conductor, "gone"},
	} {
		names := []string{}
		list := s.get("/v1/conductors"+query, "1.49").wants(http.StatusOK)
		for _, one := range list.body["conductors"].([]any) {
			names = append(names, one.(map[string]any)["hostname"].(string))
		}
		if !reflect.DeepEqual(names, want) {
			t.Errorf("%s: got %v, want %v", query, names, want)
		}
		if _, more := list.body["next"]; more != (query == "?limit=1") {
			t.Errorf("%s: %s", query, list.raw)
		}
	}
	s.get("/v1/conductors?limit=1", "1.49").shows(map[string]any{
		"next": base + "/v1/conductors?sort_key=id&sort_dir=asc&limit=1&marker=" + conductor,
	})
	s.get("/v1/conductors?marker=unknown", "1.49").refuses(http.StatusNotFound, "Conductor unknown could not be found.")
	s.get("/v1/conductors?sort_key=alive", "1.49").wants(http.StatusBadRequest)
	s.get("/v1/conductors/unknown", "1.82").refuses(http.StatusNotFound, "Conductor unknown could not be found.")
	s.get("/v1/conductors?fields=bogus", "1.82").refuses(http.StatusBadRequest, `Field(s) "bogus" are not valid`)
	s.get("/v1/conductors", "1.48").wants(http.StatusNotFound)
	s.get("/v1/conductors/"+conductor, "1.48").wants(http.StatusNotFound)
}
