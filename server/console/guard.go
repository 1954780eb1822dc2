package console

import (
	"net/http"
	"path"
)

// setHeaders sets the headers of all responses. With the Referrer-Policy no-referrer browsers send the origin null with
// forms, which the check of origins rejects.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; "+
		"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	h.Add("Vary", "Cookie, HX-Request")
}

// errCrossSite is the error of a request that a page of another site sends.
var errCrossSite = invalid("The console does not answer requests of other sites, except links that open it as a page.")

// check returns an error for requests of pages of other sites. A link that opens the console as a page is allowed.
// Browsers without Sec-Fetch-Site may read: reading changes nothing, and their pages cannot see the response.
func (c *Console) check(r *http.Request) error {
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		// A trusted proxy that changes Host reports the original one.
		if c.origins.Check(r) != nil && (site != "" || r.Header.Get("Origin") != requestBase(r)) {
			return errCrossSite
		}
		return nil
	}
	switch site {
	case "", "same-origin", "none":
		return nil
	}
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	return errCrossSite
}

// below returns a request with the path below the console.
func below(r *http.Request, path string) *http.Request {
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = path, ""
	return inner
}

// allowed returns the methods that a path takes; none: there is no page. The mux would redirect a path that is not clean,
// such as "//" or "/a/..", to one outside the console.
func (c *Console) allowed(r *http.Request, rest string) (methods []string) {
	if path.Clean(rest) != rest {
		return nil
	}
	inner := below(r, rest)
	for _, inner.Method = range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		if _, pattern := c.mux.Handler(inner); pattern != "" {
			methods = append(methods, inner.Method)
		}
	}
	return methods
}
