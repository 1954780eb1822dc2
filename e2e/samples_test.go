//go:build client

package e2e

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sampleOrder are the operations with samples, in the order in which one needs what those before it have made.
var sampleOrder = []string{
	"provider-create", "inventory-replace", "candidate-list", "allocation-replace", "node-create", "node-allocation-create",
}

const (
	samplesFolder = "../server/api/route/_samples"
	// sampleAddress is the address of the server in the samples.
	sampleAddress = "http://127.0.0.1:8778"
)

// TestDocs_CodeSamples_Run runs the samples of the OpenAPI documents, each language against a server of its own, and
// checks what they have made.
func TestDocs_CodeSamples_Run(t *testing.T) {
	t.Parallel()
	checkSamplesComplete(t)
	for extension, run := range map[string]func(t *testing.T, url string){
		"sh": eachSample("sh", "bash"), "py": eachSample("py", python), "go": runGoSamples, "ts": runTypeScriptSamples,
	} {
		t.Run(extension, func(t *testing.T) {
			t.Parallel()
			url := serve(t)
			run(t, url)
			checkSampleResults(t, url)
		})
	}
}

// checkSamplesComplete compares the files with sampleOrder.
func checkSamplesComplete(t *testing.T) {
	t.Helper()
	var want, got []string
	for _, operation := range sampleOrder {
		for _, extension := range []string{"sh", "py", "go", "ts"} {
			want = append(want, operation+"."+extension)
		}
	}
	entries, err := os.ReadDir(samplesFolder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("samples = %q, want %q", got, want)
	}
}

// sampleAt writes a sample with the address of the server to a file of the folder.
func sampleAt(t *testing.T, name, url, folder string) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(samplesFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(source), sampleAddress) {
		t.Errorf("%s lacks the address %s", name, sampleAddress)
	}
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(source), sampleAddress, url)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// eachSample returns a function that runs the samples of one language with a program.
func eachSample(extension string, program ...string) func(t *testing.T, url string) {
	return func(t *testing.T, url string) {
		t.Helper()
		folder := t.TempDir()
		for _, operation := range sampleOrder {
			runSample(t, append(slices.Clone(program), sampleAt(t, operation+"."+extension, url, folder))...)
		}
	}
}

func runGoSamples(t *testing.T, url string) { eachSample("go", "go", "run")(t, url) }

// runTypeScriptSamples compiles the samples with the types of openapi-typescript.
func runTypeScriptSamples(t *testing.T, url string) {
	t.Helper()
	project := typescriptProject(t, "e2e/generators", newestDocument, newestBaremetal, newestExtensions, newestBaremetalExtensions)
	project.run("npm", "run", "openapi-typescript")
	folder := filepath.Join(project.folder, "generated/openapi-typescript")
	compile := []string{"tsc", "--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--outDir", "samples"}
	for _, operation := range sampleOrder {
		compile = append(compile, sampleAt(t, operation+".ts", url, folder))
	}
	project.run("npx", compile...)
	for _, operation := range sampleOrder {
		runSample(t, "node", filepath.Join(project.folder, "samples", operation+".js"))
	}
}

// runSample runs a command in the root of the repository. A sample prints something, and exits with 0.
func runSample(t *testing.T, command ...string) {
	t.Helper()
	running := exec.CommandContext(t.Context(), command[0], command[1:]...)
	running.Dir, running.Env = "..", withoutSettings(os.Environ())
	output, err := running.CombinedOutput()
	if name := filepath.Base(command[len(command)-1]); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, output)
	} else if len(output) == 0 && !strings.HasPrefix(name, "allocation-replace.sh") { // whose response is empty
		t.Errorf("%s prints nothing", name)
	}
}

// checkSampleResults checks the claim and the node allocation that the samples have made.
func checkSampleResults(t *testing.T, url string) {
	t.Helper()
	var claimed struct {
		Allocations map[string]struct{ Resources map[string]int }
	}
	getJSON(t, url+"/allocations/1d5ecafe-0000-4000-8000-000000000001", &claimed)
	resources := claimed.Allocations["c0ffee00-5ca1-4b1e-8000-000000000001"].Resources
	if resources["VCPU"] != 2 || resources["MEMORY_MB"] != 2048 {
		t.Errorf("allocations = %v", claimed.Allocations)
	}
	var allocation struct {
		Class string `json:"resource_class"`
	}
	getJSON(t, url+"/v1/allocations/web-1", &allocation)
	if allocation.Class != "gold" {
		t.Errorf("resource class of the node allocation = %q", allocation.Class)
	}
}

// getJSON decodes the response of a read of either API.
func getJSON(t *testing.T, url string, into any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"X-Auth-Token": {"admin"}, "Openstack-Api-Version": {"placement 1.39"}, "X-Openstack-Ironic-Api-Version": {"1.82"},
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: status %d, %v", url, answer.StatusCode, err)
	}
}
