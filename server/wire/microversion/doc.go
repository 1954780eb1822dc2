// Package microversion parses the OpenStack-API-Version request header and negotiates the microversion of a request.
//
// It knows the numbers, the grammar of the header and the two errors of a negotiation. The header is parsed into one
// entry per service, so that other services in it (an extension, the Bare Metal API) use the same result.
//
// It is not for the meaning of a microversion: which operation, field or status exists at which version is defined at
// that operation. Nor does it write error bodies; it returns their texts.
//
// The rules are those of docs/contract/http.md#microversion-negotiation (negotiation) and
// docs/contract/http.md#versions-document (the versions document).
package microversion
