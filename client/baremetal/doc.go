// Package baremetal is how Go programs speak to the Bare Metal API of Berth, or of
// any service of that API that knows microversion 1.82: machines, and allocations,
// which find a free one.
//
// A Client stands on one of package client and shares its address, identity, retries
// and log. Its methods are called like the operations of the OpenAPI document
// (NodeList, NodeAllocationCreate, …), send one request each, but for lists, which
// are read to their end, and return plain values. Wherever an ident stands, a name
// or a uuid will do. What the service refuses is a *client.Error whose Detail is the
// sentence of the service.
//
// Much of this API answers before it is done: WaitForNode and WaitForAllocation ask
// again, in pauses that grow, until it is.
//
// It is not for deciding anything, and not for all members of all resources: those
// that nobody has asked for here are in gen/baremetal, which is generated.
package baremetal
