package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/berthd/berth/server/store"
)

func TestThePlanOfAQueryForCandidates(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	b := setupServe(t, "--data-dir", dataDir) // also makes the standard names
	defer func() { <-b.exit }()
	defer close(b.signals)

	text := runCommand(t, nil, "plan", "--data-dir", dataDir, "?resources=VCPU:1&limit=10")
	if text.code != exitFine {
		t.Fatalf("exit code %d: %s", text.code, text.stderr)
	}
	for _, part := range []string{
		"== 1. CandidateNames\n", "== 2. CandidateRoots\n", "$1 = '{\"VCPU\"}'\n", "Index Only Scan using resource_providers_roots_idx",
		"Buffers: ", "Rows: result 0\n", "\n0 trees looked at, 0 of them have what each group asks for, 0 candidates\n",
	} {
		if !strings.Contains(text.stdout, part) {
			t.Errorf("%q is not in:\n%s", part, text.stdout)
		}
	}

	document := runCommand(t, nil, "plan", "--data-dir", dataDir, "--output=json", "resources=VCPU:1&limit=10")
	var plan store.CandidatePlan
	if err := json.Unmarshal([]byte(document.stdout), &plan); document.code != exitFine || err != nil || len(plan.Steps) != 2 {
		t.Errorf("exit code %d, %v: %s%s", document.code, err, document.stdout, document.stderr)
	}
}

func TestAPlanOfNonsenseIsRefusedAsClientsAre(t *testing.T) {
	t.Parallel()
	dataDir := privateDirectory(t)
	b := setupServe(t, "--data-dir", dataDir)
	defer func() { <-b.exit }()
	defer close(b.signals)
	for _, test := range []struct {
		arguments []string
		code      int
		says      string
	}{
		{[]string{"resources=VCPU:1&bogus=1"}, exitFailed, "Invalid query string parameters: 'bogus' does not match any of the regexes"},
		{[]string{"resources=COWS:1"}, exitFailed, "No such resource class COWS."},
		{[]string{"--microversion=1.24", "required=HW_CPU_X86_AVX2"}, exitFailed, "'resources' is a required property"},
		{[]string{"--microversion=9.9", "resources=VCPU:1"}, exitUsage, "is not a microversion of this service"},
		{nil, exitUsage, "accepts 1 arg(s), received 0"},
	} {
		got := runCommand(t, nil, append([]string{"plan", "--data-dir", dataDir}, test.arguments...)...)
		if got.code != test.code || !strings.Contains(got.stderr, test.says) {
			t.Errorf("%v: exit code %d, %s", test.arguments, got.code, got.stderr)
		}
	}
}
