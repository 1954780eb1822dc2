package config

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
)

// derived marks an empty setting whose value is computed from other settings.
const derived = -1

// limitSettings holds the timeouts inside PostgreSQL and the name of its sessions.
type limitSettings struct {
	Instance               string
	DBReadConnections      int64
	DBLockTimeout          time.Duration
	DBStatementTimeout     time.Duration
	DBIdleTransactionLimit time.Duration
	DBClientCheckInterval  time.Duration
	MigrateLockTimeout     time.Duration
	MigrateRetryTimeout    time.Duration
}

func (s *limitSettings) table() []setting.Setting {
	return []setting.Setting{
		{Name: "instance", Fallback: "", Scope: ForServer, Value: hostname(&s.Instance),
			Help: "`name` of this server in the application_name of its PostgreSQL sessions, which is berth/NAME. " +
				"Default: --baremetal-hostname, else the host name and the port of --listen"},
		{Name: "db-read-connections", Fallback: "", Scope: ForServer,
			Value: orDerived(func() { s.DBReadConnections = derived }, setting.Integer(&s.DBReadConnections, 0, 10000)),
			Help: "`number` of connections of --db-max-connections that serve only reads, so that writes that wait for locks cannot block reads; " +
				"0 means none. Default: a quarter, at least 1. A pool of one connection serves both"},
		{Name: "db-lock-timeout", Fallback: "", Scope: ForServer,
			Value: orDerived(func() { s.DBLockTimeout = derived }, setting.Duration(&s.DBLockTimeout, 0, 24*time.Hour)),
			Help: "maximum `time` that a request waits for one lock (lock_timeout); then a write of the Placement API gets 409 with " +
				"placement.concurrent_update, any other request 503. Default: half of --request-timeout. 0 means the setting of the role"},
		{Name: "db-statement-timeout", Fallback: "", Scope: ForServer,
			Value: orDerived(func() { s.DBStatementTimeout = derived }, setting.Duration(&s.DBStatementTimeout, 0, 25*time.Hour)),
			Help: "maximum `time` of one statement of a request (statement_timeout); then the request gets 503. " +
				"Default: 5s more than --request-timeout. 0 means the setting of the role"},
		{Name: "db-idle-transaction-timeout", Fallback: "", Scope: ForServer,
			Value: orDerived(func() { s.DBIdleTransactionLimit = derived }, setting.Duration(&s.DBIdleTransactionLimit, 0, 25*time.Hour)),
			Help: "`time` after which PostgreSQL ends a session that is idle in a transaction (idle_in_transaction_session_timeout). " +
				"Default: 5s more than --request-timeout. 0 means the setting of the role"},
		{Name: "db-client-check-interval", Fallback: "5s", Scope: ForServer,
			Value: setting.Duration(&s.DBClientCheckInterval, 0, time.Hour),
			Help: "`interval` at which PostgreSQL checks, during a statement, whether the server is still connected " +
				"(client_connection_check_interval), on platforms that support it; 0 means the setting of the role"},
		{Name: "migrate-lock-timeout", Fallback: migrate.DefaultWaits.LockTimeout.String(), Scope: ForDatabase,
			Value: setting.Duration(&s.MigrateLockTimeout, 10*time.Millisecond, time.Hour),
			Help:  "maximum `time` that a migration, with the requests queued behind it, waits for one lock before it releases its locks and retries"},
		{Name: "migrate-retry-timeout", Fallback: migrate.DefaultWaits.RetryTimeout.String(), Scope: ForDatabase,
			Value: setting.Duration(&s.MigrateRetryTimeout, 0, 24*time.Hour),
			Help:  "maximum `time` of the retries of a migration that does not get its locks; then the migration fails"},
	}
}

// orDerived returns a reader that calls derive for an empty text and otherwise reads it.
func orDerived(derive func(), otherwise setting.Reader) setting.Reader {
	read := otherwise.Read
	otherwise.Read = func(text string) *frame.Rule {
		if text == "" {
			derive()
			return nil
		}
		return read(text)
	}
	return otherwise
}

// beyondRequest is the difference between the timeouts of PostgreSQL and of a request. Berth
// therefore cancels the request first, with a suitable response.
const beyondRequest = 5 * time.Second

// Limits returns the timeouts of connections for requests.
func (s *Settings) Limits() postgres.Limits {
	return postgres.Limits{
		LockTimeout:            s.lockTimeout(),
		StatementTimeout:       s.pastRequest(s.DBStatementTimeout),
		IdleTransactionTimeout: s.pastRequest(s.DBIdleTransactionLimit),
		ClientCheckInterval:    s.DBClientCheckInterval,
	}
}

// lockTimeout returns --db-lock-timeout. The default is half of --request-timeout, or 30 seconds
// if requests have no timeout.
func (s *Settings) lockTimeout() time.Duration {
	switch {
	case s.DBLockTimeout != derived:
		return s.DBLockTimeout
	case s.RequestTimeout > 0:
		return s.RequestTimeout / 2
	}
	return 30 * time.Second
}

// pastRequest returns chosen. The default is --request-timeout plus beyondRequest, or 0 if
// requests have no timeout.
func (s *Settings) pastRequest(chosen time.Duration) time.Duration {
	if chosen != derived {
		return chosen
	}
	if s.RequestTimeout == 0 {
		return 0
	}
	return s.RequestTimeout + beyondRequest
}

// ReadConnections returns the number of pool connections that serve only reads.
func (s *Settings) ReadConnections() int32 {
	if s.DBReadConnections != derived {
		return int32(s.DBReadConnections)
	}
	return int32(max(1, s.DBMaxConnections/4))
}

// Waits returns the timeouts of migrations.
func (s *Settings) Waits() migrate.Waits {
	return migrate.Waits{LockTimeout: s.MigrateLockTimeout, RetryTimeout: s.MigrateRetryTimeout}
}

// connectionBudget is the maximum number of sessions of a server on the primary, by purpose.
// docs/postgresql-operations.md has the same table.
type connectionBudget struct {
	Pool, Metrics, Explanations, Listen, Conductor, migrations int64
}

// ConnectionBudget returns the maximum number of sessions of a server with these settings.
func (s *Settings) ConnectionBudget() connectionBudget {
	budget := connectionBudget{Pool: s.DBMaxConnections, Metrics: 2, Explanations: 1, migrations: 3}
	if s.BaremetalBackend != BaremetalOff {
		budget.Listen = 2    // its conductor, and clients that wait for allocations
		budget.Conductor = 2 // heartbeats and takeover
	}
	return budget
}

// Total returns the maximum number of concurrent sessions. Migrations end before the server opens
// the pool.
func (b connectionBudget) Total() int64 {
	return max(b.migrations, b.Pool+b.Metrics+b.Explanations+b.Listen+b.Conductor)
}

// maxApplicationName is the maximum length of an application_name in PostgreSQL, in bytes.
const maxApplicationName = 63

// ServerApplication returns the application_name of a server's sessions.
func (s *Settings) ServerApplication() (string, error) {
	name := cmp.Or(s.Instance, s.Conductor.Hostname)
	if name == "" {
		var err error
		if name, err = ConductorHostname("", firstAddress(s.Listen)); err != nil {
			return "", err
		}
	}
	return applicationName(name), nil
}

// firstAddress returns the first listen address. It replaces port 0 by the process ID, which also
// distinguishes servers.
func firstAddress(listen string) net.Addr {
	first, _, _ := strings.Cut(listen, ",")
	first = strings.TrimSpace(first)
	if path, isSocket := strings.CutPrefix(first, UnixPrefix); isSocket {
		return &net.UnixAddr{Name: path, Net: "unix"}
	}
	_, port, _ := net.SplitHostPort(first)
	number, _ := strconv.Atoi(port)
	if number == 0 {
		number = os.Getpid()
	}
	return &net.TCPAddr{Port: number}
}

// CommandApplication returns the application_name of a command's sessions, such as
// berth/db-migrate.
func CommandApplication(path string) string {
	return applicationName(strings.ReplaceAll(strings.TrimPrefix(path, "berth "), " ", "-"))
}

// applicationName shortens a long name in the middle, because the part after the last colon, such
// as a port, distinguishes the servers of a host.
func applicationName(of string) string {
	name := "berth/" + notInHostnames.ReplaceAllString(of, "-")
	if len(name) <= maxApplicationName {
		return name
	}
	colon := strings.LastIndexByte(name, ':')
	if tail := len(name) - colon; colon > 0 && tail <= maxApplicationName/2 {
		return name[:maxApplicationName-tail] + name[colon:]
	}
	return name[:maxApplicationName]
}

// WithApplication returns a connection string with that application_name, unless the string or
// PGAPPNAME sets one.
func WithApplication(connection, application string) string {
	config, err := pgx.ParseConfig(connection)
	if err != nil || config.RuntimeParams["application_name"] != "" {
		return connection
	}
	return WithParameter(connection, "application_name", application)
}

// WithParameter adds a parameter to a connection string of either form. The value needs
// no escaping.
func WithParameter(connection, name, value string) string {
	_, rest, isURL := strings.Cut(connection, "://")
	switch {
	case !isURL:
		return strings.TrimSpace(connection + " " + name + "=" + value)
	case strings.Contains(rest, "?"):
		return connection + "&" + name + "=" + value
	}
	return connection + "?" + name + "=" + value
}

// WithoutLimits returns a connection string that disables the timeouts that the role may have for
// requests.
func WithoutLimits(connection string) string {
	for _, limit := range []string{"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"} {
		connection = WithParameter(connection, limit, "0")
	}
	return connection
}

// notInHostnames matches characters that the path of a socket may contain and the name of a
// conductor may not.
var notInHostnames = regexp.MustCompile(`[^A-Za-z0-9._:-]+`)

// ConductorHostname returns chosen, or else a name that is unique to this process and the same
// after a restart: the host name with the port or socket path of its listener.
func ConductorHostname(chosen string, listening net.Addr) (string, error) {
	if chosen != "" {
		return chosen, nil
	}
	machine, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("cannot read the host name: %w; set --baremetal-hostname", err)
	}
	if socket, ok := listening.(*net.UnixAddr); ok {
		return machine + ":" + notInHostnames.ReplaceAllString(strings.TrimPrefix(socket.Name, "/"), "-"), nil
	}
	_, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return "", err
	}
	return machine + ":" + port, nil
}
