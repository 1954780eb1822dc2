//go:build client

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
)

// contention is a load that meets others in the database, and what clients were told.
type contention struct {
	url       string
	providers []uuid.UUID
	mutex     sync.Mutex
	told      map[string]int
}

// note counts an answer. Only these are documented: done, full or in each other's way,
// and not just now.
func (d *contention) note(t *testing.T, what string, got answer) {
	t.Helper()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	switch {
	case got.status < 300:
		d.told["done"]++
	case got.status == 409 && strings.Contains(got.body, "placement.concurrent_update"):
		d.told["in each other's way"]++
	case retryable(t, what, got):
		d.told["not just now"]++
	}
}

// write sends writes of every kind that takes more than one lock, a new consumer each.
func (d *contention) write(t *testing.T, n int) {
	two := d.providers[n%len(d.providers)]
	other := d.providers[(n+1)%len(d.providers)]
	one := claimBody(two, nil)
	one["allocations"].(map[string]any)[other.String()] = map[string]any{"resources": map[string]int{"VCPU": 1}}
	switch n % 4 {
	case 0, 1:
		d.note(t, "a claim", ask(t, "PUT", d.url+"/allocations/"+uuid.NewString(), one))
	case 2:
		d.note(t, "claims", ask(t, "POST", d.url+"/allocations", map[string]any{uuid.NewString(): one, uuid.NewString(): one}))
	case 3:
		name := map[string]any{"name": fmt.Sprint("host-", n%len(d.providers)), "parent_provider_uuid": nil}
		d.note(t, "a renaming", ask(t, "PUT", d.url+"/resource_providers/"+two.String(), name))
	}
}

// externalLocker takes the locks of two providers against the order, holds each for a while,
// and leaves it to the other side to notice that they wait for each other.
func externalLocker(ctx context.Context, pool *pgxpool.Pool, first, second uuid.UUID) {
	const lock = "SELECT FROM provider_generations AS held JOIN resource_providers AS provider ON provider.id = held.provider_id " +
		"WHERE provider.uuid = $1 FOR UPDATE OF held"
	for ctx.Err() == nil {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return
		}
		for _, statement := range []string{"SET LOCAL deadlock_timeout = '5s'", "SET LOCAL lock_timeout = '300ms'"} {
			_, _ = tx.Exec(ctx, statement)
		}
		if _, err = tx.Exec(ctx, lock, first); err == nil {
			time.Sleep(5 * time.Millisecond)
			_, _ = tx.Exec(ctx, lock, second) // either session may be the victim; the next round begins
		}
		_ = tx.Rollback(context.WithoutCancel(ctx))
		time.Sleep(10 * time.Millisecond)
	}
}

// run lets eight clients write so often each, and wants so many of the writes done. The
// rest may meet others in each of the times that the server begins them.
func (d *contention) run(t *testing.T, each, least int) {
	t.Helper()
	var clients sync.WaitGroup
	for i := range 8 {
		clients.Go(func() {
			for n := range each {
				d.write(t, i+n)
			}
		})
	}
	clients.Wait()
	if d.told["done"] < least {
		t.Errorf("only %d of %d writes were done, want at least %d", d.told["done"], 8*each, least)
	}
}

func newDuel(t *testing.T, database *node) *contention {
	t.Helper()
	d := &contention{url: serveOn(t, database.url()).url, told: map[string]int{}}
	for i := range 4 {
		d.providers = append(d.providers, newProvider(t, d.url, fmt.Sprint("host-", i), 1000000))
	}
	return d
}

// TestLocks_ExternalDeadlocks_WritesRetried: other sessions take locks in the wrong order, so that PostgreSQL aborts
// transactions of the server all the time.
func TestLocks_ExternalDeadlocks_WritesRetried(t *testing.T) {
	t.Parallel()
	database := newPrimary(t, "deadlock_timeout = 10ms", "fsync = off")
	d := newDuel(t, database)
	ctx, cancel := context.WithCancel(t.Context())
	var outsiders sync.WaitGroup
	defer outsiders.Wait()
	defer cancel()
	pool := database.pool("berth")
	for i := range 3 {
		outsiders.Go(func() { externalLocker(ctx, pool, d.providers[3-i], d.providers[(5-i)%3]) })
	}
	d.run(t, 60, 400) // some 310 of the 480 if each were begun once, 470 if begun four times
	var deadlocks int
	for deadline := time.Now().Add(20 * time.Second); deadlocks < 10 && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err := pool.QueryRow(ctx, "SELECT deadlocks FROM pg_stat_database WHERE datname = 'berth'").Scan(&deadlocks); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d deadlocks; clients were told %v", deadlocks, d.told)
	if deadlocks < 10 {
		t.Error("there was hardly a deadlock to retry")
	}
}

// failWrites lets every third write of allocations fail as if it could not be serialized. A sequence counts them, because
// it is not rolled back.
const failWrites = `CREATE SEQUENCE begun;
CREATE FUNCTION fail_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF nextval('begun') % 3 = 0 THEN
		RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '40001';
	END IF;
	RETURN NULL;
END
$$;
CREATE TRIGGER fail_write AFTER INSERT ON allocations FOR EACH STATEMENT EXECUTE FUNCTION fail_write();`

func TestLocks_SerializationFailures_WritesRetried(t *testing.T) {
	t.Parallel()
	database := newPrimary(t, "fsync = off", "log_min_error_statement = panic")
	d := newDuel(t, database)
	database.exec("berth", failWrites)
	d.run(t, 40, 200) // some 130 of the 320 if each were begun once, 300 if begun four times
	refused := strings.Count(database.log(), "could not serialize access")
	t.Logf("PostgreSQL refused %d transactions; clients were told %v", refused, d.told)
	if refused == 0 {
		t.Error("no transaction was refused")
	}
}

// TestLocks_IsolationOfServer_NoSerializationFailure: an operator has set a strict level for every transaction. Berth sets
// its own.
func TestLocks_IsolationOfServer_NoSerializationFailure(t *testing.T) {
	t.Parallel()
	for _, level := range []string{"repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			database := newPrimary(t, "default_transaction_isolation = '"+level+"'", "fsync = off", "log_min_error_statement = panic")
			d := newDuel(t, database)
			d.run(t, 10, 0)
			refused := strings.Count(database.log(), "could not serialize access")
			if refused != 0 {
				t.Errorf("PostgreSQL refused %d transactions, want 0; clients were told %v", refused, d.told)
			}
		})
	}
}
