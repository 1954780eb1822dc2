// Package microversion reads the OpenStack-API-Version request header and
// settles which microversion of the Placement API a request speaks.
//
// It knows the numbers, the grammar of the header and the two ways a
// negotiation can fail. The header is parsed into one entry per service, so
// that other services named in it (an extension, the bare-metal API) can be
// served from the same parse without a change of shape.
//
// It is not for deciding what a microversion means: which operation, field or
// status exists at which version is said where that operation lives. Nor does
// it write error bodies; it hands out the sentences that go into them.
//
// The rules are those of the wire contract, section HTTP 4 (negotiation) and
// section HTTP 3 (the versions document).
package microversion
