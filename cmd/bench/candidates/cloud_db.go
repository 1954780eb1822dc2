package candidates

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
)

// cloudDB is a cloud in its own database, and the servers on it.
type cloudDB struct {
	*rig.Rig
	name  string
	shape shape
	trees int
	// conn loads; pool is that of the baselines.
	conn  *pgx.Conn
	pool  *pgxpool.Pool
	store *store.Store
	// berth, shuffled, one and rows are the URLs of the server, of a server that
	// shuffles, of F and of the baseline that reads all rows.
	berth, shuffled, one, rows *rig.Server
}

// build loads a cloud. It does not run ANALYZE.
func build(ctx context.Context, on *rig.Rig, of shape, trees int) (*cloudDB, error) {
	s := &cloudDB{Rig: on, name: fmt.Sprintf("%s_%d", of.name, trees), shape: of, trees: trees}
	if err := s.Copy(ctx, s.name); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := s.fill(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("loading %s: %w", s.name, err), s.destroy())
	}
	progress("%s: %d trees of %d loaded in %.1f s", of.name, trees, len(of.members), time.Since(begun).Seconds())
	return s, nil
}

func (s *cloudDB) fill(ctx context.Context) error {
	var err error
	if s.conn, err = pgx.Connect(ctx, s.URL(s.name)); err != nil {
		return err
	}
	if err := (loader{conn: s.conn, shape: s.shape, trees: s.trees}).load(ctx); err != nil {
		return err
	}
	if s.pool, err = s.Pool(ctx, s.name); err != nil {
		return err
	}
	if s.one, err = s.Serve(rig.SelectOne(s.pool)); err != nil {
		return err
	}
	s.rows, err = s.Serve(http.HandlerFunc(s.readRows))
	return err
}

// open starts a server with connections of its own and no plans.
func (s *cloudDB) open(ctx context.Context) error {
	var err error
	if s.store, err = store.Open(ctx, postgres.Options{URL: s.URL(s.name), MaxConns: rig.Connections}); err != nil {
		return err
	}
	if s.berth, err = s.Serve(handler(s.store)); err != nil {
		return err
	}
	s.shuffled, err = s.Serve(shufflingHandler(s.store))
	return err
}

// close stops what open has started.
func (s *cloudDB) close() {
	for _, server := range []*rig.Server{s.berth, s.shuffled} {
		if server != nil {
			server.Close()
		}
	}
	if s.store != nil {
		s.store.Close()
	}
}

// destroy stops everything and drops the database, whose disk space the next needs.
func (s *cloudDB) destroy() error {
	s.close()
	for _, server := range []*rig.Server{s.one, s.rows} {
		if server != nil {
			server.Close()
		}
	}
	if s.pool != nil {
		s.pool.Close()
	}
	if s.conn != nil {
		_ = s.conn.Close(context.Background())
	}
	return s.Drop(context.Background(), s.name)
}

func handler(on *store.Store) http.Handler { return server.New(options(on)).Public }

// shufflingHandler is the service with candidates in random order.
func shufflingHandler(on *store.Store) http.Handler {
	shuffling := options(on)
	shuffling.Placement.Candidates.Randomize = true
	return server.New(shuffling).Public
}

// options returns those of berth serve, with a log of errors.
func options(on *store.Store) server.Options {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	return server.Defaults(on, log)
}

// candidateRequest returns the request of a query to a server.
func (s *cloudDB) candidateRequest(server *rig.Server, of query) rig.RequestFunc {
	url := server.URL + of.path()
	return func(ctx context.Context, _ int, _ int64) error {
		return s.Request(ctx, http.MethodGet, url, "", http.StatusOK)
	}
}

// requestBaseline sends the request of F.
func (s *cloudDB) requestBaseline(ctx context.Context, _ int, _ int64) error {
	return s.Request(ctx, http.MethodGet, s.one.URL, "", http.StatusOK)
}
