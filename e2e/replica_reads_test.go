//go:build client

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// askExtended sends a request at berth 1.4.
func askExtended(t *testing.T, method, url string, body any) string {
	t.Helper()
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		content = strings.NewReader(string(encoded))
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Auth-Token", "admin")
	request.Header.Set("X-Roles", "admin,service")
	request.Header.Set("OpenStack-API-Version", "placement 1.39, berth 1.4")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: got %d %s (%v), want 200", method, url, response.StatusCode, text, err)
	}
	return string(text)
}

// TestReplica_ReadsOfExtensions_IncludeAcknowledgedWrites writes through one server and reads through another: the lists,
// trees and capacities of berth 1.4 come from the replica while it keeps up, and from the primary while it stands still. Each
// has the acknowledged write.
func TestReplica_ReadsOfExtensions_IncludeAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t, "log_statement = 'all'")
	replica := newStandby(t, primary, "replica", "log_statement = 'all'")
	more := []string{"--replica-url", replica.url(), "--replica-wait-timeout", "5s", "--baremetal-backend", "off"}
	writer, reader := serveOn(t, primary.url(), more...), serveOn(t, primary.url(), more...)
	more[3] = "20ms"
	hasty := serveOn(t, primary.url(), more...) // waits for the replica for a shorter time
	made := 0
	// write creates a host with an aggregate and a consumer.
	write := func() (host, consumer string) {
		made++
		id := newProvider(t, writer.url, fmt.Sprintf("host-%d", made), 7)
		consumer = fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", made)
		mustAsk(t, 204, "PUT", writer.url+"/allocations/"+consumer, claimBody(id, nil))
		mustAsk(t, 200, "PUT", fmt.Sprintf("%s/resource_providers/%s/aggregates", writer.url, id), map[string]any{
			"resource_provider_generation": 2, "aggregates": []string{strings.Replace(consumer, "c0ffee00", "a99e0000", 1)},
		})
		return id.String(), consumer
	}
	reads := []struct {
		statement string
		method    string
		// target and wants are formats with the host and the consumer.
		target, wants string
		body          func(host string) any
	}{
		{"ProviderPage", "GET", "/resource_providers?include=usages,aggregates&q=%[1]s", `"aggregates":["a99e0000`, nil},
		{"TreeShow", "GET", "/resource_providers/%[1]s/tree?include=usages", `"VCPU":1`, nil},
		{"TreeConsumerList", "GET", "/resource_providers/%[1]s/tree?include=consumers", `"%[2]s"`, nil},
		{"ConsumerList", "GET", "/consumers?uuid=%[2]s", `"%[2]s"`, nil},
		{"AggregateList", "GET", "/aggregates?resource_provider=%[1]s", `"resource_provider_count":1`, nil},
		{"CapacityShow", "GET", "/capacity?in_tree=%[1]s", `"used":1`, nil},
		{"CandidatePage", "POST", "/capacity", `"fit":6`, func(host string) any {
			return map[string]any{"query": map[string]any{"groups": map[string]any{"": map[string]any{"in_tree": host, "resources": map[string]any{"VCPU": 1}}}}}
		}},
	}
	// each sends all reads to a server after a write.
	each := func(to *served) {
		t.Helper()
		for _, one := range reads {
			host, consumer := write()
			var body any
			if one.body != nil {
				body = one.body(host)
			}
			fill := strings.NewReplacer("%[1]s", host, "%[2]s", consumer)
			got := askExtended(t, one.method, to.url+fill.Replace(one.target), body)
			if want := fill.Replace(one.wants); !strings.Contains(strings.ReplaceAll(got, `": `, `":`), want) {
				t.Errorf("%s %s: %s lacks %s", one.method, one.target, got, want)
			}
		}
	}
	count := func(at *node, statement string) int { return strings.Count(at.log(), "-- name: "+statement+" :") }

	makeAndList(t, writer, reader, "connects") // to the replica, which may take too long
	each(reader)
	for _, one := range reads {
		if count(replica, one.statement) == 0 {
			t.Errorf("%s never came from the replica", one.statement)
		}
	}
	replica.exec("berth", "SELECT pg_wal_replay_pause()")
	defer replica.exec("berth", "SELECT pg_wal_replay_resume()")
	before := map[string]int{}
	for _, one := range reads {
		before[one.statement] = count(replica, one.statement)
	}
	each(hasty)
	for _, one := range reads {
		if got := count(replica, one.statement); got != before[one.statement] {
			t.Errorf("%s came %d times from a replica that stands still", one.statement, got-before[one.statement])
		}
	}
}
