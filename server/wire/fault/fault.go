// Package fault defines the only type of error that clients of the API see.
//
// A fault is created where a rule is violated. It contains the kind of the error, the machine-readable code, and a
// sentence with the invalid value. Only package apierr converts it to a response.
//
// It is not for internal errors: an error that is not a fault causes a 500, and its text is logged and never sent to
// the client. It knows no HTTP.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind is the kind of a violated rule. Each kind has one HTTP status.
type Kind int

// These are the kinds of faults.
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
	Gone
	TooLarge
	UnsupportedMedia
	TooMany
	Unavailable
)

// These are all error codes (docs/contract/http.md#error-codes).
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

// These are the error codes of the negotiation of Berth's extensions. Responses contain them at every microversion,
// because only clients of the extensions get them.
const (
	CodeExtensionUnsupported = "berth.version.unsupported"
	CodeExtensionCombination = "berth.version"
)

// These are the error codes of queries in the search language of Berth's extensions.
const (
	CodeExtensionBadValue     = "berth.query.bad_value"
	CodeExtensionConflict     = "berth.query.conflict"
	CodeExtensionDuplicateKey = "berth.query.duplicate_key"
	CodeExtensionUnknownGroup = "berth.query.unknown_group"
)

// These are the error codes of explanations and of pages of lists in Berth's extensions.
const (
	CodeExplanationNotFound = "berth.explanation.not_found"
	CodePageBadMarker       = "berth.page.bad_marker"
)

// These are the error codes of writes in Berth's extensions.
const (
	CodePrecondition  = "berth.precondition"
	CodeWriteBadValue = "berth.bad_value"
	CodeDryRunBusy    = "berth.dry_run.busy"
	CodeTreeNotRoot   = "berth.tree.not_root"
	CodeTreeElsewhere = "berth.tree.elsewhere"
	// Idempotency keys.
	CodeKeyMalformed   = "berth.idempotency.bad_key"
	CodeKeyUnsupported = "berth.idempotency.unsupported"
	CodeKeyLifetime    = "berth.idempotency.bad_lifetime"
	CodeKeyReused      = "berth.idempotency.key_reused"
	CodeKeysFull       = "berth.idempotency.full"
	// Claims.
	CodeNothingFits    = "berth.claim.nothing_fits"
	CodeClaimContended = "berth.claim.contended"
	CodeClaimUndecided = "berth.claim.undecided"
)

// The codes of reads in Berth's extensions, in addition to CodePageBadMarker, CodeExtensionDuplicateKey and
// CodeWriteBadValue.
const (
	CodeTooManyConsumers = "berth.tree.too_many_consumers"
	CodeCapacityBusy     = "berth.capacity.busy"
)

// CodeHistoryOff is the code of a read of the record of changes when nothing was ever recorded.
const CodeHistoryOff = "berth.history.off"

// CodeHistoryGone is the code of a read of the record of changes before its beginning, and of streams of events that cannot go on.
const CodeHistoryGone = "berth.history.gone"

// CodeEventsTooMany is the code of a stream of events for which the server has no place. Streams that have begun end with CodeHistoryOff,
// CodeHistoryGone, or a code of package events.
const CodeEventsTooMany = "berth.events.too_many"

// These are the error codes of the limits and failures that only Berth has, from version 1.5 of its extensions on. Other
// responses have CodeUndefined in their place.
const (
	CodeLimitRequests       = "berth.limit.requests"
	CodeLimitBody           = "berth.limit.body"
	CodeLimitCombinations   = "berth.limit.combinations"
	CodeOverloaded          = "berth.overloaded"
	CodeTimeout             = "berth.timeout"
	CodeDatabaseUnavailable = "berth.database.unavailable"
	CodeOutcomeUnknown      = "berth.database.outcome_unknown"
	CodeAuditUnavailable    = "berth.audit.unavailable"
)

// Error is a violated rule with a text for the client.
type Error struct {
	Kind Kind
	// Code is one of the Code constants; empty means CodeUndefined.
	Code string
	// Own is the code in place of CodeUndefined in responses of versions with own codes; empty: none.
	Own string
	// Detail is a sentence with the invalid value.
	Detail string
	// Allow lists the allowed methods of a MethodNotAllowed.
	Allow string
	// RetryAfter is the delay after which a retry can succeed; 0: no specific delay.
	RetryAfter time.Duration
	// OutcomeUnknown reports that the write may have been applied, for Unavailable.
	OutcomeUnknown bool
	// Explanation is encoded with the fault in responses of Berth's extensions; nil: there is none.
	Explanation any
	// Unfit has further members of the response to a claim that does not fit; nil: there are none.
	Unfit *Unfit
}

// Unfit is what the response to a claim that does not fit has beyond other errors. Members that are nil are missing.
type Unfit struct {
	// Refused is why each candidate of the client does not fit.
	Refused []RefusedCandidate
	// Fit is how many consumers could be placed, Exact whether no placement of all existed.
	Fit   *int
	Exact *bool
}

// RefusedCandidate is why a candidate of a claim does not fit.
type RefusedCandidate struct {
	Candidate int    `json:"candidate" doc:"Index of the candidate in the request." example:"0"`
	Detail    string `json:"detail" doc:"Why it does not fit."`
}

// Error returns the detail.
func (e *Error) Error() string { return e.Detail }

// New returns a fault without a code.
func New(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// WithCode returns the fault with another code.
func (e *Error) WithCode(code string) *Error {
	changed := *e
	changed.Code = code
	return &changed
}

// WithOwn returns the fault with a code for versions with own codes.
func (e *Error) WithOwn(code string) *Error {
	changed := *e
	changed.Own = code
	return &changed
}

// WithExplanation returns the fault with an explanation.
func (e *Error) WithExplanation(explanation any) *Error {
	changed := *e
	changed.Explanation = explanation
	return &changed
}

// WithUnfit returns the fault with further members.
func (e *Error) WithUnfit(unfit *Unfit) *Error {
	changed := *e
	changed.Unfit = unfit
	return &changed
}

// WithRetryAfter returns the fault with a delay after which a retry can succeed.
func (e *Error) WithRetryAfter(delay time.Duration) *Error {
	changed := *e
	changed.RetryAfter = delay
	return &changed
}

// As returns the fault in an error's chain, or nil if there is none.
func As(err error) *Error {
	var found *Error
	if errors.As(err, &found) {
		return found
	}
	return nil
}
