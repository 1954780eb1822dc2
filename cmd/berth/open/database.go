// Package open opens the resources that the settings name and several commands use: the database,
// the log, the certificates, and the socket of the service manager.
//
// It is not for the settings themselves (package config), nor for resources that only `berth
// serve` opens (package serve).
package open

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
)

// Database is the PostgreSQL database of a command.
type Database struct {
	URL    string // for requests; if empty, PG* variables apply
	Direct string // for migrations and locks, bypassing any pooler
	// waits are the timeouts of migrations.
	Waits migrate.Waits
	// private is the embedded PostgreSQL; nil if the settings name a database.
	Private *cluster.Cluster
	// Pooler reports whether URL names a pooler in transaction mode.
	Pooler bool
	// Description is a text for messages.
	Description string
}

// Postgres starts the embedded PostgreSQL unless the settings name a database. Read-only commands
// may use one that a server runs. Sessions have that application_name.
func Postgres(ctx context.Context, settings *config.Settings, application string, log *slog.Logger, reads bool) (*Database, error) {
	if !settings.Embedded() {
		url := Safely(followingPrimary(settings.DatabaseURL), "database-url", log)
		direct := url
		if settings.DirectDatabaseURL != "" {
			direct = Safely(followingPrimary(settings.DirectURL()), "direct-database-url", log)
		}
		return &Database{
			URL: config.WithApplication(url, application), Direct: config.WithApplication(direct, application),
			Pooler: settings.DBPooler == "transaction", Description: settings.Database(),
		}, nil
	}
	options := cluster.Options{
		Dir: settings.DataDir, Log: log, DatabaseSettings: postgres.PlannerSettings(), Restart: true, LogMaxBytes: settings.EmbeddedLogMax,
	}
	if wanted := settings.DBMaxConnections + spareConnections; wanted > defaultPoolSize {
		options.Settings = map[string]string{"max_connections": strconv.FormatInt(wanted, 10)}
	}
	private, err := cluster.Open(ctx, options)
	if held, inUse := errors.AsType[*cluster.InUseError](err); inUse {
		if url, failed := cluster.RunningURL(ctx, options); reads && failed == nil {
			description := fmt.Sprintf("embedded PostgreSQL in %s, run by process %d", held.Dir, held.PID)
			url = config.WithApplication(url, application)
			return &Database{URL: url, Direct: url, Description: description}, nil
		}
		return nil, fmt.Errorf("%w; stop that process, choose another directory with --data-dir, or name a database with --database-url", err)
	}
	if err != nil {
		return nil, err
	}
	description := fmt.Sprintf("embedded PostgreSQL %d in %s; psql '%s'", private.Binaries().Major, private.Dir(), private.ConnString())
	url := config.WithApplication(private.URL(), application)
	return &Database{URL: url, Direct: url, Private: private, Description: description}, nil
}

// MissingCluster reports whether the database is an embedded PostgreSQL that does not exist yet, for commands that must not
// create it.
func MissingCluster(settings *config.Settings) bool {
	return settings.Embedded() && !cluster.Exists(settings.DataDir)
}

// followingPrimary returns a connection string that connects to the primary among its hosts and
// skips hosts that do not respond. Without it libpq would use the first host, even if that is a
// standby. It keeps parameters that the string sets itself, and strings with a single host. PG*
// variables may supply parts.
func followingPrimary(connection string) string {
	parsed, err := pgx.ParseConfig(connection)
	if err != nil || len(hostsOf(parsed)) < 2 {
		return connection
	}
	more := map[string]string{}
	if parsed.ValidateConnect == nil && !strings.Contains(connection, "target_session_attrs") {
		more["target_session_attrs"] = "read-write"
	}
	if parsed.ConnectTimeout == 0 {
		more["connect_timeout"] = "5"
	}
	for _, name := range []string{"target_session_attrs", "connect_timeout"} {
		if value := more[name]; value != "" {
			connection = config.WithParameter(connection, name, value)
		}
	}
	return connection
}

// hostsOf returns the distinct hosts of a configuration.
func hostsOf(config *pgx.ConnConfig) map[string]bool {
	hosts := map[string]bool{fmt.Sprint(config.Host, " ", config.Port): true}
	for _, other := range config.Fallbacks {
		hosts[fmt.Sprint(other.Host, " ", other.Port)] = true
	}
	return hosts
}

// The embedded PostgreSQL allows 200 connections by default; a larger pool needs more. Some are
// reserved for migrations and psql.
const (
	defaultPoolSize  = 200
	spareConnections = 20
)

// Lost returns a channel that is closed when the embedded PostgreSQL has exited and cannot be
// restarted. It is nil for other databases, which may come back.
func (d *Database) Lost() <-chan struct{} {
	if d.Private == nil {
		return nil
	}
	return d.Private.Exited()
}

// Close stops the embedded PostgreSQL. If the context ends first, PostgreSQL stops without a
// checkpoint and recovers on the next start.
func (d *Database) Close(ctx context.Context) error {
	if d.Private == nil {
		return nil
	}
	return d.Private.Close(ctx)
}
