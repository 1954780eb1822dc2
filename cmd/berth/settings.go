package main

import (
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/berthd/berth/server/cors"
)

// Settings is everything a person can choose, in one place. The fields are
// filled by load; nothing below cmd reads flags or environment variables (with
// one exception, PostgreSQL's own PG* variables, which pgx reads).
//
// Libraries looked at before writing our own loader (settings.go, load.go and
// values.go): koanf and viper merge maps from many sources and forget which
// source a value came from (viper also stops at the first value it cannot
// convert); kong's env tags and kelseyhightower/envconfig stop at the first
// mistake and keep no origins; caarlos0/env collects all mistakes but knows
// nothing of flags; peterbourgon/ff stops at the first. The two things wanted
// here are exactly what they lack: all mistakes in one go, and the origin of
// every value. With pflag for the command line that is about 150 lines.
type Settings struct {
	keystoneSettings
	policySettings
	runSettings
	watchSettings
	scaleSettings

	// HTTP.
	Listen         string
	BasePath       string
	MaxBodyBytes   int64
	RequestTimeout time.Duration
	DrainTimeout   time.Duration

	// Who may come in, and what they may do.
	Auth                  string
	AllowInsecureNoauth2  bool
	CORSAllowedOrigins    []string
	CORSAllowHeaders      []string
	CORSExposeHeaders     []string
	CORSAllowMethods      []string
	CORSMaxAge            time.Duration
	CORSAllowCredentials  bool
	IncompleteProjectID   string
	IncompleteUserID      string
	AllocationRetryNumber int64

	// GET /allocation_candidates.
	MaxCandidates       int64
	CandidateStrategy   string
	RandomizeCandidates bool

	// The Bare Metal API.
	BaremetalBackend           string
	BaremetalHostname          string
	BaremetalHeartbeatInterval time.Duration
	BaremetalHeartbeatTimeout  time.Duration
	BaremetalCheckInterval     time.Duration
	BaremetalWorkers           int64

	// PostgreSQL.
	DatabaseURL       string
	DirectDatabaseURL string
	DBPooler          string
	DBMaxConnections  int64
	DataDir           string
	Migrate           bool

	// Logs.
	LogFormat  string
	LogLevel   string
	LogOptions bool
	AccessLog  bool

	// PGVariables names the variables of PostgreSQL's own (PGHOST, …) that
	// choose the database because no database URL was given.
	PGVariables []string

	// conf are the files of the service before, if any is named.
	conf *placementConf

	// values is the table with texts and origins, for `berth config`.
	values []setting
}

// scope says which commands take a setting.
type scope int

const (
	// forDatabase settings are taken by `berth db`, `berth serve` and `berth config`.
	forDatabase scope = iota
	// forServer settings are taken by `berth serve` and `berth config` only.
	forServer
)

// setting is one row of the table: how a setting is called, what it means and
// how its text becomes a value. The name is the flag; the environment variable
// follows from it by one rule, so neither is spelled a second time.
type setting struct {
	name     string
	fallback string // the default, as text, read like any other value
	scope    scope
	value    reader
	help     string

	// Filled by load.
	text   string
	origin string
	wrong  bool
}

// env is the name of the environment variable: --log-format is BERTH_LOG_FORMAT.
func (s setting) env() string {
	return "BERTH_" + strings.ToUpper(strings.ReplaceAll(s.name, "-", "_"))
}

// shown is the text for people, with passwords masked.
func (s setting) shown() string {
	switch {
	case !s.value.secret || s.text == "":
		return s.text
	case s.value.mask != nil:
		return s.value.mask(s.text)
	default:
		return mask
	}
}

// plainHelp is the help without the marks that tell pflag how to name the value.
func plainHelp(help string) string {
	return strings.ReplaceAll(help, "`", "")
}

const zeroUUID = "00000000-0000-0000-0000-000000000000"

// A reshape of 10,000 allocations is about 4 MB of JSON; 16 MiB leaves room for
// long names and indented bodies.
const defaultMaxBody = 16 << 20

// defaultConnections is the size of the pool unless chosen: the statements are
// short and run inside PostgreSQL, so a few for each processor keep it busy,
// and a small machine still has four for readers that wait on locks.
func defaultConnections() string {
	return strconv.Itoa(max(4, 4*runtime.NumCPU()))
}

// table lists every setting, in the order in which help and `berth config`
// show them. The readers store into s.
func (s *Settings) table() []setting {
	rows := s.fileTable()
	rows = append(rows, s.serverTable()...)
	rows = append(rows, s.runSettings.table()...)
	rows = append(rows, s.accessTable()...)
	rows = append(rows, s.keystoneSettings.table()...)
	rows = append(rows, s.policySettings.table()...)
	rows = append(rows, s.candidateTable()...)
	rows = append(rows, s.baremetalTable()...)
	rows = append(rows, s.databaseTable()...)
	rows = append(rows, s.scaleSettings.table()...)
	rows = append(rows, s.logTable()...)
	return append(rows, s.watchSettings.table()...)
}

// fileTable are the settings that lead to others. Nothing reads their values from
// Settings: load does before it fills the rest.
func (s *Settings) fileTable() []setting {
	return []setting{
		{name: "config-file", fallback: "", scope: forDatabase, value: paths("files"),
			help: "`file` such as /etc/placement/placement.conf, whose options are taken where neither a flag nor the environment says otherwise; " +
				"may be repeated, later ones win. No file is read unless it is named here, by --config-dir or by OS_PLACEMENT_CONFIG_DIR"},
		{name: "config-dir", fallback: "", scope: forDatabase, value: paths("directories"),
			help: "`directory` whose files *.conf are read after those of --config-file, sorted by name"},
	}
}

func (s *Settings) serverTable() []setting {
	return []setting{
		{name: "listen", fallback: "127.0.0.1:8778", scope: forServer, value: addresses(&s.Listen),
			help: "`address` and port to listen on, or unix: and the path of a socket, or several of them with commas; " +
				"an empty host means every interface, port 0 any free port. Sockets that systemd passes take its place"},
		{name: "base-path", fallback: "", scope: forServer, value: basePath(&s.BasePath),
			help: "`path` under which the API is mounted, such as /placement"},
		{name: "max-body-bytes", fallback: strconv.Itoa(defaultMaxBody), scope: forServer,
			value: integer(&s.MaxBodyBytes, 1024, 1<<32),
			help:  "largest request body in `bytes`; a larger one is answered 413"},
		{name: "request-timeout", fallback: "60s", scope: forServer, value: duration(&s.RequestTimeout, 0, 24*time.Hour),
			help: "longest `time` a request may take; 0 means no limit"},
		// Some supervisors kill five seconds after asking; the rest is for closing
		// the database.
		{name: "drain-timeout", fallback: "4s", scope: forServer, value: duration(&s.DrainTimeout, 0, 10*time.Minute),
			help: "`time` that running requests get after SIGTERM and --shutdown-delay; a supervisor must not kill before both are over"},
	}
}

func (s *Settings) accessTable() []setting {
	return []setting{
		{name: "auth", fallback: "noauth2", scope: forServer, value: oneOf(&s.Auth, authNoauth2, authKeystone),
			help: "`how` callers are known: keystone asks Keystone about the token of each request; noauth2 believes every caller and is meant for one machine"},
		{name: "allow-insecure-noauth2", fallback: "false", scope: forServer, value: boolean(&s.AllowInsecureNoauth2),
			help: "allow noauth2 while listening on more than the loopback interface"},
		{name: "cors-allowed-origin", fallback: "", scope: forServer, value: origins(&s.CORSAllowedOrigins),
			help: "comma separated `origins` that browsers may call from, or *; empty turns CORS off"},
		{name: "cors-allow-headers", fallback: strings.Join(cors.DefaultAllowHeaders(), ","), scope: forServer, value: headerNames(&s.CORSAllowHeaders),
			help: "comma separated request `headers` that browsers may send"},
		{name: "cors-expose-headers", fallback: strings.Join(cors.DefaultExposeHeaders(), ","), scope: forServer, value: headerNames(&s.CORSExposeHeaders),
			help: "comma separated response `headers` that scripts in browsers may read"},
		{name: "cors-allow-methods", fallback: strings.Join(cors.DefaultAllowMethods(), ","), scope: forServer, value: methods(&s.CORSAllowMethods),
			help: "comma separated `methods` that browsers may use"},
		{name: "cors-max-age", fallback: cors.DefaultMaxAge.String(), scope: forServer, value: duration(&s.CORSMaxAge, 0, 24*365*time.Hour),
			help: "`time` for which browsers may remember what they were allowed; 0 says nothing about it"},
		{name: "cors-allow-credentials", fallback: "true", scope: forServer, value: boolean(&s.CORSAllowCredentials),
			help: "let browsers send cookies and the like"},
		{name: "incomplete-consumer-project-id", fallback: zeroUUID, scope: forServer, value: externalID(&s.IncompleteProjectID),
			help: "`project` recorded for allocations made before microversion 1.8, which name none"},
		{name: "incomplete-consumer-user-id", fallback: zeroUUID, scope: forServer, value: externalID(&s.IncompleteUserID),
			help: "`user` recorded for allocations made before microversion 1.8, which name none"},
		{name: "allocation-conflict-retry-count", fallback: "10", scope: forServer,
			value: integer(&s.AllocationRetryNumber, 0, 1<<31-1),
			help:  "accepted `number` for older configurations and unused: writes are one statement and do not race with themselves"},
	}
}

func (s *Settings) candidateTable() []setting {
	return []setting{
		{name: "max-allocation-candidates", fallback: "-1", scope: forServer, value: integer(&s.MaxCandidates, -1, 1<<31-1),
			help: "end an answer of GET /allocation_candidates after so many candidates, whatever limit the client asks for; " +
				"-1 means never, 0 acts like 1. In a big cloud set a `number` such as 1000, with breadth-first and randomize"},
		{name: "allocation-candidates-generation-strategy", fallback: "depth-first", scope: forServer,
			value: oneOf(&s.CandidateStrategy, "depth-first", "breadth-first"),
			help: "`order` in which trees of providers are searched, which decides what a limit leaves: depth-first takes all candidates " +
				"of one tree before the next, breadth-first one of each tree in turn, recommended for big clouds"},
		{name: "randomize-allocation-candidates", fallback: "false", scope: forServer, value: boolean(&s.RandomizeCandidates),
			help: "shuffle allocation candidates, and leave a random choice where a limit cuts; recommended for big clouds, " +
				"where the first hosts would otherwise fill up first"},
	}
}

// What --baremetal-backend may be.
const (
	baremetalOff       = "off"
	baremetalDatabase  = "database"
	baremetalPlacement = "placement"
)

func (s *Settings) baremetalTable() []setting {
	return []setting{
		{name: "baremetal-backend", fallback: baremetalDatabase, scope: forServer,
			value: oneOf(&s.BaremetalBackend, baremetalOff, baremetalDatabase, baremetalPlacement),
			help: "`where` the Bare Metal API finds free nodes: database is its own tables, placement makes each node a resource provider as " +
				"well, off serves no such API. All processes on a database must agree on the first two"},
		{name: "baremetal-hostname", fallback: "", scope: forServer, value: hostname(&s.BaremetalHostname),
			help: "`name` of this process among the conductors, which no other on the same database may have; one that starts again under " +
				"its old name continues its work at once. Empty means the machine's name and the port"},
		{name: "baremetal-heartbeat-interval", fallback: "10s", scope: forServer,
			value: duration(&s.BaremetalHeartbeatInterval, 10*time.Millisecond, time.Hour),
			help:  "`time` between two signs of life of a conductor"},
		{name: "baremetal-heartbeat-timeout", fallback: "60s", scope: forServer,
			value: duration(&s.BaremetalHeartbeatTimeout, 20*time.Millisecond, 24*time.Hour),
			help:  "`time` of silence after which a conductor is dead and others do its work"},
		{name: "baremetal-check-interval", fallback: "60s", scope: forServer,
			value: duration(&s.BaremetalCheckInterval, 0, 24*time.Hour),
			help:  "`time` between two looks for the work of dead conductors; 0 means that this process never looks"},
		{name: "baremetal-workers", fallback: "4", scope: forServer, value: integer(&s.BaremetalWorkers, 1, 1000),
			help: "`number` of allocations decided, and of nodes worked on, at once"},
	}
}

func (s *Settings) databaseTable() []setting {
	return []setting{
		{name: "database-url", fallback: "", scope: forDatabase, value: connection(&s.DatabaseURL),
			help: "PostgreSQL `URL`; empty means PGHOST, PGDATABASE or PGSERVICE where one is set, else an embedded PostgreSQL"},
		{name: "direct-database-url", fallback: "", scope: forDatabase, value: connection(&s.DirectDatabaseURL),
			help: "`URL` that bypasses a connection pooler, for migrations and locks; empty means --database-url"},
		{name: "db-pooler", fallback: "none", scope: forDatabase, value: oneOf(&s.DBPooler, "none", "transaction"),
			help: "`kind` of pooler in front of PostgreSQL: none, or transaction, which avoids prepared statements at some cost"},
		{name: "db-max-connections", fallback: defaultConnections(), scope: forServer,
			value: integer(&s.DBMaxConnections, 1, 10000),
			help:  "largest `number` of connections to PostgreSQL; the default is four for each processor, at least 4"},
		{name: "data-dir", fallback: "", scope: forDatabase, value: text(&s.DataDir),
			help: "`directory` of the embedded PostgreSQL; empty means berth in the user's data directory, for root /var/lib/berth"},
		{name: "migrate", fallback: "true", scope: forServer, value: boolean(&s.Migrate),
			help: "bring the schema up to date before serving; safe when several start at once"},
	}
}

func (s *Settings) logTable() []setting {
	return []setting{
		{name: "log-format", fallback: "text", scope: forDatabase, value: oneOf(&s.LogFormat, logText, logJSON, logOslo),
			help: "`format` of the log on standard error: text, json, or oslo, which is that of OpenStack's services"},
		{name: "log-level", fallback: "info", scope: forDatabase, value: oneOf(&s.LogLevel, "debug", "info", "warn", "error"),
			help: "least `level` that is logged: debug, info, warn or error"},
		{name: "log-options", fallback: "true", scope: forServer, value: boolean(&s.LogOptions),
			help: "log every setting at level debug when the service starts, passwords masked"},
		{name: "access-log", fallback: "true", scope: forServer, value: boolean(&s.AccessLog),
			help: "log one line for each request"},
	}
}

// Embedded tells whether berth runs a PostgreSQL of its own, because nothing
// names a database.
func (s *Settings) Embedded() bool {
	return s.DatabaseURL == "" && len(s.PGVariables) == 0
}
