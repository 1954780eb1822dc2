package server

import (
	"net/http"
	"path"
	"strings"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// ConsolePath is the path of the console below the prefix of the API, and consoleMethods are its methods.
const (
	ConsolePath    = "/console"
	consoleMethods = "GET, HEAD, POST"
)

// serveConsole serves the console and the redirect to it, and reports whether the request was one of them. Callers that
// are not authenticated at all get the same protection from pages of other sites as in the API.
func (f *frontHandler) serveConsole(w http.ResponseWriter, r *http.Request, below string) bool {
	rest, isPage := strings.CutPrefix(below, ConsolePath)
	isPage = isPage && (rest == "" || rest[0] == '/')
	if !isPage && !(auth.IsOpen(below) && isBrowser(r)) {
		return false
	}
	request.From(r.Context()).Operation = consoleOperation
	if err := f.local.check(r); err != nil {
		apierr.Write(w, r, err)
		return true
	}
	if !isPage {
		redirectToConsole(w, r)
		return true
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		refused := fault.New(fault.MethodNotAllowed, "")
		refused.Allow = consoleMethods
		apierr.Write(w, r, refused)
		return true
	}
	f.console(w, r, rest)
	return true
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
