// Package reconcile has `berth reconcile`: it compares the consumers and providers of a server with
// what another service or a file knows, and repairs the differences.
//
// It is not for the consistency of the database (package admin, `berth db check`), nor for the
// provider trees of hosts (package hostcommand).
package reconcile
