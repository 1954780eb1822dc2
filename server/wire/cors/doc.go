// Package cors lets browsers of configured origins use the API: it is a middleware that adds the headers
// of Cross-Origin Resource Sharing.
//
// It is not a protection. A request of an unknown origin gets the same response as any other, only without
// the headers that let a browser show it. The package has no knowledge of the API except for the default
// header lists.
//
// The rules are those of docs/contract/http.md#cors. Because of them, the package does not use the common
// library, github.com/rs/cors (examined at v1.11.1, MIT, no dependencies). That library ends a preflight
// before the application sees it, but passes an OPTIONS request without Access-Control-Request-Method to
// the application, whose 405 or 401 would reach the client. It accepts the list of requested headers only
// in lower case and sorted, as current browsers send it. It compares origins without case and expands
// asterisks inside them. It sets Vary before the application does, which overwrites it.
package cors
