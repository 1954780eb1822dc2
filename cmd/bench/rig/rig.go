// Package rig is what the subcommands of bench share: a private PostgreSQL, servers on
// loopback and their client, alternating measurements, and results in Go's benchmark format.
//
// It is not for the requests that are measured, nor for their data: those belong to the
// subcommands.
package rig

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/internal/test/privatedb"
	"github.com/berthd/berth/server/data/postgres"
)

// Connections is the size of every pool: those of the server and of the baselines.
const Connections = 16

// Rig is a private PostgreSQL, the servers that were started on it, and their client.
type Rig struct {
	*privatedb.PostgreSQL
	// Numbers are for requests that need one of their own.
	Numbers *Counter
	client  *http.Client
	servers []*Server
}

// Open starts PostgreSQL on a new directory, with these settings of the server,
// and migrates the default database.
func Open(ctx context.Context, settings map[string]string) (*Rig, error) {
	opened, err := privatedb.Open(ctx, settings)
	if err != nil {
		return nil, err
	}
	return &Rig{
		PostgreSQL: opened, Numbers: &Counter{},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}, nil
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
	return r.PostgreSQL.Close()
}

// DiscardLog returns a logger that discards everything.
func DiscardLog() *slog.Logger { return slog.New(slog.DiscardHandler) }
