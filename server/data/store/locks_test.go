package store_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
)

// setupLimited opens a store with limits.
func setupLimited(t *testing.T, options postgres.Options) *bundle {
	t.Helper()
	db := dbtest.NewWithInvariantTriggers(t)
	if options.URL == "" {
		options.URL = db.URL
	}
	opened, err := store.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return &bundle{Store: opened, t: t, db: db}
}

// await polls until a query returns true.
func (b *bundle) await(what, query string, arguments ...any) {
	b.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var reached bool
		b.must(b.db.Pool.QueryRow(b.t.Context(), query, arguments...).Scan(&reached))
		if reached {
			return
		}
	}
	b.t.Fatalf("not reached: %s", what)
}

const waitersReach = `SELECT count(*) >= $1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`

// bounded is a context that ends long after everything that a test waits for.
func bounded(t *testing.T) context.Context {
	ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(done)
	return ctx
}

func TestLocks_ClaimsWaitForOneProvider_ReadsKeepConnections(t *testing.T) {
	t.Parallel()
	const connections, claims = 4, 8
	b := setupLimited(t, postgres.Options{MaxConns: connections, ReadReserve: 1, Limits: postgres.Limits{LockTimeout: time.Minute}})
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	other := b.provider("b host", nil, nil)
	release := b.blocked(host)
	outcomes := make(chan error, claims)
	long, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	for n := range claims {
		go func() {
			outcomes <- b.AllocationReplace(long, []store.Claim{claim(fmt.Sprintf("%x server", n), nil, host, 1)}, true)
		}()
	}
	b.await("three claims wait in PostgreSQL", waitersReach, connections-1)
	for deadline := time.Now().Add(10 * time.Second); b.Pool().WriteStat().Waiting < claims-connections+1 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	soon, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	if _, err := b.ProviderShow(soon, other); err != nil {
		t.Errorf("reading another provider while the lock is held: %v", err)
	}
	if got := b.Pool().WriteStat(); got.Max != connections-1 || got.Waiting != claims-connections+1 || got.Waited != got.Waiting {
		t.Errorf("got %+v", got)
	}
	release()
	for range claims {
		b.must(<-outcomes)
	}
	if got := b.used(host); got != claims {
		t.Errorf("used = %d, want %d", got, claims)
	}
}

func TestLocks_PoolOfOneConnection_ServesWritesAndReads(t *testing.T) {
	t.Parallel()
	b := setupLimited(t, postgres.Options{MaxConns: 1, ReadReserve: 1})
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			if err := b.AllocationReplace(t.Context(), []store.Claim{claim(fmt.Sprintf("%x server", n), nil, host, 1)}, true); err != nil {
				t.Error(err)
			}
			if _, err := b.ProviderShow(t.Context(), host); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := b.used(host); got != 4 {
		t.Errorf("used = %d, want 4", got)
	}
}

// TestLocks_NoTurnInTime_WriteIsRejected: a write is rejected while enough time is left to wait for a lock, and nothing
// was sent.
func TestLocks_NoTurnInTime_WriteIsRejected(t *testing.T) {
	t.Parallel()
	b := setupLimited(t, postgres.Options{MaxConns: 2, ReadReserve: 1, Limits: postgres.Limits{LockTimeout: time.Minute}})
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	release := b.blocked(host)
	first := make(chan error, 1)
	go func() {
		first <- b.AllocationReplace(t.Context(), []store.Claim{claim("1 server", nil, host, 1)}, true)
	}()
	b.awaitWaiting()
	ctx, done := context.WithTimeout(t.Context(), 4*time.Second)
	defer done()
	err := b.AllocationReplace(ctx, []store.Claim{claim("2 server", nil, host, 1)}, true)
	if found := fault.As(err); found == nil || found.Kind != fault.Unavailable || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
	if got := b.Pool().WriteStat(); got.Rejected != 1 || got.Waiting != 0 {
		t.Errorf("got %+v", got)
	}
	release()
	b.must(<-first)
	if got := b.used(host); got != 1 {
		t.Errorf("used = %d, want 1", got)
	}
}

// TestLocks_LockTimeout_ReleasesLocksTakenBefore: a claim on two providers gets the lock
// of the first and waits for the second.
func TestLocks_LockTimeout_ReleasesLocksTakenBefore(t *testing.T) {
	t.Parallel()
	b := setupLimited(t, postgres.Options{MaxConns: 2, Limits: postgres.Limits{LockTimeout: 300 * time.Millisecond}})
	first := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	second := b.provider("b host", nil, map[string]int32{"VCPU": 100})
	before := dbtest.Snapshot(t, b.db)
	release := b.blocked(second)
	wanted := claim("1 server", nil, first, 1)
	wanted.Allocations = append(wanted.Allocations, store.Allocation{Provider: second, Class: "VCPU", Amount: 1})
	err := b.AllocationReplace(bounded(t), []store.Claim{wanted}, true)
	if found := fault.As(err); found == nil || found.Kind != fault.Conflict || found.Code != fault.CodeConcurrentUpdate {
		t.Errorf("got %v", err)
	}
	if got := b.Pool().LockTimeouts(); got != 1 {
		t.Errorf("lock timeouts = %d, want 1", got)
	}
	if changes := before.Diff(dbtest.Snapshot(t, b.db)); changes != nil {
		t.Errorf("changed: %q", changes)
	}
	_, err = b.db.Pool.Exec(t.Context(), `SELECT FROM provider_generations AS held JOIN resource_providers AS provider
		ON provider.id = held.provider_id WHERE provider.uuid = $1 FOR UPDATE NOWAIT`, first)
	b.must(err)
	release()
	b.must(b.AllocationReplace(bounded(t), []store.Claim{wanted}, true))
}

func TestLocks_StatementTimeout_ReadIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setupLimited(t, postgres.Options{MaxConns: 2, Limits: postgres.Limits{StatementTimeout: 500 * time.Millisecond}})
	holder := b.monitorPool("")
	_, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE traits")
	b.must(err)
	ctx := bounded(t)
	_, err = b.TraitList(ctx, store.TraitFilter{})
	if found := fault.As(err); found == nil || found.Kind != fault.Unavailable || ctx.Err() != nil {
		t.Errorf("got %v, %v", err, ctx.Err())
	}
}

func TestLocks_IdleTransaction_SessionEndsAndListStaysWhole(t *testing.T) {
	t.Parallel()
	b := setupLimited(t, postgres.Options{MaxConns: 2, Limits: postgres.Limits{IdleTransactionTimeout: 300 * time.Millisecond}})
	for n := range 3 {
		b.provider(fmt.Sprintf("%x host", n), nil, map[string]int32{"VCPU": 100})
	}
	listed, err := b.ProviderList(t.Context(), store.ProviderFilter{Resources: []store.Amount{{Class: "VCPU", Amount: 1}}})
	b.must(err)
	defer listed.Close()
	b.await("no session is idle in a transaction", `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle in transaction')`)
	count := 0
	for _, err := range listed.All() {
		b.must(err)
		count++
	}
	_ = listed.Close() // it fails: the session has ended
	if count != 3 {
		t.Errorf("providers = %d, want 3", count)
	}
	_, err = b.ProviderShow(t.Context(), named("0 host"))
	b.must(err)
}

// proxy forwards connections to PostgreSQL until it is cut.
type proxy struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	isCut bool
}

// newProxy returns a proxy and the connection string that leads through it.
func newProxy(t *testing.T, url string) (*proxy, string) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: listener}
	t.Cleanup(p.cut)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial(network, address)
			if err != nil {
				near.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, near, far)
			cut := p.isCut
			p.mu.Unlock()
			if cut {
				p.cut()
				return
			}
			go io.Copy(far, near)
			go io.Copy(near, far)
		}
	}()
	return p, fmt.Sprintf("host=127.0.0.1 port=%d user=%s password='%s' dbname=%s sslmode=disable",
		listener.Addr().(*net.TCPAddr).Port, config.User, config.Password, config.Database)
}

func (p *proxy) cut() {
	p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isCut = true
	for _, conn := range p.conns {
		conn.Close()
	}
}

func TestLocks_ServerVanishesWhileWaiting_SessionEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	between, url := newProxy(t, b.db.URL)
	vanishing, err := store.Open(t.Context(), postgres.Options{
		URL: url, MaxConns: 1, Limits: postgres.Limits{ClientCheckInterval: 100 * time.Millisecond},
	})
	b.must(err)
	defer vanishing.Close()
	b.blocked(host) // held until the end of the test
	ended := make(chan error, 1)
	go func() {
		ended <- vanishing.AllocationReplace(bounded(t), []store.Claim{claim("1 server", nil, host, 1)}, true)
	}()
	b.awaitWaiting()
	between.cut()
	b.await("no session waits for the lock", `SELECT NOT EXISTS (SELECT FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock')`)
	if err := <-ended; err == nil {
		t.Error("the claim succeeded")
	}
}

// TestLocks_AllocationsOfNodes_LeaveConnectionsToOtherWrites: a conductor that decides many node allocations, all of
// which wait for one lock, uses at most half of the connections for writes.
func TestLocks_AllocationsOfNodes_LeaveConnectionsToOtherWrites(t *testing.T) {
	t.Parallel()
	b := setupLimited(t, postgres.Options{MaxConns: 5, ReadReserve: 1})
	b.must(b.ConductorRegister(t.Context(), "me", nil))
	host := b.provider("a host", nil, map[string]int32{"VCPU": 100})
	batch, err := b.NodeAllocationCreateBatch(t.Context(), store.NodeAllocationRequest{ResourceClass: "baremetal"}, 8, 1, "me")
	b.must(err)
	holder := b.monitorPool("")
	// All decisions of a batch wait for this lock.
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_lock(hashtextextended('node allocation batch ' || batch_uuid, 0))
		FROM node_allocations LIMIT 1`)
	b.must(err)
	decided := make(chan error, len(batch))
	long, end := context.WithTimeout(t.Context(), 2*time.Minute)
	defer end()
	for _, member := range batch {
		go func() {
			_, err := b.NodeAllocationProcess(long, member.UUID, "me")
			decided <- err
		}()
	}
	b.await("two decisions wait", waitersReach, 2)
	soon, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	b.must(b.AllocationReplace(soon, []store.Claim{claim("1 server", nil, host, 1)}, true))
	b.must(holder.Close(t.Context()))
	for range batch {
		b.must(<-decided)
	}
}
