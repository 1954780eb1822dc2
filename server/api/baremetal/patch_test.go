package baremetal

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
)

func patchOf(t *testing.T, text string) Patch {
	t.Helper()
	var patch Patch
	if err := json.Unmarshal([]byte(text), &patch); err != nil {
		t.Fatal(err)
	}
	return patch
}

func TestQuery_JSONPatch_ChangesMembers(t *testing.T) {
	t.Parallel()
	const before = `{"name": "a", "owner": null, "extra": {"k": 1, "deep": {"er": true}, "list": [1, 2, 3]}}`
	for name, test := range map[string]struct{ patch, want string }{
		"nothing":                        {`[]`, before},
		"add replaces":                   {`[{"op": "add", "path": "/name", "value": "b"}]`, `{"name": "b", "owner": null, "extra": {"k": 1, "deep": {"er": true}, "list": [1, 2, 3]}}`},
		"replace sets a null member":     {`[{"op": "replace", "path": "/owner", "value": "o"}]`, `{"name": "a", "owner": "o", "extra": {"k": 1, "deep": {"er": true}, "list": [1, 2, 3]}}`},
		"repeated remove makes null":     {`[{"op": "remove", "path": "/name"}, {"op": "remove", "path": "/name"}]`, `{"name": null, "owner": null, "extra": {"k": 1, "deep": {"er": true}, "list": [1, 2, 3]}}`},
		"remove resets an object":        {`[{"op": "remove", "path": "/extra"}]`, `{"name": "a", "owner": null, "extra": {}}`},
		"add makes a member of a member": {`[{"op": "add", "path": "/extra/new", "value": null}]`, `{"name": "a", "owner": null, "extra": {"new": null, "k": 1, "deep": {"er": true}, "list": [1, 2, 3]}}`},
		"add replaces a member":          {`[{"op": "add", "path": "/extra/k", "value": 12345678901234567890}]`, `{"name": "a", "owner": null, "extra": {"k": 12345678901234567890, "deep": {"er": true}, "list": [1, 2, 3]}}`},
		"in nested members":              {`[{"op": "replace", "path": "/extra/deep/er", "value": false}, {"op": "remove", "path": "/extra/k"}]`, `{"name": "a", "owner": null, "extra": {"deep": {"er": false}, "list": [1, 2, 3]}}`},
		"in a member of an earlier step": {`[{"op": "add", "path": "/extra", "value": {}}, {"op": "add", "path": "/extra/a", "value": {}}, {"op": "add", "path": "/extra/a/b", "value": 1}]`, `{"name": "a", "owner": null, "extra": {"a": {"b": 1}}}`},
		"elements of lists": {`[{"op": "add", "path": "/extra/list/0", "value": 0}, {"op": "add", "path": "/extra/list/-", "value": 4},
			{"op": "remove", "path": "/extra/list/1"}, {"op": "replace", "path": "/extra/list/1", "value": "two"}]`, `{"name": "a", "owner": null, "extra": {"k": 1, "deep": {"er": true}, "list": [0, "two", 3, 4]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members, err := membersOf(json.RawMessage(before))
			if err != nil {
				t.Fatal(err)
			}
			got, err := patchOf(t, test.patch).apply(members, map[string]any{"extra": map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			want, err := membersOf(json.RawMessage(test.want))
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			if again, err := membersOf(json.RawMessage(before)); err != nil || !reflect.DeepEqual(members, again) {
				t.Errorf("the patch changed the original: %v", members)
			}
		})
	}
}

func TestQuery_JSONPatchMissingTarget_Rejected(t *testing.T) {
	t.Parallel()
	for patch, want := range map[string]string{
		`[{"op": "remove", "path": "/extra/x"}]`:                   "Couldn't apply patch '[remove /extra/x]'. Reason: there is no member x",
		`[{"op": "replace", "path": "/extra/x", "value": 1}]`:      "Couldn't apply patch '[replace /extra/x]'. Reason: there is no member x",
		`[{"op": "add", "path": "/extra/x/y", "value": 1}]`:        "Couldn't apply patch '[add /extra/x/y]'. Reason: there is no member x",
		`[{"op": "add", "path": "/extra/k/y", "value": 1}]`:        "Couldn't apply patch '[add /extra/k/y]'. Reason: there is nothing that could have a member y",
		`[{"op": "add", "path": "/name/y", "value": 1}]`:           "Couldn't apply patch '[add /name/y]'. Reason: there is nothing that could have a member y",
		`[{"op": "replace", "path": "/extra/list/1", "value": 1}]`: "Couldn't apply patch '[replace /extra/list/1]'. Reason: there is no element 1",
		`[{"op": "add", "path": "/extra/list/x", "value": 1}]`:     "Couldn't apply patch '[add /extra/list/x]'. Reason: there is no element x",
		`[{"op": "remove", "path": "/extra/list/-"}]`:              "Couldn't apply patch '[remove /extra/list/-]'. Reason: there is no element -",
		`[{"op": "add", "path": "/extra/list/2", "value": 1}]`:     "Couldn't apply patch '[add /extra/list/2]'. Reason: there is no element 2",
	} {
		members, err := membersOf(json.RawMessage(`{"name": null, "extra": {"k": 1, "list": [1]}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = patchOf(t, patch).apply(members, nil)
		if found := fault.As(err); found == nil || found.Kind != fault.Invalid || found.Detail != want {
			t.Errorf("%s: %v, want %q", patch, err, want)
		}
	}
}

// thing is a representation for the tests of this package.
type thing struct {
	UUID  string         `json:"uuid"`
	Name  *string        `json:"name,omitempty"`
	Extra map[string]any `json:"extra"`
	Owner *string        `json:"owner" since:"50"`
	Links []Link         `json:"links"`
}

var thingShape = newShape[thing]()

func at(version microversion.Version) context.Context {
	return API(nil).ExampleContext(version, "GET")
}

func TestQuery_JSONPatchInvalidStep_RejectedBeforeChange(t *testing.T) {
	t.Parallel()
	for patch, want := range map[string]*fault.Error{
		`[]`: nil,
		`[{"op": "add", "path": "/extra/a", "value": null}, {"op": "remove", "path": "/name"}]`: nil,
		`[{"op": "add", "path": "/name", "value": "b"}, {"op": "add", "path": "/uuid", "value": "c"}]`: fault.New(fault.Invalid,
			"Cannot patch /uuid. Only the following can be updated: name, extra, owner"),
		`[{"op": "add", "path": "/name"}]`: fault.New(fault.Invalid, "Cannot add /name: the value is missing."),
		`[{"op": "add", "path": "/owner", "value": "o"}]`: fault.New(fault.NotAcceptable,
			"The field owner exists from version 1.50 on; this request is of version 1.49."),
	} {
		err := patchOf(t, patch).check(at(49), thingShape, "name", "extra", "owner")
		if got := fault.As(err); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", patch, got, want)
		}
	}
}
