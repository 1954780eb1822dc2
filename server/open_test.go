package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/microversion"
)

// service is a server with a database of its own.
type service struct {
	t       *testing.T
	handler http.Handler
	db      *dbtest.DB
}

func newService(t *testing.T, prefix string) *service {
	t.Helper()
	return newServiceWith(t, func(options *server.Options) { options.Prefix = prefix })
}

// newServiceWith returns a server with changed options.
func newServiceWith(t *testing.T, change func(*server.Options)) *service {
	t.Helper()
	made := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: 2}, Server: change})
	return &service{t: t, db: made.DB, handler: made.Handler}
}

// pathOfRequest is, in place of a header, the path of a request as it arrives: one that no URL has, such as the empty path.
const pathOfRequest = "test-path"

// get sends a GET without a token. headers are pairs of name and value.
func (s *service) get(path string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	return s.send(http.MethodGet, path, headers...)
}

func (s *service) send(method, path string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, http.NoBody)
	for pair := range slices.Chunk(headers, 2) {
		if pair[0] == pathOfRequest {
			r.URL.Path = pair[1]
			continue
		}
		r.Header.Set(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

func TestAuth_PublicPaths_NeedNoToken(t *testing.T) {
	t.Parallel()
	bare, below := newService(t, ""), newService(t, "/placement")
	for path, mediaType := range map[string]string{
		"/livez":               "application/json",
		"/readyz":              "application/json",
		"/metrics":             "text/plain; version=0.0.4; charset=utf-8; escaping=underscores",
		"/docs":                "text/html; charset=utf-8",
		"/docs/reference.js":   "text/javascript; charset=utf-8",
		"/openapi/1.0.json":    "application/json",
		"/openapi/1.39.json":   "application/json",
		"/openapi/latest.json": "application/json",
	} {
		for name, answer := range map[string]*httptest.ResponseRecorder{
			"mounted at the root": bare.get(path), "beside the prefix": below.get(path), "under the prefix": below.get("/placement" + path),
		} {
			got := answer.Header()
			if answer.Code != http.StatusOK || got.Get("Content-Type") != mediaType ||
				got.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(got.Get("X-Openstack-Request-Id"), "req-") {
				t.Errorf("%s %s: status %d, headers %v", path, name, answer.Code, got)
			}
		}
	}
}

func TestRoute_PublicPaths_RejectWrites(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/docs", "/docs/reference.js", "/openapi/1.39.json"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
			answer := s.send(method, path)
			if answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") != "GET, HEAD" ||
				!strings.Contains(answer.Body.String(), "The method "+method+" is not allowed for this resource.") {
				t.Errorf("%s %s: status %d, Allow %q, %s", method, path, answer.Code, answer.Header().Get("Allow"), answer.Body)
			}
		}
	}
}

func TestRoute_Head_HasHeadersOfGet(t *testing.T) {
	t.Parallel()
	running := httptest.NewServer(newService(t, "").handler)
	defer running.Close()
	for _, path := range []string{"/docs", "/openapi/latest.json", "/docs/swagger-ui.js", "/livez"} {
		var lengths, types []string
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			r, err := http.NewRequestWithContext(t.Context(), method, running.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept-Encoding", "identity")
			answer, err := running.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			lengths = append(lengths, answer.Header.Get("Content-Length"))
			types = append(types, answer.Header.Get("Content-Type"))
		}
		if lengths[0] == "" || lengths[0] != lengths[1] || types[0] != types[1] {
			t.Errorf("%s: lengths %q, types %q", path, lengths, types)
		}
	}
}

func TestOpenAPI_ServedDocuments_MatchRouteTable(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	table := server.Table(server.Options{})
	for _, version := range microversion.All() {
		want, err := table.Document(version)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.get("/openapi/" + version.String() + ".json").Body.Bytes(); !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d", version, len(got), len(want))
		}
	}
	latest, newest := s.get("/openapi/latest.json"), s.get("/openapi/1.39.json")
	if !bytes.Equal(latest.Body.Bytes(), newest.Body.Bytes()) {
		t.Error("the latest document differs from that of 1.39")
	}
}

func TestOpenAPI_Document_NamesMountPath(t *testing.T) {
	t.Parallel()
	var document struct{ Servers []struct{ URL string } }
	if err := json.Unmarshal(newService(t, "/placement").get("/placement/openapi/1.39.json").Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if len(document.Servers) != 1 || document.Servers[0].URL != "/placement" {
		t.Errorf("servers are %v", document.Servers)
	}
}

func TestRoute_UnknownPublicPath_Returns404(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	for _, path := range []string{
		"/openapi/1.40.json", "/openapi/1.39.yaml", "/openapi/", "/openapi/../placement/1.39.json", "/openapi/LATEST.json",
		"/docs/index.html", "/docs/../open.go", "/docs/reference/index.html",
	} {
		answer := s.get(path, "Accept", "application/json")
		var body struct {
			Errors []struct {
				Status int
				Title  string
			}
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil {
			t.Errorf("%s: %v in %s", path, err, answer.Body)
			continue
		}
		if answer.Code != http.StatusNotFound || len(body.Errors) != 1 || body.Errors[0].Status != 404 || body.Errors[0].Title != "Not Found" {
			t.Errorf("%s: status %d, %+v", path, answer.Code, body)
		}
	}
	if answer := s.get("/openapi"); answer.Code != http.StatusUnauthorized {
		t.Errorf("unknown path: status = %d", answer.Code)
	}
}

func TestDocs_StaticFiles_CompressedWithETag(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	for _, path := range []string{"/openapi/1.39.json", "/docs", "/docs/swagger-ui.js"} {
		plain := s.get(path)
		zipped := s.get(path, "Accept-Encoding", "br, gzip")
		reader, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := io.ReadAll(reader)
		if err != nil || !bytes.Equal(unzipped, plain.Body.Bytes()) {
			t.Errorf("%s: the compressed document differs: %v", path, err)
		}
		tags := []string{plain.Header().Get("Etag"), zipped.Header().Get("Etag")}
		if tags[0] == "" || tags[1] == "" || tags[0] == tags[1] || plain.Header().Get("Cache-Control") != "no-cache" ||
			zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: headers %v and %v", path, plain.Header(), zipped.Header())
		}
		held := s.get(path, "If-None-Match", `"other", `+tags[0])
		if held.Code != http.StatusNotModified || held.Body.Len() != 0 || held.Header().Get("Etag") != tags[0] {
			t.Errorf("%s: with its entity tag: status = %d, %d bytes", path, held.Code, held.Body.Len())
		}
		if other := s.get(path, "If-None-Match", `"other"`); other.Code != http.StatusOK {
			t.Errorf("%s: with another entity tag: status = %d", path, other.Code)
		}
	}
}

// loaded matches the files that a page loads.
var loaded = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

func TestDocs_APIReference_LoadsOnlyOwnFiles(t *testing.T) {
	t.Parallel()
	s := newService(t, "/placement")
	page := s.get("/placement/docs")
	policy := page.Header().Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy lacks %q: %s", part, policy)
		}
	}
	if page.Header().Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("headers are %v", page.Header())
	}
	named := loaded.FindAllStringSubmatch(page.Body.String(), -1)
	if len(named) < 6 {
		t.Fatalf("the page loads %q", named)
	}
	for _, name := range named {
		// The page is /placement/docs, so that its relative links start at /placement/.
		part := s.get("/placement/" + name[1])
		if part.Code != http.StatusOK || part.Body.Len() == 0 {
			t.Errorf("%s: status %d", name[1], part.Code)
		}
	}
	for _, own := range []string{"/docs", "/docs/prefill.js", "/docs/reference.js", "/docs/reference.css"} {
		if body := s.get(own).Body.String(); strings.Contains(body, "://") || strings.Contains(body, "<style") ||
			strings.Contains(body, " style=") || strings.Contains(body, "<script>") {
			t.Errorf("%s has content that the policy forbids", own)
		}
	}
}

func TestDocs_APIReference_ListsEveryMicroversion(t *testing.T) {
	t.Parallel()
	page := newService(t, "").get("/docs").Body.String()
	before := len(page)
	for _, version := range microversion.All() {
		at := strings.Index(page, "<option>"+version.String()+"</option>")
		if at < 0 || at > before {
			t.Errorf("%s is missing, or at the wrong position", version)
		}
		before = at
	}
}

func TestDocs_APIReference_ListsBaremetalVersions(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	page := s.get("/docs").Body.String()
	_, group, _ := strings.Cut(page, `<optgroup label="Bare Metal API">`)
	group, _, _ = strings.Cut(group, "</optgroup>")
	for _, version := range server.BaremetalTable(server.Options{}).API().Versions() {
		if !strings.Contains(group, `<option value="baremetal/`+version.String()+`">`) {
			t.Errorf("version %s is missing", version)
		}
	}
	if !strings.HasPrefix(strings.TrimSpace(group), `<option value="baremetal/1.82">`) {
		t.Errorf("the newest version is not the first of %s", group)
	}
	var document struct{ Info struct{ Version string } }
	if err := json.Unmarshal(s.get("/openapi/baremetal/1.82.json").Body.Bytes(), &document); err != nil || document.Info.Version != "1.82" {
		t.Errorf("%v: the document is that of version %s", err, document.Info.Version)
	}
}

func TestDocs_APIReference_PresetsTokenOnlyWithoutAuthentication(t *testing.T) {
	t.Parallel()
	for _, isTrusting := range []bool{true, false} {
		made := servertest.New(t, servertest.Options{Server: func(options *server.Options) {
			if !isTrusting {
				options.Authenticate = func(*http.Request) (auth.Caller, error) { return auth.Caller{}, nil }
			}
		}})
		w := httptest.NewRecorder()
		made.Handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/docs", nil))
		if got := strings.Contains(w.Body.String(), `data-token="admin"`); got != isTrusting || w.Code != http.StatusOK {
			t.Errorf("status %d; token preset = %t, want %t", w.Code, got, isTrusting)
		}
	}
}

func TestDocs_TrailingSlash_RedirectsToReference(t *testing.T) {
	t.Parallel()
	answer := newService(t, "/placement").get("/placement/docs/")
	if answer.Code != http.StatusPermanentRedirect || answer.Header().Get("Location") != "/placement/docs" {
		t.Errorf("status %d to %q", answer.Code, answer.Header().Get("Location"))
	}
}

func TestReadiness_DatabaseDown_Returns503(t *testing.T) {
	t.Parallel()
	s := newService(t, "")
	if answer := s.get("/readyz"); answer.Code != http.StatusOK || !regexp.MustCompile(
		`^{"status":"ready","checks":{"database":"ok",("durability":"acknowledged writes may be lost: [a-z_ =,]+",)?"schema":"up to date"}}\n$`).MatchString(answer.Body.String()) {
		t.Errorf("with a database: status %d, %s", answer.Code, answer.Body)
	}
	s.refuseConnections()
	time.Sleep(1100 * time.Millisecond) // results are cached for 1 s
	want := `{"status":"unavailable","reason":"the database does not answer; the log says why",` +
		`"checks":{"database":"does not answer","schema":"unknown"}}` + "\n"
	if answer := s.get("/readyz"); answer.Code != http.StatusServiceUnavailable || answer.Body.String() != want ||
		answer.Header().Get("Content-Type") != "application/json" {
		t.Errorf("without: status %d, %s", answer.Code, answer.Body)
	}
	if answer := s.get("/livez"); answer.Code != http.StatusOK || answer.Body.String() != `{"status":"alive"}`+"\n" {
		t.Errorf("alive without a database: status %d, %s", answer.Code, answer.Body)
	}
}

// refuseConnections makes the database reject connections until the end of the test, when dbtest audits
// it, and closes the existing connections.
func (s *service) refuseConnections() {
	s.t.Helper()
	// A session of the database itself cannot do this.
	config, err := pgx.ParseConfig(s.db.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	config.Database = "postgres"
	ctx := context.WithoutCancel(s.t.Context())
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		s.t.Fatal(err)
	}
	allow := func(connections bool) {
		if _, err := connection.Exec(ctx, fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %t", s.db.Name, connections)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.t.Cleanup(func() {
		allow(true)
		connection.Close(ctx)
	})
	allow(false)
	if _, err := connection.Exec(s.t.Context(),
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1", s.db.Name); err != nil {
		s.t.Fatal(err)
	}
}

func TestMetrics_Requests_CountedByOperationAndStatus(t *testing.T) {
	t.Parallel()
	s := newService(t, "/placement")
	admin := []string{"X-Auth-Token", "admin", "OpenStack-API-Version", "placement 1.14"}
	s.get("/placement/resource_providers", admin...)
	s.get("/placement/resource_providers", admin...)
	s.get("/placement/resource_providers/3fa85f64-5717-4562-b3fc-2c963f66afa6", admin...)
	s.get("/placement/mystery", admin...)
	s.get("/placement/resource_providers")
	s.get("/livez")
	counted := s.get("/metrics").Body.String()
	for _, line := range []string{
		`berth_http_requests_total{api="placement",microversion="1.14",operation="provider-list",status="200"} 2`,
		`berth_http_requests_total{api="placement",microversion="1.14",operation="provider-show",status="404"} 1`,
		`berth_http_requests_total{api="placement",microversion="1.14",operation="none",status="404"} 1`,
		`berth_http_requests_total{api="placement",microversion="none",operation="none",status="401"} 1`,
		`berth_http_requests_total{api="open",microversion="none",operation="livez",status="200"} 1`,
		`berth_http_request_duration_seconds_count{api="placement",microversion="1.14",operation="provider-list"} 2`,
		`berth_sql_round_trips_total{operation="livez"} 0`,
		`berth_http_requests_in_flight 1`,
		`berth_sql_write_retries_total 0`,
		`berth_db_pool_connections_max 2`,
		`berth_db_pool_connections{state="in_use"} 0`,
	} {
		if !strings.Contains(counted, line+"\n") {
			t.Errorf("metrics lack %s", line)
		}
	}
	for _, name := range []string{"go_goroutines ", "process_cpu_seconds_total ", `berth_sql_round_trips_total{operation="provider-list"} `} {
		if !strings.Contains(counted, "\n"+name) || strings.Contains(counted, "\n"+name+"0\n") {
			t.Errorf("metrics lack %s, or it is 0", name)
		}
	}
	// Each server has its own counters.
	if other := newService(t, "").get("/metrics").Body.String(); strings.Contains(other, "provider-list") {
		t.Error("another server also counted these requests")
	}
}
