package store_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	berthsql "github.com/berthd/berth/sql"
)

// leaseCrowd is many clients that write the same consumers with leases, and what the database told them, by its clock.
type leaseCrowd struct {
	*bundle
	hosts     []uuid.UUID
	consumers []uuid.UUID

	mutex    sync.Mutex
	renewals map[uuid.UUID][]leaseMove
	// ends are the times at which the test let a lease end.
	ends    map[uuid.UUID][]time.Time
	removed []store.RemovedConsumer
	// failures are errors that no write returns.
	failures []string
}

// leaseMove is a renewal: its time, and the new end of the lease.
type leaseMove struct{ at, expiresAt time.Time }

// crowdSeconds is the length of all leases, longer than the test.
const crowdSeconds = 3600

func newLeaseCrowd(t *testing.T, on *bundle) *leaseCrowd {
	t.Helper()
	c := &leaseCrowd{bundle: on, renewals: map[uuid.UUID][]leaseMove{}, ends: map[uuid.UUID][]time.Time{}}
	for i := range 4 {
		c.hosts = append(c.hosts, c.provider(fmt.Sprintf("%x host", i), nil, map[string]int32{"VCPU": 25}))
	}
	for i := range 40 {
		c.consumers = append(c.consumers, named(fmt.Sprintf("%x consumer %d", i%16, i)))
	}
	return c
}

// write makes a random write.
func (c *leaseCrowd) write(ctx context.Context, dice *rand.Rand) error {
	consumer, host := c.consumers[dice.IntN(len(c.consumers))], c.hosts[dice.IntN(len(c.hosts))]
	lease := &store.LeaseTerms{Seconds: new(int32(crowdSeconds))}
	claim := store.Claim{
		Consumer: consumer, ProjectID: "project", UserID: "user", Type: "JOB", Lease: lease,
		Allocations: []store.Allocation{{Provider: host, Class: "VCPU", Amount: 1 + dice.Int64N(3)}},
	}
	switch dice.IntN(8) {
	case 0:
		return c.AllocationReplace(ctx, []store.Claim{claim}, true)
	case 1:
		_, err := c.ClaimCreateNamed(ctx, claim, nil, [][]store.Allocation{claim.Allocations, {{Provider: c.hosts[0], Class: "VCPU", Amount: 1}}})
		return err
	case 2:
		_, err := c.AllocationDelete(ctx, consumer, nil)
		return err
	case 3:
		patch := store.AllocationPatch{Consumer: consumer, Allocations: claim.Allocations}
		if dice.IntN(2) == 0 {
			patch.Lease = lease
		}
		_, err := c.AllocationPatch(ctx, patch)
		return err
	case 4:
		shown, err := c.AllocationList(ctx, consumer)
		if err != nil {
			return err
		}
		if len(shown.Rows) > 0 {
			claim.Generation = &shown.Generation
		}
		return c.Reshape(ctx, []store.ReshapedProvider{{Provider: host, Generation: c.generation(host), Records: inventories(map[string]int32{"VCPU": 25})}},
			[]store.Claim{claim})
	case 5:
		return c.end(ctx, consumer, dice)
	default:
		return c.renew(ctx, dice)
	}
}

// renew renews the leases of some consumers.
func (c *leaseCrowd) renew(ctx context.Context, dice *rand.Rand) error {
	var consumers []uuid.UUID
	for _, i := range dice.Perm(len(c.consumers))[:1+dice.IntN(6)] {
		consumers = append(consumers, c.consumers[i])
	}
	renewals, err := c.LeaseRenew(ctx, consumers, nil)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, renewal := range renewals {
		if renewal.Seconds > 0 {
			at := renewal.ExpiresAt.Add(-crowdSeconds * time.Second)
			c.renewals[renewal.Consumer] = append(c.renewals[renewal.Consumer], leaseMove{at, renewal.ExpiresAt})
		}
	}
	return err
}

// end lets the lease of a consumer end within 20 milliseconds, as if its seconds had passed.
func (c *leaseCrowd) end(ctx context.Context, consumer uuid.UUID, endsIn *rand.Rand) error {
	var at []time.Time
	err := c.db.Pool.QueryRow(ctx, `WITH ended AS (
			UPDATE leases SET expires_at = clock_timestamp() + interval '1 ms' * $2, due = least(due, clock_timestamp() - interval '1 ms')
			WHERE consumer_id = (SELECT id FROM consumers WHERE uuid = $1) RETURNING clock_timestamp() AS at)
		SELECT array(SELECT ended.at FROM ended)`, consumer, endsIn.Int64N(20)).Scan(&at)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.ends[consumer] = append(c.ends[consumer], at...)
	return err
}

// run lets 64 clients write while three servers remove.
func (c *leaseCrowd) run() {
	var writers, removers sync.WaitGroup
	ended := make(chan struct{})
	for range 3 {
		removers.Go(func() {
			for more := true; ; {
				removed, again, err := c.LeaseExpire(c.t.Context())
				c.mutex.Lock()
				if err != nil {
					c.failures = append(c.failures, "remove: "+err.Error())
				}
				c.removed = append(c.removed, removed...)
				c.mutex.Unlock()
				if more = again; !more {
					select {
					case <-ended:
						return
					case <-time.After(time.Millisecond):
					}
				}
			}
		})
	}
	for number := range uint64(64) {
		writers.Go(func() {
			dice := rand.New(rand.NewPCG(number, uint64(time.Now().UnixNano())))
			for range 40 {
				if rule := outcome(c.write(c.t.Context(), dice)); len(rule) > len("PL012") {
					c.mutex.Lock()
					c.failures = append(c.failures, "unexpected error: "+string(rule))
					c.mutex.Unlock()
				}
			}
		})
	}
	writers.Wait()
	close(ended)
	removers.Wait()
}

// violations returns what must not have happened, and what is wrong in the database at the end.
func (c *leaseCrowd) violations() []string {
	found := append(c.failures, c.wrongRemovals()...)
	if count := c.deadlocks(); count > 0 {
		found = append(found, fmt.Sprintf("%d deadlocks", count))
	}
	inconsistencies, err := dbtest.Inconsistencies(c.t.Context(), c.db)
	c.must(err)
	return append(found, inconsistencies...)
}

// wrongRemovals returns the consumers that were removed twice, or before their time.
func (c *leaseCrowd) wrongRemovals() (found []string) {
	type incarnation struct {
		consumer  uuid.UUID
		createdAt time.Time
	}
	seen := map[incarnation]bool{}
	for i := range c.removed {
		removed := &c.removed[i]
		key := incarnation{removed.Consumer, removed.CreatedAt}
		if seen[key] {
			found = append(found, fmt.Sprintf("%s was removed twice", removed.Consumer))
		}
		seen[key] = true
		if removed.RemovedAt.Before(removed.Lease.ExpiresAt) {
			found = append(found, fmt.Sprintf("%s was removed at %s, before %s", removed.Consumer, removed.RemovedAt, removed.Lease.ExpiresAt))
		}
		for _, renewal := range c.renewals[removed.Consumer] {
			if renewal.at.After(removed.CreatedAt) && renewal.at.Before(removed.RemovedAt) && !c.endsBetween(removed.Consumer, renewal.at, removed.RemovedAt) {
				found = append(found, fmt.Sprintf("%s was removed at %s, although it was renewed at %s", removed.Consumer, removed.RemovedAt, renewal.at))
			}
		}
	}
	return found
}

// endsBetween reports whether the test let the lease of a consumer end between two times.
func (c *leaseCrowd) endsBetween(consumer uuid.UUID, from, to time.Time) bool {
	for _, at := range c.ends[consumer] {
		if at.After(from) && at.Before(to) {
			return true
		}
	}
	return false
}

// TestLease_CrowdBesideRemovals_RemovesEachOnceAndNoneBeforeItsTime: 64 clients claim, patch, delete, reshape and renew the same
// consumers, whose leases end at random, while three servers remove. At the end, sums and leases are as the rows say, which the
// audit compares.
func TestLease_CrowdBesideRemovals_RemovesEachOnceAndNoneBeforeItsTime(t *testing.T) {
	t.Parallel()
	c := newLeaseCrowd(t, setup(t, 24))
	for round := 0; round < 20 && len(c.removed) < 20; round++ { // how many are removed before a renewal is by chance
		c.run()
	}
	for _, violation := range c.violations() {
		t.Error(violation)
	}
	if len(c.removed) < 20 {
		t.Errorf("only %d consumers were removed", len(c.removed))
	}
}

// leaseFaults are changes of functions, by what is wrong with them then. Those that need several crowds are planted with
// RAPID_CHECKS=100.
var leaseFaults = map[string]struct {
	function, old, new string
	isSlow             bool
}{
	"a removal does not compare expires_at under the lock": {"lease_expire", "AND lease.expires_at <= clock_timestamp()", "", false},
	"a removal does not lock the consumers":                {"lease_expire", "FOR UPDATE SKIP LOCKED", "", true},
	"a removal does not lock the providers":                {"lease_expire", "allocation_lock_providers(v_ids, '{}')", "pg_sleep(0.001)", true},
	"the clock of the removal is ahead":                    {"lease_expire", "<= clock_timestamp()", "<= clock_timestamp() + interval '10 ms'", true},
	"a removal locks leases before consumers":              {"lease_expire", "IF looked_at = 0 OR moved > 0 THEN", "IF looked_at = 0 THEN", true},
	"a renewal revives a lease": {"lease_renew", "v_now := clock_timestamp();", `v_now := clock_timestamp(); PERFORM pg_sleep(0.001);
		INSERT INTO leases SELECT id, 3600, NULL, v_now, v_now FROM unnest(v_found.renewable) AS id ON CONFLICT DO NOTHING;`, true},
	"a renewal locks leases in any order": {"lease_renew", "ORDER BY lease.consumer_id FOR", "ORDER BY random() FOR", true},
	"a deleted consumer keeps its lease":  {"lease_drop", "WHERE consumer_id = OLD.id", "WHERE false", true},
}

// detectSoon lets PostgreSQL look for deadlocks after a short wait.
const detectSoon = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 20', current_database()); END $$"

// TestLease_PlantedFaults_Found changes a function, and lets crowds work until one of them shows it.
func TestLease_PlantedFaults_Found(t *testing.T) {
	t.Parallel()
	for name, fault := range leaseFaults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if fault.isSlow && !counts.All() {
				t.Skip("planted with RAPID_CHECKS=100")
			}
			text, err := fs.ReadFile(berthsql.Files, "functions/"+fault.function+".sql")
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(regexp.MustCompile(` /\* \w+ \d+/\d+ \*/`).ReplaceAllString(string(text), ""), fault.old, fault.new, 1)
			for round := range 20 {
				db := dbtest.New(t)
				for _, statement := range []string{changed, detectSoon} {
					if _, err := db.Pool.Exec(t.Context(), statement); err != nil {
						t.Fatal(err)
					}
				}
				opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 24})
				if err != nil {
					t.Fatal(err)
				}
				crowd := newLeaseCrowd(t, &bundle{Store: opened, t: t, db: db})
				crowd.run()
				if found := crowd.violations(); len(found) > 0 {
					t.Logf("round %d: %d violations, %s", round, len(found), found[0])
					return
				}
			}
			t.Error("not found")
		})
	}
}
