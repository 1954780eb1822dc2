package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/cluster"
	"github.com/berthd/berth/server/store"
)

// database is the PostgreSQL that a command works on.
type database struct {
	url    string // for everything a request does; empty leaves it to PG* variables
	direct string // for migrations and locks, past any pooler
	// private is the embedded PostgreSQL, nil when the settings name a database.
	private *cluster.Cluster
	// description is for people.
	description string
}

// openDatabase starts the embedded PostgreSQL unless the settings name another. Who
// only reads may share one that a service has running.
func openDatabase(ctx context.Context, settings *Settings, log *slog.Logger, reads bool) (*database, error) {
	if !settings.Embedded() {
		return &database{
			url: followingPrimary(settings.DatabaseURL), direct: followingPrimary(settings.DirectURL()), description: settings.Database(),
		}, nil
	}
	options := cluster.Options{Dir: settings.DataDir, Log: log, DatabaseSettings: store.PlannerSettings()}
	if wanted := settings.DBMaxConnections + spareConnections; wanted > usualConnections {
		options.Settings = map[string]string{"max_connections": strconv.FormatInt(wanted, 10)}
	}
	private, err := cluster.Open(ctx, options)
	if held, inUse := errors.AsType[*cluster.InUseError](err); inUse {
		if url, failed := cluster.RunningURL(ctx, options); reads && failed == nil {
			description := fmt.Sprintf("embedded PostgreSQL in %s, which process %d runs", held.Dir, held.PID)
			return &database{url: url, direct: url, description: description}, nil
		}
		return nil, fmt.Errorf("%w; stop that one, choose another directory with --data-dir, or name a database with --database-url", err)
	}
	if err != nil {
		return nil, err
	}
	description := fmt.Sprintf("embedded PostgreSQL %d in %s; psql '%s'", private.Binaries().Major, private.Dir(), private.ConnString())
	return &database{url: private.URL(), direct: private.URL(), private: private, description: description}, nil
}

// followingPrimary is a connection string that leads to whichever of its hosts takes
// writes, and passes by one that does not answer. The first host would be taken
// otherwise, also if it is a standby. What it says itself about these things is left,
// and so is one that names a single host. It may come from PG* variables in part.
func followingPrimary(connection string) string {
	config, err := pgx.ParseConfig(connection)
	if err != nil || len(hostsOf(config)) < 2 {
		return connection
	}
	more := map[string]string{}
	if config.ValidateConnect == nil && !strings.Contains(connection, "target_session_attrs") {
		more["target_session_attrs"] = "read-write"
	}
	if config.ConnectTimeout == 0 {
		more["connect_timeout"] = "5"
	}
	_, rest, isURL := strings.Cut(connection, "://")
	for _, name := range []string{"target_session_attrs", "connect_timeout"} {
		switch value := more[name]; {
		case value == "":
		case !isURL:
			connection += " " + name + "=" + value
		case strings.Contains(rest, "?"):
			connection += "&" + name + "=" + value
		default:
			connection += "?" + name + "=" + value
			rest = connection
		}
	}
	return connection
}

// hostsOf are the places that a configuration names, each once.
func hostsOf(config *pgx.ConnConfig) map[string]bool {
	hosts := map[string]bool{fmt.Sprint(config.Host, " ", config.Port): true}
	for _, other := range config.Fallbacks {
		hosts[fmt.Sprint(other.Host, " ", other.Port)] = true
	}
	return hosts
}

// The embedded PostgreSQL allows 200 connections by itself; a larger pool needs
// more, and some are kept for migrations and for people with psql.
const (
	usualConnections = 200
	spareConnections = 20
)

// lost is closed when the embedded PostgreSQL ends. A database of somebody
// else's may come back, so it is never lost.
func (d *database) lost() <-chan struct{} {
	if d.private == nil {
		return nil
	}
	return d.private.Exited()
}

// close stops the embedded PostgreSQL. When the context ends first it is stopped
// without a checkpoint and recovers at its next start.
func (d *database) close(ctx context.Context) error {
	if d.private == nil {
		return nil
	}
	return d.private.Close(ctx)
}
