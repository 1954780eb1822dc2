// Package keystone finds out who makes a request by asking Keystone, the identity
// service of OpenStack, about the token that the request carries. It promises what
// the middleware auth_token does, in front of the Python services: headers that tell
// an identity are believed of nobody, tokens are remembered for a while, a second
// token says which service passes a request on, and a token that was made for some
// requests only is good for no others (the wire contract, section HTTP 6).
//
// It does not decide what a caller may do, which is the business of package policy,
// and it writes no answers. It gives no tokens to clients either; that is between
// them and Keystone.
package keystone
