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
// It is not for knowledge of the host: a driver (package agent) states which consumer uses which device. It contains no
// rule of the server. Requests and responses are encoded by gen/client, which is generated.
package client
