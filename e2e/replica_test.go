//go:build client

package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// lists is how often a server has run the statement behind GET /resource_providers,
// by its own account.
func (n *node) lists() int { return strings.Count(n.log(), ": -- name: ProviderList :many") }

// makeAndList makes a provider at one server and says whether the other lists it.
func makeAndList(t *testing.T, maker, lister *served, name string) {
	t.Helper()
	mustAsk(t, 200, "POST", maker.url+"/resource_providers", map[string]any{"name": name})
	if got := mustAsk(t, 200, "GET", lister.url+"/resource_providers", nil); !strings.Contains(got.body, `"`+name+`"`) {
		t.Errorf("%s was made and is not listed", name)
	}
}

// TestReplica_LagsOrDown_ReadsIncludeAcknowledgedWrites writes through one server and reads through another, which
// therefore cannot remember who wrote what, while the replica keeps up, stands still, is gone and comes back. Every
// read returns the acknowledged writes.
func TestReplica_LagsOrDown_ReadsIncludeAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t, "log_statement = 'all'")
	replica := newStandby(t, primary, "replica", "log_statement = 'all'")
	more := []string{"--replica-url", replica.url(), "--replica-wait-timeout", "1s", "--baremetal-backend", "off"}
	writer, reader := serveOn(t, primary.url(), more...), serveOn(t, primary.url(), more...)

	t.Run("a replica that keeps up answers", func(t *testing.T) {
		makeAndList(t, writer, reader, "first") // connects to the replica, which may take too long
		onPrimary, onReplica := primary.lists(), replica.lists()
		var clients sync.WaitGroup
		for client := range 8 {
			clients.Go(func() {
				for n := range 10 {
					makeAndList(t, writer, reader, fmt.Sprintf("kept-up-%d-%d", client, n))
				}
			})
		}
		clients.Wait()
		onPrimary, onReplica = primary.lists()-onPrimary, replica.lists()-onReplica
		t.Logf("%d lists came from the replica and %d from the primary", onReplica, onPrimary)
		if onReplica < 40 || onPrimary+onReplica < 80 {
			t.Error("the replica was hardly used")
		}
	})
	t.Run("candidates show a claim as soon as it is made", func(t *testing.T) {
		host := newProvider(t, writer.url, "single", 1)
		query := reader.url + "/allocation_candidates?resources=VCPU:1"
		if got := mustAsk(t, 200, "GET", query, nil); !strings.Contains(got.body, host.String()) {
			t.Errorf("the host is no candidate: %s", got.body)
		}
		mustAsk(t, 204, "PUT", writer.url+"/allocations/c0ffee00-0000-4000-8000-000000000001", claimBody(host, nil))
		if got := mustAsk(t, 200, "GET", query, nil); strings.Contains(got.body, host.String()) {
			t.Errorf("the host is full and still a candidate: %s", got.body)
		}
		if !strings.Contains(replica.log(), "-- name: CandidatePage :many") {
			t.Error("candidates never came from the replica")
		}
	})

	// From now on reads wait for it for 20 ms.
	more[3] = "20ms"
	reader = serveOn(t, primary.url(), more...)
	t.Run("a replica that stands still is passed by", func(t *testing.T) {
		replica.exec("berth", "SELECT pg_wal_replay_pause()")
		onPrimary, onReplica := primary.lists(), replica.lists()
		for n := range 20 {
			makeAndList(t, writer, reader, fmt.Sprintf("stands-still-%d", n))
		}
		if got := replica.lists(); got != onReplica {
			t.Errorf("it answered %d lists", got-onReplica)
		}
		if got := primary.lists() - onPrimary; got != 20 {
			t.Errorf("the primary answered %d lists", got)
		}
	})
	t.Run("and is used again when it goes on", func(t *testing.T) {
		replica.exec("berth", "SELECT pg_wal_replay_resume()")
		awaitLists(t, replica, reader)
	})
	t.Run("a replica that is gone is passed by, and used again when it comes back", func(t *testing.T) {
		replica.stop()
		for n := range 5 {
			makeAndList(t, writer, reader, fmt.Sprintf("gone-%d", n))
		}
		replica.start()
		awaitLists(t, replica, reader)
		makeAndList(t, writer, reader, "came-back")
	})
	t.Run("a replica that became a primary of its own is none", func(t *testing.T) {
		replica.promote()
		onReplica := replica.lists()
		for n := range 5 {
			makeAndList(t, writer, reader, fmt.Sprintf("parted-%d", n))
		}
		if got := replica.lists(); got != onReplica {
			t.Errorf("it answered %d lists", got-onReplica)
		}
	})
}

// awaitLists reads until the replica answers.
func awaitLists(t *testing.T, replica *node, reader *served) {
	t.Helper()
	before := replica.lists()
	for since := time.Now(); replica.lists() == before; time.Sleep(20 * time.Millisecond) {
		mustAsk(t, 200, "GET", reader.url+"/resource_providers", nil)
		if time.Since(since) > 15*time.Second {
			t.Fatal("the replica is never asked again")
		}
	}
}

// TestReplica_OnAbandonedTimeline_NotRead leaves a replica behind on the timeline of
// a primary that is gone, and ahead of the one that was promoted instead, as positions
// in the WAL go. Only its timeline tells.
func TestReplica_OnAbandonedTimeline_NotRead(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t)
	behind := newStandby(t, primary, "behind")
	ahead := newStandby(t, primary, "ahead", "log_statement = 'all'")
	url := primary.url(behind)
	server := serveOn(t, url, "--replica-url", ahead.url(), "--replica-wait-timeout", "200ms", "--baremetal-backend", "off")
	makeAndList(t, server, server, "both-know")
	awaitLists(t, ahead, server)

	behind.await("SELECT pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn()")
	behind.stop() // and misses what follows
	for n := range 50 {
		makeAndList(t, server, server, fmt.Sprintf("cut-off-%d", n))
	}
	// Further than the other will write from now on.
	primary.exec("berth", "SELECT pg_logical_emit_message(true, 'far', repeat('far', 10000000))")
	awaitLists(t, ahead, server)
	primary.crash()
	behind.start()
	behind.promote()
	onAhead := ahead.lists()
	awaitStatus(t, server.url+"/resource_providers?name=both-know", 200)
	makeAndList(t, server, server, "after-all")
	if got := mustAsk(t, 200, "GET", server.url+"/resource_providers", nil); strings.Contains(got.body, "cut-off") {
		t.Errorf("what the primary does not know is listed: %s", got.body)
	}
	if got := ahead.lists(); got != onAhead {
		t.Errorf("the replica answered %d lists", got-onAhead)
	}
}

func awaitStatus(t *testing.T, url string, want int) {
	t.Helper()
	for since := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		got := ask(t, "GET", url, nil)
		if got.status == want {
			return
		}
		if time.Since(since) > 15*time.Second {
			t.Fatalf("got %d %s, want %d", got.status, got.body, want)
		}
	}
}
