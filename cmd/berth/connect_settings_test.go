package main

import (
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

// loadedEndpoint is what a command with these flags and variables would connect to.
func loadedEndpoint(t *testing.T, arguments, environ []string) (*endpoint, error) {
	t.Helper()
	command := &cobra.Command{Use: "x"}
	(&process{}).connectFlags(command)
	if err := command.ParseFlags(arguments); err != nil {
		t.Fatal(err)
	}
	return loadEndpoint(command.Flags(), environ)
}

func TestWhoAsksIsKnownFromWhatIsGiven(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments, environ []string
		want               string
	}{
		"nothing":                            {nil, nil, "noauth"},
		"a token in the environment":         {nil, []string{"BERTH_TOKEN=x"}, "token"},
		"a token as a flag":                  {[]string{"--token=x"}, nil, "token"},
		"an openrc file was sourced":         {nil, []string{"OS_AUTH_URL=http://k/v3"}, "keystone"},
		"a cloud is named":                   {nil, []string{"OS_CLOUD=here"}, "keystone"},
		"a cloud is named by a flag":         {[]string{"--cloud=here"}, nil, "keystone"},
		"a token is nearer than an openrc":   {nil, []string{"OS_AUTH_URL=http://k/v3", "BERTH_TOKEN=x"}, "token"},
		"somebody insists on another":        {[]string{"--auth=noauth"}, []string{"OS_AUTH_URL=http://k/v3", "BERTH_TOKEN=x"}, "noauth"},
		"the environment insists on another": {nil, []string{"OS_CLOUD=here", "BERTH_CLIENT_AUTH=noauth"}, "noauth"},
		"a variable of the service is none":  {nil, []string{"BERTH_AUTH=keystone"}, "noauth"},
	} {
		found, err := loadedEndpoint(t, test.arguments, test.environ)
		if err != nil || found.auth != test.want {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestWrongConnectionsAreRefusedBeforeAnythingIsAsked(t *testing.T) {
	t.Parallel()
	const nobody = "BERTH_URL=http://127.0.0.1:1"
	for line, test := range map[string]struct {
		environ []string
		stderr  string
	}{
		"--url ftp://x":         {nil, `url: "ftp://x" (flag --url) is not the URL of a service; write scheme, host and path, such as http://127.0.0.1:8778 or https://cloud.example.org/placement`},
		"--timeout 5":           {[]string{nobody}, `timeout: "5" (flag --timeout) is not a duration; write a number with its unit, such as 500ms, 30s or 2m`},
		"--interface private":   {[]string{nobody}, `interface: "private" (flag --interface) is not one of the choices; write public, internal or admin`},
		"--output xml":          {[]string{nobody}, `output: "xml" (flag --output) is not one of the choices; write table or json`},
		"--auth token":          {[]string{nobody}, `token: "" (default) is no token; set BERTH_TOKEN, or choose another --auth`},
		"--auth basic":          {[]string{nobody}, `auth: "basic" (flag --auth) is not one of the choices; write noauth, token or keystone`},
		"--auth keystone":       {[]string{nobody}, `auth: "keystone" (OS_ variables) needs OS_AUTH_URL; source an openrc file, name a --cloud, or choose another --auth`},
		"--ca-cert /nowhere":    {[]string{nobody}, `ca-cert: "/nowhere" (file) cannot be read (open /nowhere: no such file or directory); name a file with certificates in PEM`},
		"--ca-cert go.mod-less": {[]string{nobody, "BERTH_INSECURE=x"}, `insecure: "x" (environment BERTH_INSECURE) is neither true nor false; write true or false`},
		"--cloud here": {[]string{nobody, "OS_CLIENT_CONFIG_FILE=/nowhere/clouds.yaml"},
			`cloud: "here" (clouds.yaml) cannot be used: clouds file not found. Search locations were: [/nowhere/clouds.yaml]; name one that is there, or use the OS_ variables without OS_CLOUD`},
		"--insecure":   {[]string{"BERTH_URL=x", "OS_AUTH_URL=http://k", "OS_USERNAME=alice"}, `url: "x" (environment BERTH_URL) is not the URL of a service; write scheme, host and path, such as http://127.0.0.1:8778 or https://cloud.example.org/placement`},
		"--region one": {[]string{"OS_AUTH_URL=http://k", "OS_USERNAME=alice"}, `auth: "keystone" (OS_ variables) needs OS_PASSWORD; source an openrc file, name a --cloud, or choose another --auth`},
	} {
		got := runCommand(t, test.environ, append([]string{"trait", "list"}, strings.Fields(line)...)...)
		if got.code != exitUsage || got.stderr != "berth: "+test.stderr+"\n" {
			t.Errorf("%s: exit code %d, %s", line, got.code, got.stderr)
		}
	}
}

func TestTheVariablesOfConnectionsAreNoUnknownSettings(t *testing.T) {
	t.Parallel()
	got := runCommand(t, []string{"BERTH_URL=http://x", "BERTH_CLIENT_AUTH=noauth", "BERTH_TOKEN=x"}, "config")
	if got.code != exitFine || got.stderr != "" {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}

func TestDebugHTTPTellsEachRequestAndNoToken(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t) + "/", "BERTH_DEBUG_HTTP=true"}
	got := runCommand(t, environ, "provider", "list", "--name", "x", "--token", "admin")
	const want = `UUID  NAME  GENERATION  PARENT  ROOT
! berth: warning: everybody on this machine can read a token on a command line; set BERTH_TOKEN instead
! berth: GET http://SERVICE/resource_providers?name=x: 200 req-… (…ms)
`
	if asWritten(got) != want {
		t.Errorf("got\n%s", asWritten(got))
	}
	got = runCommand(t, []string{"BERTH_URL=http://127.0.0.1:1"}, "provider", "list")
	if got.code != exitFailed || !strings.Contains(got.stderr, "connection refused") {
		t.Errorf("nobody listens: exit code %d, %s", got.code, got.stderr)
	}
}

func TestCertificatesAreCheckedUnlessToldOtherwise(t *testing.T) {
	t.Parallel()
	opened, err := store.Open(t.Context(), store.Options{URL: dbtest.New(t).URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	listening := httptest.NewTLSServer(server.New(server.Options{
		Store: opened, Log: slog.New(slog.DiscardHandler), EnforceNewDefaults: true, MaxBodyBytes: 1 << 20, MaxCandidates: -1,
	}))
	t.Cleanup(listening.Close)
	listening.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	trusted := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: listening.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, fine := range map[string]bool{"--ca-cert=" + trusted: true, "--insecure": true, "--timeout=30s": false} {
		got := runCommand(t, []string{"BERTH_URL=" + listening.URL}, "aggregate", "list", "00000000-0000-4000-8000-000000000001", flag)
		reached := strings.Contains(got.stderr, "there is no provider")
		if reached != fine || !fine && !strings.Contains(got.stderr, "certificate") {
			t.Errorf("%s: %s", flag, got.stderr)
		}
	}
}

func TestAnOpenrcFileSaysWhoAsks(t *testing.T) {
	t.Parallel()
	const url = "OS_AUTH_URL=http://k/v3"
	for name, test := range map[string]struct {
		environ []string
		want    gophercloud.AuthOptions
		scope   gophercloud.AuthScope
	}{
		"a password, all by name": {
			[]string{url, "OS_USERNAME=alice", "OS_PASSWORD=s", "OS_USER_DOMAIN_NAME=people", "OS_PROJECT_NAME=demo", "OS_PROJECT_DOMAIN_ID=d1"},
			gophercloud.AuthOptions{Username: "alice", Password: "s", DomainName: "people"},
			gophercloud.AuthScope{ProjectName: "demo", DomainID: "d1"},
		},
		"domains that nobody named": {
			[]string{url, "OS_USERNAME=alice", "OS_PASSWORD=s", "OS_PROJECT_NAME=demo"},
			gophercloud.AuthOptions{Username: "alice", Password: "s", DomainName: "Default"},
			gophercloud.AuthScope{ProjectName: "demo", DomainName: "Default"},
		},
		"ids need no domains": {
			[]string{url, "OS_USER_ID=u1", "OS_PASSWORD=s", "OS_PROJECT_ID=p1"},
			gophercloud.AuthOptions{UserID: "u1", Password: "s"}, gophercloud.AuthScope{ProjectID: "p1"},
		},
		"the system": {
			[]string{url, "OS_USER_ID=u1", "OS_PASSWORD=s", "OS_SYSTEM_SCOPE=all"},
			gophercloud.AuthOptions{UserID: "u1", Password: "s"}, gophercloud.AuthScope{System: true},
		},
		"an application credential brings its scope": {
			[]string{url, "OS_APPLICATION_CREDENTIAL_ID=c1", "OS_APPLICATION_CREDENTIAL_SECRET=s", "OS_PROJECT_ID=p1"},
			gophercloud.AuthOptions{ApplicationCredentialID: "c1", ApplicationCredentialSecret: "s"}, gophercloud.AuthScope{},
		},
	} {
		found, err := loadedEndpoint(t, nil, test.environ)
		if err != nil {
			t.Fatal(err)
		}
		got, err := found.openrc()
		var scope gophercloud.AuthScope
		if got.Scope != nil {
			scope, got.Scope = *got.Scope, nil
		}
		test.want.IdentityEndpoint, test.want.AllowReauth = "http://k/v3", true
		if err != nil || got != test.want || scope != test.scope {
			t.Errorf("%s: %+v, %+v, %v", name, got, scope, err)
		}
	}
}

func TestACloudOfCloudsYAMLIsFound(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := filepath.Join(home, ".config", "openstack", "clouds.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	const clouds = `clouds:
  here:
    auth: {auth_url: "http://k/v3", username: alice, password: s, project_id: p1, user_domain_name: Default}
    region_name: one
    verify: false
`
	if err := os.WriteFile(file, []byte(clouds), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := loadedEndpoint(t, []string{"--cloud=here"}, []string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if _, err := found.keystone(transport); err != nil || !transport.TLSClientConfig.InsecureSkipVerify {
		t.Errorf("%v, %+v", err, transport.TLSClientConfig)
	}
	found, err = loadedEndpoint(t, []string{"--cloud=there"}, []string{"HOME=" + home})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found.keystone(transport); err == nil || !strings.Contains(err.Error(), `cloud: "there" (clouds.yaml) cannot be used`) {
		t.Errorf("a cloud that is not there: %v", err)
	}
}

func TestWritersDoNotLoseWhatOthersWrote(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	// As many as there are attempts, less one: each failure is somebody's success.
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
				if got := runCommand(t, environ, strings.Fields(line)...); got.code != exitFine {
					t.Errorf("%s: %s", line, got.stderr)
				}
			})
		}
	}
	writers.Wait()
	got := runCommand(t, environ, "provider", "trait", "list", "host")
	if got.stdout != "TRAIT\nCUSTOM_A\nCUSTOM_B\nCUSTOM_C\nCUSTOM_D\n" {
		t.Errorf("the provider has %s", got.stdout)
	}
	if got := runCommand(t, environ, "allocation", "show", consumer); strings.Count(got.stdout, "VCPU") != len(names) {
		t.Errorf("the consumer has %s", got.stdout)
	}
}
