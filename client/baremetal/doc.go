// Package baremetal is the Go client of the Bare Metal API of Berth, and of any other service of that API with
// microversion 1.82: nodes, ports, and node allocations, which assign a free node.
//
// A Client uses a client of package client and shares its address, identity, retries and log. Its methods have the
// names of the operations of the OpenAPI document (NodeList, NodeAllocationCreate, …) and return plain values. Each
// sends one request, except lists, which read all pages. An ident is a name or a UUID. An error of the service is a
// *client.Error whose Detail is the message of the service.
//
// Many operations of this API return before they are complete: WaitForNode and WaitForAllocation poll, at growing
// intervals, until they are.
//
// It is not for decisions, and not for all members of all resources: it has those that its callers need. The OpenAPI
// document of 1.82 has the others.
package baremetal
