// Package privatedb starts a PostgreSQL for programs that are not tests of one package: the
// benchmarks, and the comparison of two builds. Tests share one server: see dbtest.
package privatedb

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// PostgreSQL is a private PostgreSQL with Berth's schema in its default database.
type PostgreSQL struct {
	cluster *cluster.Cluster
	dir     string
}

// Open starts PostgreSQL on a new directory, with these settings of the server,
// and migrates the default database.
func Open(ctx context.Context, settings map[string]string) (*PostgreSQL, error) {
	dir, err := os.MkdirTemp("", "berth-privatedb-")
	if err != nil {
		return nil, err
	}
	p := &PostgreSQL{dir: dir}
	if err := p.start(ctx, settings); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *PostgreSQL) start(ctx context.Context, settings map[string]string) error {
	// PostgreSQL may run under another account, which must reach the directory.
	if err := os.Chmod(p.dir, 0o755); err != nil {
		return err
	}
	var err error
	if p.cluster, err = cluster.Open(ctx, cluster.Options{
		Dir: p.dir + "/pg", Log: slog.New(slog.DiscardHandler), Settings: settings, DatabaseSettings: postgres.PlannerSettings(),
	}); err != nil {
		return err
	}
	if _, err := migrate.Up(ctx, p.cluster.URL(), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	names, err := store.Open(ctx, postgres.Options{URL: p.cluster.URL(), MaxConns: 1})
	if err != nil {
		return err
	}
	defer names.Close()
	return names.SyncStandardNames(ctx)
}

// URL is where to connect to a database of the private PostgreSQL; "" is the
// default one.
func (p *PostgreSQL) URL(database string) string {
	if database == "" {
		return p.cluster.URL()
	}
	at, err := url.Parse(p.cluster.URL())
	if err != nil {
		panic(err) // the cluster made it
	}
	at.Path = "/" + database
	return at.String()
}

// Create creates a database without Berth's schema.
func (p *PostgreSQL) Create(ctx context.Context, database string) error {
	return p.administer(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize())
}

// Copy creates a database with Berth's schema from the default one. It fails while
// anything is connected to the default one.
func (p *PostgreSQL) Copy(ctx context.Context, database string) error {
	return p.CopyOf(ctx, cluster.DefaultDatabase, database)
}

// CopyOf is Copy from another database than the default one.
func (p *PostgreSQL) CopyOf(ctx context.Context, template, database string) error {
	return p.administer(ctx, "CREATE DATABASE "+pgx.Identifier{database}.Sanitize()+
		" TEMPLATE "+pgx.Identifier{template}.Sanitize())
}

// Drop drops a database and ends its connections.
func (p *PostgreSQL) Drop(ctx context.Context, database string) error {
	return p.administer(ctx, "DROP DATABASE "+pgx.Identifier{database}.Sanitize()+" WITH (FORCE)")
}

func (p *PostgreSQL) administer(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, p.URL("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, statement)
	return err
}

// Close stops PostgreSQL and removes the data.
func (p *PostgreSQL) Close() error {
	var err error
	if p.cluster != nil {
		err = p.cluster.Close(context.Background())
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
