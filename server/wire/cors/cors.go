package cors

import (
	"net/http"
	"strings"
)

// Wrap returns next with CORS. Without allowed origins it returns next itself. It ignores an empty origin,
// which an unset setting may leave in the list.
//
// The application runs for every request, including preflights: if it answers OPTIONS with success, Wrap
// keeps that response. Wrap belongs outside the authentication, because browsers send no token with a
// preflight, and inside the handlers that set headers on all responses, such as the request id.
func Wrap(next http.Handler, options Options) http.Handler {
	g := newGrants(options)
	if len(g.origins) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions {
			servePreflight(g, next, w, r)
			return
		}
		serveActual(g, next, w, r)
	})
}

// servePreflight answers OPTIONS. It keeps the response of the application only if its status means
// success; an error (method not allowed, or no token) becomes an empty 200 for every caller.
func servePreflight(g *grants, next http.Handler, w http.ResponseWriter, r *http.Request) {
	outer := w.Header().Clone()
	answer := &response{ResponseWriter: w, begin: func(status int) (int, bool) {
		discard := status < 200 || status > 299
		if discard {
			status = http.StatusOK
			restore(w.Header(), outer)
		}
		allowPreflight(g, w.Header(), r.Header)
		return status, discard
	}}
	next.ServeHTTP(answer, r)
	answer.finish()
}

// serveActual serves all other methods. The response is that of the application. It depends on the origin,
// so it always has Vary: Origin, also for an origin that is not allowed.
func serveActual(g *grants, next http.Handler, w http.ResponseWriter, r *http.Request) {
	answer := &response{ResponseWriter: w, begin: func(status int) (int, bool) {
		addVary(w.Header())
		if origin, ok := g.origin(r.Header.Get("Origin")); ok {
			allowOrigin(g, w.Header(), origin)
			if g.expose != "" {
				w.Header().Set("Access-Control-Expose-Headers", g.expose)
			}
		}
		return status, false
	}}
	next.ServeHTTP(answer, r)
	answer.finish()
}

// allowPreflight adds the headers of a permitted preflight. If one requested header or the method is not
// allowed, it adds none.
func allowPreflight(g *grants, answer, request http.Header) {
	origin, ok := g.origin(request.Get("Origin"))
	method := request.Get("Access-Control-Request-Method")
	names := listed(request.Values("Access-Control-Request-Headers"))
	if !ok || !g.methods[method] || !g.allHeaders(names) {
		return
	}
	addVary(answer)
	allowOrigin(g, answer, origin)
	if g.maxAge != "" {
		answer.Set("Access-Control-Max-Age", g.maxAge)
	}
	answer.Set("Access-Control-Allow-Methods", method)
	if len(names) > 0 {
		answer.Set("Access-Control-Allow-Headers", strings.Join(names, ","))
	}
}

// allowOrigin adds the two headers that preflight and actual responses share.
func allowOrigin(g *grants, answer http.Header, origin string) {
	answer.Set("Access-Control-Allow-Origin", origin)
	if g.credentials {
		answer.Set("Access-Control-Allow-Credentials", "true")
	}
}

// addVary appends Origin to the Vary value of the application, in one value, which is the form that
// clients have always received.
func addVary(answer http.Header) {
	answer.Set("Vary", strings.Join(append(answer.Values("Vary"), "Origin"), ","))
}

// listed splits a header that is a list, and drops empty elements.
func listed(values []string) []string {
	var names []string
	for _, value := range values {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	return names
}

// restore resets a header to a copy.
func restore(header, copied http.Header) {
	clear(header)
	for name, values := range copied {
		header[name] = values
	}
}
