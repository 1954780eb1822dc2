// Package cluster runs a private PostgreSQL server as a child of this process.
//
// It is for `berth serve` when no database is configured, and for the tests. It finds the PostgreSQL binaries of the
// machine and initializes a data directory once. It starts the server on a Unix socket that only its owner can access,
// and stops it again. It handles crashes of both processes: it adopts a server that a killed owner left running, and
// recovers the data of a killed server.
//
// It is not for production databases of any size: there is no TCP listener, no replication, no backup and no upgrade
// between major versions. It downloads nothing, and it knows neither the schema nor the migrations.
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
	"sync"
)

// Superuser is the database role that owns everything in a private cluster.
const Superuser = "berth"

// DefaultDatabase is the database that Open creates if Options.Database is empty.
const DefaultDatabase = "berth"

// Options are the location and the settings of a cluster. The zero value is the default of `berth serve`.
type Options struct {
	// Dir is the home of the cluster: its data, its lock and its log. Empty: the newest cluster in DefaultBase, or a
	// new one there.
	Dir string
	// Log receives messages for the operator; nil discards them.
	Log *slog.Logger
	// Database is created if it does not exist. Empty: DefaultDatabase.
	Database string
	// DatabaseSettings are set on the database (ALTER DATABASE ... SET), so that they apply to every connection to it.
	DatabaseSettings map[string]string
	// Settings are server settings in addition to the package's own.
	Settings map[string]string
	// Disposable permits the loss of the data: unless a server is still running on it, Open deletes it and creates a
	// new cluster, without waiting for the disk. Only tests set it.
	Disposable bool
	// Restart restarts the server whenever it exits without Close, as long as the disk is full, or until starts have
	// failed for half a minute.
	Restart bool
	// LogMaxBytes limits the total size of the server's log files; 0: DefaultLogMaxBytes.
	LogMaxBytes int64
	// BinDir is the directory with the server programs of one installation. Empty: Find chooses an installation. Only
	// tests set it.
	BinDir string
	// Getenv replaces os.Getenv for the defaults.
	Getenv func(string) string
}

// Cluster is a running private server. Only the process that holds it may use the data directory.
type Cluster struct {
	home     home
	log      *slog.Logger
	database string
	lock     *os.File
	settings map[string]string
	// restarts is nil without Options.Restart.
	restarts *restarts
	// closing ends when Close begins.
	closing context.Context
	close   context.CancelFunc
	exited  chan struct{}

	// starting is held while a server is started to replace one that exited.
	starting sync.Mutex
	mutex    sync.Mutex // of server
	server   *postmaster
}

// Open starts the server, or adopts the one that a killed owner left running, and returns when it accepts connections
// and the database exists. The context limits the start only: recovering a large database may take minutes.
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
	c := &Cluster{home: at, log: options.Log, database: options.Database, lock: lock, exited: make(chan struct{})}
	c.closing, c.close = context.WithCancel(context.WithoutCancel(ctx))
	c.settings = maps.Clone(defaultSettings)
	maps.Copy(c.settings, at.logSettings(options.LogMaxBytes))
	maps.Copy(c.settings, options.Settings)
	if options.Restart {
		c.restarts = &restarts{}
	}
	if err := c.start(ctx, options); err != nil {
		return nil, errors.Join(err, c.abandon())
	}
	go c.supervise()
	go c.trimLog(options.LogMaxBytes)
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
	if o.LogMaxBytes == 0 {
		o.LogMaxBytes = DefaultLogMaxBytes
	}
	return o
}

// start starts the server on its data, which it creates if there is none. The caller holds the lock.
func (c *Cluster) start(ctx context.Context, options Options) error {
	server, err := adopt(ctx, c.home)
	if err != nil {
		return err
	}
	if server != nil && !options.Disposable && !logsTo(ctx, server, c.home.logDir()) {
		// An earlier version of Berth started it, with a log that grows without limit.
		if err := server.stop(ctx); err != nil {
			return fmt.Errorf("stop the server of an earlier version: %w", err)
		}
		removeSocketDir(server.socketDir)
		server = nil
	}
	if server == nil && options.Disposable {
		if err := c.home.discard(); err != nil {
			return err
		}
	}
	if server == nil {
		if err := c.home.initialize(ctx, c.log, options.Disposable); err != nil {
			return err
		}
		if server, err = c.launchFirst(ctx); err != nil {
			return err
		}
	}
	c.server = server
	c.log.Info("private PostgreSQL is up", "directory", c.home.dir, "pid", server.pid,
		"version", c.home.binaries.Major, "adopted", server.adopted)
	return prepareDatabase(ctx, c.serverURL("postgres"), c.database, options.DatabaseSettings)
}

// launchFirst starts a server with a new directory for its socket.
func (c *Cluster) launchFirst(ctx context.Context) (*postmaster, error) {
	if err := c.home.makeLogDir(); err != nil {
		return nil, err
	}
	socketDir, err := makeSocketDir(c.home)
	if err != nil {
		return nil, err
	}
	server, err := launch(ctx, c.home, socketDir, c.settings)
	if err != nil {
		removeSocketDir(socketDir)
	}
	return server, err
}

// abandon releases a cluster whose start failed.
func (c *Cluster) abandon() error {
	c.close()
	if c.server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return c.Close(ctx)
	}
	return c.lock.Close()
}

// URL returns the postgres URL of the server, over the Unix socket.
func (c *Cluster) URL() string { return c.serverURL(c.database) }

func (c *Cluster) serverURL(database string) string {
	server := c.running()
	return serverURL(server.socketDir, server.port, database)
}

func serverURL(socketDir, port, database string) string {
	query := url.Values{"host": {socketDir}, "port": {port}, "user": {Superuser}}
	at := url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}
	return at.String()
}

// ConnString returns the same address in the key=value format, which an operator can paste behind psql.
func (c *Cluster) ConnString() string {
	server := c.running()
	return fmt.Sprintf("host=%s port=%s user=%s dbname=%s", quoteConnValue(server.socketDir),
		server.port, Superuser, quoteConnValue(c.database))
}

// quoteConnValue formats a value of a key=value connection string; only values with special characters need quotes.
func quoteConnValue(value string) string {
	if value != "" && !strings.ContainsAny(value, ` '\`) {
		return value
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

// Dir returns the home of the cluster.
func (c *Cluster) Dir() string { return c.home.dir }

// Binaries returns the PostgreSQL programs of the cluster.
func (c *Cluster) Binaries() Binaries { return c.home.binaries }

// Adopted reports whether the server was already running when Open was called.
func (c *Cluster) Adopted() bool { return c.running().adopted }

// running returns the server that was started last. With Options.Restart another one may replace it, with the same URL.
func (c *Cluster) running() *postmaster {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.server
}

// Exited returns a channel that is closed when the server has exited, for any reason, and is not restarted. An owner
// that has not called Close should stop too.
func (c *Cluster) Exited() <-chan struct{} { return c.exited }

// Close stops the server in fast mode: PostgreSQL rolls back open transactions, closes connections and writes
// everything to disk. If the context ends first, Close stops the server in immediate mode, and it recovers at its next
// start. Close removes the directory of the socket and releases the data for the next owner.
func (c *Cluster) Close(ctx context.Context) error {
	c.close()
	c.starting.Lock() // closing cancels a start in progress
	defer c.starting.Unlock()
	server := c.running()
	stopped := server.stop(ctx)
	if stopped != nil {
		stopped = fmt.Errorf("stop the private PostgreSQL in %s: %w", c.home.dir, stopped)
	}
	removeSocketDir(server.socketDir)
	c.log.Info("private PostgreSQL is stopped", "directory", c.home.dir)
	return errors.Join(stopped, c.lock.Close())
}

// Exists reports whether a directory contains the data of a cluster, for callers that must not create one. "" is the
// default directory.
func Exists(dir string) bool {
	if dir == "" {
		base, err := DefaultBase(os.Getenv)
		if err != nil {
			return false
		}
		if dir, err = newestCluster(base); err != nil || dir == "" {
			return false
		}
	}
	_, err := os.Stat(home{dir: dir}.majorFile())
	return err == nil
}

// home is the directory of one cluster with its programs and its system account. The directory itself belongs to the
// owner of this process. The account owns the data only, so that it cannot create links that a privileged owner would
// follow.
type home struct {
	dir      string
	binaries Binaries
	account  *user.User // nil: the account of this process
}

func (h home) data() string      { return filepath.Join(h.dir, "data") }
func (h home) lockFile() string  { return filepath.Join(h.dir, "lock") }
func (h home) pidFile() string   { return filepath.Join(h.data(), "postmaster.pid") }
func (h home) majorFile() string { return filepath.Join(h.data(), "PG_VERSION") }
