package baremetal

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Node is a node. Missing values are nil.
type Node struct {
	UUID                 uuid.UUID  `json:"uuid"`
	Name                 *string    `json:"name"`
	Driver               string     `json:"driver"`
	ResourceClass        *string    `json:"resource_class"`
	Traits               []string   `json:"traits"`
	ProvisionState       string     `json:"provision_state"`
	TargetProvisionState *string    `json:"target_provision_state"`
	ProvisionUpdatedAt   *time.Time `json:"provision_updated_at"`
	PowerState           *string    `json:"power_state"`
	TargetPowerState     *string    `json:"target_power_state"`
	Maintenance          bool       `json:"maintenance"`
	MaintenanceReason    *string    `json:"maintenance_reason"`
	Fault                *string    `json:"fault"`
	LastError            *string    `json:"last_error"`
	// InstanceUUID is the instance on the node; AllocationUUID is the same if the node has a node allocation.
	InstanceUUID    *uuid.UUID     `json:"instance_uuid"`
	AllocationUUID  *uuid.UUID     `json:"allocation_uuid"`
	Owner           *string        `json:"owner"`
	Lessee          *string        `json:"lessee"`
	Description     *string        `json:"description"`
	Protected       bool           `json:"protected"`
	ProtectedReason *string        `json:"protected_reason"`
	Retired         bool           `json:"retired"`
	RetiredReason   *string        `json:"retired_reason"`
	ConductorGroup  string         `json:"conductor_group"`
	Conductor       *string        `json:"conductor"`
	Properties      map[string]any `json:"properties"`
	DriverInfo      map[string]any `json:"driver_info"`
	InstanceInfo    map[string]any `json:"instance_info"`
	Extra           map[string]any `json:"extra"`
	CreatedAt       time.Time      `json:"created_at"`
	UpdatedAt       *time.Time     `json:"updated_at"`
}

// NodeFilter is a filter of nodes. It ignores empty fields.
type NodeFilter struct {
	ProvisionState, ResourceClass, Driver, Owner, Lessee string
	ConductorGroup, Conductor, Fault, InstanceUUID       string
	DescriptionContains                                  string
	// Associated selects nodes with an instance.
	Associated, Maintenance, Retired *bool
	// Most is the maximum number of results; 0: all.
	Most int
}

func (f NodeFilter) query() url.Values {
	query := fill(url.Values{}, map[string]string{
		"provision_state": f.ProvisionState, "resource_class": f.ResourceClass, "driver": f.Driver, "owner": f.Owner,
		"lessee": f.Lessee, "conductor_group": f.ConductorGroup, "conductor": f.Conductor, "fault": f.Fault,
		"instance_uuid": f.InstanceUUID, "description_contains": f.DescriptionContains,
	})
	for name, value := range map[string]*bool{"associated": f.Associated, "maintenance": f.Maintenance, "retired": f.Retired} {
		if value != nil {
			query.Set(name, strconv.FormatBool(*value))
		}
	}
	return query
}

// NodeList returns nodes in the order of their creation.
func (c *Client) NodeList(ctx context.Context, filter NodeFilter) ([]Node, error) {
	return pages(ctx, c, request{method: http.MethodGet, path: []string{"nodes", "detail"}, query: filter.query()}, "nodes", filter.Most,
		func(node Node) string { return node.UUID.String() })
}

// NodeShow returns a node.
func (c *Client) NodeShow(ctx context.Context, ident string) (node Node, err error) {
	return node, c.send(ctx, &node, request{method: http.MethodGet, path: []string{"nodes", ident}})
}

// NewNode is a node to create. The service chooses the values of empty fields.
type NewNode struct {
	UUID           *uuid.UUID     `json:"uuid,omitempty"`
	Name           string         `json:"name,omitempty"`
	Driver         string         `json:"driver"`
	ResourceClass  string         `json:"resource_class,omitempty"`
	InstanceUUID   *uuid.UUID     `json:"instance_uuid,omitempty"`
	Owner          string         `json:"owner,omitempty"`
	Lessee         string         `json:"lessee,omitempty"`
	Description    string         `json:"description,omitempty"`
	ConductorGroup string         `json:"conductor_group,omitempty"`
	Properties     map[string]any `json:"properties,omitempty"`
	DriverInfo     map[string]any `json:"driver_info,omitempty"`
	Extra          map[string]any `json:"extra,omitempty"`
}

// NodeCreate creates a node in the provision state "enroll".
func (c *Client) NodeCreate(ctx context.Context, wanted NewNode) (node Node, err error) {
	return node, c.send(ctx, &node, request{method: http.MethodPost, path: []string{"nodes"}, body: wanted})
}

// NodeUpdate applies changes to a node in one transaction.
func (c *Client) NodeUpdate(ctx context.Context, ident string, changes ...Change) (node Node, err error) {
	return node, c.send(ctx, &node, request{method: http.MethodPatch, path: []string{"nodes", ident}, body: changes})
}

// NodeDelete deletes a node without an instance.
func (c *Client) NodeDelete(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident}})
}

// NodeProvision starts a provision transition with a verb of the API: manage, provide, active, deleted, adopt, rebuild,
// inspect, abort. It returns before the transition ends; WaitForNode waits for its end.
func (c *Client) NodeProvision(ctx context.Context, ident, verb string) error {
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "states", "provision"}, body: map[string]string{"target": verb}})
}

// NodePower starts a change of the power state: "power on", "power off", "rebooting", "soft power off", "soft
// rebooting". WaitForPower waits for its end.
func (c *Client) NodePower(ctx context.Context, ident, target string) error {
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "states", "power"}, body: map[string]string{"target": target}})
}

// NodeStates is the provision and power states of a node.
type NodeStates struct {
	ProvisionState       string     `json:"provision_state"`
	TargetProvisionState *string    `json:"target_provision_state"`
	ProvisionUpdatedAt   *time.Time `json:"provision_updated_at"`
	PowerState           *string    `json:"power_state"`
	TargetPowerState     *string    `json:"target_power_state"`
	LastError            *string    `json:"last_error"`
	ConsoleEnabled       bool       `json:"console_enabled"`
}

// NodeStates returns the provision and power states of a node.
func (c *Client) NodeStates(ctx context.Context, ident string) (states NodeStates, err error) {
	return states, c.send(ctx, &states, request{method: http.MethodGet, path: []string{"nodes", ident, "states"}})
}

// NodeMaintenanceSet sets a node to maintenance: the service does not assign it, and it can be deleted in any state.
// The reason may be empty.
func (c *Client) NodeMaintenanceSet(ctx context.Context, ident, reason string) error {
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "maintenance"}, body: body})
}

// NodeMaintenanceUnset ends the maintenance of a node.
func (c *Client) NodeMaintenanceUnset(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident, "maintenance"}})
}

// NodeTraitList returns the traits of a node, sorted.
func (c *Client) NodeTraitList(ctx context.Context, ident string) ([]string, error) {
	answer := struct {
		Traits []string `json:"traits"`
	}{[]string{}}
	err := c.send(ctx, &answer, request{method: http.MethodGet, path: []string{"nodes", ident, "traits"}})
	return answer.Traits, err
}

// NodeTraitReplace replaces all traits of a node.
func (c *Client) NodeTraitReplace(ctx context.Context, ident string, traits []string) error {
	body := map[string][]string{"traits": append([]string{}, traits...)} // never null
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "traits"}, body: body})
}

// NodeTraitAdd adds a trait to a node.
func (c *Client) NodeTraitAdd(ctx context.Context, ident, trait string) error {
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "traits", trait}})
}

// NodeTraitDelete removes a trait from a node.
func (c *Client) NodeTraitDelete(ctx context.Context, ident, trait string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident, "traits", trait}})
}

// NodeTraitClear removes all traits from a node.
func (c *Client) NodeTraitClear(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident, "traits"}})
}

// Validation is the result for one interface of a node. Result is true if its properties are complete, and nil if the
// driver has no such interface.
type Validation struct {
	Result *bool   `json:"result"`
	Reason *string `json:"reason,omitempty"`
}

// NodeValidate validates the interfaces of a node, and returns the results by interface.
func (c *Client) NodeValidate(ctx context.Context, ident string) (checked map[string]Validation, err error) {
	return checked, c.send(ctx, &checked, request{method: http.MethodGet, path: []string{"nodes", ident, "validate"}})
}
