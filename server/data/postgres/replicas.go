package postgres

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

// replicas are the streaming replicas of the database. They serve the reads whose cost grows with the cloud: allocation
// candidates and complete lists. A read uses a replica only if it has replayed every write that was acknowledged before
// the request arrived; otherwise it uses the primary. So replica reads differ from primary reads only in their latency.
type replicas struct {
	all   []*replica
	index readIndex
	// wait is how long a read waits for a lagging replica.
	wait time.Duration
	// nextReplica is the index of the replica that the next read tries first.
	nextReplica atomic.Uint64

	served, behind, down, failed, unindexed atomic.Int64
}

// ReplicaReads counts the reads that replicas may serve, by the server that served them and the reason.
type ReplicaReads struct {
	// Served counts the reads of replicas.
	Served int64
	// The primary served the others. Lagging: no replica had replayed the position in time. Unreachable: no replica was
	// reachable. Failed: a replica canceled the read, as it must when it replays the removal of rows that the read
	// still needs. PositionUnknown: the primary did not return its position.
	Lagging, Unreachable, Failed, PositionUnknown int64
}

// ReplicaReads returns the counts so far, all zero without replicas.
func (p *Pool) ReplicaReads() ReplicaReads {
	r := p.replicas
	if r == nil {
		return ReplicaReads{}
	}
	return ReplicaReads{
		Served: r.served.Load(), Lagging: r.behind.Load(), Unreachable: r.down.Load(),
		Failed: r.failed.Load(), PositionUnknown: r.unindexed.Load(),
	}
}

// replica is one replica, identified by host and port.
type replica struct {
	pool   *pgxpool.Pool
	pooled bool
	mu     sync.Mutex
	// skipUntil is the time until which reads skip the replica, after it lagged or was unreachable that many times in a
	// row.
	skipUntil time.Time
	lagging   bool
	misses    int
}

// After a failed attempt, reads skip the replica for a delay that doubles each time. A lagging replica soon catches up;
// an unreachable one takes longer.
const (
	minLagPause, maxLagPause   = 5 * time.Millisecond, time.Second
	minDownPause, maxDownPause = 250 * time.Millisecond, 30 * time.Second
	// replicaQueryTimeout limits the query for the replayed position.
	replicaQueryTimeout = time.Second
	// replicaPollInterval is the interval between two queries for the position of lagging replicas.
	replicaPollInterval = 2 * time.Millisecond
)

func (r *replica) suspend(lagging bool, first, longest time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lagging = lagging
	r.skipUntil = time.Now().Add(min(longest, first<<min(r.misses, 16)))
	r.misses++
}

func (r *replica) resume() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.misses, r.skipUntil = 0, time.Time{}
}

// openReplicas creates a pool for each host of each URL. The replicas need not be running.
func (p *Pool) openReplicas(ctx context.Context, options Options) error {
	if len(options.Replicas) == 0 {
		return nil
	}
	p.replicas = &replicas{index: readIndex{of: p}, wait: options.ReplicaWait}
	for _, url := range options.Replicas {
		config, err := configure(url, options, p.tracer)
		if err != nil {
			return fmt.Errorf("invalid address of a replica: %w", err)
		}
		for _, single := range splitHosts(config) {
			pool, err := pgxpool.NewWithConfig(ctx, single)
			if err != nil {
				return err
			}
			p.replicas.all = append(p.replicas.all, &replica{pool: pool, pooled: options.Pooler})
		}
	}
	return nil
}

// splitHosts returns one configuration for each host of config. Of the driver's alternatives it keeps those of that
// host, with and without TLS.
func splitHosts(config *pgxpool.Config) []*pgxpool.Config {
	place := func(host string, port uint16) string { return net.JoinHostPort(host, strconv.Itoa(int(port))) }
	hosts := config.ConnConfig.Fallbacks
	first := &pgconn.FallbackConfig{Host: config.ConnConfig.Host, Port: config.ConnConfig.Port, TLSConfig: config.ConnConfig.TLSConfig}
	var configs []*pgxpool.Config
	known := map[string]*pgxpool.Config{}
	for _, host := range append([]*pgconn.FallbackConfig{first}, hosts...) {
		at := place(host.Host, host.Port)
		if config := known[at]; config != nil {
			config.ConnConfig.Fallbacks = append(config.ConnConfig.Fallbacks, host)
			continue
		}
		item := config.Copy()
		item.ConnConfig.Host, item.ConnConfig.Port, item.ConnConfig.TLSConfig = host.Host, host.Port, host.TLSConfig
		item.ConnConfig.Fallbacks = nil
		known[at] = item
		configs = append(configs, item)
	}
	return configs
}

func (r *replicas) close() {
	if r == nil {
		return
	}
	for _, replica := range r.all {
		replica.pool.Close()
	}
}

// acquire returns a connection to a replica that has replayed all writes acknowledged before the call; nil if no
// replica has in time, which is no error.
func (r *replicas) acquire(ctx context.Context, queries *db.Queries) (*replica, *Conn) {
	asked, lagging := r.ready(time.Now())
	if len(asked) == 0 {
		r.countFallback(lagging)
		return nil, nil
	}
	position, err := r.index.now(ctx)
	if err != nil {
		r.unindexed.Add(1)
		return nil, nil
	}
	for late := time.Now().Add(r.wait); len(asked) > 0; time.Sleep(replicaPollInterval) {
		var behind []*replica
		for _, replica := range asked {
			conn, up := replica.acquireIfCaughtUp(ctx, late, queries, position)
			if conn != nil {
				replica.resume()
				return replica, conn
			}
			if up {
				behind = append(behind, replica)
			}
		}
		if asked = behind; ctx.Err() != nil || !time.Now().Before(late) {
			break
		}
	}
	for _, replica := range asked {
		replica.suspend(true, minLagPause, maxLagPause)
	}
	r.countFallback(len(asked) > 0)
	return nil, nil
}

func (r *replicas) countFallback(lagging bool) {
	if lagging {
		r.behind.Add(1)
	} else {
		r.down.Add(1)
	}
}

// ready returns the replicas that reads do not skip, beginning with nextReplica. lagging reports whether one is skipped
// because it lagged.
func (r *replicas) ready(now time.Time) (found []*replica, lagging bool) {
	first := r.nextReplica.Add(1)
	for i := range r.all {
		replica := r.all[(first+uint64(i))%uint64(len(r.all))]
		replica.mu.Lock()
		if now.Before(replica.skipUntil) {
			lagging = lagging || replica.lagging
		} else {
			found = append(found, replica)
		}
		replica.mu.Unlock()
	}
	return found, lagging
}

// acquireIfCaughtUp queries whether a replica has replayed the position. up reports whether the caller should query it
// again.
func (r *replica) acquireIfCaughtUp(
	ctx context.Context, late time.Time, queries *db.Queries, position db.PrimaryWALPositionRow,
) (conn *Conn, up bool) {
	// The pool still opens a connection that is late, for the next read.
	soon, done := context.WithDeadline(ctx, late)
	polled, err := r.pool.Acquire(soon)
	done()
	if err == nil {
		conn = &Conn{polled, r.pooled}
		bounded, done := context.WithTimeout(ctx, replicaQueryTimeout)
		var found db.ReplicaHasReplayedRow
		found, err = queries.ReplicaHasReplayed(bounded, conn, position.Lsn, position.Timeline)
		done()
		switch {
		case err == nil && found.Standby && found.Reached:
			return conn, true
		case err == nil && found.Standby:
			conn.Release()
			return nil, true
		}
		conn.Release() // it failed, or leads to a primary, which must not serve these reads
	}
	if ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) {
		r.suspend(false, minDownPause, maxDownPause)
	} else if ctx.Err() == nil {
		r.suspend(true, minLagPause, maxLagPause) // busy, or not connected yet
	}
	return nil, false
}
