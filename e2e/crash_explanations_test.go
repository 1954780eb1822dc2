//go:build client

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// explanationsRequest sends a request with explanations, and returns the response and its body.
func explanationsRequest(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = http.Header{
		"X-Auth-Token": {"admin"}, "X-Roles": {"admin,service"}, "Openstack-Api-Version": {"placement 1.39, berth 1.2"},
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
	return response, string(body)
}

// TestCrash_PostgresKilled_ExplanationsEmpty has two servers on one database: one records and the other explains. After
// PostgreSQL was killed, the tables are empty, and both servers go on.
func TestCrash_PostgresKilled_ExplanationsEmpty(t *testing.T) {
	t.Parallel()
	const query = "/allocation_candidates?resources=VCPU:4"
	database := newPrimary(t)
	recording, other := serveOn(t, database.url(), "--explain-rate", "0"), serveOn(t, database.url())
	record := func() (id, body string) {
		t.Helper()
		response, body := explanationsRequest(t, recording.url+query)
		if response.StatusCode != http.StatusOK {
			t.Fatalf("status = %d: %s", response.StatusCode, body)
		}
		return response.Header.Get("X-Openstack-Request-Id"), body
	}
	show := func(id string) (status int, body string) {
		t.Helper()
		response, body := explanationsRequest(t, other.url+"/explanations/"+id)
		return response.StatusCode, body
	}
	id, before := record()
	status, body := show(id)
	for deadline := time.Now().Add(time.Minute); status != http.StatusOK; status, body = show(id) {
		if time.Now().After(deadline) {
			t.Fatalf("status = %d: %s", status, body)
		}
		time.Sleep(200 * time.Millisecond) // the server writes once a second
	}
	var shown struct {
		Explanations []struct {
			RequestID   string `json:"request_id"`
			Explanation struct{ Reason string }
		}
	}
	if err := json.Unmarshal([]byte(body), &shown); err != nil || len(shown.Explanations) != 1 || shown.Explanations[0].RequestID != id ||
		shown.Explanations[0].Explanation.Reason != "amount" {
		t.Errorf("explanations = %s, %v, want that of %s", body, err, id)
	}
	database.crashAll()
	database.startAgain()
	if rows := database.count("SELECT (SELECT count(*) FROM explanations) + (SELECT count(*) FROM explanation_requests)"); rows != 0 {
		t.Errorf("rows = %d, want 0", rows)
	}
	if status, body := show(id); status != http.StatusNotFound || !strings.Contains(body, "berth.explanation.not_found") {
		t.Errorf("look-up = %d %s, want 404", status, body)
	}
	if _, after := record(); after != before {
		t.Errorf("response = %s, want %s", after, before)
	}
	for deadline := time.Now().Add(time.Minute); database.count("SELECT count(*) FROM explanation_requests") == 0; time.Sleep(500 * time.Millisecond) {
		if record(); time.Now().After(deadline) {
			t.Fatal("the server does not record again")
		}
	}
}

// count returns the number that a query returns.
func (n *node) count(query string) (number int) {
	n.t.Helper()
	pool := n.pool("berth")
	defer pool.Close()
	if err := pool.QueryRow(n.t.Context(), query).Scan(&number); err != nil {
		n.t.Fatal(err)
	}
	return number
}
