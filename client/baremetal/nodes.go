package baremetal

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Node is a machine. What may be missing is nil.
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
	// InstanceUUID is whose machine it is; AllocationUUID is the same where an
	// allocation has it.
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

// NodeFilter chooses nodes. What is empty doesn't count.
type NodeFilter struct {
	ProvisionState, ResourceClass, Driver, Owner, Lessee string
	ConductorGroup, Conductor, Fault, InstanceUUID       string
	DescriptionContains                                  string
	// Associated nodes are in use.
	Associated, Maintenance, Retired *bool
	// Most is how many are wanted; 0: all.
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

// NodeList lists nodes, in the order in which they were made.
func (c *Client) NodeList(ctx context.Context, filter NodeFilter) ([]Node, error) {
	return pages(ctx, c, request{method: http.MethodGet, path: []string{"nodes", "detail"}, query: filter.query()}, "nodes", filter.Most,
		func(node Node) string { return node.UUID.String() })
}

// NodeShow reads a node.
func (c *Client) NodeShow(ctx context.Context, ident string) (node Node, err error) {
	return node, c.send(ctx, &node, request{method: http.MethodGet, path: []string{"nodes", ident}})
}

// NewNode is a node to be made. What is empty is left to the service.
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

// NodeCreate makes a node, in the state "enroll".
func (c *Client) NodeCreate(ctx context.Context, wanted NewNode) (node Node, err error) {
	return node, c.send(ctx, &node, request{method: http.MethodPost, path: []string{"nodes"}, body: wanted})
}

// NodeUpdate changes a node; all changes are made, or none.
func (c *Client) NodeUpdate(ctx context.Context, ident string, changes ...Change) (node Node, err error) {
	return node, c.send(ctx, &node, request{method: http.MethodPatch, path: []string{"nodes", ident}, body: changes})
}

// NodeDelete deletes a node that nobody uses.
func (c *Client) NodeDelete(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident}})
}

// NodeProvision asks for something that takes its time, by one of the verbs of the
// API: manage, provide, active, deleted, adopt, rebuild, inspect, abort. WaitForNode
// waits for its end.
func (c *Client) NodeProvision(ctx context.Context, ident, verb string) error {
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "states", "provision"}, body: map[string]string{"target": verb}})
}

// NodePower asks for a state of the power: "power on", "power off", "rebooting",
// "soft power off", "soft rebooting".
func (c *Client) NodePower(ctx context.Context, ident, target string) error {
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "states", "power"}, body: map[string]string{"target": target}})
}

// NodeStates is what a node is doing.
type NodeStates struct {
	ProvisionState       string     `json:"provision_state"`
	TargetProvisionState *string    `json:"target_provision_state"`
	ProvisionUpdatedAt   *time.Time `json:"provision_updated_at"`
	PowerState           *string    `json:"power_state"`
	TargetPowerState     *string    `json:"target_power_state"`
	LastError            *string    `json:"last_error"`
	ConsoleEnabled       bool       `json:"console_enabled"`
}

// NodeStates reads what a node is doing.
func (c *Client) NodeStates(ctx context.Context, ident string) (states NodeStates, err error) {
	return states, c.send(ctx, &states, request{method: http.MethodGet, path: []string{"nodes", ident, "states"}})
}

// NodeMaintenanceSet keeps a node from being given away, and lets it be deleted in
// any state. The reason may be empty.
func (c *Client) NodeMaintenanceSet(ctx context.Context, ident, reason string) error {
	body := map[string]string{}
	if reason != "" {
		body["reason"] = reason
	}
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "maintenance"}, body: body})
}

// NodeMaintenanceUnset ends it.
func (c *Client) NodeMaintenanceUnset(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident, "maintenance"}})
}

// NodeTraitList reads the traits of a node, sorted.
func (c *Client) NodeTraitList(ctx context.Context, ident string) ([]string, error) {
	answer := struct {
		Traits []string `json:"traits"`
	}{[]string{}}
	err := c.send(ctx, &answer, request{method: http.MethodGet, path: []string{"nodes", ident, "traits"}})
	return answer.Traits, err
}

// NodeTraitReplace gives a node exactly these traits.
func (c *Client) NodeTraitReplace(ctx context.Context, ident string, traits []string) error {
	body := map[string][]string{"traits": append([]string{}, traits...)} // never null
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "traits"}, body: body})
}

// NodeTraitAdd gives a node one more trait.
func (c *Client) NodeTraitAdd(ctx context.Context, ident, trait string) error {
	return c.send(ctx, nil, request{method: http.MethodPut, path: []string{"nodes", ident, "traits", trait}})
}

// NodeTraitDelete takes one trait away.
func (c *Client) NodeTraitDelete(ctx context.Context, ident, trait string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident, "traits", trait}})
}

// NodeTraitClear takes all traits away.
func (c *Client) NodeTraitClear(ctx context.Context, ident string) error {
	return c.send(ctx, nil, request{method: http.MethodDelete, path: []string{"nodes", ident, "traits"}})
}

// Validation says whether one of a node's interfaces has what it needs: true, false,
// or nil where the driver has no such interface.
type Validation struct {
	Result *bool   `json:"result"`
	Reason *string `json:"reason,omitempty"`
}

// NodeValidate checks a node's interfaces, by their names.
func (c *Client) NodeValidate(ctx context.Context, ident string) (checked map[string]Validation, err error) {
	return checked, c.send(ctx, &checked, request{method: http.MethodGet, path: []string{"nodes", ident, "validate"}})
}
