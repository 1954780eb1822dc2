package server

import (
	"net/http"
	"net/http/pprof"
)

// adminHandler serves those who watch the service on an address of their own: what
// probes and scrapers ask for, and the profiles of the process. None of it asks for a
// token, so the address is not for everybody.
func adminHandler(open *openPaths, metrics *metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", live)
	mux.Handle("GET /readyz", open.ready)
	mux.Handle("GET /metrics", metrics.handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
