package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/berthd/berth/server/store"
)

// live says that the process runs and answers. It looks at nothing else: a
// supervisor restarts what is not alive, which cures no database.
func live(w http.ResponseWriter, _ *http.Request) {
	writeProbe(w, http.StatusOK, probe{Status: "alive"})
}

// How long a probe waits for the database, and how long an answer holds, for any
// number of probes.
const (
	databasePatience = 2 * time.Second
	readinessHolds   = time.Second
)

// readiness says whether requests can be answered.
type readiness struct {
	draining <-chan struct{}
	log      *slog.Logger
	look     look[SchemaState]
}

func newReadiness(options Options) *readiness {
	r := &readiness{draining: options.Watch.Draining, log: options.Log}
	r.look = look[SchemaState]{every: readinessHolds, patience: databasePatience, ask: func(ctx context.Context) (SchemaState, error) {
		state, err := schemaState(ctx, options.Store, options.Watch.Schema)
		if err != nil {
			// Where the database is, and as whom we ask, is not for everybody.
			r.log.WarnContext(ctx, "not ready", "cause", err.Error())
		}
		return state, err
	}}
	return r
}

// schemaState asks the database whether it answers, and if so, what its schema is.
func schemaState(ctx context.Context, data *store.Store, schema func(context.Context) (SchemaState, error)) (SchemaState, error) {
	if schema != nil {
		return schema(ctx)
	}
	return SchemaUpToDate, data.Ping(ctx)
}

// ServeHTTP answers 200 where requests can be answered, else 503, with the reason and
// what was looked at.
func (r *readiness) ServeHTTP(w http.ResponseWriter, asked *http.Request) {
	select {
	case <-r.draining:
		writeProbe(w, http.StatusServiceUnavailable, probe{Status: "draining", Reason: "the server is about to stop; send requests to another"})
		return
	default:
	}
	status, answer := readinessOf(r.look.get(asked.Context(), databasePatience))
	writeProbe(w, status, answer)
}

func readinessOf(found seen[SchemaState]) (int, probe) {
	answer := probe{Status: "unavailable", Checks: map[string]string{"database": "answers", "schema": string(found.value)}}
	switch {
	case found.at.IsZero() || time.Since(found.at) > databasePatience+readinessHolds:
		// The question that runs is not answered, and the answer before it is too old.
		found.err = errNotYet
		fallthrough
	case found.err != nil:
		answer.Reason = "the database does not answer; the log says why"
		if errors.Is(found.err, errNotYet) {
			answer.Reason = "the database does not answer in time"
		}
		answer.Checks = map[string]string{"database": "does not answer", "schema": "unknown"}
	case found.value == SchemaBehind:
		answer.Reason = "the schema of the database is older than this berth needs; run 'berth db migrate'"
	default:
		answer.Status = "ready"
		return http.StatusOK, answer
	}
	return http.StatusServiceUnavailable, answer
}

// probe is the answer to a supervisor.
type probe struct {
	Status string            `json:"status"`
	Reason string            `json:"reason,omitempty"`
	Checks map[string]string `json:"checks,omitempty"`
}

func writeProbe(w http.ResponseWriter, status int, body probe) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Nobody is left to tell if the supervisor went away meanwhile.
	_ = json.NewEncoder(w).Encode(body)
}
