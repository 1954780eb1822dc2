package baremetal

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// Port is a network interface of a node.
type Port struct {
	UUID                uuid.UUID      `json:"uuid"`
	Address             string         `json:"address"`
	NodeUUID            uuid.UUID      `json:"node_uuid"`
	PXEEnabled          bool           `json:"pxe_enabled"`
	PhysicalNetwork     *string        `json:"physical_network"`
	LocalLinkConnection map[string]any `json:"local_link_connection"`
	Extra               map[string]any `json:"extra"`
	CreatedAt           time.Time      `json:"created_at"`
	UpdatedAt           *time.Time     `json:"updated_at"`
}

// NewPort is a port to create. The service chooses the values of empty fields.
type NewPort struct {
	UUID            *uuid.UUID     `json:"uuid,omitempty"`
	NodeUUID        uuid.UUID      `json:"node_uuid"`
	Address         string         `json:"address"`
	PhysicalNetwork string         `json:"physical_network,omitempty"`
	Extra           map[string]any `json:"extra,omitempty"`
}

// PortFilter is a filter of ports. It ignores empty fields.
type PortFilter struct {
	// Node is a name or a UUID; Address is a MAC address.
	Node, Address string
	// Most is the maximum number of results; 0: all.
	Most int
}

// PortCreate creates a port of a node.
func (c *Client) PortCreate(ctx context.Context, wanted NewPort) (port Port, err error) {
	return port, c.send(ctx, &port, request{method: http.MethodPost, path: []string{"ports"}, body: wanted})
}

// PortList returns ports in the order of their creation.
func (c *Client) PortList(ctx context.Context, filter PortFilter) ([]Port, error) {
	query := fill(url.Values{}, map[string]string{"node": filter.Node, "address": filter.Address})
	return pages(ctx, c, request{method: http.MethodGet, path: []string{"ports", "detail"}, query: query}, "ports", filter.Most,
		func(port Port) string { return port.UUID.String() })
}

// PortShow returns a port. Ports have no names.
func (c *Client) PortShow(ctx context.Context, id uuid.UUID) (found Port, err error) {
	return found, c.send(ctx, &found, request{method: http.MethodGet, path: []string{"ports", id.String()}})
}

// PortUpdate applies changes to a port in one transaction.
func (c *Client) PortUpdate(ctx context.Context, id uuid.UUID, changes ...Change) (changed Port, err error) {
	return changed, c.send(ctx, &changed, request{method: http.MethodPatch, path: []string{"ports", id.String()}, body: changes})
}

// PortDelete deletes a port.
func (c *Client) PortDelete(ctx context.Context, id uuid.UUID) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"ports", id.String()}})
}
