package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/plan"
)

func TestCLI_Plan_PrintsPageDetailsAndJSON(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	b := setupServe(t, "--data-dir", dataDir) // also creates the standard names
	defer func() { <-b.exit }()
	defer close(b.signals)

	const query = "resources=VCPU:1&limit=10"
	page := runCommand(t, nil, "plan", "--data-dir", dataDir, "?"+query)
	head := "GET /allocation_candidates?" + query + " (microversion 1.39)\n200 OK\n"
	if page.code != frame.ExitOK || !strings.HasPrefix(page.stdout, head) || !strings.Contains(page.stdout, "1  CandidatePage") || strings.Contains(page.stdout, "SELECT") {
		t.Errorf("page: exit code %d: %s%s", page.code, page.stdout, page.stderr)
	}
	details := runCommand(t, nil, "plan", "--data-dir", dataDir, "--verbose", "GET /allocation_candidates?"+query)
	for _, part := range []string{
		"(microversion 1.39)\n", "\n== 1. CandidatePage\n", "$1 = ",
		"Index Only Scan using resource_providers_roots_idx", "Buffers: ",
	} {
		if details.code != frame.ExitOK || !strings.Contains(details.stdout, part) {
			t.Errorf("the details lack %q: exit code %d: %s%s", part, details.code, details.stdout, details.stderr)
		}
	}
	document := runCommand(t, nil, "plan", "--data-dir", dataDir, "--output=json", "--microversion=1.29", "/traits")
	var report plan.Report
	if err := json.Unmarshal([]byte(document.stdout), &report); document.code != frame.ExitOK || err != nil ||
		report.Microversion != "1.29" || len(report.Statements) == 0 {
		t.Errorf("exit code %d, %v: %s%s", document.code, err, document.stdout, document.stderr)
	}
}

func TestCLI_PlanOfInvalidRequest_ReturnsError(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	b := setupServe(t, "--data-dir", dataDir)
	defer func() { <-b.exit }()
	defer close(b.signals)
	broken := filepath.Join(t.TempDir(), "claim.json")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	const claim = "PUT /allocations/0c2e1f4a-6f0a-4d0b-9a37-3f0d5c8f2b11"
	for _, test := range []struct {
		arguments []string
		code      int
		text      string
	}{
		{[]string{"resources=VCPU:1&bogus=1"}, frame.ExitFailed, "'bogus' does not match any of the regexes"},
		{[]string{"--microversion=1.24", "required=HW_CPU_X86_AVX2"}, frame.ExitFailed, "'resources' is a required property"},
		{[]string{"GET /hosts"}, frame.ExitFailed, "the response is 404 Not Found"},
		{[]string{"--body", broken, claim}, frame.ExitFailed, "the response is 400 Bad Request"},
		{[]string{"--microversion=9.9", "resources=VCPU:1"}, frame.ExitUsage, "is not a microversion of this service"},
		{[]string{"--microversion=1.39", "/v1/nodes?limit=1"}, frame.ExitOK, ""},
		{[]string{"--microversion=1.99", "/v1/nodes"}, frame.ExitUsage, "write one from 1.1 to 1.82"},
		{[]string{"POST /resource_providers"}, frame.ExitUsage, "write a GET request, PUT /allocations/{consumer_uuid}"},
		{[]string{"http://berth/usages"}, frame.ExitUsage, "write a method and a path"},
		{[]string{claim}, frame.ExitUsage, "name its file with --body"},
		{[]string{"--berth=1.1", "POST /allocation_candidates"}, frame.ExitUsage, "name its file with --body"},
		{[]string{"--body", broken, "POST /allocation_candidates"}, frame.ExitUsage, "add --berth 1.1"},
		{[]string{"--berth=1.1", "--body", broken, "POST /allocation_candidates"}, frame.ExitFailed, "the response is 400 Bad Request"},
		{[]string{"--body", broken, "/usages"}, frame.ExitUsage, "leave --body out"},
		{[]string{"--body", broken + ".none", claim}, frame.ExitUsage, "no such file"},
		{nil, frame.ExitUsage, "takes 1 argument, but none was given"},
	} {
		got := runCommand(t, nil, append([]string{"plan", "--data-dir", dataDir}, test.arguments...)...)
		if got.code != test.code || !strings.Contains(got.stderr, test.text) {
			t.Errorf("%v: exit code %d, want %d; %s", test.arguments, got.code, test.code, got.stderr)
		}
	}
}
