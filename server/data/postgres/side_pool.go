package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// SidePool is a pool of connections to the primary beside those for requests. Requests that use all connections do not
// delay its users: probes, metrics, the heartbeats of a conductor. It opens connections on first use and closes those
// that were idle for ten minutes.
type SidePool struct {
	of  *Pool
	max int32

	mutex sync.Mutex
	pool  *pgxpool.Pool
	// open ends when over is called: that cancels the running queries, whose results are no longer needed.
	open   context.Context
	over   context.CancelFunc
	closed bool
}

// Two connections are enough for any number of probes and scrapes, because they share results.
const (
	maxMonitorConns    = 2
	monitorIdleTimeout = 10 * time.Minute
)

var errClosed = errors.New("the connection pool is closed")

// NewSidePool returns a side pool of at most maxConns connections. Close of p closes it too.
func (p *Pool) NewSidePool(maxConns int32) *SidePool {
	side := &SidePool{of: p, max: maxConns}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.sides = append(p.sides, side)
	return side
}

func (p *Pool) sidePools() []*SidePool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Clone(p.sides)
}

// get returns the pool, and a context that ends with it. It creates the pool on first use, with the configuration of
// the pool for requests.
func (s *SidePool) get() (*pgxpool.Pool, context.Context, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.closed {
		return nil, nil, errClosed
	}
	if s.pool != nil {
		return s.pool, s.open, nil
	}
	config := s.of.pool.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = s.max, 0, 0
	config.MaxConnIdleTime = monitorIdleTimeout
	// No statement that is prepared for requests is needed here, and an outdated schema may lack the objects that they
	// use.
	config.AfterConnect = registerTypes
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, nil, err
	}
	s.pool = pool
	s.open, s.over = context.WithCancel(context.Background())
	return pool, s.open, nil
}

func (s *SidePool) close() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	if s.pool != nil {
		s.over()
		s.pool.Close()
		s.pool = nil
	}
}

// reset closes the connections. It does not wait for the lock: close holds the lock until the pool's last connection
// has been opened, and the goroutine that opens it may be the one that resets.
func (s *SidePool) reset() {
	if !s.mutex.TryLock() {
		return
	}
	defer s.mutex.Unlock()
	if s.pool != nil {
		s.pool.Reset()
	}
}

// WithMonitorConn calls do with a connection for probes and metrics, and releases it afterwards. The context of do ends
// when p is closed.
func (p *Pool) WithMonitorConn(ctx context.Context, do func(context.Context, *pgx.Conn) error) error {
	return p.monitor.WithConn(ctx, func(ctx context.Context, conn *Conn) error { return do(ctx, conn.Conn()) })
}

// WithConn calls do with a connection of the side pool, and releases it afterwards. The context of do ends when the pool
// is closed.
func (s *SidePool) WithConn(ctx context.Context, do func(context.Context, *Conn) error) error {
	pool, open, err := s.get()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(open, cancel)()
	return pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return do(ctx, &Conn{conn, s.of.pooled}) })
}

// Reset closes the connections of the side pool after their current use. The next use connects again, perhaps to another
// server.
func (s *SidePool) Reset() { s.reset() }
