//go:build client

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/oidcprovider"
)

// oidcClients are the clients of the provider in these tests. Each gets tokens for itself.
func oidcClients() []oidcprovider.Client {
	made := func(id, audience string, claims map[string]any) oidcprovider.Client {
		return oidcprovider.Client{ID: id, Audience: []string{audience}, Claims: claims}
	}
	access := func(groups ...string) map[string]any { return map[string]any{"groups": groups} }
	return []oidcprovider.Client{
		made("ada", "berth", map[string]any{"project": "lab", "access": access("/operators"), "username": "Ada"}),
		made("rita", "berth", map[string]any{"project": "lab", "access": access("/readers"), "username": "Rita"}),
		made("root", "berth", map[string]any{"system": true, "access": access("/operators"), "username": "Root"}),
		made("lost", "berth", map[string]any{"access": access("/operators"), "username": "Lost"}),
		made("idle", "berth", map[string]any{"project": "lab", "access": access("/visitors"), "username": "Idle"}),
		made("recipient", "mail", map[string]any{"project": "lab", "access": access("/operators"), "username": "Mail"}),
	}
}

// oidcFlags returns the flags of a server that accepts the tokens of a provider.
func oidcFlags(provider *oidcprovider.Provider, more ...string) []string {
	return append([]string{
		"--auth", "oidc", "--oidc-issuer", provider.Issuer, "--oidc-audience", "berth",
		"--oidc-user-claim", "username", "--oidc-roles-claim", "access.groups", "--oidc-system-claim", "system",
		"--oidc-role-map", "/operators=admin,/readers=reader",
	}, more...)
}

// curl returns the status and the rest of the response to a GET request.
func curl(t *testing.T, url string, headers ...string) (status, head, body string) {
	t.Helper()
	arguments := []string{"--silent", "--show-error", "--max-time", "60", "--include"}
	for _, header := range headers {
		arguments = append(arguments, "--header", header)
	}
	out, err := exec.CommandContext(t.Context(), "curl", append(arguments, url)...).CombinedOutput()
	if err != nil {
		t.Fatalf("curl %s: %v\n%s", url, err, out)
	}
	head, body, _ = strings.Cut(strings.ReplaceAll(string(out), "\r\n", "\n"), "\n\n")
	return strings.Fields(head)[1], head, body
}

// TestAuth_OIDC_ServesBothAPIsInBothPolicyModes runs the program with a real provider: tokens come by the
// client credentials flow, and requests from the commands and from curl.
func TestAuth_OIDC_ServesBothAPIsInBothPolicyModes(t *testing.T) {
	t.Parallel()
	for mode, flags := range map[string][]string{
		"new defaults": nil,
		"old defaults": {"--enforce-new-defaults=false", "--enforce-scope=false"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			provider := oidcprovider.Start(t, oidcClients()...)
			audit := filepath.Join(t.TempDir(), "audit.log")
			url := serveOn(t, dbtest.NewEmpty(t).URL, oidcFlags(provider, append(flags, "--audit-log", audit)...)...).url
			createAndListProvider(t, url, provider.Token(t, "ada"))
			checkAuditLine(t, audit)

			old := flags != nil
			for _, c := range []struct {
				client, path string
				permitted    bool
			}{
				{"ada", "/resource_providers", true},
				{"rita", "/resource_providers", false},
				{"rita", "/usages?project_id=lab", true},
				{"rita", "/usages?project_id=other", false},
				{"root", "/resource_providers", old}, // a system-scoped token
				{"root", "/v1/drivers", true},
				{"ada", "/v1/drivers", old}, // a project-scoped token
				{"ada", "/v1/nodes", true},
				{"rita", "/v1/allocations", true},
			} {
				want := "403"
				if c.permitted {
					want = "200"
				}
				token := provider.Token(t, c.client)
				for _, header := range []string{"X-Auth-Token: " + token, "Authorization: Bearer " + token} {
					status, _, body := curl(t, url+c.path, header, "OpenStack-API-Version: placement 1.39, baremetal 1.82", "X-Roles: admin")
					if name, _, _ := strings.Cut(header, ":"); status != want {
						t.Errorf("%s as %s with %s: status = %s, want %s: %s", c.path, c.client, name, status, want, body)
					}
				}
			}
		})
	}
}

// createAndListProvider creates a resource provider with the commands.
func createAndListProvider(t *testing.T, url, token string) {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"provider", "create", "host-1"}, {"provider", "list"}} {
		command := exec.CommandContext(t.Context(), program, arguments...)
		command.Env = append(withoutSettings(os.Environ()), "BERTH_URL="+url, "BERTH_TOKEN="+token)
		if out, err := command.CombinedOutput(); err != nil || !strings.Contains(string(out), "host-1") {
			t.Errorf("berth %s: %v, output:\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

// checkAuditLine checks the caller in the audit line of the created provider.
func checkAuditLine(t *testing.T, path string) {
	t.Helper()
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]any
	for line := range strings.Lines(string(lines)) {
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatal(err)
		}
		if record["phase"] == "end" && record["method"] == "POST" {
			found = record
		}
	}
	got := fmt.Sprint(found["auth_method"], " ", found["user_id"], " ", found["subject"], " ", found["token_id"], " ", found["project_id"], " ", found["roles"])
	if want := "oidc Ada ada id-of-ada lab [admin manager member reader]"; got != want {
		t.Errorf("caller in the audit log = %s, want %s", got, want)
	}
}

// TestAuth_OIDCFailures_HaveStatusAndNoTokenInLog checks each response to a token that does not suffice,
// and a start without the issuer.
func TestAuth_OIDCFailures_HaveStatusAndNoTokenInLog(t *testing.T) {
	t.Parallel()
	provider := oidcprovider.Start(t, oidcClients()...)
	lost, idle, recipient, ada := provider.Token(t, "lost"), provider.Token(t, "idle"), provider.Token(t, "recipient"), provider.Token(t, "ada")
	provider.Stop()
	server := startBerth(t, nil, append(oidcFlags(provider), "--listen", "127.0.0.1:0", "--database-url", dbtest.NewEmpty(t).URL)...)
	url := server.url + "/resource_providers"
	if status, head, body := curl(t, url, "Authorization: Bearer "+ada); status != "503" || !strings.Contains(head, "\nRetry-After: 5") ||
		!strings.Contains(body, "The OpenID Connect issuer is temporarily unavailable.") {
		t.Errorf("without the issuer: %s\n%s", head, body)
	}
	provider.Resume()
	await(t, "the issuer's keys", func() bool {
		status, _, _ := curl(t, url, "Authorization: Bearer "+ada)
		return status == "200"
	})
	for _, c := range []struct{ name, token, status, want string }{
		{"without a project", lost, "403", `The token has no claim \"project\" (--oidc-project-claim).`},
		{"without a mapped role", idle, "403", `has a role in --oidc-role-map.`},
		{"for another service", recipient, "401", "Www-Authenticate: Bearer realm=\"berth\", error=\"invalid_token\"\n"},
		{"invalid", "x.y.z", "401", "Www-Authenticate: Bearer realm=\"berth\", error=\"invalid_token\"\n"},
		{"empty", "", "401", "Www-Authenticate: Bearer realm=\"berth\""},
	} {
		status, head, body := curl(t, url, "Authorization: Bearer "+c.token)
		if status != c.status || !strings.Contains(head+"\n"+body, c.want) {
			t.Errorf("a token %s: want %s, %s; got\n%s\n\n%s", c.name, c.status, c.want, head, body)
		}
	}
	if _, _, metrics := curl(t, server.url+"/metrics"); !strings.Contains(metrics, `berth_oidc_token_validations_total{result="claim_missing"} 2`) ||
		!strings.Contains(metrics, "berth_oidc_keys 1\n") {
		t.Errorf("metrics lack the validations:\n%s", metrics)
	}
	server.stop(t)
	for _, token := range []string{lost, idle, recipient, ada} {
		if strings.Contains(server.log.String(), strings.Split(token, ".")[2]) {
			t.Errorf("the log contains a token:\n%s", server.log)
		}
	}
	if !strings.Contains(server.log.String(), `the claim aud is`) {
		t.Errorf("the log lacks the reason of a 401:\n%s", server.log)
	}
}
