package baremetal_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/data/postgres"
)

// newService serves an empty database, with a conductor that works, and makes a
// client whose requests are noted.
func newService(t *testing.T) (*baremetal.Client, *recorder) {
	t.Helper()
	made := servertest.New(t, servertest.Options{
		Store: postgres.Options{MaxConns: 6}, Server: servertest.Baremetal(servertest.Conductor),
	})
	made.StartConductor(t)
	notes := &recorder{}
	return over(t, made.Listen(t).URL, notes), notes
}

func over(t *testing.T, address string, transport http.RoundTripper) *baremetal.Client {
	t.Helper()
	service, err := client.New(address, client.WithTransport(transport), client.WithRetries(client.Retries{Attempts: 1}))
	if err != nil {
		t.Fatal(err)
	}
	return baremetal.New(service)
}

// recorder is a transport that notes what was asked.
type recorder struct {
	mutex sync.Mutex
	asked []asked
}

type asked struct {
	method, path string
	query        url.Values
	granted      bool
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(request)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.asked = append(r.asked, asked{request.Method, request.URL.Path, request.URL.Query(), err == nil && answer.StatusCode < 300})
	return answer, err
}

// operation is what the document says of one.
type operation struct {
	OperationID string `json:"operationId"`
	Parameters  []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
}

// operations reads the document of the version that the package speaks, by method
// and path.
func operations(t *testing.T) map[string]operation {
	t.Helper()
	raw, err := os.ReadFile("../../openapi/baremetal/" + baremetal.Version + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		t.Fatal(err)
	}
	found := map[string]operation{}
	for path, methods := range document.Paths {
		for method, operation := range methods {
			found[strings.ToUpper(method)+" "+path] = operation
		}
	}
	return found
}

// find is the operation that a request was for. A path without variables wins.
func find(all map[string]operation, request asked) (operation, bool) {
	if exact, found := all[request.method+" "+request.path]; found {
		return exact, true
	}
	given := strings.Split(request.method+" "+request.path, "/")
	for key, operation := range all {
		if slices.EqualFunc(given, strings.Split(key, "/"), func(got, want string) bool { return got == want || strings.HasPrefix(want, "{") }) {
			return operation, true
		}
	}
	return operation{}, false
}

// checkAsked compares what was asked with the document: every request is an operation
// with its arguments, and every operation was granted once but those named.
func (r *recorder) checkAsked(t *testing.T, but ...string) {
	t.Helper()
	all := operations(t)
	granted := map[string]bool{}
	for _, request := range r.asked {
		of, found := find(all, request)
		if !found {
			t.Errorf("%s %s is not in the document", request.method, request.path)
		}
		for name := range request.query {
			if !slices.ContainsFunc(of.Parameters, func(p struct {
				Name string `json:"name"`
				In   string `json:"in"`
			}) bool {
				return p.Name == name && p.In == "query"
			}) {
				t.Errorf("%s has no argument %s", of.OperationID, name)
			}
		}
		granted[of.OperationID] = granted[of.OperationID] || request.granted
	}
	var missing []string
	for _, one := range all {
		if !granted[one.OperationID] {
			missing = append(missing, one.OperationID)
		}
	}
	slices.Sort(missing)
	slices.Sort(but)
	if !slices.Equal(missing, but) {
		t.Errorf("not granted: %q, want %q", missing, but)
	}
}
