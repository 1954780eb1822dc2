package candidates_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/search/candidates"
)

// mustFit asks a query about capacity.
func mustFit(t *testing.T, search *candidates.Search, question candidates.FitQuery) *candidates.FitResult {
	t.Helper()
	found, err := search.CapacityFit(t.Context(), question)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// newSmallCloud creates an empty smallCloud.
func newSmallCloud(t *testing.T) *smallCloud {
	t.Helper()
	made := &smallCloud{cloud: newCloud(t, 0)}
	made.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_CPU')")
	made.exec("INSERT INTO traits (name) VALUES ('CUSTOM_T')")
	made.exec("INSERT INTO aggregates (id, uuid) OVERRIDING SYSTEM VALUE VALUES (1, $1), (2, $2)", dbtest.NumberedUUID("a9", 1), dbtest.NumberedUUID("a9", 2))
	return made
}

// TestCandidates_RandomFits_AgreeWithBruteForce compares the number of members that fit with the largest that any choice
// gets: equal without a sharing provider, and between fit and the upper bound with one. So an answer whose fit equals its upper
// bound is right. A claim of the largest number succeeds, and one of more does not.
func TestCandidates_RandomFits_AgreeWithBruteForce(t *testing.T) {
	t.Parallel()
	const parts = 4
	for seed := range uint64(parts) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			made := newSmallCloud(t)
			search, rng := made.open(), rand.New(rand.NewPCG(seed, 23))
			for range (counts.Of(*placementClouds) + parts - 1) / parts {
				made.draw(rng, 3)
				for range 4 {
					made.checkFit(search, rng)
				}
			}
		})
	}
}

// checkFit compares the answer to one query with all choices.
func (c *smallCloud) checkFit(search *candidates.Search, rng *rand.Rand) {
	c.t.Helper()
	question := candidates.FitQuery{Query: drawQuestion(rng), Count: 1 + rng.IntN(5), Relation: candidates.Relation(rng.IntN(3))}
	best := int64(c.most(c.candidatesOf(&question.Query), question.Count, question.Relation))
	found := mustFit(c.t, search, question)
	isRight := found.Fit == best
	if c.pools > 0 {
		isRight = found.Fit <= best
	}
	if found.Stopped == candidates.StoppedAtEnd {
		isRight = isRight && found.Fit < int64(question.Count) && best <= found.AtMost && (c.pools > 0 || found.AtMost == found.Fit)
	} else {
		isRight = isRight && found.Stopped == candidates.StoppedByCount && found.Fit == int64(question.Count)
	}
	if !isRight {
		c.t.Fatalf("found = %+v, want %d: providers %+v, question %+v", found, best, c.providers, question)
	}
	for _, members := range []int64{best, best + 1} {
		if members == 0 || members > int64(question.Count) {
			continue
		}
		placed := mustPlace(c.t, search, int(members), question.Relation, question.Query)
		if got := len(placed.Members) > 0; got != (members == best) {
			c.t.Fatalf("a claim of %d members succeeds: %t; found = %+v, question %+v", members, got, found, question)
		}
	}
}

// TestCandidates_RandomFitChanges_EqualWrites compares the answer with changes to that of the same query after the changes
// were written, and the answer before them to that without changes.
func TestCandidates_RandomFitChanges_EqualWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			made := newSmallCloud(t)
			search, rng := made.open(), rand.New(rand.NewPCG(seed, 29))
			for range counts.Of(40) {
				made.draw(rng, 2)
				made.checkChanges(search, rng)
			}
		})
	}
}

func (c *smallCloud) checkChanges(search *candidates.Search, rng *rand.Rand) {
	c.t.Helper()
	question := candidates.FitQuery{Query: drawQuestion(rng), Count: 1 + rng.IntN(40), Relation: candidates.Relation(rng.IntN(3))}
	without := mustFit(c.t, search, question)
	with := question
	for range 1 + rng.IntN(3) {
		with.Changes = append(with.Changes, c.drawChange(rng))
	}
	found := mustFit(c.t, search, with)
	for i := range with.Changes {
		c.write(&with.Changes[i])
	}
	written := mustFit(c.t, search, question)
	describe := fmt.Sprintf("providers %+v, question %+v", c.providers, with)
	if !reflect.DeepEqual(*found.Before, without.FitSearch) {
		c.t.Fatalf("before = %+v, want %+v: %s", *found.Before, without.FitSearch, describe)
	}
	if !reflect.DeepEqual(found.FitSearch, written.FitSearch) {
		c.t.Fatalf("found = %+v, want %+v: %s", found.FitSearch, written.FitSearch, describe)
	}
}

// drawChange returns a change of a random kind.
func (c *smallCloud) drawChange(rng *rand.Rand) candidates.FitChange {
	anyProvider := func() *uuid.UUID {
		id := hostUUID(c.providers[rng.IntN(len(c.providers))].id)
		return &id
	}
	one := &c.providers[rng.IntN(len(c.providers))]
	if rng.IntN(2) == 0 && !one.shares {
		id := hostUUID(one.id)
		return candidates.FitChange{Like: &id, Copies: 1 + rng.IntN(3)}
	}
	made := candidates.FitChange{Class: smallClasses[rng.IntN(2)]}
	if rng.IntN(2) == 0 {
		made.Ratio = new([]float64{0.5, 1.5, 2, 3.3}[rng.IntN(4)])
	}
	if made.Ratio == nil || rng.IntN(2) == 0 {
		made.Reserved = new(int64(rng.IntN(8)))
	}
	switch rng.IntN(3) {
	case 0:
		made.InTree = anyProvider()
	case 1:
		made.MemberOf = new(dbtest.NumberedUUID("a9", 1))
	}
	return made
}

// write writes a change to the database.
func (c *smallCloud) write(change *candidates.FitChange) {
	c.t.Helper()
	if change.Like != nil {
		for range change.Copies {
			c.writeCopy(*change.Like)
		}
		return
	}
	c.exec(`UPDATE inventories AS inventory
		SET allocation_ratio = COALESCE($2, allocation_ratio), reserved = LEAST(COALESCE($3::int, reserved), total)
		FROM resource_classes AS class
		WHERE class.id = inventory.class_id AND class.name = $1
		  AND ($4::uuid IS NULL OR inventory.root_id = (SELECT root_id FROM resource_providers WHERE uuid = $4))
		  AND ($5::uuid IS NULL OR EXISTS (
			SELECT FROM provider_aggregates AS member JOIN aggregates AS aggregate ON aggregate.id = member.aggregate_id
			WHERE aggregate.uuid = $5 AND member.provider_id IN (inventory.provider_id, inventory.root_id)))`,
		change.Class, change.Ratio, change.Reserved, change.InTree, change.MemberOf)
}

// writeCopy writes a tree like the one around a provider, of which nothing is used.
func (c *smallCloud) writeCopy(like uuid.UUID) {
	c.t.Helper()
	var root, offset int64
	err := c.Pool.QueryRow(c.t.Context(), "SELECT root_id, (SELECT max(id) FROM resource_providers) FROM resource_providers WHERE uuid = $1", like).Scan(&root, &offset)
	if err != nil {
		c.t.Fatal(err)
	}
	c.exec(`INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		SELECT id + $2, gen_random_uuid(), 'copy-' || (id + $2), root_id + $2, parent_id + $2
		FROM resource_providers WHERE root_id = $1 ORDER BY id`, root, offset)
	c.exec("INSERT INTO provider_generations (provider_id) SELECT id FROM resource_providers WHERE root_id = $1", root+offset)
	for _, table := range []string{"trait", "aggregate"} {
		c.exec(fmt.Sprintf(`INSERT INTO provider_%[1]ss (provider_id, %[1]s_id)
			SELECT provider_id + $2, %[1]s_id FROM provider_%[1]ss WHERE provider_id IN (SELECT id FROM resource_providers WHERE root_id = $1)`, table), root, offset)
	}
	c.exec(`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
		SELECT provider_id + $2, class_id, root_id + $2, total, reserved, min_unit, max_unit, step_size, allocation_ratio
		FROM inventories WHERE root_id = $1`, root, offset)
}
