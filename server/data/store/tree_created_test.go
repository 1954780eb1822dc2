package store_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/berthd/berth/server/data/store"
	berthsql "github.com/berthd/berth/sql"
)

// TestProvider_CreatedBetweenComparisonAndNames_IsInOtherTree creates a provider that a tree creates, too, after the
// tree has looked for it and before it looks for its name: the name is that of the provider itself, and not taken.
func TestProvider_CreatedBetweenComparisonAndNames_IsInOtherTree(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	root, child, other := named("a host"), named("b node"), named("c host")
	b.must(b.asTree(store.Tree{Root: root, Providers: []store.TreeProvider{{UUID: root, Name: root.String()}}})(t.Context()))
	b.must(b.asTree(store.Tree{Root: other, Providers: []store.TreeProvider{{UUID: other, Name: other.String()}}})(t.Context()))
	text, err := fs.ReadFile(berthsql.Files, "functions/tree_check_values.sql")
	b.must(err)
	const begin = "BEGIN\n    SELECT /* tree_check_values 1/4 */"
	if !strings.Contains(string(text), begin) {
		t.Fatalf("tree_check_values does not contain %q", begin)
	}
	b.execute(strings.Replace(string(text), begin, "BEGIN\n    PERFORM pg_advisory_xact_lock(77);"+begin[len("BEGIN"):], 1))
	held, err := b.db.Pool.Begin(t.Context())
	b.must(err)
	_, err = held.Exec(t.Context(), "SELECT pg_advisory_xact_lock(77)")
	b.must(err)
	replaced := make(chan error, 1)
	go func() {
		replaced <- b.asTree(store.Tree{Root: root, Providers: []store.TreeProvider{
			{UUID: root, Name: root.String(), Generation: at(0)}, {UUID: child, Name: child.String(), Parent: &root},
		}})(t.Context())
	}()
	b.awaitLock()
	_, err = b.ProviderCreate(t.Context(), child, child.String(), &other)
	b.must(err)
	b.must(held.Rollback(t.Context()))
	if got := outcome(<-replaced); got != store.ProviderElsewhere {
		t.Errorf("outcome = %q, want %q", got, store.ProviderElsewhere)
	}
}
