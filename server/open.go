package server

import (
	"net/http"

	"github.com/berthd/berth/server/route"
)

// openPaths are served without a token and without a microversion: what probes,
// scrapers and readers of the documentation ask for.
func openPaths(options Options, _ *route.Table) map[string]http.Handler {
	return map[string]http.Handler{
		"/livez": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }),
		"/readyz": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := options.Store.Ping(r.Context()); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		}),
	}
}
