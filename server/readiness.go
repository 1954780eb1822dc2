package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/berthd/berth/server/data/migrate"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/session"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fairqueue"
)

// live responds that the process runs. It checks nothing else: a service manager restarts a process that
// is not alive, which does not repair a database.
func live(w http.ResponseWriter, _ *http.Request) {
	writeProbe(w, http.StatusOK, probe{Status: "alive"})
}

// databaseTimeout is how long a probe waits for the database, and readinessTTL how long a result is
// cached, for all probes.
const (
	databaseTimeout = 2 * time.Second
	readinessTTL    = time.Second
)

// readiness determines whether the server can serve requests.
type readiness struct {
	draining <-chan struct{}
	// starved returns the time since which no request has acquired a connection; limit is its maximum, 0:
	// no limit.
	starved func() time.Duration
	limit   time.Duration
	// searches returns the state of the pool of searches, for the checks.
	searches func() fairqueue.State
	log      *slog.Logger
	look     cachedQuery[databaseState]
}

// databaseState is what a probe reads from the database.
type databaseState struct {
	schema migrate.State
	// losses are the settings with which PostgreSQL may lose acknowledged writes.
	losses []session.Loss
}

func newReadiness(options Options) *readiness {
	look := options.schemaState
	if look == nil {
		look = schemaState(options.Store)
	}
	r := &readiness{draining: options.Observability.Draining, log: options.Log, limit: options.Observability.Starved, starved: options.Store.Pool().Starved, searches: options.Searches.State}
	r.look = cachedQuery[databaseState]{ttl: readinessTTL, timeout: databaseTimeout, fetch: func(ctx context.Context) (databaseState, error) {
		state, err := stateOf(ctx, options.Store.Pool(), look)
		if err == nil {
			options.Store.Pool().LogLosses(ctx, r.log, state.losses)
		} else {
			// The address of the database and the user are not public, so only the log has the cause.
			r.log.WarnContext(ctx, "not ready", "cause", err.Error())
		}
		return state, err
	}}
	return r
}

// stateOf reads the state of the schema and the settings of the database.
func stateOf(
	ctx context.Context, pool *postgres.Pool, schema func(context.Context) (migrate.State, error),
) (state databaseState, err error) {
	if state.schema, err = schema(ctx); err != nil {
		return databaseState{}, err
	}
	settings, err := pool.Settings(ctx)
	if err != nil {
		return databaseState{}, err
	}
	state.losses = settings.Losses()
	return state, settings.Check(true)
}

// schemaState checks that the database responds, and compares its schema with the program.
func schemaState(on *store.Store) func(context.Context) (migrate.State, error) {
	return func(ctx context.Context) (migrate.State, error) {
		set, err := migrate.Embedded()
		if err != nil {
			return "", err
		}
		status, err := set.StatusWithin(ctx, on.Pool().WithMonitorConn)
		return status.State(), err
	}
}

// ServeHTTP responds 200 if the server can serve requests, otherwise 503, with the reason and the checks.
func (r *readiness) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	select {
	case <-r.draining:
		writeProbe(w, http.StatusServiceUnavailable, probe{Status: "draining", Reason: "the server is about to stop; send requests to another"})
		return
	default:
	}
	status, response := readinessOf(r.look.get(request.Context(), databaseTimeout))
	if starved := r.starved(); status == http.StatusOK && r.limit > 0 && starved >= r.limit {
		status, response.Status = http.StatusServiceUnavailable, "unavailable"
		response.Reason = fmt.Sprintf("no request has got a connection to the database for %s", starved.Truncate(time.Second))
		response.Checks["connections"] = "exhausted"
	}
	// A full pool delays searches only, and other servers have the same load balancer, so it does not make this one unready.
	if state := r.searches(); state.Waiting > 0 {
		response.Checks["searches"] = fmt.Sprintf("%d run, %d wait, the oldest for %s", state.Running, state.Waiting, state.OldestWait.Truncate(time.Second))
	}
	writeProbe(w, status, response)
}

func readinessOf(found queryResult[databaseState]) (int, probe) {
	response := probe{Status: "unavailable", Checks: map[string]string{"database": "ok", "schema": string(found.value.schema)}}
	if len(found.value.losses) > 0 {
		response.Checks["durability"] = durability(found.value.losses)
	}
	switch {
	case found.at.IsZero() || time.Since(found.at) > databaseTimeout+readinessTTL:
		// The query is still running, and the result before it is too old.
		found.err = errNoResultYet
		fallthrough
	case found.err != nil && !errors.Is(found.err, session.ErrUnsuitable):
		response.Reason = "the database does not answer; the log says why"
		if errors.Is(found.err, errNoResultYet) {
			response.Reason = "the database does not answer in time"
		}
		response.Checks = map[string]string{"database": "does not answer", "schema": "unknown"}
	case found.err != nil:
		response.Reason = "Berth cannot work with a setting of the database; the log says which"
	case found.value.schema == migrate.StateOutdated || found.value.schema == migrate.StatePlacement:
		response.Reason = "the schema of the database is older than this berth needs; run 'berth db migrate'"
	default:
		response.Status = "ready"
		return http.StatusOK, response
	}
	return http.StatusServiceUnavailable, response
}

// durability returns the settings with which PostgreSQL may lose acknowledged writes.
func durability(losses []session.Loss) string {
	var settings []string
	for _, loss := range losses {
		settings = append(settings, loss.Setting+" = "+loss.Value)
	}
	return "acknowledged writes may be lost: " + strings.Join(settings, ", ")
}

// probe is the body of a response to a probe.
type probe struct {
	Status string            `json:"status"`
	Reason string            `json:"reason,omitempty"`
	Checks map[string]string `json:"checks,omitempty"`
}

func writeProbe(w http.ResponseWriter, status int, body probe) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// An error means that the probe has disconnected.
	_ = json.NewEncoder(w).Encode(body)
}
