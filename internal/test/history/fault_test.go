package history_test

import (
	"flag"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/counts"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/history"
	berthsql "github.com/berthd/berth/sql"
)

// edit is a replacement in the text of an SQL function that removes a lock or a check.
type edit struct{ function, old, new string }

// detector is a check that must detect a mutation.
type detector string

const (
	byHistory  detector = "history"  // no order explains what clients saw
	byAudit    detector = "audit"    // the database is inconsistent
	byDeadlock detector = "deadlock" // PostgreSQL aborted writes in a lock cycle
	byRetries  detector = "retries"  // writes exhausted their retries
	byRecord   detector = "record"   // the record of changes does not lead to the database
)

// pause replaces a lock, and widens the window for a race.
const pause = "PERFORM pg_sleep(0.004);"

// window is a longer pause, for rare races.
const window = "PERFORM pg_sleep(0.03);"

// longWindow is the longest pause, for very rare races.
const longWindow = "PERFORM pg_sleep(0.1);"

// checkMove and moved are the first and the last statement that the locks of re-parenting protect.
const (
	checkMove = "PERFORM provider_reparent_check(p_uuid, v_id, v_old_parent, p_parent, v_parent,\n            p_may_reparent);"
	moved     = "UPDATE inventories SET root_id = v_root WHERE provider_id = ANY (v_subtree);"
)

// longWay disables the functions for claims of one consumer.
var longWay = edit{"allocation_replace", "IF cardinality(p_consumers) = 1 AND", "IF false AND"}

// raise is the statement with which a claim on one provider locks it.
const raise = "UPDATE provider_generations SET generation = generation + 1, updated_at = now()\n    WHERE provider_id = v_provider\n    RETURNING generation INTO v_generation;"

// raiseSeveral and raiseChanged are the statements with which a claim on several providers and a change lock
// them, without the order of the locks.
const (
	raiseSeveral = "UPDATE provider_generations SET generation = generation + 1, updated_at = now()\n    WHERE provider_id = ANY (ARRAY(\n" +
		"        SELECT locked.provider_id FROM provider_generations AS locked WHERE locked.provider_id = ANY (v_providers)\n"
	raiseChanged = "UPDATE provider_generations SET generation = generation + 1, updated_at = now()\n    WHERE provider_id = ANY (ARRAY(\n" +
		"        SELECT CASE WHEN locked.provider_id = ANY (v_providers) THEN locked.provider_id END\n" +
		"        FROM provider_generations AS locked WHERE locked.provider_id = ANY (v_providers || v_old_providers)\n"
	inOrder = "        ORDER BY locked.provider_id FOR NO KEY UPDATE));"
	// staleUsed is the value that another transaction may have changed since the start of the statement.
	staleUsed = "(SELECT stale.used FROM inventories AS stale WHERE stale.provider_id = inventories.provider_id " +
		"AND stale.class_id = inventories.class_id AND pg_sleep(0.03) IS NOT NULL)"
)

// shuffled is the change of raiseSeveral or raiseChanged that locks the providers in random order. PostgreSQL evaluates
// the volatile pg_sleep after the sort and before it locks the row, so that time passes between two locks.
func shuffled(function, raise string) edit {
	text := strings.Replace(raise, "SELECT locked.provider_id ", "SELECT CASE WHEN true THEN locked.provider_id END ", 1)
	return edit{function, raise + inOrder, strings.Replace(text, "CASE WHEN ", "CASE WHEN pg_sleep(0.01) IS NOT NULL AND ", 1) +
		"        ORDER BY random() FOR NO KEY UPDATE));"}
}

// mutations are possible mistakes in the SQL functions. The tests of this package must detect each
// of them.
var mutations = map[string]struct {
	edits  []edit
	by     detector
	favors history.Bias // what clients do more often
}{
	"a claim does not lock its providers": {[]edit{
		longWay,
		{"allocation_replace", "PERFORM allocation_lock_providers(v_locked.ids, v_named.providers);", pause},
	}, byDeadlock, history.Anything},
	"a claim reads the usage before it locks the inventory": {[]edit{
		longWay,
		{"allocation_replace", "PERFORM allocation_lock_providers(v_locked.ids, v_named.providers);", pause},
		{"allocation_apply", "(total - reserved) * allocation_ratio - used\n",
			"(total - reserved) * allocation_ratio - (SELECT stale.used FROM inventories AS stale " +
				"WHERE stale.provider_id = v_providers[i] AND stale.class_id = v_classes[i] AND pg_sleep(0.004) IS NOT NULL)\n"},
	}, byHistory, history.Anything},
	"a claim writes a stale usage": {[]edit{
		longWay,
		{"allocation_replace", "PERFORM allocation_lock_providers(v_locked.ids, v_named.providers);", pause},
		{"allocation_apply", "SET used = used + v_added[i] - v_released[i]",
			"SET used = greatest(0, (SELECT stale.used FROM inventories AS stale " +
				"WHERE stale.provider_id = v_providers[i] AND stale.class_id = v_classes[i] AND pg_sleep(0.004) IS NOT NULL) " +
				"+ v_added[i] - v_released[i])"},
	}, byAudit, history.Anything},
	"a claim on one provider writes a stale usage": {[]edit{
		{"allocation_claim", raise, pause},
		{"allocation_claim", "SET used = used +",
			"SET used = (SELECT stale.used FROM inventories AS stale WHERE stale.provider_id = v_provider " +
				"AND stale.class_id = inventories.class_id AND pg_sleep(0.03) IS NOT NULL) +"},
		{"allocation_claim", "RETURN true;", raise + " RETURN true;"},
	}, byAudit, history.Arrivals},
	"a claim on one provider does not increment its generation": {[]edit{
		{"allocation_claim", raise, "PERFORM FROM provider_generations WHERE provider_id = v_provider FOR NO KEY UPDATE;"},
	}, byHistory, history.Anything},
	"a claim on several providers writes a stale usage": {[]edit{
		{"allocation_claim_providers", raiseSeveral + inOrder, pause},
		{"allocation_claim_providers", "SET used = used +", "SET used = " + staleUsed + " +"},
		{"allocation_claim_providers", "RETURN true;", raiseSeveral + inOrder + " RETURN true;"},
	}, byAudit, history.Arrivals},
	"a claim on several providers locks them in random order": {[]edit{
		shuffled("allocation_claim_providers", raiseSeveral),
	}, byDeadlock, history.Arrivals},
	"a change writes a stale usage": {[]edit{
		{"allocation_change", raiseChanged + inOrder, pause},
		{"allocation_change", "SET used = used +", "SET used = " + staleUsed + " +"},
		{"allocation_change", "RETURN true;", raiseChanged + inOrder + " RETURN true;"},
	}, byAudit, history.Changes},
	"a change locks the providers in random order": {[]edit{
		shuffled("allocation_change", raiseChanged),
	}, byDeadlock, history.Changes},
	"a change does not compare the consumer generation": {[]edit{
		{"allocation_change", "consumer.generation = p_generation)", "true)"},
	}, byHistory, history.Changes},
	"a claim does not compare the consumer generation": {[]edit{
		{"consumer_check_generation", "IF (p_actual[i] < 0) <> p_unseen[i] OR p_actual[i] >= 0 AND p_actual[i] <> p_given[i] THEN", "IF false THEN"},
	}, byHistory, history.Anything},
	"a claim compares the consumer generation without a lock": {[]edit{
		longWay,
		{"consumer_lock", "WHERE consumer.uuid = p_uuids[v_position] FOR NO KEY UPDATE;", "WHERE consumer.uuid = p_uuids[v_position];"},
		{"consumer_check_generation", "FOR i IN 1 .. cardinality(p_uuids) LOOP", window + " FOR i IN 1 .. cardinality(p_uuids) LOOP"},
	}, byHistory, history.Changes},
	"replacing inventories does not compare the provider generation": {[]edit{
		{"inventory_replace", "provider_lock(p_provider, p_generation, true, false)", "provider_lock(p_provider, NULL, true, false)"},
	}, byHistory, history.Anything},
	"the provider generation is compared before the lock": {[]edit{
		{"provider_lock", "WHERE generation_row.provider_id = provider_lock.provider_id FOR NO KEY UPDATE;",
			"WHERE generation_row.provider_id = provider_lock.provider_id; " + pause},
	}, byHistory, history.Anything},
	"a reshape does not lock its providers": {[]edit{
		{"reshape_lock", "PERFORM allocation_lock_providers(p_consumers, v_locked);", pause},
	}, byHistory, history.Anything},
	"deleting allocations does not reduce the usage": {[]edit{
		{"allocation_delete_checked", "SET used = used - v_row.used", "SET used = used"},
	}, byHistory, history.Anything},
	"replacing traits does not increment the generation": {[]edit{
		{"provider_traits_replace", "CASE WHEN v_written > 0 THEN provider_bump_generation(v_locked.provider_id) ELSE v_locked.generation END", "v_locked.generation"},
	}, byHistory, history.Anything},
	"re-parenting does not lock the trees": {[]edit{
		{"provider_reparent_lock", "WHERE root.id = v_root FOR NO KEY UPDATE;", "WHERE root.id = v_root;"},
		{"provider_update_checked", checkMove, checkMove + window},
		{"provider_reparent", moved, moved + window},
	}, byAudit, history.Moves},
	"deleting allocations does not lock the consumer": {[]edit{
		{"allocation_delete_checked", "WHERE consumer.uuid = p_consumer FOR UPDATE;", "WHERE consumer.uuid = p_consumer; " + longWindow},
	}, byHistory, history.Releases},
	"re-parenting does not update the roots of inventories": {[]edit{
		{"provider_reparent", moved, ""},
	}, byAudit, history.Anything},
}

// claimed is the position in claim_create between the search and the first lock of a provider.
const claimed = "full_up := 0;"

// lockTree is the statement with which tree_replace locks the providers, before it determines the differences again.
const lockTree = "v_tree := tree_lock(p_root, v_compared.changes, v_locked.ids, p_allocated);\n    "

// claimMutations are those of POST /claims and of the other writes of berth 1.3. Some are mistakes in the server.
var claimMutations = map[string]struct {
	edits   []edit
	program []programEdit
	by      detector
	favors  history.Bias
	// isSlow is set for a fault that needs many histories, or a build of the server: see the flag -history.slow.
	isSlow bool
}{
	"a claim does not compare revisions": {[]edit{
		{"claim_create", claimed, window + claimed},
		{"claim_compare", "IF EXISTS (", "IF false AND EXISTS ("},
	}, nil, byHistory, history.Claims, true},
	"a claim of candidates is refused after the first failed attempt": {[]edit{
		{"claim_create", "v_attempt := v_attempt + 1;", longWindow + " v_attempt := v_attempt + 1;"},
		{"claim_create", "IF p_named AND true <> ALL (v_fits) OR", "IF p_named OR"},
	}, nil, byHistory, history.Turnover, true},
	"a claim is refused after the first failed attempt": {[]edit{
		{"claim_create", claimed, window + claimed},
	}, []programEdit{
		{"server/search/candidates/claim_search.go", "if found != nil || err != nil {", "if found != nil && options.MayUseReplica || err != nil {"},
		{"server/search/candidates/claim_search.go", "if err == nil && len(found) > 0 {", "if err == nil && len(found) > 0 && options.MayUseReplica {"},
	}, byHistory, history.Turnover, true},
	"the second pass of a claim does not wait": {[]edit{
		{"claim_try", "IF p_wait THEN", "IF false THEN"},
		{"claim_try", "PERFORM claim_compare(", window + " PERFORM claim_compare("},
	}, nil, byRetries, history.Claims, false},
	"deleting allocations does not compare the generation": {[]edit{
		{"allocation_delete_checked", "IF p_generation IS NOT NULL THEN", "IF false THEN"},
	}, nil, byHistory, history.Releases, false},
	"patching allocations does not compare the generation": {[]edit{
		{"allocation_patch_leased", "IF p_generation IS NOT NULL THEN", "IF false THEN"},
	}, nil, byHistory, history.Anything, false},
	"patching allocations does not lock the providers": {[]edit{
		{"allocation_patch_apply", "PERFORM allocation_lock_providers('{}', p_providers);", pause},
	}, nil, byDeadlock, history.Patches, true},
	"a repetition is executed again": {[]edit{
		{"idempotency_begin", "stored.key = p_key AND stored.expires_at <= now();", "stored.key = p_key;"},
	}, nil, byHistory, history.Anything, false},
	"replacing a tree does not compare the generations": {[]edit{
		{"tree_check", "WHERE change.generation IS DISTINCT FROM change.given", "WHERE false"},
	}, nil, byHistory, history.Trees, false},
	"replacing a tree compares the generations only before the lock": {[]edit{
		{"tree_replace", lockTree + "v_changes := (", window + lockTree + "v_changes := v_compared.changes; PERFORM ("},
	}, nil, byHistory, history.Trees, false},
	"the consumers of a tree are of a later moment than its providers": {nil, []programEdit{
		{"server/data/postgres/snapshot.go", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"},
		{"gen/db/tree.sql.go", "-- name: TreeShow :many\nWITH root AS MATERIALIZED (\n    SELECT member.root_id AS id FROM resource_providers AS member WHERE ",
			"-- name: TreeShow :many\nWITH root AS MATERIALIZED (\n    SELECT member.root_id AS id FROM resource_providers AS member WHERE pg_sleep(0.01) IS NOT NULL AND "},
	}, byHistory, history.Shows, true},
	"a dry run commits": {nil, []programEdit{
		{"server/data/postgres/rehearse.go", `conn.Exec(bounded, "ROLLBACK")`, `conn.Exec(bounded, "COMMIT")`},
	}, byHistory, history.Anything, true},
}

// statementNumber matches the comment with the number of a statement, which the edits omit.
var statementNumber = regexp.MustCompile(` /\* \w+ \d+/\d+ \*/`)

// applyMutation installs the edited functions in one database. It fails the test if a function does
// not contain the text to replace.
func applyMutation(t *testing.T, db *dbtest.DB, edits []edit) {
	t.Helper()
	edited := map[string]string{}
	for _, one := range edits {
		text, ok := edited[one.function]
		if !ok {
			read, err := fs.ReadFile(berthsql.Files, "functions/"+one.function+".sql")
			if err != nil {
				t.Fatal(err)
			}
			text = string(read)
		}
		text = statementNumber.ReplaceAllString(text, "")
		if strings.Count(text, one.old) != 1 {
			t.Fatalf("%s does not contain exactly once %q", one.function, one.old)
		}
		edited[one.function] = strings.Replace(text, one.old, one.new, 1)
	}
	for name, text := range edited {
		if _, err := db.Pool.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// slow plants all faults.
var slow = flag.Bool("history.slow", false, "plant the faults that need minutes, too")

// rounds is the maximum number of histories per mutation.
const rounds = 120

// slowMutations need many histories.
var slowMutations = []string{
	"a claim reads the usage before it locks the inventory", "a reshape does not lock its providers",
}

// quickMutations are those that every run plants: one for each detector and kind of write. The others need RAPID_CHECKS=100,
// as in .ci/run after a change of what writes.
var quickMutations = []string{
	"a claim on several providers writes a stale usage", "a change locks the providers in random order",
	"replacing inventories does not compare the provider generation", "the second pass of a claim does not wait",
	"deleting allocations does not compare the generation", "replacing a tree does not compare the generations",
	"a repetition is executed again", "a renewal does not find a consumer that was created again",
}

func plantOrSkip(t *testing.T, name string) {
	t.Helper()
	if !counts.All() && !slices.Contains(quickMutations, name) {
		t.Skip("planted with RAPID_CHECKS=100")
	}
}

func TestHistory_Mutations_AllDetected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	for _, name := range slices.Concat(slowMutations, quickMutations) {
		_, ofClaims := claimMutations[name]
		_, ofLeases := leaseMutations[name]
		if _, found := mutations[name]; !found && !ofClaims && !ofLeases {
			t.Errorf("no mutation %q", name)
		}
	}
	for name, fault := range mutations {
		t.Run(name, func(t *testing.T) {
			plantOrSkip(t, name)
			if slices.Contains(slowMutations, name) && !*slow {
				t.Skip("make mutations plants this fault")
			}
			detect(t, fault.edits, "", fault.by, fault.favors)
		})
	}
}

func TestHistory_ClaimMutations_AllDetected(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; it runs without -short")
	}
	for name, fault := range claimMutations {
		t.Run(name, func(t *testing.T) {
			plantOrSkip(t, name)
			if fault.isSlow && !*slow {
				t.Skip("make mutations plants this fault")
			}
			program := ""
			if fault.program != nil {
				program = buildMutant(t, fault.program)
			}
			detect(t, fault.edits, program, fault.by, fault.favors)
		})
	}
}

// detect records histories until one of them shows a fault.
func detect(t *testing.T, edits []edit, program string, by detector, favors history.Bias) {
	t.Helper()
	for round := range rounds {
		wanted := traffic{
			districts: 8, seed: *seed + uint64(round), lasts: 700 * time.Millisecond, favors: favors, program: program, by: by, pictures: t.TempDir(),
		}
		found := wanted.run(t, edits)
		if found.by(by) {
			t.Logf("round %d, seed %d: %s", round, wanted.seed, found)
			return
		}
	}
	t.Errorf("not detected by %s in %d rounds", by, rounds)
}
