package cors

import (
	"net/http"
	"strings"
)

// Wrap puts the middleware around a handler. Without allowed origins there is
// nothing to do and next is returned as it is. An empty origin, which an unset
// setting may leave in a list, is none.
//
// The application runs for every request, also for a preflight: should it one
// day answer OPTIONS by itself, its answer is kept. Wrap belongs outside the
// authentication, because browsers send no token with a preflight, and inside
// whatever sets headers that all answers have, such as the request id.
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

// servePreflight answers OPTIONS. What the application says counts only if it
// is a success; a refusal (there is no such method, or no token) becomes an
// empty 200, whoever asks.
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

// serveActual answers every other method. The answer is the application's; it
// depends on the origin, so caches are told, also if this origin is refused.
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

// allowPreflight adds the headers of a granted preflight. All or nothing: one
// header or method too many and the browser gets no permission at all.
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

// allowOrigin adds the two headers that both kinds of answers have.
func allowOrigin(g *grants, answer http.Header, origin string) {
	answer.Set("Access-Control-Allow-Origin", origin)
	if g.credentials {
		answer.Set("Access-Control-Allow-Credentials", "true")
	}
}

// addVary puts Origin behind what the application has said already, in one
// value, which is how clients have always seen it.
func addVary(answer http.Header) {
	answer.Set("Vary", strings.Join(append(answer.Values("Vary"), "Origin"), ","))
}

// listed splits a header that is a list; empty elements say nothing.
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

// restore makes a header what it was when the copy was taken.
func restore(header, copied http.Header) {
	clear(header)
	for name, values := range copied {
		header[name] = values
	}
}
