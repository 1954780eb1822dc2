package command

import (
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/testfile"
)

// send sends a request with a microversion and returns the status, headers and body of the response.
func (b *servedBundle) send(t *testing.T, method, path, version, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, b.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("OpenStack-API-Version", "placement "+version)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// TestSettings_ServeFromPlacementConf_OptionsApplied checks options that only the file sets: the owner
// of allocations without an owner, CORS, and the origins of settings in the log.
func TestSettings_ServeFromPlacementConf_OptionsApplied(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	path := testfile.PlacementConf(t, `[DEFAULT]
debug = yes
[api]
auth_strategy = noauth2
[placement]
incomplete_consumer_project_id = old-project
incomplete_consumer_user_id = old-user
[cors]
allowed_origin = https://horizon.example.org
allow_credentials = no
allow_methods = GET
expose_headers = X-Mine
max_age = 0
[placement_database]
connection = `+strings.Replace(db.URL, "postgres://", "postgresql+psycopg2://", 1)+`
sync_on_startup = false
`)
	b := setupServe(t, "--config-file", path)
	const provider, consumer = "5b3b2ea6-8b2f-4f0a-9f0a-111111111111", "5b3b2ea6-8b2f-4f0a-9f0a-222222222222"
	for _, call := range []struct {
		method, path, version, body string
		status                      int
	}{
		{"POST", "/resource_providers", "1.7", `{"name": "n", "uuid": "` + provider + `"}`, 201},
		{"PUT", "/resource_providers/" + provider + "/inventories", "1.7", `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 4}}}`, 200},
		{"PUT", "/allocations/" + consumer, "1.7", `{"allocations": [{"resource_provider": {"uuid": "` + provider + `"}, "resources": {"VCPU": 1}}]}`, 204},
	} {
		if status, _, body := b.send(t, call.method, call.path, call.version, call.body); status != call.status {
			t.Fatalf("%s %s: %d %s", call.method, call.path, status, body)
		}
	}
	_, _, body := b.send(t, "GET", "/allocations/"+consumer, "1.12", "")
	body = strings.ReplaceAll(body, " ", "")
	if !strings.Contains(body, `"project_id":"old-project"`) || !strings.Contains(body, `"user_id":"old-user"`) {
		t.Errorf("owner of the allocations: %s", body)
	}

	const origin = "https://horizon.example.org"
	_, preflight, _ := b.send(t, "OPTIONS", "/resource_providers", "1.0", "", "Origin", origin, "Access-Control-Request-Method", "GET")
	_, denied, _ := b.send(t, "OPTIONS", "/resource_providers", "1.0", "", "Origin", origin, "Access-Control-Request-Method", "PUT")
	_, simple, _ := b.send(t, "GET", "/resource_providers", "1.0", "", "Origin", origin)
	if preflight.Get("Access-Control-Allow-Methods") != "GET" || preflight.Values("Access-Control-Max-Age") != nil ||
		preflight.Values("Access-Control-Allow-Credentials") != nil {
		t.Errorf("headers of a preflight request = %v", preflight)
	}
	if denied.Values("Access-Control-Allow-Origin") != nil {
		t.Errorf("headers for a denied method = %v", denied)
	}
	if simple.Get("Access-Control-Expose-Headers") != "X-Mine" || simple.Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("headers of a simple request = %v", simple)
	}

	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
	want := `msg=setting name=incomplete-consumer-user-id value=old-user origin="file ` + path + `:7 [placement]incomplete_consumer_user_id"`
	if !strings.Contains(b.stderr.String(), want) {
		t.Errorf("the log lacks %s:\n%s", want, b.stderr)
	}
}
