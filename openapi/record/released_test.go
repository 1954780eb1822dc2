package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/openapi"
)

// small is a document with one property of at most 255 characters.
const small = `{"openapi": "3.1.0", "info": {"version": "1.0", "description": "Old."},
	"components": {"schemas": {"Name": {"type": "string", "maxLength": 255, "description": "Old."}}}}`

var longer = strings.ReplaceAll(small, "255", "256")

// repository is a git repository of a service whose program copies its documents.
type repository struct {
	t    *testing.T
	root string
}

// program replaces cmd/berth of a release.
const program = `package main

import "os"

// openapi --api NAME --all DIRECTORY [--berth latest]
func main() {
	name := os.Args[3]
	if len(os.Args) > 6 {
		name = "berth/" + name
	}
	if err := os.CopyFS(os.Args[5], os.DirFS("documents/"+name)); err != nil {
		panic(err)
	}
}
`

func newRepository(t *testing.T) *repository {
	t.Helper()
	r := &repository{t: t, root: t.TempDir()}
	r.git("init", "--quiet", "--initial-branch=main")
	r.git("config", "user.name", "Ada")
	r.git("config", "user.email", "ada@example.org")
	r.git("config", "commit.gpgsign", "false")
	r.git("config", "tag.gpgsign", "false")
	r.write("go.mod", "module example.org/berth\n\ngo 1.24\n")
	r.write("cmd/berth/main.go", program)
	return r
}

func (r *repository) git(arguments ...string) {
	r.t.Helper()
	if _, err := git(r.root, arguments...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *repository) write(name, content string) {
	r.t.Helper()
	name = filepath.Join(r.root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// release commits and tags a program with its documents and their records.
func (r *repository) release(tag string, documents ...api) {
	r.t.Helper()
	for _, api := range documents {
		for _, version := range api.versions {
			r.write("documents/"+api.name+"/"+version.name+".json", string(version.document))
		}
		if err := write(r.root, api); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", ".")
	r.git("commit", "--quiet", "--message", "Work")
	r.git("tag", tag)
}

// of returns the documents of an API from versions and documents in turn.
func of(t *testing.T, name string, versions ...string) api {
	t.Helper()
	made := api{name: name, title: name}
	for i := 0; i < len(versions); i += 2 {
		structure, err := openapi.Read([]byte(versions[i+1]))
		if err != nil {
			t.Fatal(err)
		}
		made.versions = append(made.versions, version{versions[i], []byte(versions[i+1]), structure})
	}
	return made
}

// expect runs the comparison and checks its output and its error, "" for none.
func (r *repository) expect(wantOut, wantErr string, now ...api) {
	r.t.Helper()
	var out strings.Builder
	failed := ""
	if err := check(r.root, now, &out); err != nil {
		failed = err.Error()
	}
	if out.String() != wantOut || failed != wantErr {
		r.t.Errorf("output = %q, error = %q, want %q and %q", out.String(), failed, wantOut, wantErr)
	}
}

const noTag = "No microversion is released yet: there is no tag vX.Y.Z before this commit.\n"

func TestMicroversion_NoReleaseTag_MayChange(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.release("v0.1.0-rc1", of(t, "placement", "1.0", small))
	r.git("tag", "nightly")
	r.expect(noTag, "", of(t, "placement", "1.0", longer))
}

func unchanged(documents int, tag string) string {
	return fmt.Sprintf("The structure of the %d documents that were released with %s is unchanged.\n", documents, tag)
}

const remedy = "\n\nThese microversions were released with v0.10.0; " +
	"only descriptions and examples of their documents may change. What is new belongs to a new microversion"

func TestMicroversion_ReleasedProseChanged_Passes(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.release("v0.9.0", of(t, "placement", "1.0", longer))
	r.release("v0.10.0", of(t, "placement", "1.0", small, "1.1", small), of(t, "baremetal", "1.82", small))
	r.expect(unchanged(3, "v0.10.0"), "",
		of(t, "placement", "1.0", strings.ReplaceAll(small, "Old.", "New."), "1.1", small, "1.2", `{"not": "released"}`),
		of(t, "baremetal", "1.1", `{"not": "released"}`, "1.82", small))
}

func TestMicroversion_ReleasedStructureChanged_FailsWithDifferences(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.release("v0.10.0", of(t, "placement", "1.0", small, "1.1", small), of(t, "baremetal", "1.82", small))
	r.expect(`The hash of baremetal 1.82 differs from that of v0.10.0.
The hash of placement 1.0 differs from that of v0.10.0.
The hash of placement 1.1 differs from that of v0.10.0.
Building the documents of v0.10.0 …
`, `baremetal 1.82:
  - schema Name {maxLength: 255, type: "string"}
  + schema Name {maxLength: 256, type: "string"}
placement 1.0:
  - schema Name {maxLength: 255, type: "string"}
  + schema Name {maxLength: 256, type: "string"}
placement 1.1: the document is gone`+remedy,
		of(t, "placement", "1.0", longer), of(t, "baremetal", "1.82", longer))
}

func TestMicroversion_ReleasedSchemaRenamed_Passes(t *testing.T) {
	t.Parallel()
	const document = `{"openapi": "3.1.0", "paths": {"/maintenance": {"put": {"requestBody": {"content": {"application/json": {
		"schema": {"$ref": "#/components/schemas/NodeMaintenance"}}}}}}}, "components": {"schemas": {
		"NodeMaintenance": {"type": "object", "properties": {"NodeMaintenance": {"type": "string", "maxLength": 255}}}}}}`
	now := strings.ReplaceAll(document, "schemas/NodeMaintenance", "schemas/MaintenanceRequest")
	now = strings.Replace(now, `"NodeMaintenance": {"type": "object"`, `"MaintenanceRequest": {"type": "object"`, 1)
	r := newRepository(t)
	r.release("v0.10.0", of(t, "baremetal", "1.0", document))
	r.expect("The hash of baremetal 1.0 differs from that of v0.10.0.\nBuilding the documents of v0.10.0 …\n"+unchanged(1, "v0.10.0"), "",
		of(t, "baremetal", "1.0", now))
}

// TestMicroversion_ReleasedExtensionChanged_FailsWithDifferences has a release with documents of extensions after one
// without them, whose program does not know the flag.
func TestMicroversion_ReleasedExtensionChanged_FailsWithDifferences(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	extended := func(document string) api {
		made := of(t, "berth/placement", "1.1", document)
		made.base = &of(t, "placement", "1.0", small).versions[0]
		return made
	}
	r.release("v0.9.0", of(t, "placement", "1.0", small))
	r.expect("The hash of placement 1.0 differs from that of v0.9.0.\nBuilding the documents of v0.9.0 …\n", `placement 1.0:
  - schema Name {maxLength: 255, type: "string"}
  + schema Name {maxLength: 256, type: "string"}`+strings.ReplaceAll(remedy, "v0.10.0", "v0.9.0"),
		of(t, "placement", "1.0", longer), extended(small))
	r.release("v0.10.0", of(t, "placement", "1.0", small), extended(small))
	r.expect(unchanged(2, "v0.10.0"), "", of(t, "placement", "1.0", small), extended(small))
	r.expect("The hash of berth/placement 1.1 differs from that of v0.10.0.\nBuilding the documents of v0.10.0 …\n", `berth/placement 1.1:
  - schema Name {maxLength: 255, type: "string"}
  + schema Name {maxLength: 256, type: "string"}`+remedy,
		of(t, "placement", "1.0", small), extended(longer))
}

// TestMicroversion_HashComputedDifferently_ComparesDocuments has a release with hashes of a different method, and one
// without hashes.
func TestMicroversion_HashComputedDifferently_ComparesDocuments(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.release("v0.9.0", of(t, "placement", "1.0", small))
	r.write("openapi/placement/structure.sha256", "0123  1.0\n")
	r.git("commit", "--quiet", "--all", "--message", "Other hashes")
	r.git("tag", "v0.10.0")
	const building = "The hash of placement 1.0 differs from that of v0.10.0.\nBuilding the documents of v0.10.0 …\n"
	r.expect(building+unchanged(1, "v0.10.0"), "", of(t, "placement", "1.0", small))

	r.git("rm", "--quiet", "openapi/placement/structure.sha256")
	r.git("commit", "--quiet", "--message", "No hashes")
	r.git("tag", "v0.11.0")
	r.expect("Building the documents of v0.11.0 …\n"+unchanged(1, "v0.11.0"), "", of(t, "placement", "1.0", small))
}

func TestMicroversion_ReleaseDoesNotBuild_Fails(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.write("cmd/berth/main.go", "package main\n")
	r.release("v0.10.0", of(t, "placement", "1.0", small))
	err := check(r.root, []api{of(t, "placement", "1.0", longer)}, &strings.Builder{})
	if err == nil || !strings.HasPrefix(err.Error(), "build the documents of v0.10.0: go run ./cmd/berth") {
		t.Errorf("error = %v", err)
	}
}

func TestMicroversion_TagOfAnotherBranch_IsIgnored(t *testing.T) {
	t.Parallel()
	r := newRepository(t)
	r.release("first", of(t, "placement", "1.0", small))
	r.git("switch", "--quiet", "--create", "other")
	r.release("v9.0.0", of(t, "placement", "1.0", longer))
	r.git("switch", "--quiet", "main")
	r.expect(noTag, "", of(t, "placement", "1.0", small))
}

func TestMicroversion_OutsideARepository_Fails(t *testing.T) {
	t.Parallel()
	err := check(t.TempDir(), nil, &strings.Builder{})
	if err == nil || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("error = %v", err)
	}
}
