package command

import (
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
)

func TestCLI_InvalidConnectionSettings_RejectedBeforeRequest(t *testing.T) {
	t.Parallel()
	const unknown = "BERTH_URL=http://127.0.0.1:1"
	for line, test := range map[string]struct {
		environ []string
		stderr  string
	}{
		"--url ftp://x":         {nil, `url: "ftp://x" (flag --url) is not an http or https URL; write scheme, host and path, such as http://127.0.0.1:8778 or https://cloud.example.org/placement`},
		"--timeout 5":           {[]string{unknown}, `timeout: "5" (flag --timeout) is not a duration; write a number with its unit, such as 500ms, 30s or 2m`},
		"--interface private":   {[]string{unknown}, `interface: "private" (flag --interface) is not one of the choices; write public, internal or admin`},
		"--output xml":          {[]string{unknown}, `output: "xml" (flag --output) is not one of the choices; write one of table, json, yaml, csv`},
		"--auth token":          {[]string{unknown}, `token: "" (default) is not set; set BERTH_TOKEN, or choose another --auth`},
		"--auth basic":          {[]string{unknown}, `auth: "basic" (flag --auth) is not one of the choices; write noauth, token or keystone`},
		"--auth keystone":       {[]string{unknown}, `auth: "keystone" (OS_ variables) needs OS_AUTH_URL; source an openrc file, name a --cloud, or choose another --auth`},
		"--ca-cert /nowhere":    {[]string{unknown}, `ca-cert: "/nowhere" (file) cannot be read (open /nowhere: no such file or directory); name a file with certificates in PEM`},
		"--ca-cert go.mod-less": {[]string{unknown, "BERTH_INSECURE=x"}, `insecure: "x" (environment BERTH_INSECURE) is neither true nor false; write true or false`},
		"--cloud here": {[]string{unknown, "OS_CLIENT_CONFIG_FILE=/nowhere/clouds.yaml"},
			`cloud: "here" (clouds.yaml) cannot be used: clouds file not found. Search locations were: [/nowhere/clouds.yaml]; name an existing cloud, or use the OS_ variables without OS_CLOUD`},
		"--insecure":   {[]string{"BERTH_URL=x", "OS_AUTH_URL=http://k", "OS_USERNAME=alice"}, `url: "x" (environment BERTH_URL) is not an http or https URL; write scheme, host and path, such as http://127.0.0.1:8778 or https://cloud.example.org/placement`},
		"--region one": {[]string{"OS_AUTH_URL=http://k", "OS_USERNAME=alice"}, `auth: "keystone" (OS_ variables) needs OS_PASSWORD; source an openrc file, name a --cloud, or choose another --auth`},
	} {
		got := runCommand(t, test.environ, append([]string{"trait", "list"}, strings.Fields(line)...)...)
		if got.code != frame.ExitUsage || got.stderr != "berth: "+test.stderr+"\n" {
			t.Errorf("%s: exit code %d, %s", line, got.code, got.stderr)
		}
	}
}

func TestCLI_ClientVariables_NotReportedUnknown(t *testing.T) {
	t.Parallel()
	got := runCommand(t, []string{"BERTH_URL=http://x", "BERTH_CLIENT_AUTH=noauth", "BERTH_TOKEN=x"}, "config")
	if got.code != frame.ExitOK || got.stderr != "" {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}

func TestCLI_DebugHTTP_LogsRequestsWithoutToken(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t) + "/", "BERTH_DEBUG_HTTP=true"}
	got := runCommand(t, environ, "provider", "list", "--name", "x", "--token", "admin")
	const want = `UUID  NAME  GENERATION  PARENT  ROOT
! berth: warning: all users of this host can read a token on the command line; set BERTH_TOKEN instead
! berth: GET http://SERVICE/: 200 req-… (…ms)
! berth: GET http://SERVICE/resource_providers?name=x&sort=created_at&limit=1000: 200 req-… (…ms)
! berth: no providers found
`
	if asWritten(got) != want {
		t.Errorf("got\n%s", asWritten(got))
	}
	got = runCommand(t, []string{"BERTH_URL=http://127.0.0.1:1"}, "provider", "list")
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "connection refused") {
		t.Errorf("no listener: exit code %d, %s", got.code, got.stderr)
	}
}

func TestCLI_ServerCertificate_VerifiedUnlessInsecure(t *testing.T) {
	t.Parallel()
	listening := httptest.NewTLSServer(servertest.New(t, servertest.Options{}).Handler)
	t.Cleanup(listening.Close)
	listening.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listening.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, valid := range map[string]bool{"--ca-cert=" + trusted: true, "--insecure": true, "--timeout=30s": false} {
		got := runCommand(t, []string{"BERTH_URL=" + listening.URL}, "aggregate", "list", "00000000-0000-4000-8000-000000000001", flag)
		reached := strings.Contains(got.stderr, `provider "00000000-0000-4000-8000-000000000001" not found`)
		if reached != valid || !valid && !strings.Contains(got.stderr, "certificate") {
			t.Errorf("%s: %s", flag, got.stderr)
		}
	}
}

func TestCLI_ConcurrentEdits_AllApplied(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	// One less than the maximum number of attempts: each conflict is a successful write of another client.
	names := []string{"CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "CUSTOM_D"}
	hosts(t, environ, append([]string{"host"}, names...)...)
	runCommand(t, environ, append([]string{"trait", "create"}, names...)...)
	const consumer = "5f0d2a1e-0001-4000-8000-000000000001"
	var writers sync.WaitGroup
	for _, name := range names {
		for _, line := range []string{
			"provider trait add host " + name,
			"allocation set " + consumer + " --amend --project p --user u --type INSTANCE --on " + name + "=VCPU:1",
		} {
			writers.Go(func() {
				if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitOK {
					t.Errorf("%s: %s", line, got.stderr)
				}
			})
		}
	}
	writers.Wait()
	got := runCommand(t, environ, "provider", "trait", "list", "host")
	if got.stdout != "TRAIT\nCUSTOM_A\nCUSTOM_B\nCUSTOM_C\nCUSTOM_D\n" {
		t.Errorf("traits of the provider:\n%s", got.stdout)
	}
	if got := runCommand(t, environ, "allocation", "show", consumer); strings.Count(got.stdout, "VCPU") != len(names) {
		t.Errorf("allocations of the consumer:\n%s", got.stdout)
	}
}
