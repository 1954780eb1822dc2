package client

import "errors"

// What a server can answer, by its code or its status. They are found with
// errors.Is in what the methods of Client return; errors.As finds the *Error with
// the whole answer.
var (
	// ErrConcurrentUpdate: somebody else wrote first; the generation sent is old.
	ErrConcurrentUpdate = errors.New("somebody else changed it first")
	// ErrConsumerGeneration is an ErrConcurrentUpdate about a consumer.
	ErrConsumerGeneration = errors.New("somebody else changed the consumer first")
	// ErrInventoryInUse: consumers have allocations of what was to go.
	ErrInventoryInUse = errors.New("the inventory is in use")
	// ErrDuplicateName: another provider has the name. ErrDuplicateUUID: has the
	// uuid; it may well be the one that was to be made, made by somebody else.
	ErrDuplicateName = errors.New("the name is taken")
	ErrDuplicateUUID = errors.New("the uuid is taken")
	// ErrProviderInUse: consumers have allocations on the provider.
	ErrProviderInUse = errors.New("the provider is in use")
	// ErrHasChildren: other providers stand below it.
	ErrHasChildren = errors.New("the provider has children")
	// ErrNotFound: 404.
	ErrNotFound = errors.New("not found")
	// ErrNoRoom: a claim exceeds the capacity or breaks a bound of an inventory,
	// or the inventory is gone.
	ErrNoRoom = errors.New("the claim does not fit")
	// ErrUnauthorized: 401. ErrForbidden: 403.
	ErrUnauthorized = errors.New("not authenticated")
	ErrForbidden    = errors.New("forbidden by policy")
	// ErrUnavailable: the service could not be reached, or said that it can't
	// answer now, after all retries.
	ErrUnavailable = errors.New("the service is not available")
	// ErrOutcomeUnknown: a write was sent, and it could not be learned whether it
	// was done. Read again what it was to change.
	ErrOutcomeUnknown = errors.New("it is not known whether it was done")
	// ErrMicroversion: the service does not know the microversion of this package.
	ErrMicroversion = errors.New("the service does not support the microversion")
)

// What the provider tree's methods, and drivers, return on top of them.
var (
	// ErrUpdateConflict: a provider of the tree was changed by somebody else; the
	// tree has been dropped from the cache. Load it and do it again.
	ErrUpdateConflict = errors.New("the provider tree was changed by somebody else")
	// ErrReshapeConflict: the same in a reshape; the whole cache has been dropped.
	// Load the tree and the allocations and do it again.
	ErrReshapeConflict = errors.New("providers or consumers changed during the reshape")
	// ErrReshapeNeeded: a driver found that it has to move inventory that may have
	// allocations, and was not given them.
	ErrReshapeNeeded = errors.New("a reshape is needed")
	// ErrReshapeFailed: the move could not be computed, or the server refused it
	// for another reason than a conflict.
	ErrReshapeFailed = errors.New("the reshape failed")
	// ErrSyncFailed: a part of the tree could not be written. What was written
	// stays; the next pass goes on from there.
	ErrSyncFailed = errors.New("the provider tree could not be synchronized")
)
