// Package server assembles the HTTP service: which middleware stands before
// which, and where the APIs are mounted. Nothing else does, so this is the place
// to read what happens to a request from its first byte (the wire contract,
// section HTTP 1).
//
// It is not for settings, listening or signals, which are the program's, and it
// holds no rule of the API itself.
package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/baremetal"
	"github.com/berthd/berth/server/cors"
	"github.com/berthd/berth/server/forwarded"
	"github.com/berthd/berth/server/placement"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

// Options are what a server is made of.
type Options struct {
	Store *store.Store
	Log   *slog.Logger
	// AccessLog writes a line for each request.
	AccessLog bool
	// Authenticate finds out who calls; nil: callers are believed (auth.Believe).
	Authenticate auth.Authenticate
	// Policy and BaremetalPolicy say what callers may do; nil: the default rules.
	Policy, BaremetalPolicy *policy.Policy
	// EnforceNewDefaults leaves the deprecated policy rules out, where Policy is nil.
	EnforceNewDefaults bool
	// Limits say how much is taken on at once.
	Limits Limits
	// Proxies are believed what they say of a request; nil: nobody is.
	Proxies *forwarded.Proxies
	// Watch says what is told to those who watch the service.
	Watch Watch
	// CORSAllowedOrigins switches CORS on. CORSAllowHeaders, CORSExposeHeaders and
	// CORSAllowMethods replace the default lists where they are not nil.
	CORSAllowedOrigins, CORSAllowHeaders, CORSExposeHeaders, CORSAllowMethods []string
	// CORSMaxAge is how long a browser may remember what it was allowed; 0: an hour,
	// negative: nothing is said about it.
	CORSMaxAge time.Duration
	// CORSRefuseCredentials leaves out the permission to send cookies and the like.
	CORSRefuseCredentials bool
	// Prefix is the path under which the API is mounted: "" or "/placement".
	Prefix string
	// MaxBodyBytes limits request bodies.
	MaxBodyBytes int64
	// RequestTimeout cancels a request, and what it does in the database; 0: never.
	RequestTimeout time.Duration
	// IncompleteProject and IncompleteUser own what clients below microversion
	// 1.8 allocate.
	IncompleteProject, IncompleteUser string
	// MaxCandidates ends an answer of GET /allocation_candidates after so many.
	// -1: never; 0 acts like 1.
	MaxCandidates int
	// CandidateStrategy is "depth-first" or "breadth-first": which trees
	// MaxCandidates leaves.
	CandidateStrategy string
	// RandomizeCandidates shuffles trees and candidates.
	RandomizeCandidates bool
	// CandidateBudget is how many combinations of providers one question for candidates
	// may try; 0: any number.
	CandidateBudget int64
	// Baremetal switches the Bare Metal API on; nil: what is below /v1 is unknown.
	Baremetal *Baremetal
}

// Baremetal are the options of the Bare Metal API.
type Baremetal struct {
	// Conductor is the host name of the conductor of this process.
	Conductor string
	// Decide tells that conductor of an allocation that was made; nil: the database does.
	Decide func(uuid.UUID)
	// Silence is how long a conductor may say nothing and count as alive.
	Silence time.Duration
	// ListenURL is how to reach the database for hearing of decisions, past any
	// pooler of transactions; empty: as the store does.
	ListenURL string
	// Stopping is closed when the process is to end: who waits for a decision is answered
	// then. Nil: never.
	Stopping <-chan struct{}
}

// New makes the handler of the whole service.
func New(options Options) http.Handler {
	options.Prefix = strings.TrimSuffix(options.Prefix, "/")
	metrics, limiter := newMetrics(options), newLimiter(options.Limits)
	metrics.registry.MustRegister(limiter)
	front := &front{
		table: Table(options), prefix: options.Prefix, log: options.Log, accessLog: options.AccessLog,
		timeout: options.RequestTimeout, open: newOpenPaths(options, metrics), metrics: metrics,
		limiter: limiter, proxies: options.Proxies, authenticate: options.Authenticate,
		osloLines: options.Watch.OsloRequestLines, spans: options.Watch.Spans,
	}
	if options.Watch.Admin != nil {
		options.Watch.Admin(adminHandler(front.open, metrics))
	}
	if options.Baremetal != nil {
		front.baremetal, front.extended = BaremetalTable(options), extendedTable(options)
	}
	served := cors.Wrap(guard(front.serve), cors.Options{
		AllowedOrigins: options.CORSAllowedOrigins, AllowHeaders: options.CORSAllowHeaders,
		ExposeHeaders: options.CORSExposeHeaders, AllowMethods: options.CORSAllowMethods,
		MaxAge: options.CORSMaxAge, RefuseCredentials: options.CORSRefuseCredentials,
	})
	return front.observe(served)
}

// Table is the route table of the Placement API. A store is only needed to serve
// requests, not to generate the documents.
func Table(options Options) *route.Table {
	return route.New(placement.Operations(placement.Options{
		Store:             options.Store,
		IncompleteProject: options.IncompleteProject,
		IncompleteUser:    options.IncompleteUser,
		Candidates: placement.CandidateOptions{
			Max: options.MaxCandidates, Strategy: options.CandidateStrategy, Randomize: options.RandomizeCandidates,
			Budget: options.CandidateBudget,
		},
	}), route.Options{
		API:          placement.API(),
		Policy:       cmp.Or(options.Policy, policy.New(policy.Options{EnforceNewDefaults: options.EnforceNewDefaults})),
		MaxBodyBytes: options.MaxBodyBytes,
		Tags:         placement.Tags(),
		Schemas:      placement.Schemas(),
	})
}

// BaremetalTable is the route table of the Bare Metal API.
func BaremetalTable(options Options) *route.Table { return baremetalTable(options, false) }

// extendedTable is the same with what this server has beyond that API.
func extendedTable(options Options) *route.Table { return baremetalTable(options, true) }

func baremetalTable(options Options, extended bool) *route.Table {
	wanted := baremetal.Options{Store: options.Store, Extended: extended}
	if options.Baremetal != nil {
		wanted.Conductor, wanted.Silence = options.Baremetal.Conductor, options.Baremetal.Silence
		wanted.ListenURL, wanted.Decide = options.Baremetal.ListenURL, options.Baremetal.Decide
		wanted.Stopping = options.Baremetal.Stopping
	}
	return route.New(baremetal.Operations(wanted), route.Options{
		API:          baremetal.API(),
		Policy:       cmp.Or(options.BaremetalPolicy, policy.NewBaremetal()),
		MaxBodyBytes: options.MaxBodyBytes,
		Tags:         baremetal.Tags(),
		Schemas:      baremetal.Schemas(),
	})
}
