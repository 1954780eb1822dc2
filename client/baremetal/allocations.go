package baremetal

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// The states of a node allocation.
const (
	Allocating = "allocating"
	Active     = "active"
	Failed     = "error"
)

// Allocation is a node allocation: a request for a node by resource class and traits. In the state "active" it has a
// node.
type Allocation struct {
	UUID           uuid.UUID      `json:"uuid"`
	Name           *string        `json:"name"`
	State          string         `json:"state"`
	ResourceClass  *string        `json:"resource_class"`
	Traits         []string       `json:"traits"`
	CandidateNodes []uuid.UUID    `json:"candidate_nodes"`
	NodeUUID       *uuid.UUID     `json:"node_uuid"`
	Owner          *string        `json:"owner"`
	LastError      *string        `json:"last_error"`
	Extra          map[string]any `json:"extra"`
	CreatedAt      time.Time      `json:"created_at"`
	UpdatedAt      *time.Time     `json:"updated_at"`
}

// NewAllocation is a node allocation to create. The service chooses the values of empty fields.
type NewAllocation struct {
	UUID          *uuid.UUID `json:"uuid,omitempty"`
	Name          string     `json:"name,omitempty"`
	ResourceClass string     `json:"resource_class,omitempty"`
	Traits        []string   `json:"traits,omitempty"`
	// CandidateNodes are names or UUIDs; none: any node is allowed.
	CandidateNodes []string `json:"candidate_nodes,omitempty"`
	// Node is a node that is in use already and gets this allocation.
	Node  string         `json:"node,omitempty"`
	Owner string         `json:"owner,omitempty"`
	Extra map[string]any `json:"extra,omitempty"`
}

// NodeAllocationCreate creates a node allocation. It is in the state "allocating", unless a Node is named;
// WaitForAllocation waits until a conductor has processed it.
func (c *Client) NodeAllocationCreate(ctx context.Context, wanted NewAllocation) (allocation Allocation, err error) {
	return allocation, c.send(ctx, &allocation, request{method: http.MethodPost, path: []string{"allocations"}, body: wanted})
}

// AllocationFilter is a filter of node allocations. It ignores empty fields.
type AllocationFilter struct {
	State, ResourceClass, Node, Owner string
	// Most is the maximum number of results; 0: all.
	Most int
}

// NodeAllocationList returns node allocations in the order of their creation.
func (c *Client) NodeAllocationList(ctx context.Context, filter AllocationFilter) ([]Allocation, error) {
	query := fill(url.Values{}, map[string]string{
		"state": filter.State, "resource_class": filter.ResourceClass, "node": filter.Node, "owner": filter.Owner,
	})
	return pages(ctx, c, request{method: http.MethodGet, path: []string{"allocations"}, query: query}, "allocations", filter.Most,
		func(allocation Allocation) string { return allocation.UUID.String() })
}

// NodeAllocationShow returns a node allocation.
func (c *Client) NodeAllocationShow(ctx context.Context, ident string) (found Allocation, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"allocations", ident}})
}

// NodeAllocationUpdate changes name or extra of a node allocation in one transaction.
func (c *Client) NodeAllocationUpdate(ctx context.Context, ident string, changes ...Change) (changed Allocation, err error) {
	return changed, c.send(ctx, &changed, request{method: http.MethodPatch, path: []string{"allocations", ident}, body: changes})
}

// NodeAllocationDelete deletes a node allocation and releases its node.
func (c *Client) NodeAllocationDelete(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"allocations", ident}})
}

// AllocationOfNodeShow returns the node allocation of a node.
func (c *Client) AllocationOfNodeShow(ctx context.Context, node string) (found Allocation, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"nodes", node, "allocation"}})
}

// AllocationOfNodeDelete deletes the node allocation of a node and releases the node.
func (c *Client) AllocationOfNodeDelete(ctx context.Context, node string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", node, "allocation"}})
}
