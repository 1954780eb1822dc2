package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// leasedFor returns a claim with a lease.
func leasedFor(of store.Claim, seconds int32) store.Claim {
	of.Lease = &store.LeaseTerms{Seconds: &seconds}
	return of
}

// lapse lets the leases of consumers end one after the other, a second apart, in the past. Renewals stay as they were: due does
// not change unless it must.
func (b *bundle) lapse(consumers ...uuid.UUID) {
	b.t.Helper()
	for i, consumer := range consumers {
		tag, err := b.db.Pool.Exec(b.t.Context(), `UPDATE leases SET until = NULL, seconds = coalesce(seconds, 60), expires_at = moved.at, due = least(due, moved.at)
			FROM (SELECT now() - interval '1 hour' + make_interval(secs => $2) AS at) AS moved
			WHERE consumer_id = (SELECT id FROM consumers WHERE uuid = $1)`, consumer, i)
		b.must(err)
		if tag.RowsAffected() != 1 {
			b.t.Fatalf("consumer %s has no lease", consumer)
		}
	}
}

// removeExpired removes until nothing is left to remove, and returns what was removed.
func (b *bundle) removeExpired(ctx context.Context) []store.RemovedConsumer {
	b.t.Helper()
	var all []store.RemovedConsumer
	for {
		removed, more, err := b.LeaseExpire(ctx)
		b.must(err)
		all = append(all, removed...)
		if !more {
			return all
		}
	}
}

func TestLease_Expired_RemovedInOrderOfExpiry(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 1000})
	var names []string
	for i := range 120 {
		names = append(names, fmt.Sprintf("%x lease %d", i%16, i))
	}
	var consumers []uuid.UUID
	for _, name := range names {
		b.must(b.AllocationReplace(t.Context(), []store.Claim{leasedFor(claim(name, nil, host, 2), 3600)}, true))
		consumers = append(consumers, named(name))
	}
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("f without", nil, host, 3), leasedFor(claim("f later", nil, host, 4), 3600)}, true))
	generation := b.generation(host)
	b.lapse(consumers...)
	// Those of even places were renewed to end in the order of the others, after all of them: their due is too early.
	if _, err := b.db.Pool.Exec(t.Context(), "UPDATE leases SET expires_at = expires_at + interval '10 minutes' WHERE consumer_id % 2 = 0 AND expires_at < now()"); err != nil {
		t.Fatal(err)
	}
	removed := b.removeExpired(t.Context())
	if len(removed) != len(consumers) {
		t.Fatalf("%d consumers were removed, want %d", len(removed), len(consumers))
	}
	if !slices.IsSortedFunc(removed, func(x, y store.RemovedConsumer) int { return x.Lease.ExpiresAt.Compare(y.Lease.ExpiresAt) }) {
		t.Error("the removals are not in the order of expires_at")
	}
	first := removed[0]
	if first.Consumer != consumers[0] || first.ProjectID != "project" || first.UserID != "user" || *first.Type != "INSTANCE" || first.Generation != 1 ||
		len(first.Allocations) != 1 || first.Allocations[0].Provider != host || first.Allocations[0].Class != "VCPU" || first.Allocations[0].Amount != 2 ||
		*first.Lease.Seconds != 3600 || first.RemovedAt.Before(first.Lease.ExpiresAt) || first.CreatedAt.IsZero() {
		t.Errorf("removed %+v", first)
	}
	if used, after := b.used(host), b.generation(host); used != 7 || after != generation {
		t.Errorf("used = %d, generation %d, want 7 and %d", used, after, generation)
	}
}

func TestLease_Renewed_EndsAfterSecondsButNotAfterUntil(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	until := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	both := leasedFor(claim("c both", nil, host, 1), 60)
	both.Lease.Until = &until
	ended := claim("b until", nil, host, 1)
	ended.Lease = &store.LeaseTerms{Until: &until}
	b.must(b.AllocationReplace(t.Context(), []store.Claim{leasedFor(claim("a seconds", nil, host, 1), 60), ended, both, claim("d without", nil, host, 1)}, true))
	b.lapse(named("a seconds")) // late, but before the removal
	renew := func(seconds *int32) map[uuid.UUID]store.LeaseRenewal {
		ids := []uuid.UUID{named("a seconds"), named("b until"), named("c both"), named("d without"), named("e gone")}
		renewals, err := b.LeaseRenew(t.Context(), ids, seconds)
		b.must(err)
		found := map[uuid.UUID]store.LeaseRenewal{}
		for i, renewal := range renewals {
			if renewal.Consumer != ids[i] {
				t.Errorf("renewal %d is of %s, want %s", i, renewal.Consumer, ids[i])
			}
			found[renewal.Consumer] = renewal
		}
		return found
	}
	long, short := int32(7200), int32(30)
	for _, step := range []struct {
		given *int32
		want  time.Duration
	}{{nil, time.Minute}, {&long, 2 * time.Hour}, {&short, 30 * time.Second}, {nil, 30 * time.Second}} {
		var now time.Time
		b.must(b.db.Pool.QueryRow(t.Context(), "SELECT clock_timestamp()").Scan(&now))
		found := renew(step.given)
		alone, limited := found[named("a seconds")], found[named("c both")]
		if least := now.Add(step.want); alone.ExpiresAt.Before(least) || alone.ExpiresAt.After(least.Add(time.Minute)) {
			t.Errorf("renewed at %s for %s until %s", now, step.want, alone.ExpiresAt)
		}
		if limited.ExpiresAt.After(until) || step.want > time.Hour && !limited.ExpiresAt.Equal(until) {
			t.Errorf("renewed until %s, past %s", limited.ExpiresAt, until)
		}
		for name, exists := range map[string]bool{"b until": true, "d without": true, "e gone": false} {
			if got := found[named(name)]; got.Seconds != 0 || got.Exists != exists {
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
	if removed := b.removeExpired(t.Context()); len(removed) > 0 {
		t.Errorf("removed %v", removed)
	}
}

func TestLease_LastAllocationRemoved_DeletedWithConsumer(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	for name, remove := range map[string]func() error{
		"delete": func() error { _, err := b.AllocationDelete(t.Context(), named("c server"), nil); return err },
		"replace": func() error {
			return b.AllocationReplace(t.Context(), []store.Claim{leasedFor(claim("c server", at(1), host, 0), 60)}, true)
		},
		"patch": func() error {
			_, err := b.AllocationPatch(t.Context(), store.AllocationPatch{
				Consumer: named("c server"), Allocations: []store.Allocation{{Provider: host}}, Lease: &store.LeaseTerms{Seconds: new(int32(60))},
			})
			return err
		},
	} {
		b.must(b.AllocationReplace(t.Context(), []store.Claim{leasedFor(claim("c server", nil, host, 1), 60)}, true))
		b.must(remove())
		count, _, err := b.LeaseCount(t.Context())
		b.must(err)
		if count != 0 {
			t.Errorf("%s leaves %d leases", name, count)
		}
	}
}

// TestLease_RenewalBeforeRemoval_Counts: the removal has the consumer and waits for the lease, which a renewal has locked.
func TestLease_RenewalBeforeRemoval_Counts(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	b.must(b.AllocationReplace(t.Context(), []store.Claim{leasedFor(claim("c server", nil, host, 1), 60)}, true))
	b.lapse(named("c server"))
	var removed []store.RemovedConsumer
	b.behind("UPDATE leases SET expires_at = now() + interval '1 minute'", func(ctx context.Context) (err error) {
		removed, _, err = b.LeaseExpire(ctx)
		return err
	})
	if len(removed) != 0 || b.used(host) != 1 {
		t.Errorf("removed %v, used %d", removed, b.used(host))
	}
}
