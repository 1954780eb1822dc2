// Package rig is what the subcommands of bench share: a private PostgreSQL, servers on
// loopback and their client, alternating measurements, and medians.
//
// It is not for the requests that are measured, nor for their data: those belong to the
// subcommands.
package rig

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// Connections is the size of every pool: those of the server and of the baselines.
const Connections = 16

// Rig is a private PostgreSQL with Berth's schema in it, the servers that were
// started, and their client.
type Rig struct {
	// Numbers are for requests that need one of their own.
	Numbers *Counter
	cluster *cluster.Cluster
	client  *http.Client
	dir     string
	servers []*Server
}

// Open starts PostgreSQL on a new directory, with these settings of the server,
// and migrates the default database.
func Open(ctx context.Context, settings map[string]string) (*Rig, error) {
	dir, err := os.MkdirTemp("", "berth-bench-")
	if err != nil {
		return nil, err
	}
	r := &Rig{
		Numbers: &Counter{}, dir: dir,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	if err := r.start(ctx, settings); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context, settings map[string]string) error {
	// PostgreSQL may run under another account, which must reach the directory.
	if err := os.Chmod(r.dir, 0o755); err != nil {
		return err
	}
	var err error
	if r.cluster, err = cluster.Open(ctx, cluster.Options{
		Dir: r.dir + "/pg", Log: DiscardLog(), Settings: settings, DatabaseSettings: postgres.PlannerSettings(),
	}); err != nil {
		return err
	}
	if _, err := migrate.Up(ctx, r.cluster.URL(), DiscardLog()); err != nil {
		return err
	}
	names, err := store.Open(ctx, postgres.Options{URL: r.cluster.URL(), MaxConns: 1})
	if err != nil {
		return err
	}
	defer names.Close()
	return names.SyncStandardNames(ctx)
}

// URL is where to connect to a database of the private PostgreSQL; "" is the
// default one.
func (r *Rig) URL(database string) string {
	if database == "" {
		return r.cluster.URL()
	}
	at, err := url.Parse(r.cluster.URL())
	if err != nil {
		panic(err) // the cluster made it
	}
	at.Path = "/" + database
	return at.String()
}

// Create creates a database without Berth's schema.
func (r *Rig) Create(ctx context.Context, database string) error {
	return r.administer(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
}

// Copy creates a database with Berth's schema from the default one. It fails while
// anything is connected to the default one.
func (r *Rig) Copy(ctx context.Context, database string) error {
	return r.CopyOf(ctx, cluster.DefaultDatabase, database)
}

// CopyOf is Copy from another database than the default one.
func (r *Rig) CopyOf(ctx context.Context, template, database string) error {
	return r.administer(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize()+
		" TEMPLATE "+pgx.Identifier{template}.Sanitize())
}

// Drop drops a database and ends its connections.
func (r *Rig) Drop(ctx context.Context, database string) error {
	return r.administer(ctx, "DROP DATABASE "+pgx.Identifier{database}.Sanitize()+" WITH (FORCE)")
}

func (r *Rig) administer(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, r.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// Pool connects to a database with the settings of the server, for statements that do
// not go through it.
func (r *Rig) Pool(ctx context.Context, database string) (*pgxpool.Pool, error) {
	return OpenPool(ctx, r.URL(database))
}

// OpenPool is Pool for a process that has the URL of the database only.
func OpenPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = Connections
	maps.Copy(config.ConnConfig.RuntimeParams, postgres.PlannerSettings())
	return pgxpool.NewWithConfig(ctx, config)
}

// Server is a handler on loopback.
type Server struct {
	URL  string
	http *http.Server
}

// Serve starts a server for a handler, until Close of the server or of the rig.
func (r *Rig) Serve(handler http.Handler) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	made := &Server{URL: "http://" + listener.Addr().String(), http: &http.Server{Handler: handler}}
	r.servers = append(r.servers, made)
	go func() { _ = made.http.Serve(listener) }() // ends with Close
	return made, nil
}

// Close stops the server, for the second time without effect.
func (s *Server) Close() { _ = s.http.Close() }

// Close stops everything and removes the data.
func (r *Rig) Close() error {
	for _, server := range r.servers {
		server.Close()
	}
	var err error
	if r.cluster != nil {
		err = r.cluster.Close(context.Background())
	}
	return errors.Join(err, os.RemoveAll(r.dir))
}

// DiscardLog returns a logger that discards everything.
func DiscardLog() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }
