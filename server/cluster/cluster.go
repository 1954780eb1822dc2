// Package cluster runs a private PostgreSQL server as a child of this process.
//
// It is for `berth serve` when no database is configured, and for the tests:
// it finds the PostgreSQL binaries of the machine, initialises a data
// directory once, starts the server on a unix socket that only its owner can
// reach, and stops it again. It survives what happens to both processes: a
// server left running by a killed owner is adopted, and data left by a killed
// server is recovered.
//
// It is not for production databases of any size: there is no TCP listener, no
// replication, no backup and no upgrade between major versions. It downloads
// nothing, and it knows neither the schema nor the migrations.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// Superuser is the name of the database role that owns everything in a
// private cluster.
const Superuser = "berth"

// DefaultDatabase is the database that Open creates when Options names none.
const DefaultDatabase = "berth"

// Options says where a cluster lives and how it is set up. The zero value is
// what `berth serve` uses.
type Options struct {
	// Dir is the home of the cluster: its data, its lock and its log. Empty
	// means the newest cluster in DefaultBase, or a new one there.
	Dir string
	// Log receives what an operator wants to know. Nil discards it.
	Log *slog.Logger
	// Database is created when it does not exist. Empty means DefaultDatabase.
	Database string
	// DatabaseSettings are set on the database (ALTER DATABASE ... SET), so
	// that they reach every connection to it.
	DatabaseSettings map[string]string
	// Settings are server settings that come on top of the package's own.
	Settings map[string]string
	// Disposable says that the data is worth nothing: unless a server is still
	// running on it, it is thrown away and made anew, and nothing waits for
	// the disk while it is made. Only tests want this.
	Disposable bool
	// Getenv replaces os.Getenv where defaults are looked up.
	Getenv func(string) string
}

// Cluster is a running private server. Only the process that holds it may use
// the data directory.
type Cluster struct {
	home     home
	log      *slog.Logger
	database string
	lock     *os.File
	server   *postmaster
}

// Open starts the server, or adopts the one that a killed owner left running,
// and returns when it accepts connections and the database exists. The context
// bounds the start only: recovering a large database may take minutes.
func Open(ctx context.Context, options Options) (*Cluster, error) {
	options = options.withDefaults()
	at, err := locate(options)
	if err != nil {
		return nil, err
	}
	if err := at.make(); err != nil {
		return nil, err
	}
	lock, err := acquire(at.lockFile())
	if err != nil {
		return nil, err
	}
	c := &Cluster{home: at, log: options.Log, database: options.Database, lock: lock}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(err, c.abandon())
	}
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Database == "" {
		o.Database = DefaultDatabase
	}
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	return o
}

// start brings the server up on data that is made first if there is none. The
// lock is held.
func (c *Cluster) start(ctx context.Context, options Options) error {
	server, err := adopt(ctx, c.home)
	if err != nil {
		return err
	}
	if server == nil && options.Disposable {
		if err := c.home.discard(); err != nil {
			return err
		}
	}
	if server == nil {
		if err := c.home.initialise(ctx, c.log, options.Disposable); err != nil {
			return err
		}
		settings := maps.Clone(defaultSettings)
		maps.Copy(settings, options.Settings)
		if server, err = launch(ctx, c.home, settings); err != nil {
			return err
		}
	}
	c.server = server
	c.log.Info("private PostgreSQL is up", "directory", c.home.dir, "pid", server.pid,
		"version", c.home.binaries.Major, "adopted", server.adopted)
	return prepareDatabase(ctx, c.serverURL("postgres"), c.database, options.DatabaseSettings)
}

// abandon gives up a cluster whose start failed half-way.
func (c *Cluster) abandon() error {
	if c.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return c.Close(ctx)
	}
	return c.lock.Close()
}

// URL is what a client connects with: a postgres URL over the unix socket.
func (c *Cluster) URL() string { return c.serverURL(c.database) }

func (c *Cluster) serverURL(database string) string {
	return serverURL(c.server.socketDir, c.server.port, database)
}

func serverURL(socketDir, port, database string) string {
	query := url.Values{"host": {socketDir}, "port": {port}, "user": {Superuser}}
	at := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}
	return at.String()
}

// ConnString is the same address in the key=value form, which a person can
// paste behind psql.
func (c *Cluster) ConnString() string {
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s", quoteConnValue(c.server.socketDir),
		c.server.port, Superuser, quoteConnValue(c.database))
}

// quoteConnValue writes a value of a key=value connection string; only values
// with unusual characters need quotes.
func quoteConnValue(value string) string {
	if value != "" && !strings.ContainsAny(value, ` '\`) {
		return value
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

// Dir is the home of the cluster.
func (c *Cluster) Dir() string { return c.home.dir }

// Binaries are the PostgreSQL programs that the cluster runs with.
func (c *Cluster) Binaries() Binaries { return c.home.binaries }

// Adopted says that the server was already running when Open was called.
func (c *Cluster) Adopted() bool { return c.server.adopted }

// Exited is closed when the server is gone, whoever stopped it. An owner that
// did not ask for it should stop too.
func (c *Cluster) Exited() <-chan struct{} { return c.server.exited }

// Close stops the server in fast mode: open transactions are rolled back,
// connections are cut, everything is written out. When the context ends first,
// the server is stopped at once and recovers at its next start. The directory
// of the socket is removed and the data is free for the next owner.
func (c *Cluster) Close(ctx context.Context) error {
	stopped := c.server.stop(ctx)
	if stopped != nil {
		stopped = fmt.Errorf("stop the private PostgreSQL in %s: %w", c.home.dir, stopped)
	}
	removeSocketDir(c.server.socketDir)
	c.log.Info("private PostgreSQL is stopped", "directory", c.home.dir)
	return errors.Join(stopped, c.lock.Close())
}

// Exists says whether a directory holds the data of a cluster, for those who would
// rather not make one.
func Exists(dir string) bool {
	_, err := os.Stat(home{dir: dir}.majorFile())
	return err == nil
}

// home is the directory of one cluster together with the programs and the
// account that run it. The directory itself belongs to the owner of this
// process; the account gets the data only, so that it cannot plant files that
// a privileged owner would follow.
type home struct {
	dir      string
	binaries Binaries
	account  *user.User // nil: the account of this process
}

func (h home) data() string      { return filepath.Join(h.dir, "data") }
func (h home) lockFile() string  { return filepath.Join(h.dir, "lock") }
func (h home) logFile() string   { return filepath.Join(h.dir, "postgres.log") }
func (h home) pidFile() string   { return filepath.Join(h.data(), "postmaster.pid") }
func (h home) majorFile() string { return filepath.Join(h.data(), "PG_VERSION") }
