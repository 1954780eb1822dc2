package baremetal_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

func TestNodeAllocation_PatchNameAndExtra_Applied(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.allocate(map[string]any{"resource_class": "gold", "name": "a", "extra": map[string]any{"x": map[string]any{"y": 1}}}).wants(http.StatusCreated)
	path := "/v1/allocations/" + made.body["uuid"].(string)
	for _, test := range []struct {
		patch []string
		name  any
		extra string
	}{
		{[]string{`replace /name "b"`}, "b", `{"x": {"y": 1}}`},
		{[]string{`remove /name`, `add /extra/k 12345678901234567890`}, nil, `{"x": {"y": 1}, "k": 12345678901234567890}`},
		{[]string{`remove /name`, `replace /extra/k null`, `add /extra/x/z [1]`}, nil, `{"x": {"y": 1, "z": [1]}, "k": null}`},
		{[]string{`add /name "c"`, `remove /extra`}, "c", `{}`},
		{[]string{`replace /extra {"new": true}`, `add /extra/more "m"`, `remove /extra/new`}, "c", `{"more": "m"}`},
		{[]string{`replace /name null`, `replace /extra null`}, nil, `{}`},
	} {
		changed := s.send(http.MethodPatch, path, "1.82", steps(t, test.patch...)).wants(http.StatusOK)
		changed.is(made.plain(map[string]any{
			"name": test.name, "extra": json.RawMessage(test.extra), "updated_at": changed.body["updated_at"],
		}))
		if at, _ := changed.body["updated_at"].(string); !wireTime.MatchString(at) {
			t.Errorf("%v: updated_at = %v", test.patch, changed.body["updated_at"])
		}
		s.get(path, "1.82").is(changed.body)
	}
}

func TestNodeAllocation_PatchWithoutChange_WritesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.allocate(map[string]any{"resource_class": "gold", "name": "a", "extra": json.RawMessage(`{"bb": 1, "a": 1.50}`)}).wants(http.StatusCreated)
	for _, patch := range [][]string{{}, {`replace /name "a"`}, {`add /extra/bb 1`}, {`remove /name`, `add /name "a"`}} {
		s.send(http.MethodPatch, "/v1/allocations/a", "1.57", steps(t, patch...)).wants(http.StatusOK).shows(map[string]any{"updated_at": nil})
	}
	s.get("/v1/allocations/a", "1.82").is(made.body)
}

func TestNodeAllocation_PatchInvalidStep_ChangesNothing(t *testing.T) {
	t.Parallel()
	s := newService(t)
	made := s.allocate(map[string]any{"resource_class": "gold", "name": "a", "extra": map[string]any{"k": "v"}}).wants(http.StatusCreated)
	s.allocate(map[string]any{"resource_class": "gold", "name": "taken"}).wants(http.StatusCreated)
	const badName = "Invalid value for /name: it must be null, or up to 255 letters, digits, and characters of - . _ ~"
	for step, want := range map[string]string{
		`replace /state "active"`: "Cannot patch /state. Only the following can be updated: name, extra",
		`remove /node_uuid`:       "Cannot patch /node_uuid. Only the following can be updated: name, extra",
		`add /owner "x"`:          "Cannot patch /owner. Only the following can be updated: name, extra",
		`add /color "x"`:          "Cannot patch /color. Only the following can be updated: name, extra",
		`remove /extra/m`:         "Couldn't apply patch '[remove /extra/m]'. Reason: there is no member m",
		`replace /extra/m 1`:      "Couldn't apply patch '[replace /extra/m]'. Reason: there is no member m",
		`add /extra/k/l 1`:        "Couldn't apply patch '[add /extra/k/l]'. Reason: there is nothing that could have a member l",
		`add /name/l 1`:           "Couldn't apply patch '[add /name/l]'. Reason: there is nothing that could have a member l",
		`replace /extra [1]`:      "Invalid value for /extra: it must be an object.",
		`replace /name "a b"`:     badName,
		`replace /name ""`:        badName,
		`replace /name 1`:         badName,
		`add /name`:               "Cannot add /name: the value is missing.",
		`test /name "a"`:          "JSON does not validate: 'test' is not one of ['add', 'replace', 'remove']",
	} {
		s.send(http.MethodPatch, "/v1/allocations/a", "1.82", steps(t, `replace /name "z"`, `add /extra/n 1`, step)).invalid(want)
	}
	s.send(http.MethodPatch, "/v1/allocations/a", "1.82", steps(t, `add /extra/n 1`, `replace /name "taken"`)).refuses(
		http.StatusConflict, "An allocation with name taken already exists.")
	s.send(http.MethodPatch, "/v1/allocations/a", "1.82", `{"op": "remove", "path": "/name"}`).wants(http.StatusBadRequest)
	for _, step := range []string{`remove /state`, `add /name`, `test /name "a"`} {
		s.send(http.MethodPatch, "/v1/allocations/b", "1.82", steps(t, step)).wants(http.StatusBadRequest)
	}
	s.send(http.MethodPatch, "/v1/allocations/b", "1.82", steps(t, `remove /name`)).refuses(http.StatusNotFound, "Allocation b could not be found.")
	s.send(http.MethodPatch, "/v1/allocations/no%20name", "1.82", `[]`).refuses(http.StatusBadRequest,
		"Expected a logical name or UUID but received no name.")
	s.get("/v1/allocations/a", "1.82").is(made.body)
}

func TestNodeAllocation_PatchInAnyState_Applied(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.free("rack-7", "gold")
	for _, name := range []string{"a", "b"} {
		s.allocate(map[string]any{"resource_class": "gold", "name": name}).wants(http.StatusCreated)
		state := s.decide(name).body["state"]
		s.send(http.MethodPatch, "/v1/allocations/"+name, "1.57", steps(t, `replace /name "`+name+`2"`)).wants(http.StatusOK).shows(
			map[string]any{"name": name + "2", "state": state})
	}
	// The allocation still owns its current name.
	s.send(http.MethodPatch, "/v1/allocations/a2", "1.82", steps(t, `replace /name "a2"`)).wants(http.StatusOK)
}
