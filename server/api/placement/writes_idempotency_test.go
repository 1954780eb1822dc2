package placement_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server"
)

// keyedReshape is a request that is valid once: it names the generation of the host.
const (
	keyedHost    = "c0ffee00-5ca1-4b1e-8000-000000000001"
	keyedReshape = `{"inventories": {"` + keyedHost + `": {"resource_provider_generation": 0, "inventories": {"VCPU": {"total": 8}}}}, "allocations": {}}`
)

// serveKeys starts a server with a host.
func serveKeys(t *testing.T, change func(*server.Options)) (*servertest.Server, *httptest.Server) {
	t.Helper()
	made := servertest.New(t, servertest.Options{Server: change})
	listener := made.Listen(t)
	answer, body := sendTo(t, listener, http.MethodPost, "/resource_providers", `{"name": "compute-1", "uuid": "`+keyedHost+`"}`,
		"OpenStack-API-Version", writesHeader)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status = %d, body = %s", answer.StatusCode, body)
	}
	return made, listener
}

// TestReshape_IdempotencyLifetime_HeaderOrSetting compares the stored lifetimes with the header and the option of the server, and
// repeats a request after its lifetime.
func TestReshape_IdempotencyLifetime_HeaderOrSetting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option time.Duration
		header string
		want   time.Duration
	}{
		"the default":            {0, "", 24 * time.Hour},
		"the setting":            {720 * time.Hour, "", 720 * time.Hour},
		"the header":             {720 * time.Hour, "900", 15 * time.Minute},
		"the shortest lifetime":  {0, "60", time.Minute},
		"the longest lifetime":   {time.Minute, "86400", 24 * time.Hour},
		"a header with a zero":   {0, "0900", 15 * time.Minute},
		"a key of 255 positions": {0, "", 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, listener := serveKeys(t, func(options *server.Options) { options.IdempotencyLifetime = c.option })
			key := strings.Repeat("~", 255)
			headers := []string{"OpenStack-API-Version", writesHeader, "Idempotency-Key", key}
			if c.header != "" {
				headers = append(headers, "Idempotency-Lifetime", c.header)
			}
			send := func(status int, replayed string) {
				t.Helper()
				answer, body := sendTo(t, listener, http.MethodPost, "/reshaper", keyedReshape, headers...)
				if got := answer.Header.Get("Idempotent-Replayed"); answer.StatusCode != status || got != replayed {
					t.Errorf("status = %d, replayed = %q, body = %s, want %d, %q", answer.StatusCode, got, body, status, replayed)
				}
			}
			send(http.StatusNoContent, "")
			var lifetime float64
			if err := made.DB.Pool.QueryRow(t.Context(),
				"SELECT extract(epoch FROM expires_at - now())::float8 FROM idempotency_keys").Scan(&lifetime); err != nil {
				t.Fatal(err)
			}
			if math.Abs(lifetime-c.want.Seconds()) > 25 { // the test itself takes less

				t.Errorf("lifetime = %v s, want %v", lifetime, c.want)
			}
			shift := func(by time.Duration) {
				t.Helper()
				if _, err := made.DB.Pool.Exec(t.Context(), `UPDATE idempotency_keys
					SET created_at = created_at - make_interval(secs => $1), expires_at = expires_at - make_interval(secs => $1)`, by.Seconds()); err != nil {
					t.Fatal(err)
				}
			}
			shift(c.want - 30*time.Second)
			send(http.StatusNoContent, "true")
			shift(30 * time.Second)
			send(http.StatusConflict, "")
		})
	}
}

func TestReshape_IdempotencyKeysFull_Returns503(t *testing.T) {
	t.Parallel()
	made, listener := serveKeys(t, nil)
	made.Store.LimitIdempotencyKeys(1)
	send := func(key string) (*http.Response, string) {
		headers := []string{"OpenStack-API-Version", writesHeader}
		if key != "" {
			headers = append(headers, "Idempotency-Key", key)
		}
		return sendTo(t, listener, http.MethodPost, "/reshaper", keyedReshape, headers...)
	}
	if answer, body := send("first"); answer.StatusCode != http.StatusNoContent {
		t.Fatalf("status = %d, body = %s", answer.StatusCode, body)
	}
	before := dbtest.Snapshot(t, made.DB)
	answer, body := send("second")
	if answer.StatusCode != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") != "60" ||
		!strings.Contains(body, `"code":"berth.idempotency.full"`) ||
		!strings.Contains(body, "This service has no room for another Idempotency-Key. Send the request without one, or later.") {
		t.Errorf("a new key: status = %d, headers = %v, body = %s", answer.StatusCode, answer.Header, body)
	}
	if answer, body := send("first"); answer.StatusCode != http.StatusNoContent || answer.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("a known key: status = %d, body = %s", answer.StatusCode, body)
	}
	if answer, body := send(""); answer.StatusCode != http.StatusConflict {
		t.Errorf("without a key: status = %d, body = %s, want the conflict of the generation", answer.StatusCode, body)
	}
	if changes := before.Diff(dbtest.Snapshot(t, made.DB)); changes != nil {
		t.Errorf("changed: %q", changes)
	}
}

// TestReshape_IdempotencyKeyInvalid_Returns400 sends keys that no scenario file can contain.
func TestReshape_IdempotencyKeyInvalid_Returns400(t *testing.T) {
	t.Parallel()
	_, listener := serveKeys(t, nil)
	for _, key := range []string{"", "\"", strings.Repeat("k", 256), "é", "a b", "\t", "a\tb", `" "`} {
		answer, body := sendTo(t, listener, http.MethodPost, "/reshaper", keyedReshape,
			"OpenStack-API-Version", writesHeader, "Idempotency-Key", key)
		want := http.StatusBadRequest
		if key == "\"" {
			want = http.StatusNoContent // one quote is a visible character and surrounds nothing
		}
		if answer.StatusCode != want || want == http.StatusBadRequest && !strings.Contains(body, `"code":"berth.idempotency.bad_key"`) {
			t.Errorf("key %q: status = %d, body = %s", key, answer.StatusCode, body)
		}
	}
}

// TestRoute_IdempotencyKeyOfEveryWrite_AcceptedOrUnsupported reads the route table, so that new operations take part.
func TestRoute_IdempotencyKeyOfEveryWrite_AcceptedOrUnsupported(t *testing.T) {
	t.Parallel()
	_, listener := serveKeys(t, nil)
	keyed := 0
	for _, op := range server.Table(server.Options{}).Operations() {
		if op.Method == http.MethodGet || op.ReadOnly {
			continue
		}
		path := strings.NewReplacer("{uuid}", unknownProvider, "{consumer_uuid}", unknownProvider, "{", "", "}", "").Replace(op.Path)
		answer, body := sendTo(t, listener, op.Method, path, "{}", "OpenStack-API-Version", writesHeader, "Idempotency-Key", "a b")
		code := "berth.idempotency.unsupported"
		if op.Keyed {
			keyed, code = keyed+1, "berth.idempotency.bad_key"
		}
		if answer.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"code":"`+code+`"`) {
			if answer.StatusCode != http.StatusNotFound { // an operation of another microversion
				t.Errorf("%s: status = %d, body = %s, want %s", op.ID, answer.StatusCode, body, code)
			}
		}
	}
	if keyed < 2 {
		t.Errorf("%d operations take a key, want at least 2", keyed)
	}
}
