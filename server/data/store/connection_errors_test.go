package store_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/wire/fault"
)

// terminate ends all connections of the store, as a server does that shuts down. Other connections stay.
func (b *bundle) terminate() int {
	b.t.Helper()
	var ended int
	if err := b.db.Pool.QueryRow(b.t.Context(), `SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name <> 'watching' AND pid <> ALL (SELECT pg_backend_pid())`).Scan(&ended); err != nil {
		b.t.Fatal(err)
	}
	return ended
}

func TestConnLoss_IdleConnection_RequestSucceeds(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	for n := range 5 {
		if b.terminate() == 0 {
			t.Fatal("terminated no connection")
		}
		// This is a write: the store does not retry a write that it has sent.
		b.must(b.AllocationReplace(t.Context(), []store.Claim{claim(fmt.Sprintf("%x server", n), nil, host, 1)}, true))
	}
	if got := b.used(host); got != 5 {
		t.Errorf("used = %d, want 5", got)
	}
}

// monitorPool is a connection that terminate does not end, to this database or another.
func (b *bundle) monitorPool(database string) *pgx.Conn {
	b.t.Helper()
	config, err := pgx.ParseConfig(b.db.URL)
	b.must(err)
	if database != "" {
		config.Database = database
	}
	config.RuntimeParams["application_name"] = "watching"
	conn, err := pgx.ConnectConfig(b.t.Context(), config)
	b.must(err)
	b.t.Cleanup(func() { conn.Close(context.WithoutCancel(b.t.Context())) })
	return conn
}

// blocked holds a provider's lock until the caller calls release.
func (b *bundle) blocked(id any) (release func()) {
	b.t.Helper()
	holder := b.monitorPool("")
	_, err := holder.Exec(b.t.Context(), `BEGIN`)
	b.must(err)
	_, err = holder.Exec(b.t.Context(), `SELECT FROM provider_generations AS held JOIN resource_providers AS provider
		ON provider.id = held.provider_id WHERE provider.uuid = $1 FOR UPDATE OF held`, id)
	b.must(err)
	return func() { holder.Close(context.WithoutCancel(b.t.Context())) }
}

// awaitWaiting waits until some statement of the database waits for a lock.
func (b *bundle) awaitWaiting() {
	b.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		var waits bool
		b.must(b.db.Pool.QueryRow(b.t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock')`).Scan(&waits))
		if waits {
			return
		}
	}
	b.t.Fatal("no statement waits for a lock")
}

func TestConnLoss_DuringWrite_ReturnsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t, 4)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	release := b.blocked(host)
	failed := make(chan error, 1)
	go func() {
		failed <- b.AllocationReplace(t.Context(), []store.Claim{claim("1 server", nil, host, 1)}, true)
	}()
	b.awaitWaiting()
	b.terminate()
	err := <-failed
	found := fault.As(err)
	if found == nil || found.Kind != fault.Unavailable || !strings.Contains(found.Detail, "may or may not have been applied") {
		t.Errorf("got %v", err)
	}
	if !strings.Contains(err.Error(), "57P01") {
		t.Errorf("the error for the log lacks the cause: %v", err)
	}
	if strings.Contains(found.Detail, "57P01") {
		t.Errorf("the detail for the client contains the cause: %v", found.Detail)
	}
	release()
	if got := b.used(host); got != 0 {
		t.Errorf("used = %d after a canceled claim, want 0", got)
	}
}

func TestConnLoss_DuringRead_Retried(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	b.provider("a host", nil, nil)
	holder := b.monitorPool("")
	_, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE traits")
	b.must(err)
	type answer struct {
		traits []store.Named
		err    error
	}
	answered := make(chan answer, 1)
	go func() {
		traits, err := b.TraitList(t.Context(), store.TraitFilter{})
		answered <- answer{traits, err}
	}()
	b.awaitWaiting()
	b.terminate()
	b.must(holder.Close(t.Context()))
	if got := <-answered; got.err != nil || len(got.traits) == 0 {
		t.Errorf("traits = %d, error = %v", len(got.traits), got.err)
	}
}

func TestConnLoss_ReadOnlyServer_Reconnects(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	name := pgx.Identifier{b.db.Name}.Sanitize()
	// New connections lead to a read-only server; it accepts writes again before retryWindow ends.
	_, err := b.db.Pool.Exec(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
	b.must(err)
	b.terminate()
	go func() {
		time.Sleep(200 * time.Millisecond)
		if _, err := b.db.Pool.Exec(t.Context(), "SET default_transaction_read_only = off; ALTER DATABASE "+name+" RESET default_transaction_read_only"); err != nil {
			t.Error(err)
		}
	}()
	b.must(b.AllocationReplace(t.Context(), []store.Claim{claim("1 server", nil, host, 1)}, true))
	if got := b.used(host); got != 1 {
		t.Errorf("used = %d, want 1", got)
	}
}

func TestConnLoss_DatabaseDown_ReturnsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.provider("a host", nil, nil)
	name := pgx.Identifier{b.db.Name}.Sanitize()
	elsewhere := b.monitorPool("postgres")
	b.must(b.db.Pool.Ping(t.Context())) // terminate needs a connection
	_, err := elsewhere.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS off")
	b.must(err)
	b.terminate()
	for what, ask := range map[string]func() error{
		"a read": func() error { _, err := b.ProviderShow(t.Context(), host); return err },
		"a list": func() error { _, err := b.ProviderList(t.Context(), store.ProviderFilter{}); return err },
		"candidates": func() error {
			_, err := candidates.New(b.Pool()).List(t.Context(), candidates.Query{
				Groups: []candidates.Group{{Resources: []store.Amount{{Class: "VCPU", Amount: 1}}}},
			})
			return err
		},
		"a write": func() error { return b.ProviderDelete(t.Context(), host, nil) },
	} {
		since := time.Now()
		found := fault.As(ask())
		if found == nil || found.Kind != fault.Unavailable {
			t.Errorf("%s: got %v", what, found)
			continue
		}
		if written := strings.Contains(found.Detail, "Nothing was changed"); written != (what == "a write") {
			t.Errorf("%s: %s", what, found.Detail)
		}
		if took := time.Since(since); took > 5*time.Second {
			t.Errorf("%s took %s", what, took)
		}
	}
	_, err = elsewhere.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS on")
	b.must(err)
	_, err = b.ProviderShow(t.Context(), host)
	b.must(err)
}

// TestReplica_Down_ReadsStayFast: one replica rejects connections, and one accepts them and never responds.
func TestReplica_Down_ReadsStayFast(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	b.provider("a host", nil, nil)
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	defer mute.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	b.must(err)
	b.must(closed.Close())
	opened, err := store.Open(t.Context(), postgres.Options{
		URL: b.db.URL, MaxConns: 2, ReplicaWait: 20 * time.Millisecond,
		Replicas: []string{"postgres://" + mute.Addr().String() + "," + closed.Addr().String() + "/berth", b.db.URL},
	})
	b.must(err)
	const reads = 50
	since := time.Now()
	for range reads {
		rows, err := opened.ProviderList(t.Context(), store.ProviderFilter{})
		b.must(err)
		count := 0
		for range rows.All() {
			count++
		}
		b.must(rows.Close())
		if count != 1 {
			t.Fatalf("providers = %d", count)
		}
	}
	if took := time.Since(since); took > 5*time.Second {
		t.Errorf("%d reads took %s", reads, took)
	}
	// The third leads to the primary itself, which is no replica.
	got := opened.Pool().ReplicaReads()
	if got.Served != 0 || got.Failed != 0 || got.Lagging+got.Unreachable != reads {
		t.Errorf("got %+v", got)
	}
	opened.Close()
}
