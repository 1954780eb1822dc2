// Package cors lets browsers of configured origins use the API: it is a
// middleware that adds the headers of Cross-Origin Resource Sharing.
//
// It is not a protection. A request of an unknown origin is answered like any
// other; only the headers that would let a browser show the answer are missing.
// It knows nothing of the API either, except for the default header lists.
//
// The rules are those of the wire contract, section HTTP 12. They are the
// reason why the usual library, github.com/rs/cors (looked at in v1.11.1, MIT,
// no dependencies), is not used. It ends a preflight before the application
// sees it, but hands an OPTIONS request without Access-Control-Request-Method
// to the application, whose 405 or 401 would get out; it takes the list of
// requested headers only in lower case and sorted, as browsers of today send
// it; it compares origins without case and expands asterisks inside them; and
// it sets Vary before the application does, which sets it anew.
package cors
