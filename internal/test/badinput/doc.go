// Package badinput is for tests only: a generator of malformed and borderline requests, from the
// OpenAPI documents of both APIs, hostile addresses and forms of the web console, and attacks of a
// hostile client on connections. The server must respond to all requests with an error in the form
// of its API or with a page, without internal details, and the database must stay consistent. Each
// operation succeeds sometimes, so that the requests get beyond the first checks.
//
// Package compare sends the requests of the generator to two builds.
//
// It is not for the meaning of the APIs: the scenarios of server/api/placement and the tests of server/api/baremetal check that
// a response is the right one.
package badinput
