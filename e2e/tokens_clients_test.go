//go:build client

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/gophercloud/gophercloud/v2/openstack/placement/v1/resourceproviders"
)

// newToken creates a token in a file with the program.
func newToken(t *testing.T, file string, arguments ...string) string {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(t.Context(), program, append([]string{"token", "create", "--tokens-file", file, "--output=token"}, arguments...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(printed))
}

// TestClient_FixedToken_WorksWithTokensFile sends a token of the file with the command line client and with gophercloud,
// both without an identity service.
func TestClient_FixedToken_WorksWithTokensFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	token := newToken(t, file, "--user=ada", "--project=lab", "--role=admin,service")
	url := serve(t, "--auth=tokens", "--tokens-file", file)

	api := &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: token}, Endpoint: url + "/", Type: "placement", Microversion: "1.39",
	}
	if _, err := resourceproviders.Create(t.Context(), api, resourceproviders.CreateOpts{Name: "cmp-1"}).Extract(); err != nil {
		t.Errorf("gophercloud, Placement: %v", err)
	}
	machines := &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: token}, Endpoint: url + "/v1/", Type: "baremetal", Microversion: "1.50",
	}
	if _, err := nodes.List(machines, nodes.ListOpts{}).AllPages(t.Context()); err != nil {
		t.Errorf("gophercloud, Bare Metal: %v", err)
	}

	login := []string{"--os-auth-type", "admin_token", "--os-token", token, "--os-endpoint", url, "--os-baremetal-api-version", "1.78"}
	var providers []map[string]any
	if err := json.Unmarshal([]byte(typed(t, append(login, "resource", "provider", "list", "-f", "json")...)), &providers); err != nil ||
		len(providers) != 1 || providers[0]["name"] != "cmp-1" {
		t.Errorf("openstack, Placement: %v, %v", providers, err)
	}
	if printed := typed(t, append(login, "baremetal", "node", "list", "-f", "json")...); strings.TrimSpace(printed) != "[]" {
		t.Errorf("openstack, Bare Metal: %s", printed)
	}
}

// typed returns what the command line client prints.
func typed(t *testing.T, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	command := exec.CommandContext(ctx, openstack, arguments...)
	command.Env = append(withoutSettings(os.Environ()), "HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	var stderr bytes.Buffer
	command.Stderr = &stderr
	printed, err := command.Output()
	if err != nil {
		t.Errorf("openstack %s: %v: %s", strings.Join(arguments[len(arguments)-5:], " "), err, stderr.String())
	}
	return string(printed)
}
