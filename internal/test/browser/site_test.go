package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// policy is a Content-Security-Policy as strict as that of the console.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// document returns a page without faults, with a body.
func document(head, body string) string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Test</title><link rel="icon" href="/icon.svg">` +
		`<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/style.css">` + head +
		`</head><body><main><h1>Test</h1>` + body + `</main></body></html>`
}

// serve serves a page at /, and the files that a page may load.
func serve(t *testing.T, page string) string {
	t.Helper()
	mux := http.NewServeMux()
	file := func(path, kind, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Security-Policy", policy)
			fmt.Fprint(w, text)
		})
	}
	file("/{$}", "text/html; charset=utf-8", page)
	file("/next", "text/html; charset=utf-8", document("", `<p id="next">Next</p>`))
	file("/style.css", "text/css", "body { background: #fff; color: #000 } .wide { width: 2000px } .pale { color: #ccc } .tall { height: 2000px }\n"+
		"@media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }")
	file("/icon.svg", "image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"/>`)
	file("/error.js", "text/javascript", "console.error('planted', 1)")
	file("/warning.js", "text/javascript", "console.warn('planted')")
	file("/exception.js", "text/javascript", "throw new Error('planted')")
	file("/rejection.js", "text/javascript", "Promise.reject(new Error('planted'))")
	file("/alert.js", "text/javascript", "alert('planted')")
	file("/eval.js", "text/javascript", "try { new Function('return 1')() } catch {}")
	file("/foreign.js", "text/javascript", "fetch('http://example.org/').catch(() => {})")
	file("/write.js", "text/javascript", "document.querySelector('#by-script').textContent = 'JavaScript runs'")
	file("/keys.js", "text/javascript", "addEventListener('keydown', e => document.querySelector('#keys').textContent += "+
		"(e.shiftKey ? 'S-' : '') + (e.ctrlKey ? 'C-' : '') + e.key + ' ')")
	mux.HandleFunc("GET /never.js", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	mux.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("name")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, document("", fmt.Sprintf("<p id=cookie>%v</p><p id=header>%s</p><p id=q>%s</p>", cookie, r.Header.Get("X-Test"), r.FormValue("q"))))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}
