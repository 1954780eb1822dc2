package inprocess_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/inprocess"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// open returns a transport on a new database.
func open(t *testing.T) (*inprocess.Transport, *dbtest.DB) {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	transport, err := inprocess.Open(t.Context(), inprocess.Options{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := transport.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return transport, db
}

// place is a server at an address, behind a transport.
type place struct {
	http.RoundTripper
	url string
}

// ask sends one request as an administrator and returns the response and its body.
func (p place) ask(t *testing.T, method, path, body string, headers map[string]string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, p.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement 1.39")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	answer, err := p.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer, string(text)
}

// changing matches the values that differ between the responses of two servers to the same request.
var changing = regexp.MustCompile(`req-[0-9a-f-]{36}|\d{4}-\d\d-\d\dT[0-9:.]+Z|\w{3}, \d\d \w{3} \d{4} [0-9:]{8} GMT|http://[a-z0-9.:]+`)

// shown returns the parts of a response that must not depend on the transport.
func shown(answer *http.Response, body string) string {
	headers, _ := json.MarshalIndent(answer.Header, "", " ")
	return changing.ReplaceAllString(fmt.Sprintf("%s %s %d %v\n%s\n%s",
		answer.Status, answer.Proto, answer.ContentLength, answer.TransferEncoding, headers, body), "…")
}

// many inserts 5,000 providers, whose list is about 4 MB.
const many = `
INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
SELECT n, ('aa000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n, n FROM generate_series(1, 5000) AS n;
SELECT setval(pg_get_serial_sequence('resource_providers', 'id'), 5001);
INSERT INTO provider_generations (provider_id, updated_at) SELECT id, now() FROM resource_providers;`

func TestInProcess_Requests_MatchHTTPResponses(t *testing.T) {
	t.Parallel()
	listening := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: 2}})
	transport, db := open(t)
	for _, one := range []*dbtest.DB{db, listening.DB} {
		if _, err := one.Pool.Exec(t.Context(), many); err != nil {
			t.Fatal(err)
		}
	}
	inside := place{transport, inprocess.URL}
	socket := place{&http.Transport{DisableCompression: true}, listening.Listen(t).URL}

	const id = "11111111-1111-1111-1111-%012d"
	provider := fmt.Sprintf(id, 1)
	requests := []struct {
		method, path, body string
		headers            map[string]string
	}{
		{method: "GET", path: "/"},
		{method: "GET", path: ""},
		{method: "POST", path: "/resource_providers", body: `{"name": "a", "uuid": "` + provider + `"}`},
		{method: "PUT", path: "/resource_providers/" + provider + "/inventories", body: `{"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}`},
		{method: "PUT", path: "/resource_providers/" + provider + "/inventories", body: `{"resource_provider_generation": 0, "inventories": {}}`},
		{method: "PUT", path: "/allocations/" + fmt.Sprintf(id, 2), body: `{"allocations": {"` + provider + `": {"resources": {"VCPU": 3}}}, "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}`},
		{method: "GET", path: "/allocation_candidates?resources=VCPU:2"},
		{method: "GET", path: "/allocation_candidates?resources=NO%20SUCH:2"},
		{method: "GET", path: "/resource_providers?name=%zz"},
		{method: "GET", path: "/allocations/" + fmt.Sprintf(id, 2)},
		{method: "GET", path: "/no/such//path/%2F?a=b;c"},
		{method: "PATCH", path: "/resource_providers"},
		{method: "HEAD", path: "/resource_providers"},
		{method: "OPTIONS", path: "/usages"},
		{method: "GET", path: "/traits", headers: map[string]string{"OpenStack-API-Version": "placement 1.99"}},
		{method: "GET", path: "/traits", headers: map[string]string{"Accept": "text/plain", "OpenStack-API-Version": "placement 1.5"}},
		{method: "GET", path: "/traits", headers: map[string]string{"X-Roles": "reader"}},
		{method: "GET", path: "/traits"},
		{method: "GET", path: "/resource_providers"},
		{method: "GET", path: "/resource_classes"},
		{method: "PUT", path: "/traits/CUSTOM_A"},
		{method: "POST", path: "/resource_providers", body: `{`, headers: map[string]string{"Content-Type": "text/plain"}},
		{method: "DELETE", path: "/allocations/" + fmt.Sprintf(id, 2)},
		{method: "GET", path: "/openapi/1.39.json"},
	}
	for _, wanted := range requests {
		through, over := shown(inside.ask(t, wanted.method, wanted.path, wanted.body, wanted.headers)),
			shown(socket.ask(t, wanted.method, wanted.path, wanted.body, wanted.headers))
		if wanted.path == "/resource_providers" && wanted.method == "GET" && len(through) < 1<<20 {
			t.Errorf("the long list has %d bytes", len(through))
		}
		if through != over {
			t.Errorf("%s %s: inside\n%s\nthrough the socket\n%s", wanted.method, wanted.path, through, over)
		}
	}
}

func TestInProcess_NoToken_Returns401(t *testing.T) {
	t.Parallel()
	transport, _ := open(t)
	answer, err := (&http.Client{Transport: transport}).Get(inprocess.URL + "/traits")
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("status %d, %v", answer.StatusCode, err)
	}
}

func TestInProcess_SchemaMissing_NeedsMigrateOption(t *testing.T) {
	t.Parallel()
	db := dbtest.NewEmpty(t)
	_, err := inprocess.Open(t.Context(), inprocess.Options{URL: db.URL})
	if err == nil || !strings.Contains(err.Error(), "the schema is at version 0") || !strings.Contains(err.Error(), "run 'berth db migrate'") {
		t.Fatalf("an empty database: %v", err)
	}
	migrated, err := inprocess.Open(t.Context(), inprocess.Options{URL: db.URL, Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	_, body := place{migrated, inprocess.URL}.ask(t, "GET", "/traits?name=in:HW_CPU_X86_AVX2", "", nil)
	if !strings.Contains(body, "HW_CPU_X86_AVX2") {
		t.Errorf("the standard traits are missing: %s", body)
	}
	if err := migrated.Close(); err != nil {
		t.Error(err)
	}
}

func TestInProcess_NewerSchema_Served(t *testing.T) {
	t.Parallel()
	db := dbtest.NewWithInvariantTriggers(t)
	if _, err := db.Pool.Exec(t.Context(), "INSERT INTO berth_migration (version_id, is_applied) VALUES (99999, true)"); err != nil {
		t.Fatal(err)
	}
	transport, err := inprocess.Open(t.Context(), inprocess.Options{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	if err := transport.Close(); err != nil {
		t.Error(err)
	}
}

func TestInProcess_TransportClosed_ReturnsError(t *testing.T) {
	t.Parallel()
	transport, _ := open(t)
	client := &http.Client{Transport: transport}
	ask := func() error {
		answer, err := client.Get(inprocess.URL + "/")
		if err == nil {
			err = answer.Body.Close()
		}
		return err
	}
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(transport.Close(), transport.Close()); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err == nil || !strings.Contains(err.Error(), "is closed") {
		t.Errorf("after Close: %v", err)
	}
}

func TestInProcess_OtherScheme_ReturnsError(t *testing.T) {
	t.Parallel()
	transport, _ := open(t)
	_, err := (&http.Client{Transport: transport}).Get("https://berth/")
	if err == nil || !strings.Contains(err.Error(), "want http://") {
		t.Errorf("https: %v", err)
	}
}
