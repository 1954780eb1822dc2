// Package keystone authenticates requests: it validates the tokens that they carry with Keystone, the
// identity service of OpenStack. Its guarantees are those of the middleware auth_token of OpenStack
// services: identity headers that a client sends are removed, valid tokens are cached, a second token
// identifies the service that forwards a request, and a token with access rules permits only the requests
// that its rules list (docs/contract/http.md#authentication).
//
// It does not decide which operations a caller may use, which is the task of package policy, and it writes
// no responses. It does not issue tokens to clients; they get them from Keystone.
package keystone
