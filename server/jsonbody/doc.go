// Package jsonbody reads request bodies: it decodes JSON strictly, checks the
// value against the schema that the server publishes for it, and words what is
// wrong in the phrases that clients of the Placement API match (the wire
// contract, section HTTP 9).
//
// A request goes through it in three steps. Decode refuses what is no JSON
// text, or one that the database could not hold. A Validator, compiled from the
// OpenAPI document of the request's microversion, checks the decoded value.
// Only then is the body unmarshalled with encoding/json into a wire type, whose
// maps and numbers are the types Ordered and Int of this package.
//
// It is not for answers, apart from Ordered, which keeps their order as well,
// and it does not know HTTP: statuses and the prefixes "Malformed JSON: " and
// "JSON does not validate: " belong to the caller. It does not look anything
// up; whether a class or a provider exists is not a question of schema.
package jsonbody
