package dbtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Record turns on the record of changes of an empty database, and checks it at the end of the test: see CheckRecord.
func Record(t testing.TB, db *DB) {
	t.Helper()
	TurnRecordOn(t, db)
	t.Cleanup(func() {
		if !t.Failed() {
			CheckRecord(t, db)
		}
	})
}

// TurnRecordOn turns on the record of changes. Servers notice it within a second; until then their writes have no caller.
func TurnRecordOn(t testing.TB, db *DB) {
	t.Helper()
	switchRecord(t, db, "on")
	again(t, db, "SELECT history_settle('0') <> 'on'")
}

// TurnRecordOff turns off the record of changes, and returns when nothing writes to it any more.
func TurnRecordOff(t testing.TB, db *DB) {
	t.Helper()
	switchRecord(t, db, "off")
	again(t, db, "SELECT history_step(true) < 0")
}

func switchRecord(t testing.TB, db *DB, state string) {
	t.Helper()
	again(t, db, "SELECT false FROM (SELECT history_update('"+state+"', 7, state.generation) FROM history_state AS state) AS done")
	for again(t, db, "SELECT history_switch()") {
	}
}

// lockNotAvailable is the SQLSTATE of a statement that has reached its lock_timeout.
const lockNotAvailable = "55P03"

// again returns the result of a statement. It repeats one that has waited too long for a lock that a server has.
func again(t testing.TB, db *DB, statement string) (isTrue bool) {
	t.Helper()
	for {
		err := db.Pool.QueryRow(t.Context(), statement).Scan(&isTrue)
		if failure, ok := errors.AsType[*pgconn.PgError](err); ok && failure.Code == lockNotAvailable {
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		return isTrue
	}
}

// CheckRecord fails the test for each finding of RecordFindings.
func CheckRecord(t testing.TB, db *DB) {
	t.Helper()
	// The context of the test has ended if CheckRecord is called during its cleanup.
	found, err := RecordFindings(context.WithoutCancel(t.Context()), db)
	for _, sentence := range found[:min(len(found), maxFindings)] {
		t.Errorf("record: %s", sentence)
	}
	if err != nil {
		t.Errorf("record: %v", err)
	}
}

// maxFindings is the number of findings that a test shows: each one has others as its consequence.
const maxFindings = 10

// RecordFindings applies all recorded changes in their order, from an empty database on, and compares the result with the database. Each
// change must begin with what the changes before it have left, the indexes have no gap, and the generations of each provider rise.
func RecordFindings(ctx context.Context, db *DB) ([]string, error) {
	if _, err := db.Pool.Exec(ctx, "SELECT history_step(true)"); err != nil {
		return nil, err
	}
	rows, err := query[recordRow](ctx, db, `SELECT index, topic, provider::text, consumer::text, node::text, class, generation,
		before::text, after::text FROM history ORDER BY index, place`)
	if err != nil {
		return nil, err
	}
	replayed := replay{objects: map[string]any{}, generations: map[string]int64{}}
	for i := range rows {
		replayed.add(&rows[i])
	}
	replayed.flush()
	objects, err := query[objectRow](ctx, db, recordedObjects)
	if err != nil {
		return nil, err
	}
	want := map[string]any{}
	for _, object := range objects {
		want[object.Key] = decode(&object.Object)
	}
	replayed.compare(want)
	generations, err := query[generationRow](ctx, db, `SELECT provider.uuid::text, owned.generation FROM resource_providers AS provider
		JOIN provider_generations AS owned ON owned.provider_id = provider.id`)
	for _, of := range generations {
		if known := replayed.generations[of.Provider]; known > of.Generation {
			replayed.report("provider %s: the last recorded generation is %d, the provider has %d", of.Provider, known, of.Generation)
		}
	}
	return replayed.findings, err
}

// generationRow is a provider with its generation.
type generationRow struct {
	Provider   string
	Generation int64
}

// recordRow is a row of history as the query returns it.
type recordRow struct {
	Index                           int64
	Topic                           string
	Provider, Consumer, Node, Class *string
	Generation                      *int64
	Before, After                   *string
}

// objectRow is an object of the database.
type objectRow struct{ Key, Object string }

// recordedObjects are the objects that the record is about, by the keys of replay.
const recordedObjects = `
SELECT 'provider ' || one.uuid, history_provider_object(one)::text FROM resource_providers AS one
UNION ALL SELECT 'trait ' || one.uuid, history_trait_names(one.trait_ids)::text FROM resource_providers AS one WHERE one.trait_ids <> '{}'
UNION ALL SELECT 'aggregate ' || one.uuid, history_aggregate_uuids(one.aggregate_ids)::text FROM resource_providers AS one
    WHERE one.aggregate_ids <> '{}'
UNION ALL SELECT 'inventory ' || provider.uuid || ' ' || class.name, history_inventory_object(one)::text FROM inventories AS one
    JOIN resource_providers AS provider ON provider.id = one.provider_id JOIN resource_classes AS class ON class.id = one.class_id
UNION ALL SELECT 'consumer ' || one.uuid, (history_consumer_object(one) - 'consumer_generation')::text FROM consumers AS one
UNION ALL SELECT 'lease ' || consumer.uuid, (lease_show(one) - 'expires_at')::text FROM leases AS one
    JOIN consumers AS consumer ON consumer.id = one.consumer_id
UNION ALL SELECT 'allocation ' || consumer.uuid || ' ' || provider.uuid || ' ' || class.name, one.used::text FROM allocations AS one
    JOIN consumers AS consumer ON consumer.id = one.consumer_id JOIN resource_providers AS provider ON provider.id = one.provider_id
    JOIN resource_classes AS class ON class.id = one.class_id
UNION ALL SELECT 'class_name ' || one.name, '{}' FROM resource_classes AS one WHERE starts_with(one.name, 'CUSTOM_')
UNION ALL SELECT 'trait_name ' || one.name, '{}' FROM traits AS one WHERE starts_with(one.name, 'CUSTOM_')
UNION ALL SELECT 'node ' || one.uuid, history_node_object(one)::text FROM nodes AS one
UNION ALL SELECT 'node_trait ' || node.uuid || ' ' || one.trait, '{}' FROM node_traits AS one JOIN nodes AS node ON node.id = one.node_id
UNION ALL SELECT 'node_allocation ' || one.uuid, history_node_allocation_object(one)::text FROM node_allocations AS one`

// replay applies changes.
type replay struct {
	index       int64
	objects     map[string]any
	next        map[string]any // objects after the event; nil: deleted
	generations map[string]int64
	findings    []string
}

func (r *replay) report(format string, values ...any) {
	r.findings = append(r.findings, fmt.Sprintf(format, values...))
}

// add adds a change to the event, and begins the next event if it is of one.
func (r *replay) add(row *recordRow) {
	if row.Index != r.index {
		r.flush()
		if row.Index != r.index+1 && r.index != 0 || r.index == 0 && row.Index != 1 {
			r.report("event %d comes after %d", row.Index, r.index)
		}
		r.index, r.next = row.Index, map[string]any{}
	}
	if row.Generation != nil && row.Provider != nil {
		if before, ok := r.generations[*row.Provider]; ok && *row.Generation < before {
			r.report("event %d: generation %d of provider %s comes after %d", row.Index, *row.Generation, *row.Provider, before)
		}
		r.generations[*row.Provider] = *row.Generation
	}
	switch row.Topic {
	case "history":
	case "allocation":
		r.consumer(row)
	case "class_name", "trait_name":
		if old, isRenamed := asObject(decode(row.Before))["name"].(string); isRenamed {
			r.rename(old, text(row.Class))
			return
		}
		r.change(row, row.Topic+" "+text(row.Class), decode(row.Before), decode(row.After))
	case "inventory":
		r.change(row, row.Topic+" "+text(row.Provider)+" "+text(row.Class), decode(row.Before), decode(row.After))
	case "node_trait":
		r.change(row, row.Topic+" "+text(row.Node)+" "+text(row.Class), decode(row.Before), decode(row.After))
	case "trait", "aggregate":
		r.change(row, row.Topic+" "+text(row.Provider), orNothing(decode(row.Before)), orNothing(decode(row.After)))
	case "provider":
		if row.After == nil {
			delete(r.generations, text(row.Provider))
		}
		r.change(row, row.Topic+" "+text(row.Provider), decode(row.Before), decode(row.After))
	default:
		before, after := decode(row.Before), decode(row.After)
		if object, ok := after.(map[string]any); ok {
			delete(object, "hidden")
		}
		r.change(row, row.Topic+" "+text(row.Node), before, after)
	}
}

// text returns a column; "nothing" for null.
func text(column *string) string {
	if column == nil {
		return "nothing"
	}
	return *column
}

// orNothing returns nil for an empty array: a set without members is no object here.
func orNothing(value any) any {
	if array, ok := value.([]any); ok && len(array) == 0 {
		return nil
	}
	return value
}

// change compares an object with the state before the event, and notes the one after it.
func (r *replay) change(row *recordRow, key string, before, after any) {
	if known := r.objects[key]; !reflect.DeepEqual(known, before) {
		r.report("event %d: %s was %v before, the events before it have left %v", row.Index, key, before, known)
	}
	r.next[key] = after
}

// consumer applies a change of a consumer and of its allocations on one provider.
func (r *replay) consumer(row *recordRow) {
	before, after := parts(decode(row.Before), row), parts(decode(row.After), row)
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	for key := range keys {
		r.change(row, key, before[key], after[key])
	}
}

// parts returns the consumer, its lease and its allocations of a recorded state, by key.
func parts(state any, row *recordRow) map[string]any {
	found := map[string]any{}
	members, ok := state.(map[string]any)
	if !ok {
		return found
	}
	for class, amount := range asObject(members["resources"]) {
		found["allocation "+text(row.Consumer)+" "+text(row.Provider)+" "+class] = amount
	}
	if lease := asObject(members["lease"]); lease != nil {
		delete(lease, "expires_at")
		found["lease "+text(row.Consumer)] = lease
	}
	for _, name := range []string{"resources", "lease", "consumer_generation"} {
		delete(members, name)
	}
	if len(members) > 0 {
		found["consumer "+text(row.Consumer)] = members
	}
	return found
}

func asObject(value any) map[string]any {
	object, _ := value.(map[string]any)
	return object
}

// rename renames a class, with the inventories and allocations of it. Such an event has no other change.
func (r *replay) rename(old, name string) {
	for _, key := range slices.Collect(maps.Keys(r.objects)) {
		kind, rest, _ := strings.Cut(key, " ")
		isOfClass := kind == "class_name" && rest == old || (kind == "inventory" || kind == "allocation") && strings.HasSuffix(rest, " "+old)
		if isOfClass {
			r.objects[strings.TrimSuffix(key, old)+name] = r.objects[key]
			delete(r.objects, key)
		}
	}
}

// flush applies the event.
func (r *replay) flush() {
	for key, object := range r.next {
		if object == nil {
			delete(r.objects, key)
		} else {
			r.objects[key] = object
		}
	}
	r.next = nil
}

// compare reports objects that differ from those of the database.
func (r *replay) compare(want map[string]any) {
	got := r.objects
	keys := maps.Clone(got)
	maps.Copy(keys, want)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !reflect.DeepEqual(got[key], want[key]) {
			r.report("%s: the record leads to %v, the database has %v", key, got[key], want[key])
		}
	}
}

// decode decodes JSON; nil for null.
func decode(text *string) any {
	if text == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(*text), &value); err != nil {
		panic(err) // PostgreSQL has written it
	}
	return value
}

// query returns the rows of a query.
func query[T any](ctx context.Context, db *DB, statement string) ([]T, error) {
	rows, err := db.Pool.Query(ctx, statement)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}
