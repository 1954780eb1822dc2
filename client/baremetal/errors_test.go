package baremetal_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
)

// answering is a service that always says the same.
func answering(t *testing.T, status int, body string, headers ...string) *baremetal.Client {
	t.Helper()
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(listening.Close)
	return over(t, listening.URL, http.DefaultTransport)
}

func TestClient_BaremetalErrorBodies_YieldMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		body    string
		headers []string
		want    string
	}{
		"JSON in a text": {404, `{"error_message": "{\"faultcode\": \"Client\", \"faultstring\": \"Node x could not be found.\", \"debuginfo\": null}"}`,
			[]string{"Openstack-Request-Id: req-1"}, "GET /v1/nodes/x: 404 Not Found: Node x could not be found. (req-1)"},
		"an object": {409, `{"error_message": {"faultstring": "Node x is locked."}}`, nil, "GET /v1/nodes/x: 409 Conflict: Node x is locked."},
		"a description": {404, `{"error_message": "{\"code\": 404, \"title\": \"Not Found\", \"description\": \"There is no such path.\"}"}`, nil,
			"GET /v1/nodes/x: 404 Not Found: There is no such path."},
		"a title only": {405, `{"error_message": "{\"code\": 405, \"title\": \"No such method\"}"}`, nil, "GET /v1/nodes/x: 405 Method Not Allowed: No such method"},
		"a text":       {400, `{"error_message": "it is wrong"}`, nil, "GET /v1/nodes/x: 400 Bad Request: it is wrong"},
		"a proxy":      {502, `<h1>Bad  Gateway</h1>`, nil, "GET /v1/nodes/x: 502 Bad Gateway: <h1>Bad Gateway</h1>"},
		"nothing":      {500, ``, nil, "GET /v1/nodes/x: 500 Internal Server Error"},
		"another version": {406, `{"error_message": "{\"code\": 406, \"description\": \"Version 1.82 was requested\"}"}`,
			[]string{"X-OpenStack-Ironic-API-Minimum-Version: 1.1", "X-OpenStack-Ironic-API-Maximum-Version: 1.58"},
			"GET /v1/nodes/x: 406 Not Acceptable: the service supports the microversions 1.1 to 1.58 of the Bare Metal API, this client requires 1.82"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := answering(t, c.status, c.body, c.headers...).NodeShow(t.Context(), "x")
			if err == nil || err.Error() != c.want {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
			if baremetal.IsConflict(err) != (c.status == 409) || errors.Is(err, client.ErrNotFound) != (c.status == 404) {
				t.Errorf("%v is taken for something else", err)
			}
		})
	}
}

func TestClient_BaremetalList_FollowsPagesToLimit(t *testing.T) {
	t.Parallel()
	// A service with seven nodes, two on a page at most.
	const sevenNodes = 7
	var queries []string
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		first, next := 0, ""
		fmt.Sscanf(r.URL.Query().Get("marker"), "c0ffee00-0000-4000-8000-%012d", &first)
		var nodes []string
		for i := first + 1; i <= min(first+2, sevenNodes); i++ {
			nodes = append(nodes, fmt.Sprintf(`{"uuid": "c0ffee00-0000-4000-8000-%012d"}`, i))
		}
		if len(nodes) == 2 {
			next = `, "next": "http://example.org/somewhere/else"`
		}
		fmt.Fprintf(w, `{"nodes": [%s]%s}`, strings.Join(nodes, ", "), next)
	}))
	t.Cleanup(listening.Close)
	// The address may name the version.
	service := over(t, listening.URL+"/v1/", http.DefaultTransport)
	all, err := service.NodeList(t.Context(), baremetal.NodeFilter{Owner: "lab"})
	if err != nil || len(all) != sevenNodes {
		t.Errorf("%d nodes, %v", len(all), err)
	}
	if len(queries) != 4 || queries[0] != "owner=lab" || queries[3] != "marker=c0ffee00-0000-4000-8000-000000000006&owner=lab" {
		t.Errorf("the queries are %q", queries)
	}
	queries = nil
	some, err := service.NodeList(t.Context(), baremetal.NodeFilter{Most: 4})
	if err != nil || len(some) != 4 || len(queries) != 2 {
		t.Errorf("%d nodes in %q, %v", len(some), queries, err)
	}
}

func TestClient_BaremetalExtensions_SelectedByContext(t *testing.T) {
	t.Parallel()
	service, _ := newService(t)
	if _, err := service.NodeShow(client.WithExtensions(t.Context(), "1.1"), "x"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("error = %v", err)
	}
	_, err := service.NodeShow(client.WithExtensions(t.Context(), "1.99"), "x")
	if !errors.Is(err, client.ErrExtensions) || !strings.Contains(err.Error(), "Version 1.99 of berth was requested") {
		t.Errorf("error = %v", err)
	}
}
