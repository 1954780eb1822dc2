//go:build client

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
)

// leasedConsumers makes consumers in a database of providers with VCPU: of each hundred, 60 with a lease that ends, 20 with one
// that does not, and 20 without.
const leasedConsumers = `
WITH made AS (
    INSERT INTO consumers (uuid, generation, project_id, user_id, leased)
    SELECT gen_random_uuid(), 1, (SELECT id FROM projects WHERE external_id = 'leased'), (SELECT min(id) FROM users), number % 5 > 0
    FROM generate_series(1, 10000) AS number RETURNING id, leased
), held AS (
    INSERT INTO allocations (consumer_id, provider_id, class_id, used)
    SELECT made.id, place.provider_id, place.class_id, 1
    FROM made JOIN (SELECT provider_id, class_id, row_number() OVER (ORDER BY provider_id) - 1 AS number FROM inventories) AS place
        ON made.id % 4 = place.number
    RETURNING provider_id, class_id
), summed AS (
    UPDATE inventories SET used = inventories.used + held_here.count FROM (
        SELECT provider_id, class_id, count(*) AS count FROM held GROUP BY provider_id, class_id
    ) AS held_here
    WHERE inventories.provider_id = held_here.provider_id AND inventories.class_id = held_here.class_id
)
INSERT INTO leases (consumer_id, seconds, expires_at, due)
SELECT id, 3600, now() + interval '1 hour', now() + interval '1 hour' FROM made WHERE leased`

// endLeases lets three of four leases end, in the order of the consumers.
const endLeases = `UPDATE leases SET expires_at = ended.at, due = ended.at FROM (
    SELECT consumer_id, now() - interval '1 hour' + consumer_id * interval '1 ms' AS at FROM leases WHERE consumer_id % 4 > 0
) AS ended WHERE leases.consumer_id = ended.consumer_id`

// awaitDue waits until at most so many leases are due.
func (n *node) awaitDue(most int) {
	n.t.Helper()
	for deadline := time.Now().Add(writeTimeout); n.count("SELECT count(*) FROM leases WHERE due <= now()") > most; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("more than %d leases are due after %s", most, writeTimeout)
		}
	}
}

// lockLast locks the consumers whose leases end last among those that are due, until the end of PostgreSQL.
func (n *node) lockLast(number int) {
	n.t.Helper()
	pool := n.pool("berth")
	n.t.Cleanup(pool.Close)
	locks, err := pool.Begin(n.t.Context())
	if err == nil {
		n.t.Cleanup(func() { _ = locks.Rollback(context.Background()) }) // PostgreSQL has ended
		_, err = locks.Exec(n.t.Context(), `SELECT FROM consumers WHERE id IN (
			SELECT consumer_id FROM leases WHERE due <= now() ORDER BY due DESC LIMIT $1) FOR UPDATE`, number)
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

// removals returns the consumers that the lines of audit logs name as removed.
func removals(t *testing.T, files []string) map[uuid.UUID]int {
	t.Helper()
	removed := map[uuid.UUID]int{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var line struct {
				Process   string
				Consumers []struct{ UUID uuid.UUID }
			}
			if json.Unmarshal(lines.Bytes(), &line) != nil || line.Process != "lease" {
				continue // the last line of a killed server may be half a line
			}
			for _, consumer := range line.Consumers {
				removed[consumer.UUID]++
			}
		}
	}
	return removed
}

// TestLease_ServersAndPostgresKilled_RemovesEachOnce kills a server, PostgreSQL and the primary while two servers remove
// consumers and clients write.
func TestLease_ServersAndPostgresKilled_RemovesEachOnce(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t)
	standby := newStandby(t, primary, "standby")
	const isStreaming = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')"
	primary.await("SELECT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming')")
	primary.exec("postgres", "ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
	primary.await(isStreaming)
	var logs []string
	start := func() *served {
		logs = append(logs, filepath.Join(t.TempDir(), "audit.log"))
		return serveOn(t, primary.url(standby), "--lease-interval", "200ms", "--audit-log", logs[len(logs)-1])
	}
	killed, safe := start(), start()
	crowd := newCrowd(t, 4, safe.url)
	crowd.forAnother(t, 20)

	primary.exec("berth", "INSERT INTO projects (external_id) VALUES ('leased')", leasedConsumers)
	ended := primary.count("SELECT count(*) FROM leases WHERE consumer_id % 4 > 0") // a server removes some as soon as they have ended
	primary.exec("berth", endLeases)
	primary.awaitDue(ended * 3 / 4)
	killed.kill(t)
	start()
	primary.awaitDue(ended / 2)
	primary.crashAll()
	primary.startAgain()
	primary.await(isStreaming)
	primary.lockLast(100) // removals skip them, so that some are left, however fast the servers are
	primary.awaitDue(ended / 4)
	left := primary.count("SELECT count(*) FROM leases WHERE due <= now()")
	primary.crash()
	standby.promote()
	standby.awaitDue(0)
	crowd.forAnother(t, 20)
	crowd.check(t, standby)
	t.Logf("%d leases ended; %d were left at the failover", ended, left)
	if ended < 5000 || left == 0 {
		t.Error("the failures were not between removals")
	}
	checkRemovals(t, standby, ended, removals(t, logs))
}

// checkRemovals compares what is left, and the lines of audit logs, with the number of the leases that ended. A server that is
// killed, or loses PostgreSQL, can have removed up to 50 consumers without a line.
func checkRemovals(t *testing.T, on *node, ended int, removed map[uuid.UUID]int) {
	t.Helper()
	for leased, want := range map[bool]int{true: 8000 - ended, false: 2000} {
		left := on.count(fmt.Sprintf(`SELECT count(*) FROM consumers JOIN projects ON projects.id = project_id
			WHERE external_id = 'leased' AND leased = %t`, leased))
		if left != want {
			t.Errorf("%d consumers with a lease = %t are left, want %d", left, leased, want)
		}
	}
	for consumer, times := range removed {
		if times > 1 {
			t.Errorf("consumer %s has %d lines", consumer, times)
		}
	}
	if len(removed) > ended || len(removed) < ended-5*50 {
		t.Errorf("lines for %d consumers, want about %d", len(removed), ended)
	}
}
