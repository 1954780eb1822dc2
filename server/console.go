package server

import (
	"net/http"
	"path"
	"strings"

	"github.com/berthd/berth/server/api/apierr"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/request"
)

// ConsolePath is the path of the console below the prefix of the API.
const ConsolePath = "/console"

// withConsole serves the console and the redirect to it, and everything else by next. It is outside CORS: no page of another
// origin may read the console, even if it may use the API.
func (f *frontHandler) withConsole(next http.Handler) http.Handler {
	pages := recoverPanics(f.serveConsole)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, _ := f.trimMountPrefix(r.URL.Path)
		_, isPage := belowConsole(below)
		if f.console != nil && (isPage || auth.IsOpen(below) && isBrowser(r) && f.local.checkHost(r) == nil) {
			pages.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// belowConsole returns the part of a path below the console, and whether it is one of the console.
func belowConsole(path string) (string, bool) {
	rest, isPage := strings.CutPrefix(path, ConsolePath)
	return rest, isPage && (rest == "" || rest[0] == '/')
}

// serveConsole serves the console, or redirects to it. Where callers are not authenticated at all, a page of another site
// must not reach it by a name of its own (DNS rebinding); the console itself compares origins.
func (f *frontHandler) serveConsole(w http.ResponseWriter, r *http.Request) {
	request.From(r.Context()).Operation = consoleOperation
	if err := f.local.checkHost(r); err != nil {
		apierr.Write(w, r, err)
		return
	}
	if !checkAddress(w, r) {
		return
	}
	if err := f.pages.runWithBody(f.servePage, w, r, maxPrebufferedForm); err != nil {
		apierr.Write(w, r, err)
	}
}

// servePage serves a request to the console in its slot. The memory of a form that was not read before counts.
func (f *frontHandler) servePage(w http.ResponseWriter, r *http.Request) error {
	below, _ := f.trimMountPrefix(r.URL.Path)
	rest, isPage := belowConsole(below)
	if !isPage {
		redirectToConsole(w, r)
		return nil
	}
	if r.ContentLength < 0 || r.ContentLength > maxPrebufferedForm {
		body := &formBody{body: r.Body, ctx: r.Context(), hold: f.forms.Hold()}
		defer body.hold.Release()
		r.Body = body
	}
	f.console(w, r, rest)
	return nil
}

// consoleOperation is the name under which requests to the console are counted.
const consoleOperation = "console"

// isBrowser reports whether a request is of a person who opens the address in a browser. Clients of the API send neither
// Sec-Fetch header, and scripts of pages cannot set them.
func isBrowser(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	header := r.Header
	return header.Get("Sec-Fetch-Mode") == "navigate" && header.Get("Sec-Fetch-Dest") == "document" &&
		strings.Contains(header.Get("Accept"), "text/html") &&
		len(header.Values("X-Auth-Token")) == 0 && len(header.Values(microversion.Header)) == 0
}

// redirectToConsole leads a browser from the root of the API to the console. The address is relative, so that it holds
// behind proxies that change paths.
func redirectToConsole(w http.ResponseWriter, r *http.Request) {
	target := strings.TrimPrefix(ConsolePath, "/")
	if !strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "" {
		target = path.Base(r.URL.Path) + ConsolePath
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}
