package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// candidate returns one unit of VCPU on each of these providers as a search returns it, with all of them as guards.
func (b *bundle) candidate(providers ...uuid.UUID) (made store.ClaimCandidate) {
	b.t.Helper()
	for _, one := range providers {
		var guard store.ClaimGuard
		var class int32
		b.must(b.db.Pool.QueryRow(b.t.Context(), `SELECT provider.id, provider.revision, class.id
			FROM resource_providers AS provider, resource_classes AS class WHERE provider.uuid = $1 AND class.name = 'VCPU'`,
			one).Scan(&guard.Provider, &guard.Revision, &class))
		made.Uses = append(made.Uses, store.ClaimUse{Provider: guard.Provider, Class: class, Amount: 1})
		made.Guards = append(made.Guards, guard)
	}
	return made
}

// vcpu returns one unit of VCPU on each of these providers as a client names it.
func vcpu(providers ...uuid.UUID) (made []store.Allocation) {
	for _, one := range providers {
		made = append(made, store.Allocation{Provider: one, Class: "VCPU", Amount: 1})
	}
	return made
}

// hosts creates this many hosts with one unit of VCPU each.
func (b *bundle) hosts(count int) (made []uuid.UUID) {
	b.t.Helper()
	for i := range count {
		made = append(made, b.provider(fmt.Sprintf("%x host %d", i%16, i), nil, map[string]int32{"VCPU": 1}))
	}
	return made
}

// rotated returns a list that begins with another element.
func rotated[E any](list []E, by int) []E {
	by %= len(list)
	return append(slices.Clone(list[by:]), list[:by]...)
}

func TestClaim_MoreClaimantsThanPlaces_AsManySucceedAsFit(t *testing.T) {
	t.Parallel()
	const claimants, places = 64, 40
	type cloud func(b *bundle) [][]uuid.UUID
	onHosts := func(b *bundle) (made [][]uuid.UUID) {
		for _, host := range b.hosts(places) {
			made = append(made, []uuid.UUID{host})
		}
		return made
	}
	for name, c := range map[string]struct {
		cloud    cloud
		rotating bool
	}{
		"hosts in another order each": {onHosts, true},
		"hosts in the same order":     {onHosts, false},
		"one provider": {func(b *bundle) [][]uuid.UUID {
			return [][]uuid.UUID{{b.provider("a host", nil, map[string]int32{"VCPU": places})}}
		}, false},
		"hosts with a common pool": {func(b *bundle) (made [][]uuid.UUID) {
			pool := b.provider("7 pool", nil, map[string]int32{"VCPU": places})
			for _, host := range b.hosts(places) {
				made = append(made, []uuid.UUID{host, pool})
			}
			return made
		}, true},
	} {
		for _, named := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, named %t", name, named), func(t *testing.T) {
				t.Parallel()
				b := setup(t, 16)
				var found []store.ClaimCandidate
				var listed [][]store.Allocation
				for _, providers := range c.cloud(b) {
					found, listed = append(found, b.candidate(providers...)), append(listed, vcpu(providers...))
				}
				var claims []func(context.Context) error
				for i := range claimants {
					by := 0
					if c.rotating {
						by = i * 7
					}
					claims = append(claims, func(ctx context.Context) (err error) {
						who := claim(fmt.Sprintf("%x server %d", i%16, i), nil, uuid.Nil, 0)
						if named {
							_, err = b.ClaimCreateNamed(ctx, who, nil, rotated(listed, by))
						} else {
							_, err = b.ClaimCreate(ctx, who, nil, rotated(found, by))
						}
						return err
					})
				}
				got := tally(b.together(claims...))
				want := map[store.Rule]int{"": places, store.ClaimNoneLeft: claimants - places}
				if !maps.Equal(got, want) {
					t.Errorf("outcomes = %v, want %v", got, want)
				}
				if b.Pool().Retries() > 0 {
					t.Errorf("retries = %d, want 0", b.Pool().Retries())
				}
			})
		}
	}
}

func TestClaim_ProviderLocked_TakesTheNextCandidate(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	hosts := b.hosts(3)
	holder, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	defer func() { _ = holder.Rollback(t.Context()) }()
	if _, err := holder.Exec(t.Context(), `SELECT FROM provider_generations WHERE provider_id <
		(SELECT max(provider_id) FROM provider_generations) ORDER BY provider_id FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	got, err := b.ClaimCreate(t.Context(), claim("a server", nil, uuid.Nil, 0), nil,
		[]store.ClaimCandidate{b.candidate(hosts[0]), b.candidate(hosts[1], hosts[2]), b.candidate(hosts[2])})
	b.must(err)
	if got.Candidate != 2 || got.Effort != (store.ClaimEffort{Held: 2}) {
		t.Errorf("candidate %d with effort %+v, want 2 with two held", got.Candidate, got.Effort)
	}
}

func TestClaim_ProviderLocked_WaitsForTheOnlyCandidate(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.hosts(1)[0]
	var got store.Claimed
	outcomes := b.behind(lockProviders, func(ctx context.Context) (err error) {
		got, err = b.ClaimCreate(ctx, claim("a server", nil, uuid.Nil, 0), nil, []store.ClaimCandidate{b.candidate(host)})
		return err
	})
	if outcomes[0] != "" || got.Effort != (store.ClaimEffort{Held: 1}) {
		t.Errorf("outcome %q with effort %+v, want success with one held", outcomes[0], got.Effort)
	}
}

func TestClaim_CandidateChanged_IsStale(t *testing.T) {
	t.Parallel()
	const link = `INSERT INTO aggregates (uuid) VALUES ('a9900000-0000-4000-8000-000000000001');
		INSERT INTO provider_aggregates (provider_id, aggregate_id) SELECT id, (SELECT max(id) FROM aggregates) FROM resource_providers`
	for name, c := range map[string]struct {
		change string
		// linked: the second host shares with the first.
		linked bool
		want   store.Rule
		effort store.ClaimEffort
	}{
		"nothing":               {"", true, "", store.ClaimEffort{}},
		"a trait":               {"INSERT INTO provider_traits (provider_id, trait_id) SELECT 1, min(id) FROM traits", false, store.ClaimNoneLeft, store.ClaimEffort{Stale: 1}},
		"a parent":              {"UPDATE resource_providers SET root_id = root_id WHERE id = 1", false, store.ClaimNoneLeft, store.ClaimEffort{Stale: 1}},
		"an aggregate, no link": {"DELETE FROM provider_aggregates WHERE provider_id = 3", false, "", store.ClaimEffort{}},
		"the link":              {"DELETE FROM provider_aggregates WHERE provider_id = 3", true, store.ClaimNoneLeft, store.ClaimEffort{Stale: 1}},
		"the inventory":         {"UPDATE inventories SET reserved = 1 WHERE provider_id = 1", false, store.ClaimNoneLeft, store.ClaimEffort{Full: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 2)
			// The first host is in the aggregate because of its child, which is no guard.
			hosts := b.hosts(2)
			b.provider("3 child", &hosts[0], nil)
			exec := func(sql string) {
				t.Helper()
				if _, err := b.db.Pool.Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			exec(link)
			exec("DELETE FROM provider_aggregates WHERE provider_id = 1")
			exec("INSERT INTO traits (name) VALUES ('MISC_SHARES_VIA_AGGREGATE') ON CONFLICT DO NOTHING")
			exec("INSERT INTO provider_traits (provider_id, trait_id) SELECT 2, id FROM traits WHERE name = 'MISC_SHARES_VIA_AGGREGATE'")
			wanted := b.candidate(hosts...)
			if c.linked {
				wanted.Links = []store.ClaimLink{{Anchor: 1, Provider: 2}}
			}
			if c.change != "" {
				exec(c.change)
			}
			got, err := b.ClaimCreate(t.Context(), claim("a server", nil, uuid.Nil, 0), nil, []store.ClaimCandidate{wanted})
			effort := got.Effort
			if refused := store.AsRuleViolation(err); refused != nil {
				effort = refused.Values.ClaimEffort
			}
			if outcome(err) != c.want || effort != c.effort {
				t.Errorf("outcome %q with effort %+v, want %q with %+v", outcome(err), effort, c.want, c.effort)
			}
		})
	}
}

func TestClaim_NamedCandidatesFull_ReturnsTheReasonOfEach(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	hosts := b.hosts(3)
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("a server", nil, hosts[0], 1)}, true))
	listed := [][]store.Allocation{vcpu(hosts[1], hosts[0]), {{Provider: hosts[1], Class: "DISK_GB", Amount: 1}}, {{Provider: hosts[2], Class: "VCPU", Amount: 1 << 40}}}
	_, err := b.ClaimCreateNamed(t.Context(), claim("b server", nil, uuid.Nil, 0), nil, listed)
	refused := store.AsRuleViolation(err)
	if refused == nil || refused.Rule != store.ClaimNoneLeft {
		t.Fatalf("error = %v, want %s", err, store.ClaimNoneLeft)
	}
	want := []store.RefusedCandidate{
		{0, store.AllocationExceedsCapacity, hosts[0].String(), "VCPU"},
		{1, store.AllocationNoInventory, hosts[1].String(), "DISK_GB"},
		{2, store.AllocationViolatesUnits, hosts[2].String(), "VCPU"},
	}
	if !slices.Equal(refused.Values.Refused, want) {
		t.Errorf("refused = %+v, want %+v", refused.Values.Refused, want)
	}
}

func TestClaim_ExistingConsumer_ReplacesOrHandsOver(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	hosts := b.hosts(2)
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("a server", nil, hosts[0], 1)}, true))
	// Its own unit counts as free.
	got, err := b.ClaimCreate(t.Context(), claim("a server", at(1), uuid.Nil, 0), nil, []store.ClaimCandidate{b.candidate(hosts[0])})
	b.must(err)
	if of := got.Consumers[0]; of.Generation != 2 || len(of.Rows) != 1 || of.Rows[0].Generation != 3 {
		t.Errorf("after replace: %+v", of)
	}
	// What is handed over does not; its inventory may no longer admit the amount.
	if _, err := b.db.Pool.Exec(t.Context(), "UPDATE inventories SET reserved = 1 WHERE provider_id = 1"); err != nil {
		t.Fatal(err)
	}
	heir := claim("b migration", nil, uuid.Nil, 0)
	got, err = b.ClaimCreate(t.Context(), claim("a server", at(2), uuid.Nil, 0), &heir, []store.ClaimCandidate{b.candidate(hosts[0]), b.candidate(hosts[1])})
	b.must(err)
	if of := got.Consumers[0]; got.Candidate != 1 || of.Generation != 3 || of.Rows[0].Provider != hosts[1] || of.Rows[0].Generation != 2 {
		t.Errorf("after hand over: candidate %d, %+v", got.Candidate, of)
	}
	if of := got.Consumers[1]; of.Generation != 1 || of.Rows[0].Provider != hosts[0] || of.Rows[0].Generation != 4 {
		t.Errorf("heir: %+v", of)
	}
	_, err = b.ClaimCreate(t.Context(), claim("a server", at(2), uuid.Nil, 0), nil, []store.ClaimCandidate{b.candidate(hosts[1])})
	if outcome(err) != store.ConsumerGenerationConflict {
		t.Errorf("outcome = %q, want %s", outcome(err), store.ConsumerGenerationConflict)
	}
}

func TestClaim_SeveralConsumers_AllOrNone(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	hosts := b.hosts(2)
	consumers := []store.Claim{claim("b server", nil, uuid.Nil, 0), claim("a server", nil, uuid.Nil, 0)}
	_, err := b.ClaimCreateMany(t.Context(), consumers, []store.ClaimCandidate{b.candidate(hosts[0]), b.candidate(hosts[0])})
	if outcome(err) != store.ClaimNoneLeft || b.used(hosts[0]) != 0 {
		t.Errorf("outcome = %q with %d used, want %s with 0", outcome(err), b.used(hosts[0]), store.ClaimNoneLeft)
	}
	got, err := b.ClaimCreateMany(t.Context(), consumers, []store.ClaimCandidate{b.candidate(hosts[0]), b.candidate(hosts[1])})
	b.must(err)
	for i, of := range got.Consumers {
		if of.Generation != 1 || len(of.Rows) != 1 || of.Rows[0].Provider != hosts[i] || of.Rows[0].Consumer != consumers[i].Consumer {
			t.Errorf("consumer %d: %+v", i, of)
		}
	}
}
