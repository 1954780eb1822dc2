// Package auth says who makes a request: it reads the identity of the caller
// from the request's headers and hands it down in the context.
//
// It decides who gets 401, and nothing more. What a caller may do is the
// business of package policy, and the body of a 401 is written where all other
// bodies are.
//
// The rules are those of the wire contract, section HTTP 6.
package auth
