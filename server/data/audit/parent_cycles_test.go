package audit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/audit"
)

// setParents replaces all providers: provider n+1 has the parent parents[n], or none if it is 0.
func setParents(t *testing.T, tx pgx.Tx, parents []int64) {
	t.Helper()
	if _, err := tx.Exec(t.Context(), "SET LOCAL session_replication_role = replica"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "DELETE FROM resource_providers"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO resource_providers (id, uuid, name, root_id, parent_id) OVERRIDING SYSTEM VALUE
		SELECT n, gen_random_uuid(), 'p-' || n, CASE parent WHEN 0 THEN n ELSE 0 END, NULLIF(parent, 0) FROM unnest($1::bigint[]) WITH ORDINALITY AS provider (parent, n)`, parents); err != nil {
		t.Fatal(err)
	}
}

// parentCycles returns the findings of the check.
func parentCycles(t *testing.T, tx pgx.Tx) (sentences []string) {
	t.Helper()
	results, err := audit.Run(t.Context(), tx, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, result := range results {
		if result.Name == "parent_cycles" {
			for _, one := range result.Findings {
				sentences = append(sentences, one.Sentence)
			}
		}
	}
	return sentences
}

// modelCycles follows the parents of each provider until it comes back or has followed all.
func modelCycles(parents []int64) (sentences []string) {
	for id := int64(1); id <= int64(len(parents)); id++ {
		at := id
		for range parents {
			if at = parents[at-1]; at == id || at < 1 || at > int64(len(parents)) {
				break
			}
		}
		if at == id {
			sentences = append(sentences, fmt.Sprintf("provider %d is its own ancestor", id))
		}
	}
	return sentences
}

// TestCLI_AuditParentCycles_EqualModel compares random parents, some of which do not exist, with a model.
func TestCLI_AuditParentCycles_EqualModel(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	random := rand.New(rand.NewPCG(20, 9))
	tx, err := db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context()) //nolint:errcheck // nothing is kept
	found := 0
	for range 60 {
		parents := make([]int64, random.IntN(13))
		for i := range parents {
			parents[i] = random.Int64N(int64(len(parents)) + 2)
			if random.IntN(4) == 0 {
				parents[i] = 0
			}
		}
		setParents(t, tx, parents)
		want := modelCycles(parents)
		if got := parentCycles(t, tx); !slices.Equal(got, want) {
			t.Fatalf("parents %v: found %v, want %v", parents, got, want)
		}
		found += len(want)
	}
	if found < 30 {
		t.Errorf("providers in cycles = %d, want at least 30", found)
	}
}

// TestCLI_AuditOfLongChains_EndsInTime checks a chain, a cycle, and a chain below a short cycle.
func TestCLI_AuditOfLongChains_EndsInTime(t *testing.T) {
	t.Parallel()
	const length = 20_000
	for name, test := range map[string]struct{ first, inCycle int64 }{
		"a chain": {0, 0}, "a cycle": {length, length}, "a chain below a cycle": {100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.New(t)
			tx, err := db.Pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context()) //nolint:errcheck // nothing is kept
			parents := make([]int64, length)
			for i := range parents {
				parents[i] = int64(i) // the provider before it
			}
			parents[0] = test.first
			setParents(t, tx, parents)
			// A recursion that keeps the ways of all providers writes gigabytes here.
			if _, err := tx.Exec(t.Context(), "SET LOCAL statement_timeout = '60s'; ANALYZE resource_providers"); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if got := parentCycles(t, tx); int64(len(got)) != test.inCycle {
				t.Errorf("providers in cycles = %d, want %d", len(got), test.inCycle)
			}
			t.Logf("all checks of %d providers: %v", length, time.Since(began))
		})
	}
}
