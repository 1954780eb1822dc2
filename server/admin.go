package server

import (
	"net/http"
	"net/http/pprof"
)

// adminHandler returns the handler for operators, which has an address of its own: it serves what probes
// and scrapers request, and the profiles of the process if they are enabled. It requires no token, so
// the address must not be public.
func adminHandler(open *openPaths, metrics *metrics, profiles bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", live)
	mux.Handle("GET /readyz", open.ready)
	mux.Handle("GET /metrics", metrics.handler())
	if !profiles {
		return mux
	}
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
