package baremetal

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// The states of an allocation.
const (
	Allocating = "allocating"
	Active     = "active"
	Failed     = "error"
)

// Allocation is a wish for a machine, and in the state "active" its fulfilment.
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

// NewAllocation is an allocation to be made. What is empty is left to the service.
type NewAllocation struct {
	UUID          *uuid.UUID `json:"uuid,omitempty"`
	Name          string     `json:"name,omitempty"`
	ResourceClass string     `json:"resource_class,omitempty"`
	Traits        []string   `json:"traits,omitempty"`
	// CandidateNodes are names or uuids; none: any node will do.
	CandidateNodes []string `json:"candidate_nodes,omitempty"`
	// Node is one that is in use already, and gets an allocation for that.
	Node  string         `json:"node,omitempty"`
	Owner string         `json:"owner,omitempty"`
	Extra map[string]any `json:"extra,omitempty"`
}

// NodeAllocationCreate asks for a machine. The answer is in the state "allocating", but
// where a Node is named; WaitForAllocation waits for the decision.
func (c *Client) NodeAllocationCreate(ctx context.Context, wanted NewAllocation) (made Allocation, err error) {
	return made, c.send(ctx, &made, request{method: http.MethodPost, path: []string{"allocations"}, body: wanted})
}

// AllocationFilter chooses allocations. What is empty doesn't count.
type AllocationFilter struct {
	State, ResourceClass, Node, Owner string
	// Most is how many are wanted; 0: all.
	Most int
}

// NodeAllocationList lists allocations, in the order in which they were made.
func (c *Client) NodeAllocationList(ctx context.Context, filter AllocationFilter) ([]Allocation, error) {
	query := fill(url.Values{}, map[string]string{
		"state": filter.State, "resource_class": filter.ResourceClass, "node": filter.Node, "owner": filter.Owner,
	})
	return pages(ctx, c, request{method: http.MethodGet, path: []string{"allocations"}, query: query}, "allocations", filter.Most,
		func(one Allocation) string { return one.UUID.String() })
}

// NodeAllocationShow reads an allocation.
func (c *Client) NodeAllocationShow(ctx context.Context, ident string) (found Allocation, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"allocations", ident}})
}

// NodeAllocationUpdate changes the name or the extra of an allocation; all changes are
// made, or none.
func (c *Client) NodeAllocationUpdate(ctx context.Context, ident string, changes ...Change) (changed Allocation, err error) {
	return changed, c.send(ctx, &changed, request{method: http.MethodPatch, path: []string{"allocations", ident}, body: changes})
}

// NodeAllocationDelete gives the machine back.
func (c *Client) NodeAllocationDelete(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"allocations", ident}})
}

// AllocationOfNodeShow reads the allocation that has a node.
func (c *Client) AllocationOfNodeShow(ctx context.Context, node string) (found Allocation, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"nodes", node, "allocation"}})
}

// AllocationOfNodeDelete deletes the allocation that has a node.
func (c *Client) AllocationOfNodeDelete(ctx context.Context, node string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", node, "allocation"}})
}
