package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/store"
)

// openPaths are served without a token and without a microversion: what probes,
// scrapers and readers of the documentation ask for. They are found with and
// without the prefix of the API, since probes rarely know of it.
type openPaths struct {
	exact map[string]*openPath
	// below serves whole trees: what is asked for there is never a question of
	// tokens, even if it does not exist.
	below []*openPath
}

// openPath is a handler with the name under which its requests are counted.
type openPath struct {
	name    string
	prefix  string
	handler http.Handler
}

func newOpenPaths(options Options, metrics *metrics) *openPaths {
	documents := newDocuments(options.Prefix)
	reference := newReference()
	return &openPaths{
		exact: map[string]*openPath{
			"/livez":   {name: "livez", handler: http.HandlerFunc(live)},
			"/readyz":  {name: "readyz", handler: readiness(options.Store, options.Log)},
			"/metrics": {name: "metrics", handler: metrics.handler()},
			"/docs":    {name: "docs", handler: http.HandlerFunc(reference.page)},
		},
		below: []*openPath{
			{name: "docs", prefix: "/docs/", handler: reference},
			{name: "openapi", prefix: "/openapi/", handler: documents},
		},
	}
}

// find is nil for paths that are not open.
func (o *openPaths) find(path string) *openPath {
	if found := o.exact[path]; found != nil {
		return found
	}
	for _, tree := range o.below {
		if strings.HasPrefix(path, tree.prefix) {
			return tree
		}
	}
	return nil
}

// serve answers what asks for a representation, and nothing else. A tree sees the
// rest of the path.
func (o *openPath) serve(w http.ResponseWriter, r *http.Request, path string) {
	request.From(r.Context()).Operation = o.name
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		refused := fault.New(fault.MethodNotAllowed, "")
		refused.Allow = "GET, HEAD"
		apierr.Write(w, r, refused)
		return
	}
	r.SetPathValue(restOfPath, strings.TrimPrefix(path, o.prefix))
	o.handler.ServeHTTP(w, r)
}

// restOfPath is what a tree is asked for.
const restOfPath = "rest"

func notFound(w http.ResponseWriter, r *http.Request) {
	apierr.Write(w, r, fault.New(fault.NotFound, ""))
}

// live says that the process runs and answers. It looks at nothing else: a
// supervisor restarts what is not alive, which cures no database.
func live(w http.ResponseWriter, _ *http.Request) {
	writeProbe(w, http.StatusOK, probe{Status: "alive"})
}

// databasePatience is how long a probe waits for the database.
const databasePatience = 2 * time.Second

// readiness says whether requests can be answered.
func readiness(data *store.Store, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), databasePatience)
		defer cancel()
		if err := data.Ping(ctx); err != nil {
			// Where the database is, and as whom we ask, is not for everybody.
			log.WarnContext(r.Context(), "not ready", "cause", err.Error())
			writeProbe(w, http.StatusServiceUnavailable, probe{
				Status: "unavailable", Reason: "the database does not answer; the log says why",
			})
			return
		}
		writeProbe(w, http.StatusOK, probe{Status: "ready"})
	})
}

// probe is the answer to a supervisor.
type probe struct {
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
}

func writeProbe(w http.ResponseWriter, status int, body probe) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// Nobody is left to tell if the supervisor went away meanwhile.
	_ = json.NewEncoder(w).Encode(body)
}
