// Package auth authenticates requests: it reads the identity of the caller from the headers of the request
// and stores it in the context.
//
// It decides only which requests get 401. Package policy decides what a caller may do, and package apierr
// writes the body of a 401.
//
// The rules are those of docs/contract/http.md#authentication.
package auth
