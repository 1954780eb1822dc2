package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Waits are limits of how long migrations wait for locks of other sessions.
type Waits struct {
	// LockTimeout limits the wait for one lock. Requests queue behind a migration that waits, so it must be short.
	LockTimeout time.Duration
	// RetryTimeout limits the time during which a migration that did not get its locks is retried.
	RetryTimeout time.Duration
}

// DefaultWaits are the limits of Up.
var DefaultWaits = Waits{LockTimeout: 3 * time.Second, RetryTimeout: 5 * time.Minute}

// After a failed attempt the migration lets requests run for a delay that doubles up to the maximum.
const (
	firstPause   = time.Second
	longestPause = 15 * time.Second
)

// SQLSTATEs of an attempt that did not get its locks, and was rolled back.
const (
	lockNotAvailable = "55P03"
	deadlockDetected = "40P01"
)

func contended(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (reported.Code == lockNotAvailable || reported.Code == deadlockDetected)
}

// setting returns the lock timeout in the format of PostgreSQL.
func (w Waits) setting() string {
	return strconv.FormatInt(max(1, w.LockTimeout.Milliseconds()), 10)
}

// retry runs an attempt, which is one transaction, until it gets its locks. After each failure it logs the lock that
// was not free and the sessions that hold it.
func (w Waits) retry(ctx context.Context, log *slog.Logger, step string, observed *observer, attempt func() error) error {
	since := time.Now()
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		stop := observed.watch(ctx, w.LockTimeout/8)
		err := attempt()
		lock, holders := stop()
		switch {
		case !contended(err):
			return err
		case time.Since(since)+pause > w.RetryTimeout:
			return fmt.Errorf("%s did not get its locks within %s (waited for %s, held by %s); terminate those sessions, or retry when fewer transactions run: %w",
				step, w.RetryTimeout, lock, holders, err)
		}
		wait := pause/2 + rand.N(pause/2)
		log.Warn("a migration did not get a lock in time; requests pass before the next attempt",
			"step", step, "lock", lock, "held_by", holders, "lock_timeout", w.LockTimeout, "next_attempt_in", wait.Round(time.Millisecond))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// observer finds, on its own connection, the locks that the migrating sessions wait for. It is for the log: migrations
// work without it as well.
type observer struct {
	conn *pgx.Conn

	mu sync.Mutex
	// pids are the migrating sessions.
	pids []int32
}

// note adds a migrating session.
func (o *observer) note(conn *pgx.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pids = append(o.pids, int32(conn.PgConn().PID()))
}

func (o *observer) sessions() []int32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]int32{}, o.pids...)
}

// blocking returns the lock for which one of the sessions waits, and the sessions that hold it. Every role may read
// application_name; the state only with rights on the session's role.
const blocking = `SELECT coalesce(wanted.relation::regclass::text, wanted.locktype) || ' (' || wanted.mode || ')',
    string_agg(DISTINCT format('%s (pid %s, %s)', coalesce(nullif(holder.application_name, ''), 'a session without application_name'),
        holder.pid, coalesce(holder.state, 'state unknown')), ', ')
FROM pg_locks AS wanted
CROSS JOIN LATERAL unnest(pg_blocking_pids(wanted.pid)) AS blocker (pid)
JOIN pg_stat_activity AS holder ON holder.pid = blocker.pid
WHERE wanted.pid = ANY ($1::int[]) AND NOT wanted.granted
GROUP BY 1 LIMIT 1`

// watch queries at intervals until the caller calls stop, which returns the last result.
func (o *observer) watch(ctx context.Context, interval time.Duration) (stop func() (lock, holders string)) {
	lock, holders := "an unknown lock", "unknown sessions"
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for turn := time.NewTicker(max(interval, 10*time.Millisecond)); ; {
			select {
			case <-ctx.Done():
				turn.Stop()
				return
			case <-turn.C:
			}
			// The query returns a row only during a wait; an error keeps the previous result.
			var nextLock, nextHolders string
			if o.conn.QueryRow(context.WithoutCancel(ctx), blocking, o.sessions()).Scan(&nextLock, &nextHolders) == nil {
				lock, holders = nextLock, nextHolders
			}
		}
	}()
	return func() (string, string) {
		cancel()
		<-ended
		return lock, holders
	}
}
