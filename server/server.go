// Package server assembles the HTTP service: the chain of middleware, and the paths where the APIs are
// mounted. Only this package does so; it shows what happens to a request from its first byte
// (docs/contract/http.md#request-pipeline).
//
// It is not for settings, listening or signals, which are the task of the program, and it contains no rule
// of an API.
package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/auditlog"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/baremetal"
	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/cors"
	"github.com/berthd/berth/server/forwarded"
	"github.com/berthd/berth/server/loglimit"
	"github.com/berthd/berth/server/placement"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/spool"
	"github.com/berthd/berth/server/store"
)

// Options configures a server.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// AccessLog writes a line for each request.
	AccessLog bool
	// Authenticate returns the caller of a request; nil: callers are trusted (auth.TrustHeaders).
	Authenticate auth.Authenticate
	// Policy and BaremetalPolicy authorize callers; nil: the default rules.
	Policy, BaremetalPolicy *policy.Policy
	// EnforceNewDefaults disables the deprecated policy rules, if Policy is nil.
	EnforceNewDefaults bool
	// AuditLog receives a line for each write request; nil: there is no audit log.
	AuditLog *auditlog.Log
	// Limits bounds the load.
	Limits Limits
	// Spool buffers responses until their clients have read them; nil: in memory, without a limit.
	Spool *spool.Spool
	// Proxies are trusted to describe the request in headers; nil: no proxy is trusted.
	Proxies *forwarded.Proxies
	// Observability configures metrics, probes, traces and logs.
	Observability Observability
	// CORSAllowedOrigins enables CORS. CORSAllowHeaders, CORSExposeHeaders and CORSAllowMethods replace
	// the default lists unless they are nil.
	CORSAllowedOrigins, CORSAllowHeaders, CORSExposeHeaders, CORSAllowMethods []string
	// AllowedHosts lists names or addresses without a port, or *, that the Host header may have on
	// loopback connections if Authenticate is nil, in addition to those of the loopback interface.
	AllowedHosts []string
	// CORSMaxAge is how long a browser may cache a preflight; 0: an hour, negative: the header is omitted.
	CORSMaxAge time.Duration
	// CORSRefuseCredentials omits the permission to send credentials such as cookies.
	CORSRefuseCredentials bool
	// Prefix is the path under which the API is mounted: "" or "/placement".
	Prefix string
	// MaxBodyBytes is the maximum size of request bodies, and MaxOrdinaryBodyBytes that for operations
	// that need no large ones; 0: the same.
	MaxBodyBytes, MaxOrdinaryBodyBytes int64
	// BodyMemory is the limit, in bytes, of the memory of all bodies and their decoded forms; 0: no limit.
	// Requests over the limit wait, as Limits specifies.
	BodyMemory int64

	bodies *route.Budget
	// RequestTimeout cancels a request and its database queries; 0: never.
	RequestTimeout time.Duration
	// IncompleteProject and IncompleteUser are the owners of allocations that clients below microversion
	// 1.8 make.
	IncompleteProject, IncompleteUser string
	// MaxCandidates is the maximum number of candidates in a response of GET /allocation_candidates. -1:
	// no limit; 0 acts like 1.
	MaxCandidates int
	// CandidateStrategy is "depth-first" or "breadth-first": the order in which trees contribute
	// candidates up to MaxCandidates.
	CandidateStrategy string
	// RandomizeCandidates shuffles trees and candidates.
	RandomizeCandidates bool
	// CandidateBudget is the maximum number of combinations of providers that one candidate query may try;
	// 0: no limit.
	CandidateBudget int64
	// Baremetal enables the Bare Metal API; nil: paths below /v1 are not found.
	Baremetal *Baremetal
}

// Baremetal contains the options of the Bare Metal API.
type Baremetal struct {
	// Conductor is the host name of the conductor of this process.
	Conductor string
	// Decide notifies that conductor of a new node allocation; nil: the database notifies it.
	Decide func(uuid.UUID)
	// Silence is the heartbeat timeout: the age of a heartbeat after which a conductor counts as dead.
	Silence time.Duration
	// ListenURL is the connection string for LISTEN, which must bypass a pooler of transactions; empty:
	// that of the store.
	ListenURL string
	// Stopping is closed when the process is about to exit: requests that wait for a decision then get a
	// response. Nil: never.
	Stopping <-chan struct{}
	// LockTimeout is how long a request waits for a conductor to release a node before it is a conflict;
	// 0: it does not wait.
	LockTimeout time.Duration
}

// New returns the handler of the whole service.
func New(options Options) http.Handler {
	options.Prefix = strings.TrimSuffix(options.Prefix, "/")
	if options.Spool == nil {
		options.Spool, _ = spool.New(spool.Options{}) // without a directory it cannot fail
	}
	options.bodies = route.NewBudget(options.BodyMemory, options.Limits.Queue, options.Limits.Wait)
	metrics, limiter := newMetrics(options), newLimiter(options.Limits, options.Spool)
	metrics.registry.MustRegister(limiter, limiter.writing, spoolCollector{options.Spool}, newBodyMetrics(options.bodies))
	placement, baremetal := Table(options), BaremetalTable(options)
	documents := newDocuments(options.Prefix, placement, baremetal)
	front := &frontHandler{
		table: placement, prefix: options.Prefix, log: options.Log, accessLog: options.AccessLog,
		timeout: options.RequestTimeout, open: newOpenPaths(options, metrics, documents), metrics: metrics,
		limiter: limiter, stall: options.Limits.WriteStall, write: options.Limits.Write, proxies: options.Proxies, authenticate: options.Authenticate,
		audit: options.AuditLog, local: newLocalGuard(options), osloLines: options.Observability.OsloRequestLines, spans: options.Observability.Spans,
		refusedLog: loglimit.New(authLogInterval), unavailableLog: loglimit.New(authLogInterval),
	}
	if options.Observability.Admin != nil {
		options.Observability.Admin(adminHandler(front.open, metrics, options.Observability.HideProfiles))
	}
	if options.Baremetal != nil {
		front.baremetal, front.extended = baremetal, extendedTable(options)
	}
	served := cors.Wrap(recoverPanics(front.serve), cors.Options{
		AllowedOrigins: options.CORSAllowedOrigins, AllowHeaders: options.CORSAllowHeaders,
		ExposeHeaders: options.CORSExposeHeaders, AllowMethods: options.CORSAllowMethods,
		MaxAge: options.CORSMaxAge, RefuseCredentials: options.CORSRefuseCredentials,
	})
	return front.observe(served)
}

// Table returns the route table of the Placement API. It needs a store only to serve requests, not to
// generate the documents.
func Table(options Options) *route.Table {
	var search *candidates.Search
	if options.Store != nil {
		search = candidates.New(options.Store.Pool())
	}
	return route.New(placement.Operations(placement.Options{
		Store:             options.Store,
		Search:            search,
		IncompleteProject: options.IncompleteProject,
		IncompleteUser:    options.IncompleteUser,
		Candidates: placement.CandidateOptions{
			Max: options.MaxCandidates, Strategy: options.CandidateStrategy, Randomize: options.RandomizeCandidates,
			Budget: options.CandidateBudget,
		},
	}), route.Options{
		API:          placement.API(),
		Policy:       cmp.Or(options.Policy, policy.New(policy.Options{EnforceNewDefaults: options.EnforceNewDefaults})),
		MaxBodyBytes: options.MaxBodyBytes, MaxOrdinaryBodyBytes: options.MaxOrdinaryBodyBytes, Bodies: options.bodies,
		Tags:    placement.Tags(),
		Schemas: placement.Schemas(),
		Begin:   beginAudit(options.AuditLog),
	})
}

// BaremetalTable returns the route table of the Bare Metal API.
func BaremetalTable(options Options) *route.Table { return baremetalTable(options, false) }

// extendedTable returns the route table of the Bare Metal API with Berth's extensions.
func extendedTable(options Options) *route.Table { return baremetalTable(options, true) }

func baremetalTable(options Options, extended bool) *route.Table {
	wanted := baremetal.Options{Store: options.Store, Extended: extended}
	if options.Baremetal != nil {
		wanted.Conductor, wanted.Silence = options.Baremetal.Conductor, options.Baremetal.Silence
		wanted.ListenURL, wanted.Decide = options.Baremetal.ListenURL, options.Baremetal.Decide
		wanted.Stopping, wanted.LockTimeout = options.Baremetal.Stopping, options.Baremetal.LockTimeout
	}
	return route.New(baremetal.Operations(wanted), route.Options{
		API:          baremetal.API(),
		Policy:       cmp.Or(options.BaremetalPolicy, policy.NewBaremetal()),
		MaxBodyBytes: options.MaxBodyBytes, MaxOrdinaryBodyBytes: options.MaxOrdinaryBodyBytes, Bodies: options.bodies,
		Tags:    baremetal.Tags(),
		Schemas: baremetal.Schemas(),
		Begin:   beginAudit(options.AuditLog),
	})
}
