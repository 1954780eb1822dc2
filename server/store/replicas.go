package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
)

// replicas are streaming replicas of the database, which take the reads whose cost
// grows with the cloud: candidates, and lists of all there is. A replica is used only
// if it shows every write that was answered before the request came; otherwise the
// primary is. So nobody who reads can tell the difference, but by the clock.
type replicas struct {
	all   []*replica
	index readIndex
	// wait is how long a read waits for a replica that is behind.
	wait time.Duration
	// turn is whose turn it is first.
	turn atomic.Uint64

	served, behind, down, failed, unindexed atomic.Int64
}

// ReplicaReads counts the reads that replicas may take, by where they were answered
// and why.
type ReplicaReads struct {
	// Served were answered by a replica.
	Served int64
	// The others were answered by the primary. Behind: no replica was far enough in
	// time. Down: none could be asked. Failed: one began and broke off, as it must when
	// what it replays removes rows that a read still needs. Unindexed: the primary did
	// not say how far it is.
	Behind, Down, Failed, Unindexed int64
}

// ReplicaReads are the counts so far, all zero without replicas.
func (s *Store) ReplicaReads() ReplicaReads {
	r := s.replicas
	if r == nil {
		return ReplicaReads{}
	}
	return ReplicaReads{
		Served: r.served.Load(), Behind: r.behind.Load(), Down: r.down.Load(),
		Failed: r.failed.Load(), Unindexed: r.unindexed.Load(),
	}
}

// replica is one of them, known by host and port.
type replica struct {
	pool *pgxpool.Pool
	mu   sync.Mutex
	// rest is until when it is left alone, after it was behind or down so many times
	// in a row.
	rest    time.Time
	lagging bool
	misses  int
}

// A replica that is of no use rests for a moment that doubles each time: what is behind
// soon is there, what is down takes longer.
const (
	restBehind, longestBehind = 5 * time.Millisecond, time.Second
	restDown, longestDown     = 250 * time.Millisecond, 30 * time.Second
	// replicaPatience is how long it may take to say how far it is.
	replicaPatience = time.Second
	// replicaPoll is the pause between two looks at replicas that are behind.
	replicaPoll = 2 * time.Millisecond
)

func (r *replica) missed(lagging bool, first, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lagging = lagging
	r.rest = time.Now().Add(min(longest, first<<min(r.misses, 16)))
	r.misses++
}

func (r *replica) hit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.misses, r.rest = 0, time.Time{}
}

// openReplicas makes a pool for each host of each URL. None of them needs to be up.
func (s *Store) openReplicas(ctx context.Context, options Options) error {
	if len(options.Replicas) == 0 {
		return nil
	}
	s.replicas = &replicas{index: readIndex{store: s}, wait: options.ReplicaWait}
	for _, url := range options.Replicas {
		config, err := configure(url, options, s.tracer)
		if err != nil {
			return fmt.Errorf("the address of a replica: %w", err)
		}
		for _, one := range byHost(config) {
			pool, err := pgxpool.NewWithConfig(ctx, one)
			if err != nil {
				return err
			}
			s.replicas.all = append(s.replicas.all, &replica{pool: pool})
		}
	}
	return nil
}

// byHost makes a configuration for each of the hosts that one names. What remains of
// its alternatives are those with and without TLS.
func byHost(config *pgxpool.Config) []*pgxpool.Config {
	place := func(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	hosts := config.ConnConfig.Fallbacks
	first := &pgconn.FallbackConfig{Host: config.ConnConfig.Host, Port: config.ConnConfig.Port, TLSConfig: config.ConnConfig.TLSConfig}
	var made []*pgxpool.Config
	known := map[string]*pgxpool.Config{}
	for _, host := range append([]*pgconn.FallbackConfig{first}, hosts...) {
		at := place(host.Host, host.Port)
		if one := known[at]; one != nil {
			one.ConnConfig.Fallbacks = append(one.ConnConfig.Fallbacks, host)
			continue
		}
		one := config.Copy()
		one.ConnConfig.Host, one.ConnConfig.Port, one.ConnConfig.TLSConfig = host.Host, host.Port, host.TLSConfig
		one.ConnConfig.Fallbacks = nil
		known[at] = one
		made = append(made, one)
	}
	return made
}

func (r *replicas) close() {
	if r == nil {
		return
	}
	for _, one := range r.all {
		one.pool.Close()
	}
}

// acquire is a connection to a replica that shows all that was written before now;
// nil if there is none in time, which is no error.
func (r *replicas) acquire(ctx context.Context, queries *db.Queries) (*replica, *pgxpool.Conn) {
	asked, lagging := r.ready(time.Now())
	if len(asked) == 0 {
		r.miss(lagging)
		return nil, nil
	}
	position, err := r.index.now(ctx)
	if err != nil {
		r.unindexed.Add(1)
		return nil, nil
	}
	for late := time.Now().Add(r.wait); len(asked) > 0; time.Sleep(replicaPoll) {
		var behind []*replica
		for _, one := range asked {
			conn, up := one.try(ctx, late, queries, position)
			if conn != nil {
				one.hit()
				return one, conn
			}
			if up {
				behind = append(behind, one)
			}
		}
		if asked = behind; ctx.Err() != nil || !time.Now().Before(late) {
			break
		}
	}
	for _, one := range asked {
		one.missed(true, restBehind, longestBehind)
	}
	r.miss(len(asked) > 0)
	return nil, nil
}

func (r *replicas) miss(lagging bool) {
	if lagging {
		r.behind.Add(1)
	} else {
		r.down.Add(1)
	}
}

// ready are those that don't rest, whoever's turn it is first. lagging says that one
// rests because it was behind.
func (r *replicas) ready(now time.Time) (found []*replica, lagging bool) {
	first := r.turn.Add(1)
	for i := range r.all {
		one := r.all[(first+uint64(i))%uint64(len(r.all))]
		one.mu.Lock()
		if now.Before(one.rest) {
			lagging = lagging || one.lagging
		} else {
			found = append(found, one)
		}
		one.mu.Unlock()
	}
	return found, lagging
}

// try asks a replica whether it is there yet. up says that asking again is worth it.
func (r *replica) try(
	ctx context.Context, late time.Time, queries *db.Queries, position db.ReplicaPositionRow,
) (conn *pgxpool.Conn, up bool) {
	// A connection that is not there in time is still made, for the next read.
	soon, done := context.WithDeadline(ctx, late)
	conn, err := r.pool.Acquire(soon)
	done()
	if err == nil {
		bounded, done := context.WithTimeout(ctx, replicaPatience)
		var found db.ReplicaReachedRow
		found, err = queries.ReplicaReached(bounded, conn, position.Lsn, position.Timeline)
		done()
		switch {
		case err == nil && found.Standby && found.Reached:
			return conn, true
		case err == nil && found.Standby:
			conn.Release()
			return nil, true
		}
		conn.Release() // it broke, or leads to a primary, which has enough to do
	}
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		r.missed(false, restDown, longestDown)
	} else if ctx.Err() == nil {
		r.missed(true, restBehind, longestBehind) // busy, or not connected yet
	}
	return nil, false
}

// anywhere runs a read on a replica, if there is one that shows all that it must, else
// on the primary. The connection is run's, which gives it back in any case: at once,
// or when what it streams is at its end.
//
// What a replica refuses or breaks off the primary is asked for, but for what it says
// about names: that is as true there.
func anywhere[R any](ctx context.Context, s *Store, run func(*pgxpool.Conn) (R, error)) (R, error) {
	if s.replicas != nil {
		if one, conn := s.replicas.acquire(ctx, s.queries); conn != nil {
			done, err := run(conn)
			if err == nil || As(err) != nil || ctx.Err() != nil {
				s.replicas.served.Add(1)
				return done, err
			}
			s.replicas.failed.Add(1)
			if lossOf(err) != kept {
				one.missed(false, restDown, longestDown)
				noteLoss(one.pool, lossOf(err), err)
			}
		}
	}
	return reading(ctx, s, func() (R, error) {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			var none R
			return none, err
		}
		return run(conn)
	})
}

// readAnywhere is anywhere for a single query.
func readAnywhere[R any](ctx context.Context, s *Store, query func(db.DBTX) (R, error)) (R, error) {
	if s.replicas == nil {
		return read(ctx, s, query)
	}
	return anywhere(ctx, s, func(conn *pgxpool.Conn) (R, error) {
		defer conn.Release()
		return query(conn)
	})
}
