package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const released = `{
	"openapi": "3.1.0",
	"info": {"title": "Placement API", "version": "1.0", "description": "Old."},
	"tags": [{"name": "Traits", "description": "Old."}],
	"paths": {"/traits": {"get": {
		"operationId": "trait-list", "summary": "Old.",
		"parameters": [
			{"in": "query", "name": "name", "schema": {"type": "string"}, "example": "a"},
			{"$ref": "#/components/parameters/Version"}
		],
		"responses": {"200": {"description": "OK", "headers": {"Vary": {"schema": {"type": "string"}}},
			"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Traits"}, "example": {"traits": []}}}}}
	}}},
	"components": {"schemas": {"Traits": {
		"type": ["object", "null"], "required": ["traits", "description"], "description": "Old.",
		"properties": {
			"traits": {"type": "array", "items": {"type": "string", "maxLength": 255}, "description": "Old."},
			"description": {"type": "string", "examples": ["old"]}
		}
	}}}
}`

func TestProseMayChange(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"descriptions":                                  {`"Old."`, `"New."`},
		"the example of a parameter":                    {`"example": "a"`, `"example": "b"`},
		"the example of an answer":                      {`"example": {"traits": []}`, `"examples": {"one": {"value": {}}}`},
		"the examples of a property":                    {`"examples": ["old"]`, `"examples": ["new", "newer"]`},
		"the order of what is required, which has none": {`["traits", "description"]`, `["description", "traits"]`},
		"the order of types, which has none":            {`["object", "null"]`, `["null", "object"]`},
		"the order of parameters, which are named": {
			`{"in": "query", "name": "name", "schema": {"type": "string"}, "example": "a"},
			{"$ref": "#/components/parameters/Version"}`,
			`{"$ref": "#/components/parameters/Version"},
			{"in": "query", "name": "name", "schema": {"type": "string"}, "example": "a"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if changes := changesOf(t, change); len(changes) > 0 {
				t.Errorf("refused: %q", changes)
			}
		})
	}
}

func TestTheRestMayNot(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change [2]string
		want   []string
	}{
		"a bound of a schema": {[2]string{`255`, `256`},
			[]string{`/components/schemas/Traits/properties/traits/items/maxLength: was 255, is 256`}},
		"a property that is called description": {[2]string{`"description": {"type": "string"`, `"description": {"type": "integer"`},
			[]string{`/components/schemas/Traits/properties/description/type: was "string", is "integer"`}},
		"what is required": {[2]string{`["traits", "description"]`, `["traits"]`},
			[]string{`/components/schemas/Traits/required: was ["traits","description"], is ["traits"]`}},
		"a status": {[2]string{`"responses": {"200"`, `"responses": {"204"`},
			[]string{`/paths/~1traits/get/responses/200: is gone`, `/paths/~1traits/get/responses/204: is new`}},
		"a header": {[2]string{`{"Vary": {"schema": {"type": "string"}}}`, `{}`},
			[]string{`/paths/~1traits/get/responses/200/headers/Vary: is gone`}},
		"a method": {[2]string{`{"get": {`, `{"put": {}, "get": {`},
			[]string{`/paths/~1traits/put: is new`}},
		"a path": {[2]string{`"/traits"`, `"/trait"`},
			[]string{`/paths/~1traits: is gone`, `/paths/~1trait: is new`}},
		"a parameter": {[2]string{`"name": "name"`, `"name": "names"`},
			[]string{`/paths/~1traits/get/parameters/query name: is gone`, `/paths/~1traits/get/parameters/query names: is new`}},
		"the name of an operation": {[2]string{`"trait-list"`, `"traits-list"`},
			[]string{`/paths/~1traits/get/operationId: was "trait-list", is "traits-list"`}},
		"a type": {[2]string{`["object", "null"]`, `"object"`},
			[]string{`/components/schemas/Traits/type: was ["object","null"], is "object"`}},
		"the version": {[2]string{`"version": "1.0"`, `"version": "1.1"`},
			[]string{`/info/version: was "1.0", is "1.1"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if changes := changesOf(t, test.change); !slices.Equal(changes, test.want) {
				t.Errorf("got %q, want %q", changes, test.want)
			}
		})
	}
}

func changesOf(t *testing.T, change [2]string) []string {
	t.Helper()
	now := strings.ReplaceAll(released, change[0], change[1])
	if now == released {
		t.Fatalf("%s is not in the document", change[0])
	}
	changes, err := compare([]byte(released), []byte(now))
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// repository is a git repository of its own.
type repository struct {
	t    *testing.T
	root string
}

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, root: t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "user.name", "Ada")
	r.git("config", "user.email", "ada@example.org")
	r.git("config", "commit.gpgsign", "false")
	r.git("config", "tag.gpgsign", "false")
	return r
}

func (r *repository) git(arguments ...string) {
	r.t.Helper()
	if _, err := git(r.root, arguments...); err != nil {
		r.t.Fatal(err)
	}
}

// write takes the name of a document without its ending.
func (r *repository) write(version, document string) {
	r.t.Helper()
	name := filepath.Join(r.root, filepath.FromSlash(documents), filepath.FromSlash(version)+".json")
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(document), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) commit() {
	r.t.Helper()
	r.git("add", ".")
	r.git("commit", "--quiet", "--message", "Work")
}

// check runs the program and gives what it says, or why it refuses.
func (r *repository) check() (says string, refused string) {
	r.t.Helper()
	var out strings.Builder
	if err := check(r.root, &out); err != nil {
		refused = err.Error()
	}
	return out.String(), refused
}

func TestWithoutAReleaseEverythingMayChange(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("placement/1.0", released)
	r.commit()
	r.git("tag", "v0.1.0-rc1")
	r.git("tag", "nightly")
	r.write("placement/1.0", `{}`)
	says, refused := r.check()
	if refused != "" || says != "No microversion is released yet: there is no tag vX.Y.Z before this commit.\n" {
		t.Errorf("says %q, refused %q", says, refused)
	}
}

func TestAReleasedDocumentStaysAsItIs(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("placement/1.0", strings.ReplaceAll(released, "255", "100"))
	r.commit()
	r.git("tag", "v0.9.0")
	r.write("placement/1.0", released)
	r.write("placement/1.1", released)
	r.commit()
	r.git("tag", "v0.10.0")

	r.write("placement/1.0", strings.ReplaceAll(released, "Old.", "New."))
	r.write("placement/1.2", `{"not": "released"}`)
	r.write("baremetal/1.1", `{"not": "released"}`)
	if says, refused := r.check(); refused != "" || says != "The 2 documents that were released with v0.10.0 are as they were.\n" {
		t.Errorf("prose and a new microversion: says %q, refused %q", says, refused)
	}

	r.write("placement/1.0", strings.ReplaceAll(released, "255", "256"))
	if err := os.Remove(filepath.Join(r.root, filepath.FromSlash(documents), "placement", "1.1.json")); err != nil {
		t.Fatal(err)
	}
	_, refused := r.check()
	want := `openapi/placement/1.0.json:
  /components/schemas/Traits/properties/traits/items/maxLength: was 255, is 256
openapi/placement/1.1.json: the document is gone

These microversions were released with v0.10.0; only descriptions and examples of their documents may change. ` +
		`What is new belongs to a new microversion`
	if refused != want {
		t.Errorf("refused with %q, want %q", refused, want)
	}
}

func TestTheDocumentsOfBothAPIsAreHeldToTheirRelease(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("placement/1.0", released)
	r.write("baremetal/1.82", released)
	r.commit()
	r.git("tag", "v1.0.0")
	if says, refused := r.check(); refused != "" || says != "The 2 documents that were released with v1.0.0 are as they were.\n" {
		t.Errorf("says %q, refused %q", says, refused)
	}
	r.write("baremetal/1.82", strings.ReplaceAll(released, "255", "256"))
	if _, refused := r.check(); !strings.HasPrefix(refused, "openapi/baremetal/1.82.json:\n  /components/schemas/Traits/") {
		t.Errorf("refused with %q", refused)
	}
}

func TestATagThatTheCommitDoesNotContainIsNoReleaseOfIt(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("placement/1.0", released)
	r.commit()
	r.git("switch", "--quiet", "--create", "other")
	r.write("placement/1.0", strings.ReplaceAll(released, "255", "256"))
	r.commit()
	r.git("tag", "v9.0.0")
	r.git("switch", "--quiet", "main")
	if says, refused := r.check(); refused != "" || !strings.HasPrefix(says, "No microversion is released yet") {
		t.Errorf("says %q, refused %q", says, refused)
	}
}

func TestOutsideOfARepositoryItFails(t *testing.T) {
	t.Parallel()
	r := &repository{t: t, root: t.TempDir()}
	if _, refused := r.check(); !strings.Contains(refused, "not a git repository") {
		t.Errorf("refused with %q", refused)
	}
}
