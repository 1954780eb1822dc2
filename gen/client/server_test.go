package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const v = MicroversionPlacement139

// maxBody is the limit of the servers of these tests.
const maxBody = 1 << 20

// serve starts the real server on a database of the test's own.
func serve(t *testing.T) string {
	t.Helper()
	return servertest.New(t, servertest.Options{
		Server: func(options *server.Options) { options.Bodies.Max = maxBody },
	}).Listen(t).URL
}

// asking makes a client that says who asks; without a token it says nothing.
func asking(t *testing.T, url, token, roles string, options ...ClientOption) *ClientWithResponses {
	t.Helper()
	made, err := NewClientWithResponses(url, append(options, WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("X-Auth-Token", token)
			r.Header.Set("X-Roles", roles)
		}
		return nil
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// newClient is an administrator's, of a server of the test's own.
func newClient(t *testing.T) *ClientWithResponses {
	t.Helper()
	return asking(t, serve(t), "admin", "admin,service")
}

// notes is a transport that remembers which requests were granted.
type notes struct {
	mutex   sync.Mutex
	granted []string
}

func (n *notes) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && answer.StatusCode < 300 {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		n.granted = append(n.granted, r.Method+" "+r.URL.Path)
	}
	return answer, err
}

// missing are the operations of the document that no granted request was for.
func (n *notes) missing(t *testing.T) []string {
	t.Helper()
	raw, err := os.ReadFile("../../openapi/placement/1.39.json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	var missing []string
	for path, methods := range document.Paths {
		for method, operation := range methods {
			if !slices.ContainsFunc(n.granted, func(request string) bool { return fits(request, strings.ToUpper(method)+" "+path) }) {
				missing = append(missing, operation.OperationID)
			}
		}
	}
	if len(document.Paths) == 0 {
		t.Error("the document has no paths")
	}
	slices.Sort(missing)
	return missing
}

// fits compares a request with a method and path whose variables are in braces.
func fits(request, operation string) bool {
	given, wanted := strings.Split(request, "/"), strings.Split(operation, "/")
	return slices.EqualFunc(given, wanted, func(got, want string) bool { return got == want || strings.HasPrefix(want, "{") })
}

// must ends the test at an error and passes the answer on.
func must[T any](answer T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

// body is the body of the expected status; raw is what came instead.
func body[T any](t *testing.T, expected *T, raw []byte) *T {
	t.Helper()
	if expected == nil {
		t.Fatalf("another status than expected: %s", raw)
	}
	return expected
}

// answered checks the status of an answer that has no body.
func answered(t *testing.T, want int, answer interface{ StatusCode() int }) {
	t.Helper()
	if got := answer.StatusCode(); got != want {
		t.Fatalf("status %d, want %d", got, want)
	}
}

// refused checks the body of a failure: its code, and that its detail names what
// is wrong.
func refused(t *testing.T, got *Errors, raw []byte, code ErrorCode, words string) {
	t.Helper()
	item := body(t, got, raw).Errors[0]
	if item.Code == nil || *item.Code != code || !item.Code.Valid() || !strings.Contains(item.Detail, words) {
		t.Errorf("%s, want the code %q and the words %q", raw, code, words)
	}
}

// same compares what a test got with what it wants, as they print.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// id makes a uuid that is easy to tell from others.
func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("c0ffee00-5ca1-4b1e-8000-%012x", n)) }
