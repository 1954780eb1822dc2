package postgres

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
)

// Reads that wait for a locked table occupy the whole pool, and many more wait for it. A write that arrives last must
// not queue behind all of them.
func TestLocks_ManyReadsWaitForConnections_WriteStandsBehindFew(t *testing.T) {
	t.Parallel()
	const connections, readers = 2, 60
	database := dbtest.New(t)
	s, err := Open(t.Context(), Options{URL: database.URL, MaxConns: connections, ReadReserve: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	holder, err := pgx.Connect(t.Context(), database.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(t.Context())
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK TABLE resource_providers"); err != nil {
		t.Fatal(err)
	}

	var began atomic.Int64
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			began.Add(1)
			_, _ = QueryPrimary(t.Context(), s, func(from db.DBTX) (db.ProviderShowRow, error) {
				return s.queries.ProviderShow(t.Context(), from, uuid.New()) // no such provider
			})
		})
	}
	await := func(what string, is func() bool) {
		t.Helper()
		for range 3000 {
			if is() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("after 30 s: %d reads began, %d connections are acquired, %d requests wait for one; want %s",
			began.Load(), s.pool.Stat().AcquiredConns(), s.tracer.waits.count(), what)
	}
	await("all reads, all connections and a read that waits", func() bool {
		return began.Load() == readers && s.pool.Stat().AcquiredConns() == connections && s.tracer.waits.count() > 0
	})
	time.Sleep(100 * time.Millisecond) // for the others to get into the queue, if they can
	ahead := s.tracer.waits.count()
	all.Go(func() {
		if err := s.Write(t.Context(), WriteKind{}, func(to *Primary) error {
			_, err := s.queries.TraitEnsure(t.Context(), to, "CUSTOM_LAST")
			return err
		}); err != nil {
			t.Error(err)
		}
	})
	await("the write in the queue", func() bool { return s.tracer.waits.count() > ahead })
	if ahead > connections+1 {
		t.Errorf("%d of %d reads stand before the write in the pool's queue, want at most %d", ahead, readers, connections+1)
	}
	if _, err := holder.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}

// count returns the number of current waits.
func (p *poolWaits) count() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	found := 0
	for wait := p.first; wait != nil; wait = wait.behind {
		found++
	}
	return found
}
