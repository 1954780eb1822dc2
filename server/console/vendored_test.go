package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/browser"
)

// strictPolicy forbids eval, inline scripts, inline styles and other hosts.
const strictPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

const vendoredPage = `<!doctype html><html lang="en"><head><title>Assets</title><link rel="icon" href="/icon.svg">
<link rel="stylesheet" href="/test.css"><script src="/assets/htmx.min.js" defer></script><script src="/assets/hx-ptag.min.js" defer></script>
</head><body><main><h1>Assets</h1>
<div id="load" hx-get="/part/load" hx-trigger="load">-</div>
<div id="poll" hx-get="/part/poll" hx-trigger="every 2s" hx-ptag="first">-</div>
<form hx-get="/part/search" hx-trigger="input changed delay:50ms, submit" hx-target="#found" hx-push-url="true">
<label>Search <input name="q"></label></form><p id="found">-</p>
<a href="/part/click" hx-get="/part/click" hx-target="#found">Click</a>
<p class="f4">0123456789 Sans</p><p class="f5">Medium</p><p class="f6">SemiBold</p><p class="m4">0O1lI 9c5e</p><p class="m5">Medium</p>
</main></body></html>`

// fontStyle returns a style sheet with a class per font.
func fontStyle() string {
	var style strings.Builder
	for class, font := range map[string]string{"f4": "sans-400", "f5": "sans-500", "f6": "sans-600", "m4": "mono-400", "m5": "mono-500"} {
		fmt.Fprintf(&style, "@font-face { font-family: %[1]s; src: url(/assets/plex-%[2]s.woff2) format('woff2') }\n.%[1]s { font-family: %[1]s }\n", class, font)
	}
	return style.String()
}

// vendoredServer serves vendoredPage and the assets. It returns its address and the values of HX-PTag that it received.
func vendoredServer(t *testing.T) (address string, received func() []string) {
	t.Helper()
	var mu sync.Mutex
	var tags []string
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	mux.HandleFunc("GET /test.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		fmt.Fprint(w, fontStyle())
	})
	mux.HandleFunc("GET /icon.svg", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/svg+xml")
		fmt.Fprint(w, `<svg xmlns="http://www.w3.org/2000/svg"/>`)
	})
	mux.HandleFunc("GET /part/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.PathValue("name") == "poll" {
			mu.Lock()
			tags = append(tags, r.Header.Get("HX-PTag"))
			mu.Unlock()
			w.Header().Set("HX-PTag", "second")
			if r.Header.Get("HX-PTag") == "second" {
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		fmt.Fprintf(w, "%s %s", r.PathValue("name"), cmp.Or(r.FormValue("q"), "done"))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, vendoredPage) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", strictPolicy)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return tags
	}
}

// TestConsole_VendoredAssetsUnderStrictPolicy_Work uses htmx in the ways that the console does, and loads every font.
func TestConsole_VendoredAssetsUnderStrictPolicy_Work(t *testing.T) {
	t.Parallel()
	address, received := vendoredServer(t)
	p := browser.Start(t).Open(t, address, browser.Options{})
	p.WaitFor(t, `document.querySelector("#poll").textContent === "poll done"`)
	if got := p.Text(t, "#load"); got != "load done" {
		t.Errorf("loaded = %q, want \"load done\"", got)
	}
	p.Click(t, "a")
	if got := p.Text(t, "#found"); got != "click done" {
		t.Errorf("clicked = %q, want \"click done\"", got)
	}
	p.Type(t, "input", "gpu")
	p.WaitFor(t, `document.querySelector("#found").textContent === "search gpu"`)
	if got, want := p.URL(t), address+"/part/search?q=gpu"; got != want {
		t.Errorf("address = %s, want %s", got, want)
	}
	for deadline := time.Now().Add(30 * time.Second); len(received()) < 3 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
	}
	if tags, want := received(), []string{"first", "second", "second"}; len(tags) < 3 || !slices.Equal(tags[:3], want) {
		t.Errorf("values of HX-PTag = %q, want %q", tags, want)
	}
	if got := p.Text(t, "#poll"); got != "poll done" {
		t.Errorf("polled = %q, want \"poll done\"", got)
	}
	if got := p.Eval(t, `[...document.fonts].filter(font => font.status === "loaded").length`); got != 5.0 {
		t.Errorf("loaded fonts = %v, want 5", got)
	}
	p.MustBeClean(t)
}
