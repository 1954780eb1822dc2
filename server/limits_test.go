package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/wire/cors"
)

// ask sends a request of an administrator, whose body may have an unknown length.
func (s *service) ask(method, path string, body io.Reader, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, path, body)
	r.Header.Set("X-Auth-Token", "admin")
	r.Header.Set("X-Roles", "admin,service")
	r.Header.Set("OpenStack-API-Version", "placement 1.39, baremetal 1.60")
	if body != nil && body != http.NoBody {
		r.Header.Set("Content-Type", "application/json")
	}
	if known, ok := body.(sized); ok {
		r.ContentLength = known.length
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// busy starts requests that run until the returned function is called.
func (s *service) busy(paths ...string) (end func()) {
	s.t.Helper()
	ended := make(chan int)
	var bodies []*io.PipeWriter
	for _, path := range paths {
		body, more := io.Pipe()
		bodies = append(bodies, more)
		go func() { ended <- s.ask(http.MethodPost, path, body).Code }()
		// The server reads the body only after the request has a slot.
		if _, err := io.WriteString(more, "{"); err != nil {
			s.t.Fatal(err)
		}
	}
	return func() {
		for _, body := range bodies {
			body.Close()
			if code := <-ended; code != http.StatusBadRequest {
				s.t.Errorf("held request: status = %d", code)
			}
		}
	}
}

var requestID = regexp.MustCompile(`^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// wantError checks that a response is an error in the format of the API of a path.
func (s *service) wantError(answer *httptest.ResponseRecorder, path string, status int, text string) {
	s.t.Helper()
	id := answer.Header().Get("X-Openstack-Request-Id")
	if answer.Code != status || !requestID.MatchString(id) {
		s.t.Errorf("%s: status %d, request id %q: %s", path, answer.Code, id, answer.Body)
	}
	if strings.HasPrefix(path, "/v1") {
		inner := told(s.t, answer)
		if said, _ := inner["faultstring"].(string); !strings.Contains(said, text) {
			s.t.Errorf("%s: %v lacks %q", path, inner, text)
		}
		return
	}
	var body struct {
		Errors []struct {
			Status    int    `json:"status"`
			Detail    string `json:"detail"`
			Code      string `json:"code"`
			RequestID string `json:"request_id"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &body); err != nil || len(body.Errors) != 1 {
		s.t.Fatalf("%s: %v in %s", path, err, answer.Body)
	}
	if got := body.Errors[0]; got.Status != status || got.RequestID != id || got.Code != "placement.undefined_code" || !strings.Contains(got.Detail, text) {
		s.t.Errorf("%s: %+v", path, got)
	}
}

func (s *service) wantRetryAfter(answer *httptest.ResponseRecorder) {
	s.t.Helper()
	if seconds, err := strconv.Atoi(answer.Header().Get("Retry-After")); err != nil || seconds < 1 || seconds > 3 {
		s.t.Errorf("Retry-After: %q", answer.Header().Get("Retry-After"))
	}
}

// bothAPIs lists paths that accept a body.
var bothAPIs = []string{"/resource_providers", "/v1/allocations"}

func limited(t *testing.T, limits server.Limits) *watched {
	t.Helper()
	return newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Limits = limits })
}

func TestLimits_QueueFull_Returns503WithRetryAfter(t *testing.T) {
	t.Parallel()
	s := limited(t, server.Limits{Requests: 2})
	end := s.busy(bothAPIs...)
	for _, path := range bothAPIs {
		answer := s.ask(http.MethodGet, path, http.NoBody)
		s.wantError(answer, path, http.StatusServiceUnavailable, "The server runs 2 requests, and 0 wait; it takes no more.")
		s.wantRetryAfter(answer)
	}
	// Authentication comes first, and open paths are always served.
	if answer := s.send(http.MethodGet, "/resource_providers"); answer.Code != http.StatusUnauthorized {
		t.Errorf("without a token: status = %d", answer.Code)
	}
	for _, path := range []string{"/livez", "/readyz", "/metrics", "/docs", "/", "/v1"} {
		if answer := s.send(http.MethodGet, path); answer.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, answer.Code)
		}
	}
	if counted := s.send(http.MethodGet, "/metrics").Body.String(); !strings.Contains(counted, `berth_http_requests_rejected_total{reason="queue_full"} 2`) {
		t.Error("the metrics lack the two rejected requests")
	}
	end()
	if answer := s.ask(http.MethodGet, "/resource_providers", http.NoBody); answer.Code != http.StatusOK {
		t.Errorf("afterwards: status %d", answer.Code)
	}
}

// slowly sends a request whose body has a length and is incomplete until the writer is closed.
func (s *service) slowly(path string, length int64) (*io.PipeWriter, <-chan *httptest.ResponseRecorder) {
	s.t.Helper()
	body, more := io.Pipe()
	answers := make(chan *httptest.ResponseRecorder, 1)
	go func() { answers <- s.ask(http.MethodPost, path, sized{body, length}) }()
	if _, err := io.WriteString(more, "{"); err != nil {
		s.t.Fatal(err)
	}
	return more, answers
}

// sized is a body of a known length.
type sized struct {
	io.Reader
	length int64
}

func TestLimits_SlowSmallBody_DoesNotHoldSlot(t *testing.T) {
	t.Parallel()
	s := limited(t, server.Limits{Requests: 1})
	for _, path := range bothAPIs {
		body, slow := s.slowly(path, 64<<10)
		if other := s.ask(http.MethodGet, path, http.NoBody); other.Code != http.StatusOK {
			t.Errorf("%s: concurrent request: status = %d", path, other.Code)
		}
		body.CloseWithError(io.ErrUnexpectedEOF)
		s.wantError(<-slow, path, http.StatusBadRequest, "The request's body could not be read to its end.")

		// A larger body is buffered only for a request with a slot.
		body, slow = s.slowly(path, 64<<10+1)
		s.wantError(s.ask(http.MethodGet, path, http.NoBody), path, http.StatusServiceUnavailable, "The server runs 1 requests")
		body.CloseWithError(io.ErrUnexpectedEOF)
		s.wantError(<-slow, path, http.StatusBadRequest, "The request's body could not be read to its end.")
	}
}

// TestLimits_LargeBodiesSentSlowly_LeavePlaces has more clients that send a large body slowly than slots.
func TestLimits_LargeBodiesSentSlowly_LeavePlaces(t *testing.T) {
	t.Parallel()
	s := limited(t, server.Limits{Requests: 4})
	end := s.busy(bothAPIs[0], bothAPIs[1], bothAPIs[0])
	for _, path := range bothAPIs {
		s.wantError(s.ask(http.MethodPost, path, sized{strings.NewReader(""), 64<<10 + 1}), path, http.StatusServiceUnavailable,
			"The server runs 3 requests with large bodies, and 0 wait; it takes no more.")
		if other := s.ask(http.MethodGet, path, http.NoBody); other.Code != http.StatusOK {
			t.Errorf("%s: concurrent request: status = %d", path, other.Code)
		}
		if other := s.ask(http.MethodPost, path, sized{strings.NewReader("{"), 1}); other.Code != http.StatusBadRequest {
			t.Errorf("%s: concurrent small body: status = %d", path, other.Code)
		}
	}
	end()
}

func TestLimits_CallerLimitExceeded_Returns429(t *testing.T) {
	t.Parallel()
	s := limited(t, server.Limits{PerCaller: 1})
	end := s.busy("/resource_providers")
	for _, path := range bothAPIs {
		answer := s.ask(http.MethodGet, path, http.NoBody)
		s.wantError(answer, path, http.StatusTooManyRequests, "This user has 1 requests running or waiting")
		s.wantRetryAfter(answer)
		if other := s.ask(http.MethodGet, path, http.NoBody, "X-Auth-Token", "bob", "X-Roles", "admin,service"); other.Code != http.StatusOK {
			t.Errorf("%s of another user: status = %d", path, other.Code)
		}
	}
	end()
}

// chunked hides the length of a body.
type chunked struct{ io.Reader }

func TestLimits_BodyTooLarge_Returns413(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) { options.Bodies.Max = 2000 })
	large := `{"name": "` + strings.Repeat("x", 2000) + `"}`
	for _, path := range bothAPIs {
		for _, body := range []io.Reader{strings.NewReader(large), chunked{strings.NewReader(large)}} {
			answer := s.ask(http.MethodPost, path, body)
			s.wantError(answer, path, http.StatusRequestEntityTooLarge, "larger than the limit of 2000 bytes")
		}
	}
}

// The database blocks a request for longer than the server allows, and with it the only connection.
func TestLimits_RequestTimeoutExceeded_Returns503(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(opening *postgres.Options, options *server.Options) {
		opening.MaxConns, options.RequestTimeout = 1, 300*time.Millisecond
	})
	lock, err := s.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), "LOCK TABLE resource_providers, node_allocations"); err != nil {
		t.Fatal(err)
	}
	answers := make(chan *httptest.ResponseRecorder)
	for range 3 {
		go func() { answers <- s.ask(http.MethodGet, "/resource_providers", http.NoBody) }()
	}
	for range 3 {
		answer := <-answers
		s.wantError(answer, "/resource_providers", http.StatusServiceUnavailable, "took longer than the server allows")
		s.wantRetryAfter(answer)
	}
	answer := s.ask(http.MethodGet, "/v1/allocations", http.NoBody)
	s.wantError(answer, "/v1/allocations", http.StatusServiceUnavailable, "took longer than the server allows")
	s.wantRetryAfter(answer)
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The pool opens its connection again, which may take longer than the timeout of a request.
	for deadline := time.Now().Add(30 * time.Second); ; {
		answer := s.ask(http.MethodGet, "/resource_providers", http.NoBody)
		if answer.Code == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("afterwards: status = %d, want 200", answer.Code)
		}
	}
}

// TestServer_RequestID_UniquePerResponse checks that the client's id appears only in the log, and only if
// it has the format of OpenStack services.
func TestServer_RequestID_UniquePerResponse(t *testing.T) {
	t.Parallel()
	s := newWatched(t, func(_ *postgres.Options, options *server.Options) {
		options.AccessLog, options.Bodies.Max = true, 1024
		options.CORS = cors.Defaults("https://here.example")
	})
	const sent = "req-0a1b2c3d-0000-4000-8000-00000000abcd"
	seen := map[string]bool{}
	for name, answer := range map[string]*httptest.ResponseRecorder{
		"200":        s.ask(http.MethodGet, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", sent),
		"204":        s.ask(http.MethodPut, "/traits/CUSTOM_X", http.NoBody, "X-Openstack-Request-Id", sent),
		"400":        s.ask(http.MethodGet, "/resource_providers?pony=1", http.NoBody, "X-Openstack-Request-Id", sent),
		"401":        s.send(http.MethodGet, "/resource_providers", "X-Openstack-Request-Id", sent),
		"403":        s.ask(http.MethodGet, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", sent, "X-Roles", "reader"),
		"404":        s.ask(http.MethodGet, "/ponies", http.NoBody, "X-Openstack-Request-Id", sent),
		"405":        s.ask(http.MethodHead, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", sent),
		"406":        s.ask(http.MethodGet, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", sent, "OpenStack-API-Version", "placement 9.9"),
		"413":        s.ask(http.MethodPost, "/resource_providers", strings.NewReader(strings.Repeat(" ", 2000)), "X-Openstack-Request-Id", sent),
		"415":        s.ask(http.MethodPost, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", sent),
		"preflight":  s.ask(http.MethodOptions, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", sent, "Origin", "https://here.example"),
		"bare metal": s.ask(http.MethodGet, "/v1/nodes", http.NoBody, "X-Openstack-Request-Id", sent),
		"a probe":    s.send(http.MethodGet, "/livez", "X-Openstack-Request-Id", sent),
	} {
		ids := answer.Header().Values("X-Openstack-Request-Id")
		if len(ids) != 1 || !requestID.MatchString(ids[0]) || ids[0] == sent || seen[ids[0]] {
			t.Errorf("%s (%d): ids = %q", name, answer.Code, ids)
			continue
		}
		seen[ids[0]] = true
		if status, err := strconv.Atoi(name); err == nil && answer.Code != status && name != "204" {
			t.Errorf("%s: status %d", name, answer.Code)
		}
		if !strings.Contains(s.log.String(), "request_id="+ids[0]+" global_request_id="+sent+" ") {
			t.Errorf("%s: the log lacks one of the ids", name)
		}
		if body := answer.Body.String(); strings.Contains(body, `"errors"`) && !strings.Contains(body, `"request_id":"`+ids[0]+`"`) {
			t.Errorf("%s: body = %s, want the same id", name, body)
		}
	}
	for _, odd := range []string{strings.ToUpper(sent), "req-1", sent + "0", sent[4:], `req-"quoted"`, "req-0a1b2c3d-0000-4000-8000-00000000abcg"} {
		s.ask(http.MethodGet, "/resource_providers", http.NoBody, "X-Openstack-Request-Id", odd)
		if strings.Contains(s.log.String(), "global_request_id="+odd) {
			t.Errorf("%q is in the log", odd)
		}
	}
}
