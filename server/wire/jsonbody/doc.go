// Package jsonbody reads request bodies. It decodes JSON strictly, validates the value with the schema that the server
// publishes, and formats violations with the phrases that clients of the Placement API match
// (docs/contract/http.md#json-body-validation).
//
// A request is processed in three steps. Decode rejects text that is not JSON or that the database cannot store. A
// Validator, compiled from the OpenAPI document of the request's microversion, checks the decoded value. Then
// encoding/json unmarshals the body into a wire type, whose maps and numbers have the types Ordered and Int of this
// package.
//
// It is not for responses, except for Ordered, which keeps their order as well. It does not know HTTP: statuses and the
// prefixes "Malformed JSON: " and "JSON does not validate: " belong to the caller. It does not look anything up;
// whether a class or a provider exists is not part of a schema.
package jsonbody
