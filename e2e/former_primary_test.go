//go:build client

package e2e

import (
	"strings"
	"testing"
)

// TestFailover_FormerPrimaryStillRuns_IsNotRead promotes a standby while the primary goes
// on: it accepts connections and takes itself for the primary. Once the server has met
// the promoted one, it prefers no answer to one of the former primary's.
func TestFailover_FormerPrimaryStillRuns_IsNotRead(t *testing.T) {
	t.Parallel()
	former := newPrimary(t)
	promoted := newStandby(t, former, "promoted")
	server := serveOn(t, promoted.url(former), "--baremetal-backend", "off")
	mustAsk(t, 200, "POST", server.url+"/resource_providers", map[string]any{"name": "before"})
	promoted.await("SELECT pg_last_wal_replay_lsn() >= pg_last_wal_receive_lsn()")

	promoted.promote()
	// Its new connections lead to the promoted primary, which is first in the list.
	former.exec("postgres", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'berth'")
	awaitStatus(t, server.url+"/resource_providers", 200)
	makeAndList(t, server, server, "after")

	promoted.stop()
	got := ask(t, "GET", server.url+"/resource_providers?name=after", nil)
	retryable(t, "a read while only the former primary runs", got)
	got = ask(t, "POST", server.url+"/resource_providers", map[string]any{"name": "lost"})
	retryable(t, "a write while only the former primary runs", got)
	if !strings.Contains(got.body, "Nothing was changed") {
		t.Errorf("the answer to the write does not say that nothing was changed: %s", got.body)
	}

	promoted.start()
	awaitStatus(t, server.url+"/resource_providers", 200)
	if got := mustAsk(t, 200, "GET", server.url+"/resource_providers", nil); !strings.Contains(got.body, `"after"`) || strings.Contains(got.body, `"lost"`) {
		t.Errorf("the promoted primary has before and after: %s", got.body)
	}
}
