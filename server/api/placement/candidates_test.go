package placement_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/scenario"
	"github.com/berthd/berth/server/api/placement"
)

// wideTree serves a tree of a root and the given number of children, each with free capacity.
func wideTree(t *testing.T, children int) *httptest.Server {
	t.Helper()
	listener := httptest.NewServer(serve(t, &scenario.File{}).Handler)
	t.Cleanup(listener.Close)
	const root = "c0ffee00-5ca1-4b1e-8000-000000000000"
	send := func(method, path, body string) {
		t.Helper()
		answer := ask(t, t.Context(), listener, method, path, body)
		defer answer.Body.Close()
		if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode > 299 {
			t.Fatalf("%s %s: %d %v %s", method, path, answer.StatusCode, err, text)
		}
	}
	send(http.MethodPost, "/resource_providers", `{"name": "root", "uuid": "`+root+`"}`)
	for i := range children {
		id := fmt.Sprintf("c0ffee00-5ca1-4b1e-8000-%012d", i+1)
		send(http.MethodPost, "/resource_providers", fmt.Sprintf(`{"name": "child%d", "uuid": %q, "parent_provider_uuid": %q}`, i, id, root))
		send(http.MethodPut, "/resource_providers/"+id+"/inventories",
			`{"resource_provider_generation": 0, "inventories": {"SRIOV_NET_VF": {"total": 4}}}`)
	}
	return listener
}

func ask(t *testing.T, ctx context.Context, of *httptest.Server, method, path, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, of.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"X-Auth-Token": "admin", "X-Roles": "admin,service", "OpenStack-API-Version": "placement 1.39", "Content-Type": "application/json",
	} {
		request.Header.Set(name, value)
	}
	answer, err := of.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

const pairs = "/allocation_candidates?resources1=SRIOV_NET_VF:1&resources2=SRIOV_NET_VF:1&group_policy=isolate"

func TestCandidates_LargeResponse_StreamedCompletely(t *testing.T) {
	t.Parallel()
	const children = 45
	listener := wideTree(t, children)
	answer := ask(t, t.Context(), listener, http.MethodGet, pairs, "")
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || len(text) < 1<<19 || answer.ContentLength != -1 {
		t.Fatalf("%v: body of %d bytes, Content-Length = %d", err, len(text), answer.ContentLength)
	}
	var found placement.CandidatesV34
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, candidate := range found.Candidates {
		seen[fmt.Sprint(candidate.Mappings)] = true
	}
	if want := children * (children - 1); len(found.Candidates) != want || len(seen) != want || len(found.Summaries) != children+1 {
		t.Errorf("%d candidates, %d of them different, %d summaries", len(found.Candidates), len(seen), len(found.Summaries))
	}
	again := ask(t, t.Context(), listener, http.MethodGet, pairs, "")
	defer again.Body.Close()
	if other, err := io.ReadAll(again.Body); err != nil || string(other) != string(text) {
		t.Errorf("the same query has a different response: %v", err)
	}
	few := ask(t, t.Context(), listener, http.MethodGet, pairs+"&limit=10", "")
	defer few.Body.Close()
	if part, err := io.ReadAll(few.Body); err != nil || few.ContentLength != int64(len(part)) {
		t.Errorf("%v: body of %d bytes, Content-Length = %d", err, len(part), few.ContentLength)
	}
}

// TestCandidates_ClientsDisconnect_ConnectionsReleased uses a server with four database connections. More clients than
// that disconnect while they read their responses.
func TestCandidates_ClientsDisconnect_ConnectionsReleased(t *testing.T) {
	t.Parallel()
	listener := wideTree(t, 60)
	for range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		answer := ask(t, ctx, listener, http.MethodGet, pairs, "")
		if _, err := io.ReadFull(answer.Body, make([]byte, 1000)); err != nil {
			t.Fatal(err)
		}
		cancel()
		answer.Body.Close()
	}
	answer := ask(t, t.Context(), listener, http.MethodGet, pairs+"&limit=1", "")
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%d %v %s", answer.StatusCode, err, text)
	}
}
