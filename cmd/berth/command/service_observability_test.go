package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/serve"
	"github.com/berthd/berth/internal/test/dbtest"
)

// otlpCollector is an OTLP collector that keeps what it receives, undecoded: strings and IDs appear in protobuf as they are.
type otlpCollector struct {
	*httptest.Server
	mutex    sync.Mutex
	received []byte
}

func newCollector(t *testing.T) *otlpCollector {
	t.Helper()
	c := &otlpCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			http.Error(w, "not an OTLP request", http.StatusBadRequest)
			return
		}
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.received = append(c.received, body...)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// count returns how often bytes were received.
func (c *otlpCollector) count(of []byte) int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return bytes.Count(c.received, of)
}

func askAs(t *testing.T, url string, headers ...string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestTracing_Shutdown_ExportsPendingSpans(t *testing.T) {
	t.Parallel()
	collector := newCollector(t)
	b := setupServe(t, "--database-url", dbtest.New(t).URL, "--trace-endpoint", collector.URL, "--baremetal-backend=off")
	traceID, callerID := []byte("a trace, 16bytes"), []byte("a caller")
	askAs(t, b.url+"/resource_classes", "X-Auth-Token", "admin", "OpenStack-API-Version", "placement 1.39",
		"Traceparent", fmt.Sprintf("00-%x-%x-01", traceID, callerID))
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
	// package server tests the tree of the spans. Between a name and its text are the types and sizes of protobuf.
	for _, want := range []string{"service.name\x12\x07\n\x05berth", "resource-class-list", "ResourceClassList", string(callerID)} {
		if collector.count([]byte(want)) == 0 {
			t.Errorf("the collector has not received %q", want)
		}
	}
	if spans := collector.count(traceID); spans < 2 {
		t.Errorf("received %d spans of the trace of the caller, want at least 2", spans)
	}
}

func TestTracing_CollectorHangs_RequestsNotDelayed(t *testing.T) {
	t.Parallel()
	// A collector that accepts connections and never responds blocks the exporter longest.
	b := setupServe(t, "--database-url", dbtest.New(t).URL, "--trace-endpoint", "http://"+silentListener(t), "--baremetal-backend=off")
	start := time.Now()
	for range 20 {
		if status, _ := askAs(t, b.url+"/resource_classes", "X-Auth-Token", "admin", "OpenStack-API-Version", "placement 1.39"); status != http.StatusOK {
			t.Errorf("status %d", status)
		}
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("duration of 20 requests = %s, want at most 3s", took)
	}
	stopping := time.Now()
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
	if took := time.Since(stopping); took > serve.TraceFlushTimeout+2*time.Second {
		t.Errorf("duration of the shutdown = %s", took)
	}
	if !strings.Contains(b.stderr.String(), "cannot export traces") && !strings.Contains(b.stderr.String(), "cannot export the last traces") {
		t.Errorf("the log lacks the failed export: %s", b.stderr)
	}
}

func TestReadiness_SchemaOutdated_Returns503(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	b := setupServe(t, "--database-url", db.URL, "--admin-listen=127.0.0.1:0", "--public-metrics=false", "--baremetal-backend=off")
	admin := "http://" + regexp.MustCompile(`serving the admin address" address=(\S+)`).FindStringSubmatch(b.stderr.String())[1]
	if status, body := askAs(t, b.url+"/readyz"); status != http.StatusOK {
		t.Errorf("status %d: %s", status, body)
	}
	if status, _ := askAs(t, b.url+"/metrics"); status != http.StatusUnauthorized {
		t.Errorf("status of the public /metrics = %d, want %d", status, http.StatusUnauthorized)
	}
	// A server measures PostgreSQL in the background; on a busy machine the first attempt takes long.
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		status, body := askAs(t, admin+"/metrics")
		if status == http.StatusOK && strings.Contains(body, "berth_postgres_up 1") {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("status of /metrics on the admin address = %d without berth_postgres_up 1: %s", status, body)
		}
	}
	if _, err := db.Pool.Exec(t.Context(),
		"DELETE FROM berth_migration WHERE version_id = (SELECT max(version_id) FROM berth_migration)"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // the server caches the result for one second
	for _, url := range []string{b.url, admin} {
		if status, body := askAs(t, url+"/readyz"); status != http.StatusServiceUnavailable || !strings.Contains(body, `"schema":"outdated"`) {
			t.Errorf("%s: status %d: %s", url, status, body)
		}
	}
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code %d: %s", code, b.stderr)
	}
}
