// Package e2e looks at Berth from outside, as the people do who use it: it types
// the tour and the guides, drives the `openstack` client with its
// commands for Placement and for bare metal, and one that is generated in TypeScript,
// and kills servers, the agent and the offline command wherever that may hurt.
//
// It has tests only. What needs nothing but Go and PostgreSQL's binaries is an
// ordinary test. What needs other programs, the client or curl, has the build tag
// client and is run by .ci/run, where a missing program is a failure.
//
// It is not the place for the rules of the API one by one; those are the
// scenarios of package placement.
package e2e
