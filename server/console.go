package server

import (
	"errors"
	"net/http"
	"path"
	"strings"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/request"
)

// newConsole returns the console of a service, or nil without one.
func newConsole(options Options, service http.Handler) *console.Console {
	if options.Console == nil {
		return nil
	}
	wanted := *options.Console
	wanted.API, wanted.Prefix, wanted.Log = service, options.Prefix, options.Log
	if authenticate := options.Authenticate; authenticate != nil {
		wanted.Identify = func(r *http.Request) (console.Identity, error) { return identify(authenticate, r) }
	}
	made, err := console.New(wanted)
	if err != nil {
		panic(err) // the program validates the settings before
	}
	return made
}

// identify returns the caller of a token for the console, with errors that its users can read.
func identify(authenticate auth.Authenticate, r *http.Request) (console.Identity, error) {
	caller, err := authenticate(r)
	var (
		refused *auth.UnauthenticatedError
		denied  *auth.DeniedError
		away    *auth.Unavailable
	)
	switch {
	case err == nil:
		return console.Identity{
			User: caller.UserID, Project: caller.ProjectID, Roles: caller.Roles, System: caller.SystemScope != "", Expires: caller.Expires,
		}, nil
	case errors.As(err, &refused):
		return console.Identity{}, console.InvalidCredentials("The service does not accept this token: it is wrong, has expired, or is for other requests only.")
	case errors.As(err, &denied):
		return console.Identity{}, console.InvalidCredentials(denied.Detail)
	case errors.As(err, &away) && away.Service != "":
		return console.Identity{}, console.Unavailable("The " + away.Service + " does not answer. Try again.")
	}
	return console.Identity{}, console.Unavailable("The Keystone service does not answer. Try again.")
}

// withConsole serves the console and the redirect to it, and everything else by next. It is outside CORS: no page of another
// origin may read the console, even if it may use the API.
func (f *frontHandler) withConsole(next http.Handler) http.Handler {
	pages := recoverPanics(f.serveConsole)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		below, _ := f.trimMountPrefix(r.URL.Path)
		if f.console != nil && (isConsole(below) || auth.IsOpen(below) && isBrowser(r) && f.local.checkHost(r) == nil) {
			pages.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isConsole reports whether a path is the console's.
func isConsole(below string) bool {
	return below == console.Root || strings.HasPrefix(below, console.Root+"/")
}

// serveConsole serves the console, or redirects to it. Where callers are not authenticated at all, a page of another site
// must not reach it by a name of its own (DNS rebinding); the console itself compares origins.
func (f *frontHandler) serveConsole(w http.ResponseWriter, r *http.Request) {
	request.From(r.Context()).Operation = consoleOperation
	if err := f.local.checkHost(r); err != nil {
		apierr.Write(w, r, err)
		return
	}
	below, _ := f.trimMountPrefix(r.URL.Path)
	if !isConsole(below) {
		redirectToConsole(w, r)
		return
	}
	f.console.Serve(w, r, below)
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
	target := strings.TrimPrefix(console.Root, "/")
	if !strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "" {
		target = path.Base(r.URL.Path) + console.Root
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}
