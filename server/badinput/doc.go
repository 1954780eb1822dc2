// Package badinput holds tests only: a driver that is generated from the OpenAPI
// documents of both APIs and sends malformed and borderline requests, and what a
// hostile client does to a connection. Whatever is sent, the server answers with an
// error in the form of its API, tells nothing of its inside, and the database stays
// free of contradictions. Each operation succeeds now and then, so that the driver gets
// beyond the first checks.
//
// It is not for what the APIs mean: that an answer is the right one is said by the
// scenarios of server/placement and the tests of server/baremetal.
package badinput
