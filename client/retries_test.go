package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// failing makes a wire fail for the first so many requests to a path, before the
// server sees them.
func failing(method, path string, times int, how func(*http.Request) (*http.Response, error)) *faultyTransport {
	var seen atomic.Int64
	return &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		if request.Method != method || !strings.HasPrefix(request.URL.Path, path) || seen.Add(1) > int64(times) {
			return nil, nil
		}
		return how(request)
	}}
}

// losing makes a wire lose the answers to the first so many requests to a path,
// which the server has done.
func losing(method, path string, times int) *faultyTransport {
	var seen atomic.Int64
	return &faultyTransport{After: func(request *http.Request, answered *http.Response) (*http.Response, error) {
		if request.Method != method || !strings.HasPrefix(request.URL.Path, path) || seen.Add(1) > int64(times) {
			return answered, nil
		}
		return nil, errCut
	}}
}

func cut(*http.Request) (*http.Response, error) { return nil, errCut }

// undialled is the error of net/http for an address without a listener.
func undialled(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

func status(code int, headers ...string) func(*http.Request) (*http.Response, error) {
	return func(request *http.Request) (*http.Response, error) { return answer(request, code, "", headers...), nil }
}

func TestClient_RetryableRequest_Retried(t *testing.T) {
	t.Parallel()
	ctx, served := t.Context(), serve(t)
	read := func(c *Client, _ uuid.UUID) error { _, err := c.ProviderList(ctx, ProviderFilter{}); return err }
	trait := func(c *Client, _ uuid.UUID) error { return c.TraitEnsure(ctx, "CUSTOM_T") }
	remove := func(c *Client, host uuid.UUID) error { return c.ProviderDelete(ctx, host) }
	write := func(c *Client, host uuid.UUID) error {
		_, _, err := c.InventoryReplace(ctx, host, 0, Inventories{"VCPU": {Total: 4}})
		return err
	}
	count := func(c *Client, _ uuid.UUID) error {
		_, err := c.CapacityFit(ctx, CapacityFitQuery{Query: CandidateQuery{Resources: "VCPU:1"}})
		return err
	}
	create := func(c *Client, host uuid.UUID) error {
		_, err := c.ProviderCreate(ctx, "below "+host.String(), uuid.Nil, host)
		return err
	}
	for what, test := range map[string]struct {
		method, path string
		how          func(*http.Request) (*http.Response, error)
		do           func(*Client, uuid.UUID) error
		attempts     int
		kinds        []error
	}{
		"a read that is cut":                {"GET", "/resource_providers", cut, read, 4, nil},
		"a read without a connection":       {"GET", "/resource_providers", undialled, read, 4, nil},
		"a read of a service that is down":  {"GET", "/resource_providers", status(503), read, 4, nil},
		"a read through a broken gateway":   {"GET", "/resource_providers", status(502), read, 4, nil},
		"a read through a slow gateway":     {"GET", "/resource_providers", status(504), read, 4, nil},
		"a read too many":                   {"GET", "/resource_providers", status(429, "Retry-After: 0"), read, 4, nil},
		"a read that has to wait too long":  {"GET", "/resource_providers", status(503, "Retry-After: 60"), read, 1, []error{ErrUnavailable}},
		"a read that fails":                 {"GET", "/resource_providers", status(500), read, 1, []error{}},
		"a count that is cut":               {"POST", "/capacity", cut, count, 4, nil},
		"a count of a service that is down": {"POST", "/capacity", status(503), count, 4, nil},
		"a trait that is cut":               {"PUT", "/traits", cut, trait, 4, nil},
		"a trait on a service that is down": {"PUT", "/traits", status(503), trait, 4, nil},
		"a delete that is cut":              {"DELETE", "/resource_providers", cut, remove, 4, nil},
		"a write without a connection":      {"PUT", "/resource_providers", undialled, write, 4, nil},
		"a write too many":                  {"PUT", "/resource_providers", status(429), write, 4, nil},
		"a write that is cut":               {"PUT", "/resource_providers", cut, write, 1, []error{ErrUnavailable, ErrOutcomeUnknown}},
		"a write on a service that is down": {"PUT", "/resource_providers", status(503), write, 1, []error{ErrUnavailable, ErrOutcomeUnknown}},
		"a write through a slow gateway":    {"PUT", "/resource_providers", status(504), write, 1, []error{ErrUnavailable, ErrOutcomeUnknown}},
		"a creation that is cut":            {"POST", "/resource_providers", cut, create, 1, []error{ErrUnavailable, ErrOutcomeUnknown}},
		"a creation without a connection":   {"POST", "/resource_providers", undialled, create, 4, nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			through := failing(test.method, test.path, 3, test.how)
			host := uuid.New()
			must(newClientOf(t, served).ProviderCreate(t.Context(), host.String(), host, uuid.Nil))(t)
			err := test.do(newClientOf(t, served, WithTransport(through)), host)
			if test.kinds == nil && err != nil {
				t.Error(err)
			}
			if test.kinds != nil {
				wantErrors(t, err, test.kinds...)
			}
			if bodies := through.Bodies(); len(slices.Compact(bodies)) != 1 {
				t.Errorf("the attempts have different bodies: %q", bodies)
			}
			if sent := through.Requests(); len(sent) != test.attempts {
				t.Errorf("%d attempts, want %d: %q", len(sent), test.attempts, sent)
			}
		})
	}
}

func TestClient_RetriesExhausted_ReturnsErrUnavailable(t *testing.T) {
	t.Parallel()
	through := failing("GET", "/", 100, undialled)
	client := newClient(t, WithTransport(through), WithRetries(Retries{Attempts: 2, Pause: 1}))
	_, err := client.ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err, ErrUnavailable)
	if want := "GET /resource_providers: dial tcp: connection refused"; err.Error() != want {
		t.Errorf("it reads %q, want %q", err, want)
	}
	if sent := through.Requests(); len(sent) != 2 {
		t.Errorf("%d attempts, want 2", len(sent))
	}
}

func TestClient_DeleteResponseLost_DetectedAsApplied(t *testing.T) {
	t.Parallel()
	through := losing("DELETE", "/allocations", 1)
	client := newHost(t, WithTransport(through))
	if err := client.AllocationReplace(t.Context(), id(10), anInstance(1), nil); err != nil {
		t.Fatal(err)
	}
	through.Requests()
	if err := client.AllocationDelete(t.Context(), id(10)); err != nil {
		t.Error(err)
	}
	if sent := through.Requests(); len(sent) != 2 {
		t.Errorf("%d attempts, want 2: %q", len(sent), sent)
	}
	// And one that was never sent is not.
	dead := newClient(t, WithTransport(failing("DELETE", "/", 1, undialled)))
	wantErrors(t, dead.AllocationDelete(t.Context(), id(10)), ErrNotFound)
}

func TestClient_TruncatedResponse_ReadAgain(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	through := &faultyTransport{After: func(_ *http.Request, answered *http.Response) (*http.Response, error) {
		if seen.Add(1) == 1 {
			answered.Body = broken{answered.Body}
		}
		return answered, nil
	}}
	if _, err := newClient(t, WithTransport(through)).TraitList(t.Context(), TraitFilter{}); err != nil {
		t.Error(err)
	}
	if sent := through.Requests(); len(sent) != 2 {
		t.Errorf("%d attempts, want 2", len(sent))
	}
}

// broken is a body of which a few bytes arrive.
type broken struct{ io.ReadCloser }

func (b broken) Read(into []byte) (int, error) {
	read, err := b.ReadCloser.Read(into[:min(len(into), 7)])
	return read, errors.Join(err, errCut)
}

func TestClient_RetryBackoff_RandomGrowingBounded(t *testing.T) {
	t.Parallel()
	client := newClient(t, WithTransport(failing("GET", "/", 9, status(503))),
		WithRetries(Retries{Attempts: 6, Pause: 100 * time.Millisecond, LongestPause: 500 * time.Millisecond}))
	var pauses []time.Duration
	client.sleep = func(_ context.Context, pause time.Duration) error { pauses = append(pauses, pause); return nil }
	client.random = func() float64 { return 0.5 }
	_, err := client.ProviderList(t.Context(), ProviderFilter{})
	wantErrors(t, err, ErrUnavailable)
	want := []time.Duration{50e6, 100e6, 200e6, 250e6, 250e6}
	if !slices.Equal(pauses, want) {
		t.Errorf("pauses: %v, want %v", pauses, want)
	}
}

func TestClient_RetryAfterHeader_Honored(t *testing.T) {
	t.Parallel()
	moment, served := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), serve(t)
	for header, want := range map[string]time.Duration{
		"3": 3 * time.Second, moment.Add(4 * time.Second).Format(http.TimeFormat): 4 * time.Second,
		moment.Add(-time.Hour).Format(http.TimeFormat): 0,
	} {
		client := newClientOf(t, served, WithTransport(failing("GET", "/", 1, status(503, "Retry-After: "+header))), WithRetries(Retries{}))
		client.now = func() time.Time { return moment }
		var pauses []time.Duration
		client.sleep = func(_ context.Context, pause time.Duration) error { pauses = append(pauses, pause); return nil }
		if _, err := client.ProviderList(t.Context(), ProviderFilter{}); err != nil || !slices.Equal(pauses, []time.Duration{want}) {
			t.Errorf("Retry-After: %s: paused %v, want %v (%v)", header, pauses, want, err)
		}
	}
}

func TestClient_CallCanceled_ReturnsImmediately(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	client := newHost(t, WithTransport(failing("GET", "/traits", 9, func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, errCut
	})), WithRetries(Retries{Pause: time.Hour, LongestPause: time.Hour}))
	_, err := client.TraitList(ctx, TraitFilter{})
	if !errors.Is(err, errCut) {
		t.Errorf("%v, want what happened when the caller gave up", err)
	}
	// A write that was canceled before it was sent has not been done.
	_, _, err = client.InventoryReplace(ctx, id(1), 1, nil)
	wantErrors(t, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

func TestClient_RequestHeaders_CarryTokenAndRequestID(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	served := serve(t)
	for _, test := range []struct {
		option Option
		token  string
		roles  string
	}{
		{WithUserAgent("agent/1"), "admin", "admin,service"},
		{WithNoAuth("nova", "services", "service"), "nova:services", "service"},
		{WithToken("admin"), "admin", ""},
	} {
		client := newClientOf(t, served, WithTransport(through), test.option)
		const id = "req-0b4ab0c4-8f0b-4c9b-9f5e-3c8f2b1d7a60"
		if _, err := client.TraitList(WithGlobalRequestID(t.Context(), id), TraitFilter{}); err != nil && !errors.Is(err, ErrForbidden) {
			t.Fatal(err)
		}
		head := through.Headers()[0]
		through.Requests()
		for name, want := range map[string]string{
			"X-Auth-Token": test.token, "X-Roles": test.roles, "X-Openstack-Request-Id": id, "Accept": "application/json",
			"Openstack-Api-Version": "placement 1.39",
		} {
			if head.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, head.Get(name), want)
			}
		}
		if agent := head.Get("User-Agent"); agent != "agent/1" && !strings.HasPrefix(agent, "berth-client/") {
			t.Errorf("User-Agent: %q", agent)
		}
	}
}

func TestClient_InvalidURL_RejectedByNew(t *testing.T) {
	t.Parallel()
	for address, says := range map[string]string{
		"": "the address of the service is missing", "localhost:8778": "must be like http://host:8778",
		"http://": "must be like", "http://host/?x=1": "must end after its path",
	} {
		if _, err := New(address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want one that says %q", address, err, says)
		}
	}
}

func TestClient_URLWithPath_PrefixesRequests(t *testing.T) {
	t.Parallel()
	served := serveBelow(t, "/placement")
	for _, address := range []string{served.URL + "/placement", served.URL + "/placement/"} {
		through := &faultyTransport{}
		client := must(New(address, WithTransport(through)))(t)
		must(client.VersionList(t.Context()))(t)
		if _, err := client.ProviderList(t.Context(), ProviderFilter{}); err != nil {
			t.Error(err)
		}
		wantSent(t, through, "GET /placement/", "GET /placement/resource_providers")
	}
}

func TestClient_CustomHTTPClient_NotModified(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	given := &http.Client{Transport: through, Timeout: time.Minute}
	client := newClient(t, WithHTTPClient(given))
	if _, err := client.TraitList(t.Context(), TraitFilter{}); err != nil {
		t.Error(err)
	}
	if given.Transport != http.RoundTripper(through) || len(through.Requests()) != 1 || client.http.Timeout != time.Minute {
		t.Error("the client given was changed, or not used")
	}
}

func TestClient_ServiceSlow_ReturnsErrUnavailable(t *testing.T) {
	t.Parallel()
	client := newHost(t)
	hang := &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}}
	slow := must(New(must(client.endpoint(t.Context()))(t), WithHTTPClient(&http.Client{Timeout: time.Millisecond, Transport: hang})))(t)
	_, _, err := slow.InventoryReplace(t.Context(), id(1), 1, nil)
	wantErrors(t, err, ErrUnavailable, ErrOutcomeUnknown)
	// A timeout of the caller, while the request is sent, is not an error of the service.
	ctx := &expiringContext{t.Context(), make(chan struct{})}
	expires := &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		close(ctx.done)
		return hang.Before(request)
	}}
	slow = must(New(must(client.endpoint(t.Context()))(t), WithTransport(expires)))(t)
	_, _, err = slow.InventoryReplace(ctx, id(1), 1, nil)
	wantErrors(t, err, ErrOutcomeUnknown)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
}

// expiringContext is a context whose deadline is over when done is closed.
type expiringContext struct {
	context.Context
	done chan struct{}
}

func (c *expiringContext) Done() <-chan struct{} { return c.done }

func (c *expiringContext) Err() error {
	select {
	case <-c.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func TestClient_Log_ReportsRetriesWithoutTokens(t *testing.T) {
	t.Parallel()
	var written bytes.Buffer
	client := newClient(t, WithTransport(failing("GET", "/", 1, status(503))), WithToken("admin"),
		WithLogger(slog.New(slog.NewTextHandler(&written, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	if _, err := client.TraitList(t.Context(), TraitFilter{Name: "startswith:CUSTOM_"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`level=WARN msg="retrying the request" method=GET path=/traits attempt=1 `, `reason="503 Service Unavailable"`,
		`level=DEBUG msg=request method=GET url="http://`, `/traits?name=startswith%3ACUSTOM_" status=200 request_id=req-`,
	} {
		if !strings.Contains(written.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, &written)
		}
	}
	if strings.Contains(written.String(), "admin") {
		t.Errorf("the log has the token:\n%s", &written)
	}
}
