// Package server assembles the HTTP service: the chain of middleware, and the paths where the APIs are
// mounted. Only this package does so; it shows what happens to a request from its first byte
// (docs/contract/http.md#request-pipeline).
//
// It is not for settings, listening or signals, which are the task of the program, and it contains no rule
// of an API.
package server

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/berthd/berth/server/api/baremetal"
	"github.com/berthd/berth/server/api/placement"
	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/observe/loglimit"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/claims"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/cors"
	"github.com/berthd/berth/server/wire/forwarded"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/spool"
	"github.com/berthd/berth/server/work/events"
)

// Options configures a server.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// AccessLog writes a line for each request.
	AccessLog bool
	// Authenticate returns the caller of a request; nil: callers are trusted (auth.TrustHeaders).
	Authenticate auth.Authenticate
	// Policy and BaremetalPolicy authorize callers; nil: the default rules (policy.Defaults).
	Policy, BaremetalPolicy *policy.Policy
	// AuditLog receives a line for each write request; nil: there is no audit log.
	AuditLog *auditlog.Log
	// Explanations records candidate queries that found nothing, and explains them; nil: none are recorded. The caller
	// starts and closes it.
	Explanations *explainlog.Log
	// Limits bounds the load.
	Limits Limits
	// Searches bounds the searches; nil: a pool with the limits on the load.
	Searches *searchpool.Pool
	// Spool buffers responses until their clients have read them; nil: in memory, without a limit.
	Spool *spool.Spool
	// Proxies are trusted to describe the request in headers; nil: no proxy is trusted.
	Proxies *forwarded.Proxies
	// Observability configures metrics, probes, traces and logs.
	Observability Observability
	// Console returns the functions that serve the web console, which is a client of the service, and that end its calls;
	// nil: there is no console. The path of a request is the part below ConsolePath.
	Console func(service http.Handler) (serve func(w http.ResponseWriter, r *http.Request, path string), end func() error)
	// CORS lets pages of other origins call the APIs; the zero value does not.
	CORS cors.Options
	// AllowedHosts lists names or addresses without a port, or *, that the Host header may have on
	// loopback connections if Authenticate is nil, in addition to those of the loopback interface.
	AllowedHosts []string
	// Prefix is the path under which the API is mounted: "" or "/placement".
	Prefix string
	// Bodies limits request bodies. Requests over its memory wait, as Limits specifies.
	Bodies route.BodyLimits
	// RequestTimeout cancels a request and its database queries; 0: never.
	RequestTimeout time.Duration
	// Leases are the collectors of the removal of expired consumers, which the caller starts.
	Leases []prometheus.Collector
	// History are the collectors of the steps of the record of changes, which the caller makes.
	History []prometheus.Collector
	// Events are the settings of streams of events.
	Events events.Settings
	// IdempotencyLifetime is how long an Idempotency-Key is stored whose request has no other lifetime; 0: 24 hours.
	IdempotencyLifetime time.Duration
	// Placement has the options of the Placement API, whose Store, Search, Explanations and Events New sets.
	Placement placement.Options
	// Baremetal has the options of the Bare Metal API, whose Store, Extension and Explanations New sets; nil: paths below /v1
	// are not found.
	Baremetal *baremetal.Options

	// schemaState replaces the check of the schema in tests of the probes.
	schemaState func(context.Context) (migrate.State, error)
}

// incompleteOwner is the project and user of allocations that clients below microversion 1.8 make.
const incompleteOwner = "00000000-0000-0000-0000-000000000000"

// Defaults returns the options of a server in another program than berth serve: the Placement API without
// authentication and without limits on the load. Settings of berth serve have the same defaults where they
// concern the API, except that bodies have one limit, 64 MiB.
func Defaults(on *store.Store, log *slog.Logger) Options {
	return Options{
		Store: on, Log: log, Bodies: route.BodyLimits{Max: 64 << 20},
		Placement: placement.Options{
			IncompleteProject: incompleteOwner, IncompleteUser: incompleteOwner,
			Candidates: placement.CandidateOptions{Max: -1, Strategy: "depth-first"},
		},
		Observability: Observability{PublicMetrics: true}, Events: events.Defaults(),
	}
}

// Handlers are the handlers of a server. StopStreams ends streams of events, with a line that says so. Close ends them too, and the calls of the
// console.
type Handlers struct {
	// Public serves the APIs and what needs no token.
	Public http.Handler
	// Admin serves operators: probes, metrics and profiles. It requires no token, so its address must not be
	// public.
	Admin http.Handler

	events     *events.Hub
	endConsole func() error
	// front and operators have the routes of Public and Admin, and bodies their memory, for the test that visits all of them.
	front     *frontHandler
	operators []adminRoute
	bodies    *route.Budget
}

// StopStreams ends the streams of events when the server stops. They would not end by themselves.
func (h Handlers) StopStreams() {
	if h.events != nil {
		h.events.Stop()
	}
}

// Close cancels the running calls of the console, and ends streams.
func (h Handlers) Close() error {
	if h.events != nil {
		h.events.Close()
	}
	if h.endConsole == nil {
		return nil
	}
	return h.endConsole()
}

// New returns the handlers of the whole service.
func New(options Options) Handlers {
	options.Prefix = strings.TrimSuffix(options.Prefix, "/")
	if options.Spool == nil {
		options.Spool, _ = spool.New(spool.Options{}) // without a directory it cannot fail
	}
	if options.Explanations == nil {
		options.Explanations = explainlog.New(explainlog.Options{Store: options.Store, Log: options.Log})
	}
	if options.Placement.Search == nil {
		options.Placement.Search = candidates.New(options.Store.Pool())
	}
	options.Placement.Search.ReportGivenUp(logGivenUp(loglimit.New(givenUpLogInterval)))
	limiter := newLimiter(options.Limits, options.Spool)
	if options.Searches == nil {
		options.Searches = options.Limits.newSearches(options.Placement.Candidates.Budget)
	}
	options.Searches.OnRejected(limiter.refused.WithLabelValues(rejectedSearchQueue).Inc)
	options.Placement.Search.RunIn(options.Searches)
	options.Placement.Claims = claims.New(options.Store, options.Placement.Search)
	options.Placement.Events = events.New(events.Options{
		Settings: options.Events, Store: options.Store, Log: options.Log, Encode: placement.EncodeEvent, Timeout: options.RequestTimeout,
	})
	bodies := route.NewBudget(options.Bodies.Memory, options.Limits.Queue, options.Limits.Wait)
	metrics := newMetrics(options)
	metrics.registry.MustRegister(options.Placement.Events.Collectors()...)
	metrics.registry.MustRegister(limiter, limiter.writing, options.Searches, spoolCollector{options.Spool}, newBodyMetrics(bodies))
	placement, machines, extended := placementTable(options, bodies), baremetalTable(options, bodies, nil), extendedTables(options, bodies)
	documents := newDocuments(options.Prefix, placement, machines, extended)
	front := &frontHandler{
		table: placement, prefix: options.Prefix, log: options.Log, accessLog: options.AccessLog,
		timeout: options.RequestTimeout, open: newOpenPaths(options, metrics, documents, limiter), metrics: metrics, pages: limiter.newPages(), forms: newFormBudget(options),
		limiter: limiter, stall: options.Limits.WriteStall, write: options.Limits.Write, proxies: options.Proxies, authenticate: options.Authenticate,
		audit: options.AuditLog, local: newLocalGuard(options), osloLines: options.Observability.OsloRequestLines, spans: options.Observability.Spans,
		refusedLog: loglimit.New(authLogInterval), unavailableLog: loglimit.New(authLogInterval),
	}
	if options.Baremetal != nil {
		front.baremetal, front.extended = machines, extended
	}
	public := front.observe(front.withConsole(cors.Wrap(recoverPanics(front.serve), options.CORS)))
	operators := adminRoutes(front.open, metrics, limiter, options.Observability.Profiles)
	handlers := Handlers{events: options.Placement.Events, Public: public, Admin: adminHandler(operators), front: front, operators: operators, bodies: bodies}
	if options.Console != nil {
		front.console, handlers.endConsole = options.Console(public)
	}
	return handlers
}

// Table returns the route table of the Placement API. It needs a store only to serve requests, not to
// generate the documents.
func Table(options Options) *route.Table { return placementTable(options, nil) }

// BaremetalTable is Table for the Bare Metal API without Berth's extensions.
func BaremetalTable(options Options) *route.Table { return baremetalTable(options, nil, nil) }

// ExtendedBaremetalTable is BaremetalTable with Berth's extensions up to a version.
func ExtendedBaremetalTable(options Options, extension microversion.Extension) *route.Table {
	return baremetalTable(options, nil, &extension)
}

// extendedTables returns the tables of the Bare Metal API with extensions, by the versions at which they change.
func extendedTables(options Options, bodies *route.Budget) map[microversion.Extension]*route.Table {
	tables := map[microversion.Extension]*route.Table{}
	for _, extension := range baremetal.Extensions {
		tables[extension] = baremetalTable(options, bodies, &extension)
	}
	return tables
}

func placementTable(options Options, bodies *route.Budget) *route.Table {
	api := options.Placement
	if api.Store = options.Store; api.Store != nil && api.Search == nil {
		api.Search = candidates.New(api.Store.Pool())
	}
	api.Explanations = options.Explanations
	return route.New(placement.Operations(api), route.Options{
		API:    placement.API(),
		Policy: cmp.Or(options.Policy, policy.New(policy.Defaults())),
		Bodies: options.Bodies, Budget: bodies,
		Tags:    placement.Tags(),
		Schemas: placement.Schemas(), KeyLifetime: options.IdempotencyLifetime,
		Begin: beginAudit(options.AuditLog),
	})
}

func baremetalTable(options Options, bodies *route.Budget, extension *microversion.Extension) *route.Table {
	var api baremetal.Options
	if options.Baremetal != nil {
		api = *options.Baremetal
	}
	api.Store, api.Extension, api.Explanations = options.Store, extension, options.Explanations
	return route.New(baremetal.Operations(api), route.Options{
		API:    baremetal.API(extension),
		Policy: cmp.Or(options.BaremetalPolicy, policy.NewBaremetal()),
		Bodies: options.Bodies, Budget: bodies,
		Tags:    baremetal.Tags(),
		Schemas: baremetal.Schemas(),
		Begin:   beginAudit(options.AuditLog),
	})
}

// Observability configures metrics, probes, traces and logs.
type Observability struct {
	// Version and Revision identify this berth in the metrics.
	Version, Revision string
	// Draining is closed when the server starts to drain: /readyz reports that from then on, so that load
	// balancers send requests to other servers. Nil: never.
	Draining <-chan struct{}
	// Starved is the time without a connection for any request after which /readyz reports that the server
	// is not ready; 0: never.
	Starved time.Duration
	// Spans creates a span for each request; nil: none.
	Spans trace.Tracer
	// OsloRequestLines writes the access log in the format of OpenStack services.
	OsloRequestLines bool
	// PostgresInterval and CapacityInterval are the minimum intervals between two collector queries of the
	// state of PostgreSQL, and of the capacity of each resource class. 0 disables the metrics.
	PostgresInterval, CapacityInterval time.Duration
	// Tokens returns the numbers of token validations by result; nil: tokens are not validated.
	Tokens func() map[string]int64
	// Authentication is the collector of an authentication method other than Keystone; nil: none.
	Authentication prometheus.Collector
	// LogLinesLost returns the number of log lines that could not be written, and EmbeddedRestarts the
	// number of restarts of the embedded PostgreSQL. Nil: there is no such metric.
	LogLinesLost, EmbeddedRestarts func() int64
	// Validations returns the numbers of current token validations by state; nil: there is no such metric.
	Validations func() map[string]int64
	// PublicMetrics serves /metrics through Handlers.Public too.
	PublicMetrics bool
	// Profiles serves /debug/pprof through Handlers.Admin.
	Profiles bool
}

// Operations returns the operations of the Placement API, then those of the Bare Metal API with its
// extensions. It is for tools that must cover all operations; the result cannot serve requests.
func Operations() []*route.Operation {
	return slices.Concat(Table(Options{}).Operations(), ExtendedBaremetalTable(Options{}, microversion.ExtensionMax).Operations())
}
