// Package client is the Go client of Berth and of any other service of the Placement API with microversion 1.39.
//
// It has three layers, each usable alone. The methods of Client with the names of OpenAPI operations (ProviderList,
// InventoryReplace, …) send one request and return plain values and typed errors. Claim, Move and similar methods read,
// decide and retry. GetProviderTreeAndEnsureRoot, GetAllocationsForProviderTree and UpdateFromProviderTree are for
// programs that manage hosts: they cache the trees of a host and send only differences.
//
// The client retries reads, deletions, and the creation of traits and resource classes when the service is unavailable
// or overloaded (WithRetries). It retries a request with a generation only if the service has certainly not executed
// it. Where that is unknown, the error is an ErrOutcomeUnknown; the two upper layers then read the result and decide.
//
// With berth 1.3 a claim of a new consumer, a changed provider tree and the refresh of an unchanged one are one request
// each. The client asks the service for its version before the first request that can use it; the meaning and the errors
// are the same without it. ClaimCreate, TreeReplace, the patches, deletions with a generation and dry runs (WithDryRun)
// need it. Writes that have an Idempotency-Key are sent with a new one, and repeated if a response is lost.
//
// With berth 1.4 a cloud is read in a few requests: TreeShow returns a whole tree at one moment, with its consumers if
// wanted. Consumers, Providers, Aggregates and CapacityTrees yield lists of any length, which they read in pages as the
// loop goes on; an error is the last element. CapacityList sums inventories, and CapacityFit counts how many more of
// something fit, before and after a change of the hardware. Their error at a service without berth 1.4 is an ErrExtensions.
//
// With berth 1.7, History yields what each committed write changed, with the request that asked for it, and HistorySettingsUpdate turns
// the record of changes on and off.
//
// While servers of two versions share an address, the client repeats requests that an older server rejects for 30 s.
//
// It is not for knowledge of the host: a driver (package agent) states which consumer uses which device. It contains no
// rule of the server. Requests and responses are encoded by gen/client, which is generated.
package client
