// Package badinput contains tests only: a driver that is generated from the OpenAPI documents of both APIs and sends
// malformed and borderline requests, and attacks of a hostile client on a connection. Whatever a client sends, the
// server responds with an error in the form of its API and without internal details, and the database stays consistent.
// Each operation succeeds now and then, so that the driver gets beyond the first checks.
//
// It is not for the meaning of the APIs: the scenarios of server/placement and the tests of server/baremetal check that
// a response is the right one.
package badinput
