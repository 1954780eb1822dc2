package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
)

func TestLimits_BodySizes_DependOnTheOperation(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Bodies.Max, options.Bodies.MaxOrdinary = 256<<10, 64<<10
	})
	text := `{"name": "` + strings.Repeat("x", 70000) + `"}`
	for _, test := range []struct {
		method, path, body string
		status             int
		text               string
	}{
		{http.MethodPost, "/resource_providers", text, 413, "larger than the limit of 65536 bytes, which is the setting max-ordinary-body-bytes."},
		{http.MethodPost, "/v1/allocations", text, 413, "larger than the limit of 65536 bytes, which is the setting max-ordinary-body-bytes."},
		{http.MethodPost, "/allocations", text, 400, "JSON does not validate"},
		{http.MethodPost, "/reshaper", text, 400, "JSON does not validate"},
		{http.MethodPost, "/v1/nodes", text, 400, "JSON does not validate"},
		{http.MethodPost, "/allocations", strings.Repeat(text, 14), 413, "larger than the limit of 262144 bytes, which is the setting max-body-bytes."},
		{http.MethodPost, "/resource_providers", "[" + strings.Repeat("1,", 5000) + "1]", 413, "has more than 4096 values"},
		{http.MethodPost, "/v1/nodes", "[" + strings.Repeat("1,", 5000) + "1]", 413, "has more than 4096 values"},
		{http.MethodPost, "/allocations", "[" + strings.Repeat("1,", 5000) + "1]", 400, "is not of type 'object'"},
		{http.MethodPost, "/allocations", "[" + strings.Repeat("1,", 20000) + "1]", 413, "has more than 16384 values"},
	} {
		for _, body := range []io.Reader{strings.NewReader(test.body), chunked{strings.NewReader(test.body)}} {
			s.wantError(s.ask(test.method, test.path, body), test.path, test.status, test.text)
		}
	}
}

// TestLimits_BodyMemoryFull_Returns503WithRetryAfter holds the memory with a body that
// does not come to its end. Small bodies pass.
func TestLimits_BodyMemoryFull_Returns503WithRetryAfter(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.Bodies.Memory, options.Limits = 1000, server.Limits{Queue: 1, Wait: 20 * time.Millisecond}
	})
	const large = 200 << 10
	more, answers := s.slowly("/allocations", large)
	if _, err := io.WriteString(more, strings.Repeat(" ", 100<<10)); err != nil {
		t.Fatal(err)
	}
	answer := s.ask(http.MethodPost, "/allocations", strings.NewReader(strings.Repeat(" ", large)))
	s.wantError(answer, "/allocations", http.StatusServiceUnavailable, "which is the setting max-body-memory, and the wait took too long.")
	s.wantRetryAfter(answer)
	if answer := s.ask(http.MethodPut, "/traits/CUSTOM_X", http.NoBody); answer.Code != http.StatusCreated {
		t.Errorf("without a body: status = %d, want 201", answer.Code)
	}
	if answer := s.ask(http.MethodPost, "/resource_providers", strings.NewReader(`{"name": "small"}`)); answer.Code != http.StatusOK {
		t.Errorf("small body: status = %d, want 200", answer.Code)
	}
	metrics := s.send(http.MethodGet, "/metrics").Body.String()
	if !strings.Contains(metrics, "berth_http_body_memory_rejected_total 1\n") {
		t.Error("berth_http_body_memory_rejected_total is not 1")
	}
	more.Close()
	<-answers
	if answer := s.ask(http.MethodPost, "/allocations", strings.NewReader(strings.Repeat(" ", large))); answer.Code != http.StatusBadRequest {
		t.Errorf("afterwards: status = %d, want 400", answer.Code)
	}
}

// TestLimits_DocumentsOfEveryVersion_AreAnsweredAlikeEachTime goes through more documents
// than are kept.
func TestLimits_DocumentsOfEveryVersion_AreAnsweredAlikeEachTime(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(*postgres.Options, *server.Options) {})
	paths := []string{"/openapi/1.0.json", "/openapi/1.39.json", "/openapi/latest.json", "/openapi/baremetal/1.1.json",
		"/openapi/baremetal/1.40.json", "/openapi/baremetal/1.82.json", "/openapi/baremetal/latest.json"}
	first := map[string]*httptest.ResponseRecorder{}
	for range 2 {
		for _, path := range paths {
			answer := s.send(http.MethodGet, path)
			if answer.Code != http.StatusOK {
				t.Fatalf("%s: status = %d, want 200", path, answer.Code)
			}
			before := first[path]
			if before != nil && (before.Header().Get("Etag") != answer.Header().Get("Etag") || before.Body.String() != answer.Body.String()) {
				t.Errorf("%s: the second answer differs", path)
			}
			first[path] = answer
		}
	}
}
