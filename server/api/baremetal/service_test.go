package baremetal_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explainlog"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// These are the conductor of the tests and its drivers.
const (
	conductor  = "berth-1"
	fakeDriver = "fake-hardware"
)

// service is a server with its own database. It has no conductor: the tests complete asynchronous work through the
// store.
type service struct {
	t       *testing.T
	store   *store.Store
	handler http.Handler
	// explanations bounds the explanations of the server.
	explanations *explainlog.Log
}

func newService(t *testing.T) *service {
	t.Helper()
	return newServiceWith(t, postgres.Options{}, baremetal.Options{})
}

// newServiceWithPolicy is newService with rules that differ from the defaults, as JSON.
func newServiceWithPolicy(t *testing.T, rules string) *service {
	t.Helper()
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	opened, _, err := policy.Open(policy.Defaults(), policy.Files{Main: file, Required: true})
	if err != nil {
		t.Fatal(err)
	}
	return newServiceWith(t, postgres.Options{}, baremetal.Options{}, func(options *server.Options) { options.BaremetalPolicy = opened })
}

// newServiceWith is newService with options of the store, of the API and of the server.
func newServiceWith(t *testing.T, data postgres.Options, api baremetal.Options, change ...func(*server.Options)) *service {
	t.Helper()
	api.Conductor, api.HeartbeatTimeout = conductor, time.Minute
	explanations := explainlog.New(explainlog.Options{Settings: explainlog.Settings{Timeout: 10 * time.Second}})
	made := servertest.New(t, servertest.Options{Store: data, Server: func(options *server.Options) {
		options.Log, options.Baremetal, options.Explanations = servertest.Log(t), &api, explanations
		for _, one := range change {
			one(options)
		}
	}})
	if err := made.Store.ConductorRegister(t.Context(), conductor, []string{fakeDriver}); err != nil {
		t.Fatal(err)
	}
	return &service{t: t, store: made.Store, handler: made.Handler, explanations: explanations}
}

// response is a response, with its body if that is an object.
type response struct {
	t      *testing.T
	what   string
	status int
	header http.Header
	raw    string
	body   map[string]any
}

// send sends a request at a version such as "1.82", or with a value of the common header such as "baremetal 1.82, berth
// 1.0". A string is sent as the body unchanged, nil sends no body, and any other value is encoded as JSON.
func (s *service) send(method, target, version string, body any) *response {
	s.t.Helper()
	var sent io.Reader = http.NoBody
	switch body := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(body)
	default:
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		sent = strings.NewReader(string(text))
	}
	r := httptest.NewRequestWithContext(s.t.Context(), method, target, sent)
	if strings.Contains(version, " ") {
		r.Header.Set("OpenStack-API-Version", version)
	} else {
		r.Header.Set("X-OpenStack-Ironic-API-Version", version)
	}
	if sent != http.NoBody {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	got := &response{
		t: s.t, what: method + " " + target + " at " + version, status: w.Code, header: w.Header(), raw: w.Body.String(),
	}
	if len(got.raw) > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &got.body); err != nil {
			s.t.Fatalf("%s: %v in %s", got.what, err, got.raw)
		}
	}
	return got
}

func (s *service) get(target, version string) *response {
	s.t.Helper()
	return s.send(http.MethodGet, target, version, nil)
}

// wants fails the test if the status differs.
func (r *response) wants(status int) *response {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("%s: status %d, want %d: %s", r.what, r.status, status, r.raw)
	}
	return r
}

// refuses compares the status and the text of an error.
func (r *response) refuses(status int, text string) {
	r.t.Helper()
	var inner struct {
		Code     string `json:"faultcode"`
		Text     string `json:"faultstring"`
		Unrouted string `json:"description"`
	}
	message, _ := r.body["error_message"].(string)
	if err := json.Unmarshal([]byte(message), &inner); err != nil {
		r.t.Errorf("%s: status = %d, no error in %s", r.what, r.status, r.raw)
		return
	}
	if r.status != status || inner.Text+inner.Unrouted != text {
		r.t.Errorf("%s: status %d and %q, want %d and %q", r.what, r.status, inner.Text+inner.Unrouted, status, text)
	}
}

// shows compares members of the body with values encoded as JSON.
func (r *response) shows(members map[string]any) *response {
	r.t.Helper()
	for name, want := range members {
		got, there := r.body[name]
		if !there || !reflect.DeepEqual(got, asJSON(r.t, want)) {
			r.t.Errorf("%s: %s is %#v (there: %v), want %#v", r.what, name, got, there, want)
		}
	}
	return r
}

// asJSON returns a value as decoded from a body.
func asJSON(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}
