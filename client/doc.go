// Package client is how Go programs speak to Berth, or to any service of the
// Placement API that knows microversion 1.39.
//
// It has three layers, each usable alone. The methods of Client called like the
// operations of the OpenAPI document (ProviderList, InventoryReplace, …) send one
// request and return plain values and typed errors. Above them stand Claim, Move
// and their like, which read, decide and retry. For those who own machines there
// are GetProviderTreeAndEnsureRoot, GetAllocationsForProviderTree and
// UpdateFromProviderTree, which keep a copy of the trees of a host and send only
// what changed.
//
// Reading, deleting, and creating traits and classes is repeated when the service is
// away or overloaded (WithRetries). What carries a generation is repeated only
// where it certainly was not done; where that cannot be known, the error is an
// ErrOutcomeUnknown. The two upper layers then read again and settle it.
//
// It is not for what only this client's user can know: which consumer uses which
// device is asked of a driver (package agent). It holds no rule of the server;
// the wire is in gen/client, which is generated.
package client
