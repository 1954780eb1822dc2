// Package tokens authenticates callers by tokens whose hashes are in a file: --auth tokens. It creates
// tokens, reads and writes the file, and reloads it in the server when it changes.
//
// It is not for tokens that another service issues (package keystone).
package tokens
