// Package fault is the one kind of error that users of the API get to see.
//
// A fault is made wherever a rule is broken, close to the rule, and carries what
// the reader needs: what kind of mistake, the machine-readable code, and a
// sentence that names the offending value. Package apierr turns it into a
// response, and nothing else does.
//
// It is not for internal failures: an error that is no fault is answered with
// 500 and its text goes to the log, never to the client. It knows no HTTP.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of rule was broken. Each has one HTTP status.
type Kind int

// The kinds of faults.
const (
	Internal Kind = iota
	Invalid
	Unauthorized
	Forbidden
	NotFound
	MethodNotAllowed
	NotAcceptable
	Timeout
	Conflict
	TooLarge
	UnsupportedMedia
	TooMany
	Unavailable
)

// Codes of errors, complete (the wire contract, section HTTP 8).
const (
	CodeUndefined          = "placement.undefined_code"
	CodeInventoryInUse     = "placement.inventory.inuse"
	CodeConcurrentUpdate   = "placement.concurrent_update"
	CodeDuplicateName      = "placement.duplicate_name"
	CodeProviderInUse      = "placement.resource_provider.inuse"
	CodeCannotDeleteParent = "placement.resource_provider.cannot_delete_parent"
	CodeProviderNotFound   = "placement.resource_provider.not_found"
	CodeDuplicateKey       = "placement.query.duplicate_key"
	CodeBadValue           = "placement.query.bad_value"
	CodeMissingValue       = "placement.query.missing_value"
)

// Error is a broken rule, worded for the user of the API.
type Error struct {
	Kind Kind
	// Code is one of the Code constants; empty means CodeUndefined.
	Code string
	// Detail is a sentence that names the offending value.
	Detail string
	// Allow lists the methods that a MethodNotAllowed names, if any.
	Allow string
	// RetryAfter is when it is worth trying again, for TooMany and Unavailable; 0:
	// soon.
	RetryAfter time.Duration
}

// Error returns the sentence.
func (e *Error) Error() string { return e.Detail }

// New makes a fault without a code of its own.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// WithCode returns the fault with another code.
func (e *Error) WithCode(code string) *Error {
	changed := *e
	changed.Code = code
	return &changed
}

// As finds the fault in an error's chain, nil if there is none.
func As(err error) *Error {
	var found *Error
	if errors.As(err, &found) {
		return found
	}
	return nil
}
