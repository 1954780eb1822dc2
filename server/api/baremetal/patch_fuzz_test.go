package baremetal

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/berthd/berth/server/wire/fault"
)

// FuzzPatch checks that a valid patch changes a resource into valid JSON or returns an error.
func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`[{"op": "add", "path": "/extra/a", "value": {"b": [1, 2]}}]`,
		`[{"op": "add", "path": "/extra/list/-", "value": 1}, {"op": "remove", "path": "/extra/list/0"}]`,
		`[{"op": "replace", "path": "/name", "value": null}, {"op": "remove", "path": "/name"}]`,
		`[{"op": "add", "path": "/extra/list/99999999999999999999", "value": 1}]`,
		`[{"op": "remove", "path": "/extra"}, {"op": "add", "path": "/extra/k/k/k", "value": "\u0000"}]`,
		`[{"op": "add", "path": "/links/0", "value": []}, {"op": "add", "path": "/extra/list/-1", "value": 1}]`,
	} {
		f.Add([]byte(seed))
	}
	allowed := regexp.MustCompile(`^(/[\w-]+)+$`)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var patch Patch
		if json.Unmarshal(raw, &patch) != nil {
			return
		}
		for _, step := range patch {
			if !allowed.MatchString(step.Path) || step.Op != opAdd && step.Op != opReplace && step.Op != opRemove {
				return // the schema rejected it
			}
		}
		err := patch.check(at(82), thingShape, "name", "extra", "owner", "links")
		if err == nil {
			err = patchThing(patch)
		}
		if err != nil && fault.As(err) == nil {
			t.Errorf("%s: %v", raw, err)
		}
	})
}

func patchThing(patch Patch) error {
	members, err := membersOf(json.RawMessage(`{"uuid": "u", "name": null, "extra": {"k": 1, "list": [1]}, "links": []}`))
	if err != nil {
		return err
	}
	patched, err := patch.apply(members, nil)
	if err != nil {
		return err
	}
	_, err = json.Marshal(patched)
	return err
}
