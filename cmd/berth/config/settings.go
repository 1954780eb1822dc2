// Package config has the settings of the server: their tables, the reader of flags, environment
// variables and placement.conf, the rules for combinations of settings, and the command `berth
// config`.
//
// It is not for how one value is read (package setting), nor for opening what the settings name
// (packages open and serve).
package config

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/cluster"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/cors"
	"github.com/berthd/berth/server/work/conductor"
	"github.com/berthd/berth/server/work/events"
	"github.com/berthd/berth/server/work/idempotency"
	"github.com/berthd/berth/server/work/leases"
)

// Settings holds the values of all settings. Read fills the fields. No package under server/
// reads flags or environment variables, except that pgx reads PostgreSQL's PG* variables.
//
// Libraries evaluated before this loader (settings.go, load.go and values.go) was written: koanf
// and viper merge maps from many sources and forget which source a value came from (viper also
// stops at the first value it cannot convert); kong's env tags and kelseyhightower/envconfig stop
// at the first mistake and keep no origins; caarlos0/env collects all mistakes but knows nothing
// of flags; peterbourgon/ff stops at the first. Berth requires two things that they lack: all
// errors in one report, and the origin of every value. With pflag for the command line that is
// about 150 lines.
type Settings struct {
	AuthenticationSettings
	keystoneSettings
	oidcSettings
	PolicySettings
	consoleSettings
	listenerSettings
	ObservabilitySettings
	replicaSettings
	limitSettings

	// HTTP.
	Listen         string
	BasePath       string
	Bodies         route.BodyLimits
	RequestTimeout time.Duration
	DrainTimeout   time.Duration

	CORS                  cors.Options
	AllocationRetryNumber int64

	// The APIs. Without a hostname of the conductor, it is derived from the listen address.
	Placement            placement.Options
	Explain              explainlog.Settings
	Idempotency          idempotency.Settings
	Leases               leases.Settings
	Events               events.Settings
	BaremetalBackend     string
	BaremetalLockTimeout time.Duration
	Conductor            conductor.Options

	// PostgreSQL.
	DatabaseURL       string
	DatabaseURLFile   string
	DirectDatabaseURL string
	DBPooler          string
	DBMaxConnections  int64
	DataDir           string
	EmbeddedLogMax    int64
	Migrate           bool

	// Logs.
	LogFormat  string
	LogLevel   string
	LogOptions bool
	AccessLog  bool

	// PGVariables lists the PG* variables (PGHOST, …) that select the database if no database URL
	// is set.
	PGVariables []string

	// Conf holds the entries of the placement.conf files that --config-file and --config-dir
	// name.
	Conf *placementConf

	// values is the table with values and origins, for `berth config`.
	values []setting.Setting
}

const (
	// ForDatabase is the scope of settings of `berth db`, `berth serve` and `berth config`.
	ForDatabase setting.Scope = iota
	// ForServer is the scope of settings of `berth serve` and `berth config` only.
	ForServer
)

// ZeroUUID is the project and user of consumers that have none.
const ZeroUUID = "00000000-0000-0000-0000-000000000000"

// A reshape of 10,000 allocations is about 4 MB of JSON; 16 MiB leaves room for
// long names and indented bodies.
const defaultMaxBody = 16 << 20

// The largest observed bodies of other operations are lists of some thousand traits or
// aggregates, 200 kB.
const defaultMaxOrdinaryBody = 1 << 20

// 50 bodies of 1 MiB may add 64 MB to the memory of an idle server, and the garbage collector
// lets the heap grow to a multiple of the live heap; see docs/decisions/0012-memory.md.
const defaultBodyMemory = 16 << 20

// defaultConnections returns the default pool size. The statements are short and run inside
// PostgreSQL, so four connections per processor keep it busy; a small host has at least four, for
// requests that wait for locks.
func defaultConnections() string {
	return strconv.Itoa(max(4, 4*runtime.NumCPU()))
}

// Table returns all settings in the order of the help and `berth config`. Their readers store
// values into s.
func (s *Settings) Table() []setting.Setting {
	rows := s.fileTable()
	rows = append(rows, s.serverTable()...)
	rows = append(rows, s.listenerSettings.table()...)
	rows = append(rows, s.AuthenticationSettings.table()...)
	rows = append(rows, s.consoleSettings.table()...)
	rows = append(rows, s.accessTable()...)
	rows = append(rows, s.keystoneSettings.table()...)
	rows = append(rows, s.oidcSettings.table()...)
	rows = append(rows, s.PolicySettings.Table()...)
	rows = append(rows, s.candidateTable()...)
	rows = append(rows, s.explanationTable()...)
	rows = append(rows, s.idempotencyTable()...)
	rows = append(rows, s.leaseTable()...)
	rows = append(rows, s.eventTable()...)
	rows = append(rows, s.baremetalTable()...)
	rows = append(rows, s.databaseTable()...)
	rows = append(rows, s.limitSettings.table()...)
	rows = append(rows, s.replicaSettings.table()...)
	rows = append(rows, s.logTable()...)
	return append(rows, s.ObservabilitySettings.table()...)
}

// fileTable returns the settings that name configuration files. Settings has no field for their
// values: Read uses them before it reads the other settings.
func (s *Settings) fileTable() []setting.Setting {
	return []setting.Setting{
		{Name: "config-file", Fallback: "", Scope: ForDatabase, Value: setting.Paths("files"),
			Help: "placement.conf `file`; its options apply where neither a flag nor an environment variable is set; " +
				"repeatable, the last file wins. Default: none; Berth reads only files that this setting, --config-dir or OS_PLACEMENT_CONFIG_DIR names"},
		{Name: "config-dir", Fallback: "", Scope: ForDatabase, Value: setting.Paths("directories"),
			Help: "`directory` whose *.conf files are read after those of --config-file, in order of their names"},
	}
}

func (s *Settings) serverTable() []setting.Setting {
	return []setting.Setting{
		{Name: "listen", Fallback: "127.0.0.1:8778", Scope: ForServer, Value: addresses(&s.Listen),
			Help: "comma-separated listen `addresses` with ports, or unix: and the path of a socket; " +
				"an empty host means all interfaces, port 0 any free port. Sockets passed by systemd replace this setting"},
		{Name: "base-path", Fallback: "", Scope: ForServer, Value: basePath(&s.BasePath),
			Help: "URL `path` prefix of the API, such as /placement"},
		{Name: "max-body-bytes", Fallback: strconv.Itoa(defaultMaxBody), Scope: ForServer,
			Value: setting.Integer(&s.Bodies.Max, 1024, 1<<32),
			Help: "maximum request body in `bytes` of POST /reshaper, POST /allocations, POST and PATCH of bare metal nodes and " +
				"PUT of their states/provision; larger requests get 413"},
		{Name: "max-ordinary-body-bytes", Fallback: strconv.Itoa(defaultMaxOrdinaryBody), Scope: ForServer,
			Value: setting.Integer(&s.Bodies.MaxOrdinary, 1024, 1<<32),
			Help:  "maximum request body in `bytes` of all other operations, if less than --max-body-bytes; larger requests get 413"},
		{Name: "max-body-memory", Fallback: strconv.Itoa(defaultBodyMemory), Scope: ForServer,
			Value: setting.Integer(&s.Bodies.Memory, 0, 1<<40),
			Help: "estimated maximum memory in `bytes` for all request bodies and the values decoded from them; bodies up to 64 KiB with " +
				"few values do not count. Other requests wait in order, limited by --max-queued-requests and --queue-timeout, and one request at a time may exceed the limit. 0 means no limit"},
		{Name: "request-timeout", Fallback: "60s", Scope: ForServer, Value: setting.Duration(&s.RequestTimeout, 0, 24*time.Hour),
			Help: "maximum `duration` of a request; 0 means no limit"},
		// Some supervisors send SIGKILL five seconds after SIGTERM; the remaining second is for
		// closing the database.
		{Name: "drain-timeout", Fallback: "4s", Scope: ForServer, Value: setting.Duration(&s.DrainTimeout, 0, 10*time.Minute),
			Help: "maximum `duration` of running requests after SIGTERM and --shutdown-delay; the stop timeout of the supervisor must exceed the sum of both"},
	}
}

func (s *Settings) accessTable() []setting.Setting {
	return []setting.Setting{
		{Name: "cors-allowed-origin", Fallback: "", Scope: ForServer, Value: origins(&s.CORS.AllowedOrigins),
			Help: "comma-separated `origins` allowed by CORS, or *; empty disables CORS"},
		{Name: "cors-allow-headers", Fallback: strings.Join(cors.Defaults().AllowHeaders, ","), Scope: ForServer, Value: headerNames(&s.CORS.AllowHeaders),
			Help: "comma-separated request `headers` allowed by CORS"},
		{Name: "cors-expose-headers", Fallback: strings.Join(cors.Defaults().ExposeHeaders, ","), Scope: ForServer, Value: headerNames(&s.CORS.ExposeHeaders),
			Help: "comma-separated response `headers` exposed by CORS"},
		{Name: "cors-allow-methods", Fallback: strings.Join(cors.Defaults().AllowMethods, ","), Scope: ForServer, Value: methods(&s.CORS.AllowMethods),
			Help: "comma-separated HTTP `methods` allowed by CORS"},
		{Name: "cors-max-age", Fallback: cors.Defaults().MaxAge.String(), Scope: ForServer, Value: setting.Duration(&s.CORS.MaxAge, 0, 24*365*time.Hour),
			Help: "`duration` for which browsers may cache preflight responses (Access-Control-Max-Age); 0 omits the header"},
		{Name: "cors-allow-credentials", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.CORS.AllowCredentials),
			Help: "whether CORS allows credentials, such as cookies (Access-Control-Allow-Credentials)"},
		{Name: "incomplete-consumer-project-id", Fallback: ZeroUUID, Scope: ForServer, Value: ExternalID(&s.Placement.IncompleteProject),
			Help: "`project` ID of consumers whose allocations are set before microversion 1.8, without a project"},
		{Name: "incomplete-consumer-user-id", Fallback: ZeroUUID, Scope: ForServer, Value: ExternalID(&s.Placement.IncompleteUser),
			Help: "`user` ID of consumers whose allocations are set before microversion 1.8, without a user"},
		{Name: "allocation-conflict-retry-count", Fallback: "10", Scope: ForServer,
			Value: setting.Integer(&s.AllocationRetryNumber, 0, 1<<31-1),
			Help:  "ignored `number`; accepted so that existing configurations load. Berth serializes conflicting claims with row locks"},
	}
}

func (s *Settings) candidateTable() []setting.Setting {
	return []setting.Setting{
		{Name: "max-allocation-candidates", Fallback: "-1", Scope: ForServer, Value: setting.Integer(&s.Placement.Candidates.Max, -1, 1<<31-1),
			Help: "maximum number of candidates in a response of GET /allocation_candidates, whatever limit the client requests; " +
				"-1 means no maximum, 0 acts like 1. In large clouds set a `number` such as 1000, with breadth-first and randomization"},
		{Name: "allocation-candidates-generation-strategy", Fallback: "depth-first", Scope: ForServer,
			Value: setting.OneOf(&s.Placement.Candidates.Strategy, "depth-first", "breadth-first"),
			Help: "search `order` of provider trees, which decides the candidates that a limit keeps: depth-first returns all candidates " +
				"of one tree before those of the next, breadth-first one of each tree in turn; breadth-first is recommended for large clouds, and for hosts with eight or more " +
				"devices of one class, of which one could fill the 1000 candidates that Nova requests"},
		{Name: "randomize-allocation-candidates", Fallback: "false", Scope: ForServer, Value: setting.Boolean(&s.Placement.Candidates.Randomize),
			Help: "whether allocation candidates are shuffled, so that a limit keeps a random selection; recommended for large clouds, " +
				"where the first hosts would otherwise fill first"},
		{Name: "allocation-candidates-max-combinations", Fallback: "10000000", Scope: ForServer, Value: setting.Integer(&s.Placement.Candidates.Budget, 0, 1<<53),
			Help: "maximum `number` of provider combinations that one GET /allocation_candidates may try before it fails with 400; " +
				"trees with fewer than 1000 are not counted. A tree that takes more than its share without a candidate is left out. " +
				"0 means no limit except --request-timeout"},
	}
}

// Values of --baremetal-backend.
const (
	BaremetalOff       = "off"
	baremetalDatabase  = "database"
	BaremetalPlacement = "placement"
)

func (s *Settings) baremetalTable() []setting.Setting {
	return []setting.Setting{
		{Name: "baremetal-backend", Fallback: baremetalDatabase, Scope: ForServer,
			Value: setting.OneOf(&s.BaremetalBackend, BaremetalOff, baremetalDatabase, BaremetalPlacement),
			Help: "`backend` of bare metal node allocations: database uses the Bare Metal tables, placement also makes each node a resource provider, " +
				"off disables the Bare Metal API. All servers on one database must use the same of the first two"},
		{Name: "baremetal-hostname", Fallback: "", Scope: ForServer, Value: hostname(&s.Conductor.Hostname),
			Help: "host `name` of this conductor, unique per database; a conductor that restarts under " +
				"its previous name resumes its work at once. Default: the host name and the port"},
		{Name: "baremetal-heartbeat-interval", Fallback: "10s", Scope: ForServer,
			Value: setting.Duration(&s.Conductor.HeartbeatInterval, 10*time.Millisecond, time.Hour),
			Help:  "`interval` between heartbeats of a conductor"},
		{Name: "baremetal-heartbeat-timeout", Fallback: "60s", Scope: ForServer,
			Value: setting.Duration(&s.Conductor.HeartbeatTimeout, 20*time.Millisecond, 24*time.Hour),
			Help:  "`time` without a heartbeat after which other conductors take over a conductor's nodes"},
		{Name: "baremetal-takeover-interval", Fallback: "60s", Scope: ForServer,
			Value: setting.Duration(&s.Conductor.CheckInterval, 0, 24*time.Hour),
			Help:  "`interval` between checks for dead conductors; 0 means that this server takes over no work"},
		{Name: "baremetal-workers", Fallback: "4", Scope: ForServer, Value: setting.Integer(&s.Conductor.Workers, 1, 1000),
			Help: "maximum `number` of node allocations processed concurrently, and of nodes in transient states"},
		{Name: "baremetal-lock-timeout", Fallback: "3s", Scope: ForServer,
			Value: setting.Duration(&s.BaremetalLockTimeout, 0, time.Minute),
			Help: "maximum `time` that a request to change the power or provision state waits for a conductor's reservation of the node; " +
				"then it gets 409; 0 means no wait"},
	}
}

func (s *Settings) databaseTable() []setting.Setting {
	return []setting.Setting{
		{Name: "database-url", Fallback: "", Scope: ForDatabase, Value: connection(&s.DatabaseURL),
			Help: "PostgreSQL connection `URL`. Default: PGHOST, PGDATABASE or PGSERVICE if one is set, else an embedded PostgreSQL"},
		{Name: "database-url-file", Fallback: "", Scope: ForDatabase, Value: setting.Text(&s.DatabaseURLFile),
			Help: "`file` with the database URL, which a flag would show to other users of this host; trailing line ends are ignored"},
		{Name: "direct-database-url", Fallback: "", Scope: ForDatabase, Value: connection(&s.DirectDatabaseURL),
			Help: "connection `URL` that bypasses the connection pooler, for migrations and locks. Default: --database-url"},
		{Name: "db-pooler", Fallback: "none", Scope: ForDatabase, Value: setting.OneOf(&s.DBPooler, "none", "transaction"),
			Help: "`mode` of the connection pooler before PostgreSQL: none or transaction; transaction avoids prepared statements at some cost"},
		{Name: "db-max-connections", Fallback: defaultConnections(), Scope: ForServer,
			Value: setting.Integer(&s.DBMaxConnections, 1, 10000),
			Help:  "maximum `number` of connections in the pool to PostgreSQL. Default: four per processor, at least 4"},
		{Name: "data-dir", Fallback: "", Scope: ForDatabase, Value: setting.Text(&s.DataDir),
			Help: "data `directory` of the embedded PostgreSQL. Default: berth in the user's data directory, for root /var/lib/berth"},
		{Name: "embedded-log-max-bytes", Fallback: strconv.Itoa(cluster.DefaultLogMaxBytes), Scope: ForDatabase,
			Value: setting.Integer(&s.EmbeddedLogMax, 1<<20, 1<<40),
			Help:  "maximum total size in `bytes` of the log files of the embedded PostgreSQL; Berth deletes the oldest files beyond it"},
		{Name: "migrate", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.Migrate),
			Help: "whether the server migrates the schema before it serves; safe when several servers start concurrently"},
	}
}

// Values of --log-format.
const (
	LogText = "text"
	LogJSON = "json"
	// LogOslo is the format of oslo.log, which OpenStack services use.
	LogOslo = "oslo"
)

func (s *Settings) logTable() []setting.Setting {
	return []setting.Setting{
		{Name: "log-format", Fallback: "text", Scope: ForDatabase, Value: setting.OneOf(&s.LogFormat, LogText, LogJSON, LogOslo),
			Help: "log `format`: text, json, or oslo (the format of OpenStack services)"},
		{Name: "log-level", Fallback: "info", Scope: ForDatabase, Value: setting.OneOf(&s.LogLevel, "debug", "info", "warn", "error"),
			Help: "minimum log `level`: debug, info, warn or error"},
		{Name: "log-options", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.LogOptions),
			Help: "whether the server logs every setting at level debug on startup, with secrets masked"},
		{Name: "access-log", Fallback: "true", Scope: ForServer, Value: setting.Boolean(&s.AccessLog),
			Help: "whether the server logs one line per request"},
	}
}

// Embedded reports whether Berth runs its embedded PostgreSQL, because neither a URL nor a PG*
// variable names a database.
func (s *Settings) Embedded() bool {
	return s.DatabaseURL == "" && len(s.PGVariables) == 0
}
