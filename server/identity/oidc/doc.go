// Package oidc authenticates requests with the access tokens of an OpenID Connect issuer: JSON Web Tokens
// that the issuer has signed. It fetches the issuer's public keys, verifies each token with them, and maps
// the claims of the token to the caller: user, project, roles and scope.
//
// It does not log users in, and it sends no token to the issuer. It decides no operation, which is the task
// of package policy, and it writes no responses.
package oidc
