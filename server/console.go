package server

import (
	"errors"
	"net/http"
	"path"
	"strings"

	"github.com/berthd/berth/server/apierr"
	"github.com/berthd/berth/server/auth"
	"github.com/berthd/berth/server/console"
	"github.com/berthd/berth/server/fault"
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
		away    *auth.Unavailable
	)
	switch {
	case errors.As(err, &refused):
		return console.Identity{}, errors.New("The service does not accept this token: it is wrong, or it has expired.") //nolint:staticcheck // ST1005: the text of a page
	case errors.As(err, &away):
		name := away.Service
		if name == "" {
			name = "Keystone service"
		}
		return console.Identity{}, errors.New("The " + name + " does not answer. Try again.") //nolint:staticcheck // ST1005: the text of a page
	case err != nil:
		return console.Identity{}, err
	}
	return console.Identity{User: caller.UserID, Project: caller.ProjectID, Roles: caller.Roles}, nil
}

// serveConsole serves the console and the redirect to it, and reports whether the request was one of them. Callers that
// are not authenticated at all get the same protection from pages of other sites as in the API.
func (f *frontHandler) serveConsole(w http.ResponseWriter, r *http.Request, below string) bool {
	isPage := below == console.Root || strings.HasPrefix(below, console.Root+"/")
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
		refused.Allow = console.Methods
		apierr.Write(w, r, refused)
		return true
	}
	f.console.Serve(w, r, below)
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
	target := strings.TrimPrefix(console.Root, "/")
	if !strings.HasSuffix(r.URL.Path, "/") && r.URL.Path != "" {
		target = path.Base(r.URL.Path) + console.Root
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}
