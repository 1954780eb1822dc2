package client

import "errors"

// The errors of the service, by code or status. errors.Is finds them in the errors of the methods of Client; errors.As
// finds the *Error with the whole response.
var (
	// ErrConcurrentUpdate: another client changed the provider or consumer; the generation sent is stale.
	ErrConcurrentUpdate = errors.New("concurrent update: the generation has changed")
	// ErrConsumerGeneration is an ErrConcurrentUpdate of a consumer.
	ErrConsumerGeneration = errors.New("concurrent update: the consumer generation has changed")
	// ErrInventoryInUse: consumers have allocations of an inventory that the request deletes.
	ErrInventoryInUse = errors.New("the inventory is in use")
	// ErrDuplicateName: another provider has the name. ErrDuplicateUUID: a provider has the UUID; another client may
	// have created the same provider.
	ErrDuplicateName = errors.New("the name is taken")
	ErrDuplicateUUID = errors.New("the uuid is taken")
	// ErrProviderInUse: consumers have allocations on the provider.
	ErrProviderInUse = errors.New("the provider is in use")
	// ErrHasChildren: the provider is the parent of others.
	ErrHasChildren = errors.New("the provider has children")
	// ErrNotFound: status 404.
	ErrNotFound = errors.New("not found")
	// ErrCapacityExceeded: a claim exceeds the capacity, min_unit, max_unit or step_size of an inventory, or the
	// inventory does not exist.
	ErrCapacityExceeded = errors.New("the claim does not fit")
	// ErrNothingFits is an ErrCapacityExceeded of ClaimCreate: there is no place for the claim.
	ErrNothingFits = errors.New("nothing fits")
	// ErrContended: other clients took every place that ClaimCreate found. Nothing was changed.
	ErrContended = errors.New("the claim is contended")
	// ErrUndecided: the search of ClaimCreate for places of several consumers ended before it had tried every choice. Nothing
	// was changed.
	ErrUndecided = errors.New("the search for places has ended")
	// ErrHistoryOff: there are no events, because the record of changes was never turned on; for TreeShowAt and ConsumerShowAt also: it
	// is off, or not complete yet. HistorySettingsUpdate turns it on.
	ErrHistoryOff = errors.New("the record of changes is off")
	// ErrHistoryGone: the events behind a position are deleted, or the record has begun a new log, so that the state must be read again; for
	// TreeShowAt and ConsumerShowAt: the moment is before the beginning of the record.
	ErrHistoryGone = errors.New("the record of changes does not have that any more")
	// ErrUnauthorized: status 401. ErrForbidden: status 403.
	ErrUnauthorized = errors.New("not authenticated")
	ErrForbidden    = errors.New("forbidden by policy")
	// ErrUnavailable: after all retries the service is unreachable, or responds with 429, 502, 503 or 504.
	ErrUnavailable = errors.New("the service is not available")
	// ErrOutcomeUnknown: a write was sent, and it is unknown whether the service executed it. Read the resource again.
	ErrOutcomeUnknown = errors.New("outcome unknown: the service may have executed the request")
	// ErrMicroversion: the service does not support the microversion of this package.
	ErrMicroversion = errors.New("the service does not support the microversion")
	// ErrExtensions: the service does not have the version of Berth's extensions that WithExtensions selects.
	ErrExtensions = errors.New("the service does not have the extensions")
)

// The errors of the methods for provider trees and of drivers.
var (
	// ErrUpdateConflict: another client changed a provider of the tree. The tree is no longer cached: load it and
	// repeat the change.
	ErrUpdateConflict = errors.New("concurrent update: the provider tree has changed")
	// ErrReshapeConflict: the same in a reshape. The whole cache is empty: load the tree and the allocations and repeat
	// the change.
	ErrReshapeConflict = errors.New("providers or consumers changed during the reshape")
	// ErrReshapeNeeded: a driver has to move inventory that may have allocations, and got no allocations.
	ErrReshapeNeeded = errors.New("a reshape is needed")
	// ErrReshapeFailed: the driver could not compute the reshape, or the server rejected it for a reason other than a
	// conflict.
	ErrReshapeFailed = errors.New("the reshape failed")
	// ErrSyncFailed: a part of the tree could not be written. Completed writes stay; the next pass continues from
	// there.
	ErrSyncFailed = errors.New("the provider tree could not be synchronized")
)
