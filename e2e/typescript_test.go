//go:build client

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The documents that clients are generated from: the newest microversion, without and with the extensions.
const (
	newestDocument   = "openapi/placement/1.39.json"
	newestExtensions = "openapi/berth/placement/1.7.json"

	newestBaremetal           = "openapi/baremetal/1.82.json"
	newestBaremetalExtensions = "openapi/berth/baremetal/1.2.json"
)

// TestOpenAPI_TypeScriptClient_CompilesAndRuns holds the documents against a second generator: the
// types are generated, a program is checked against them together with lines that
// must not compile, and runs against `berth serve`. It asserts its results itself.
func TestOpenAPI_TypeScriptClient_CompilesAndRuns(t *testing.T) {
	t.Parallel()
	project := typescriptProject(t, "e2e/typescript", newestDocument, newestExtensions)
	project.run("npm", "run", "generate")
	project.run("npm", "run", "check")
	project.run("npm", "run", "build")
	if said := project.run("npm", "run", "--silent", "start", "--", serve(t)); strings.TrimSpace(said) != "all results were as expected" {
		t.Errorf("the program said %q", said)
	}
}

// TestOpenAPI_ThreeGenerators_CallBothAPIs generates clients with openapi-typescript, @hey-api/openapi-ts and orval from
// the documents of both APIs, with and without extensions. The compiler checks all of them, and a program sends
// requests of both APIs with each, among them one with a request group.
func TestOpenAPI_ThreeGenerators_CallBothAPIs(t *testing.T) {
	t.Parallel()
	project := typescriptProject(t, "e2e/generators", newestDocument, newestExtensions, newestBaremetal, newestBaremetalExtensions)
	project.run("npm", "run", "generate")
	project.run("npm", "run", "build")
	const want = "openapiTypescript: both APIs responded as expected\n" +
		"heyAPI: both APIs responded as expected\n" +
		"orval: both APIs responded as expected\n"
	if said := project.run("npm", "run", "--silent", "start", "--", serve(t)); said != want {
		t.Errorf("the program printed\n%s\nwant\n%s", said, want)
	}
}

// TestClient_TypeScriptPackage_BuildsPacksAndClaims builds and packs clients/typescript, installs the file in another
// project, and compiles and runs there, against the installed package: the tests of retries and errors, the program
// test/server.ts, and the code of the README as one program.
func TestClient_TypeScriptPackage_BuildsPacksAndClaims(t *testing.T) {
	t.Parallel()
	project := typescriptProject(t, "clients/typescript", newestExtensions, newestBaremetalExtensions, "docs/errors.md", "LICENSE")
	packed := strings.TrimSpace(project.run("npm", "pack", "--silent"))
	if !strings.HasSuffix(packed, ".tgz") {
		t.Fatalf("npm pack printed %q", packed)
	}
	comparePacked(t, project.run("tar", "-tzf", packed))

	user := nodeProject{t, t.TempDir()}
	user.run("npm", "install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", filepath.Join(project.folder, packed))
	url := serve(t)
	copyTests(t, project.folder, user.folder, url)
	user.run(filepath.Join(project.folder, "node_modules/.bin/tsc"), "--project", "test",
		"--typeRoots", filepath.Join(project.folder, "node_modules/@types"))
	user.run("node", "--test", "build/retries.test.js")
	if printed := user.run("node", "build/server.js", url); printed != "all results were as expected\n" {
		t.Errorf("the program printed %q", printed)
	}
	// The host and the nodes are those of the program.
	if printed := user.run("node", "build/readme.js"); !readmeOutput.MatchString(printed) {
		t.Errorf("the README's code printed\n%s\nwant a match of\n%s", printed, readmeOutput)
	}
}

// readmeOutput is what the code in the README of clients/typescript prints.
var readmeOutput = regexp.MustCompile(`^claimed \{"c0ffee00-[^\n]+
claimed on c0ffee00-[^\n]+
400 placement.undefined_code [^\n]*CUSTOM_NO_SUCH_CLASS[^\n]* correct the value that detail names req-[^\n]+
\d+ traits
(?:[0-9a-f-]{36} (?:mercury|web)\n){4}web-1 active [0-9a-f-]{36}
$`)

// comparePacked compares the names of the files in the package, one a line.
func comparePacked(t *testing.T, listed string) {
	t.Helper()
	want := []string{"LICENSE", "README.md", "package.json"}
	for _, module := range []string{
		"claim", "clients", "errors", "gen/baremetal", "gen/constants", "gen/placement", "index", "lease", "pages", "retry", "transport",
	} {
		want = append(want, "dist/"+module+".d.ts", "dist/"+module+".js")
	}
	got := strings.Fields(strings.ReplaceAll(listed, "package/", ""))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files of the package = %q, want %q", got, want)
	}
}

// fencedTypeScript is a block of code in a Markdown page.
var fencedTypeScript = regexp.MustCompile("(?ms)^```ts\n(.*?)^```$")

// copyTests copies the tests of the package to another project, and writes the blocks of the README, joined and with the
// address of the server, beside them.
func copyTests(t *testing.T, from, to, url string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(to, "test"), os.DirFS(filepath.Join(from, "test"))); err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	var program strings.Builder
	for _, block := range fencedTypeScript.FindAllStringSubmatch(read("README.md"), -1) {
		program.WriteString(block[1])
	}
	for name, content := range map[string]string{
		"test/readme.ts": strings.ReplaceAll(program.String(), sampleAddress, url),
		"package.json":   `{"type": "module"}`, // replaces that of npm install
		"tsconfig.json":  read("tsconfig.json"),
	} {
		if err := os.WriteFile(filepath.Join(to, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// nodeProject is a copy of a project of npm with its packages installed.
type nodeProject struct {
	t      *testing.T
	folder string
}

// run returns the output of a program in the folder of the project.
func (p nodeProject) run(program string, args ...string) string {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), program, args...)
	command.Dir = p.folder
	command.Env = append(withoutSettings(os.Environ()), "npm_config_update_notifier=false", "NO_COLOR=1")
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		p.t.Fatalf("%s: %v\n%s%s", command, err, output, complaint.String())
	}
	return string(output)
}

// typescriptProject copies a project and the documents into a folder of the test's own, as they stand to each other
// here, so that nothing is installed among the sources. It installs the packages of the lock file.
func typescriptProject(t *testing.T, folder string, documents ...string) nodeProject {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install nodejs, 18.18 or newer, and npm", err)
		}
	}
	root := t.TempDir()
	for _, document := range documents {
		copyFile(t, root, document)
	}
	listed, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "--cached", "--others", "--exclude-standard", folder).Output()
	if err != nil {
		t.Fatalf("list the files of %s: %v", folder, err)
	}
	for name := range strings.Lines(string(listed)) {
		copyFile(t, root, strings.TrimSpace(name))
	}
	project := nodeProject{t, filepath.Join(root, folder)}
	project.run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	return project
}

// copyFile copies a file of the repository to the same place below root.
func copyFile(t *testing.T, root, name string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(target, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
