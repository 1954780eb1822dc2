package baremetal

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// Node is a node in responses.
type Node struct {
	UUID                 string   `json:"uuid,omitempty" format:"uuid" doc:"UUID of the node; it never changes." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name                 *string  `json:"name,omitempty" since:"5" nullable:"true" doc:"Unique name of the node." example:"rack-7"`
	Driver               string   `json:"driver,omitempty" doc:"Driver of the node." example:"fake-hardware"`
	ResourceClass        *string  `json:"resource_class,omitempty" since:"21" nullable:"true" doc:"Resource class; allocations select nodes by it." example:"baremetal.gold"`
	Traits               []string `json:"traits,omitempty" since:"37" doc:"Traits of the node, sorted; allocations can require them."`
	InstanceUUID         *string  `json:"instance_uuid,omitempty" nullable:"true" format:"uuid" doc:"UUID of the instance: that of the allocation, or one that a client set."`
	AllocationUUID       *string  `json:"allocation_uuid,omitempty" since:"52" nullable:"true" format:"uuid" doc:"UUID of the allocation that the node is assigned to."`
	ProvisionState       *string  `json:"provision_state,omitempty" nullable:"true" doc:"Provision state; below version 1.2 null means available." example:"available"`
	TargetProvisionState *string  `json:"target_provision_state,omitempty" nullable:"true" doc:"Target of the current transition; null without one." example:"active"`
	ProvisionUpdatedAt   *Time    `json:"provision_updated_at,omitempty" nullable:"true" doc:"Time of the last change of the provision state."`
	PowerState           *string  `json:"power_state,omitempty" nullable:"true" doc:"power on or power off; null if unknown. A node with unknown power state is not assigned to allocations." example:"power off"`
	TargetPowerState     *string  `json:"target_power_state,omitempty" nullable:"true" doc:"Requested power state; null without a pending change." example:"power on"`
	LastError            *string  `json:"last_error,omitempty" nullable:"true" doc:"Error of the last failed operation."`
	Maintenance          bool     `json:"maintenance" required:"false" doc:"Whether the node is in maintenance; such a node is not assigned to allocations." example:"false"`
	MaintenanceReason    *string  `json:"maintenance_reason,omitempty" nullable:"true" doc:"Reason for the maintenance."`
	Fault                *string  `json:"fault,omitempty" since:"42" nullable:"true" doc:"Fault because of which the server put the node into maintenance." example:"clean failure"`
	Reservation          *string  `json:"reservation,omitempty" nullable:"true" doc:"Host name of the conductor that has reserved the node." example:"berth-1"`
	Conductor            *string  `json:"conductor,omitempty" since:"49" nullable:"true" doc:"Host name of the conductor that has reserved the node; null if the node is not reserved." example:"berth-1"`
	ConductorGroup       string   `json:"conductor_group" required:"false" since:"46" doc:"Group of conductors that manage the node." example:""`
	Owner                *string  `json:"owner,omitempty" since:"50" nullable:"true" doc:"Owner of the node. Allocations with an owner get only nodes that this owner owns or leases." example:"compute-team"`
	Lessee               *string  `json:"lessee,omitempty" since:"65" nullable:"true" doc:"Lessee: project that may use the node besides the owner."`
	Description          *string  `json:"description,omitempty" since:"51" nullable:"true" doc:"Description for operators." example:"The one below the window"`
	Shard                *string  `json:"shard,omitempty" since:"82" nullable:"true" doc:"Shard: name of a subset of all nodes, for clients that divide the nodes."`
	Protected            bool     `json:"protected" required:"false" since:"48" doc:"Whether deletion, teardown and rebuild of the node are forbidden." example:"false"`
	ProtectedReason      *string  `json:"protected_reason,omitempty" since:"48" nullable:"true" doc:"Reason for the protection."`
	Retired              bool     `json:"retired" required:"false" since:"61" doc:"Whether the node is retired: after cleaning it becomes manageable instead of available." example:"false"`
	RetiredReason        *string  `json:"retired_reason,omitempty" since:"61" nullable:"true" doc:"Reason for the retirement."`
	AutomatedClean       *bool    `json:"automated_clean,omitempty" since:"47" nullable:"true" doc:"Whether the node is cleaned automatically; null: the default of the server."`
	Properties           object   `json:"properties,omitempty" doc:"Properties of the hardware, such as memory_mb and capabilities."`
	DriverInfo           object   `json:"driver_info,omitempty" doc:"Settings of the driver. Values of members whose names contain password are masked as ******."`
	DriverInternalInfo   object   `json:"driver_internal_info,omitempty" since:"3" doc:"Internal data of the driver."`
	InstanceInfo         object   `json:"instance_info,omitempty" doc:"Data for the deployment of the instance. Passwords, configdrive and image_url are masked as ******."`
	Extra                object   `json:"extra,omitempty" doc:"Arbitrary data of clients."`
	NetworkData          object   `json:"network_data,omitempty" since:"66" doc:"Network configuration for the deployment."`
	RAIDConfig           object   `json:"raid_config,omitempty" since:"12" doc:"Current RAID configuration."`
	TargetRAIDConfig     object   `json:"target_raid_config,omitempty" since:"12" doc:"Requested RAID configuration."`
	CleanStep            object   `json:"clean_step,omitempty" since:"7" doc:"Current cleaning step."`
	DeployStep           object   `json:"deploy_step,omitempty" since:"44" doc:"Current deployment step."`
	ConsoleEnabled       bool     `json:"console_enabled" required:"false" doc:"Whether the console is enabled." example:"false"`
	BootMode             *string  `json:"boot_mode,omitempty" since:"75" nullable:"true" doc:"uefi or bios; null if unknown."`
	SecureBoot           *bool    `json:"secure_boot,omitempty" since:"75" nullable:"true" doc:"Whether secure boot is enabled; null if unknown."`
	InspectionStartedAt  *Time    `json:"inspection_started_at,omitempty" since:"6" nullable:"true" doc:"Start of the last inspection."`
	InspectionFinishedAt *Time    `json:"inspection_finished_at,omitempty" since:"6" nullable:"true" doc:"End of the last inspection."`
	ChassisUUID          *string  `json:"chassis_uuid,omitempty" nullable:"true" format:"uuid" doc:"Always null: Berth has no chassis."`
	Interfaces
	CreatedAt  Time   `json:"created_at,omitempty" doc:"Time of the creation."`
	UpdatedAt  *Time  `json:"updated_at,omitempty" nullable:"true" doc:"Time of the last change."`
	Links      []Link `json:"links" doc:"Links to the node."`
	Ports      []Link `json:"ports,omitempty" doc:"Links to the ports of the node."`
	States     []Link `json:"states,omitempty" since:"14" doc:"Links to the states of the node."`
	Portgroups []Link `json:"portgroups,omitempty" since:"24" doc:"Links to the port groups of the node, which Berth does not have."`
	Volume     []Link `json:"volume,omitempty" since:"32" doc:"Links to the volumes of the node, which Berth does not have."`
}

// Interfaces are the driver interfaces of a node.
type Interfaces struct {
	BIOS       string `json:"bios_interface,omitempty" since:"40" doc:"BIOS interface." example:"fake"`
	Boot       string `json:"boot_interface,omitempty" since:"31" doc:"Boot interface." example:"fake"`
	Console    string `json:"console_interface,omitempty" since:"31" doc:"Console interface." example:"fake"`
	Deploy     string `json:"deploy_interface,omitempty" since:"31" doc:"Deploy interface." example:"fake"`
	Inspect    string `json:"inspect_interface,omitempty" since:"31" doc:"Inspect interface." example:"fake"`
	Management string `json:"management_interface,omitempty" since:"31" doc:"Management interface." example:"fake"`
	Network    string `json:"network_interface,omitempty" since:"20" doc:"Network interface." example:"noop"`
	Power      string `json:"power_interface,omitempty" since:"31" doc:"Power interface." example:"fake"`
	RAID       string `json:"raid_interface,omitempty" since:"31" doc:"RAID interface." example:"fake"`
	Rescue     string `json:"rescue_interface,omitempty" since:"38" doc:"Rescue interface." example:"fake"`
	Storage    string `json:"storage_interface,omitempty" since:"33" doc:"Storage interface." example:"noop"`
	Vendor     string `json:"vendor_interface,omitempty" since:"31" doc:"Vendor interface." example:"fake"`
}

var nodeShape = newShape[Node]()

// nodeBrief are the members of a node in lists by default.
var nodeBrief = []string{"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state"}

// nodeUnsorted are members that cannot be sort keys: those with several values, and those that are not stored in the
// row of the node.
var nodeUnsorted = []string{
	"traits", "allocation_uuid", "reservation", "conductor", "properties", "driver_info", "driver_internal_info",
	"instance_info", "extra", "network_data", "raid_config", "target_raid_config", "clean_step", "deploy_step",
	"links", "ports", "states", "portgroups", "volume",
}

func nodeSortable(ctx context.Context) []string {
	var names []string
	for _, field := range nodeShape.all(ctx) {
		if !slices.Contains(nodeUnsorted, field.Name) {
			names = append(names, field.Name)
		}
	}
	return names
}

// interfaceOf returns the driver interface of a node for a type.
func interfaceOf(n *store.Node, name string) string {
	if chosen := detail[*string](n.Details, name); chosen != nil {
		return *chosen
	}
	if name == "network_interface" || name == "storage_interface" {
		return "noop"
	}
	return "fake"
}

func interfacesOf(n *store.Node) Interfaces {
	return Interfaces{
		BIOS: interfaceOf(n, "bios_interface"), Boot: interfaceOf(n, "boot_interface"),
		Console: interfaceOf(n, "console_interface"), Deploy: interfaceOf(n, "deploy_interface"),
		Inspect: interfaceOf(n, "inspect_interface"), Management: interfaceOf(n, "management_interface"),
		Network: interfaceOf(n, "network_interface"), Power: interfaceOf(n, "power_interface"),
		RAID: interfaceOf(n, "raid_interface"), Rescue: interfaceOf(n, "rescue_interface"),
		Storage: interfaceOf(n, "storage_interface"), Vendor: interfaceOf(n, "vendor_interface"),
	}
}

// nodeOf returns the representation of a node with the selected members.
func nodeOf(ctx context.Context, fields chosen, n *store.Node) view[Node] {
	path := "nodes/" + n.UUID.String()
	return nodeShape.show(fields, &Node{
		UUID: n.UUID.String(), Name: n.Name, Driver: n.Driver, ResourceClass: n.ResourceClass, Traits: listed(n.Traits),
		InstanceUUID: idText(n.InstanceUUID), AllocationUUID: idText(n.AllocationUUID),
		ProvisionState: stateOf(ctx, n), TargetProvisionState: n.TargetProvisionState,
		ProvisionUpdatedAt: maybe(n.ProvisionUpdatedAt),
		PowerState:         n.PowerState, TargetPowerState: powerTarget(n.TargetPowerState), LastError: n.LastError,
		Maintenance: n.Maintenance, MaintenanceReason: n.MaintenanceReason, Fault: n.Fault,
		Reservation: n.Conductor, Conductor: n.Conductor, ConductorGroup: n.ConductorGroup,
		Owner: n.Owner, Lessee: n.Lessee,
		Description: detail[*string](n.Details, "description"), Shard: detail[*string](n.Details, "shard"),
		Protected: n.Protected, ProtectedReason: detail[*string](n.Details, "protected_reason"),
		Retired: n.Retired, RetiredReason: detail[*string](n.Details, "retired_reason"),
		AutomatedClean: detail[*bool](n.Details, "automated_clean"),
		Properties:     object(n.Details["properties"]), Extra: object(n.Details["extra"]), NetworkData: object(n.Details["network_data"]),
		DriverInfo: masked(n.Details["driver_info"]), InstanceInfo: masked(n.Details["instance_info"], "configdrive", "image_url"),
		Interfaces: interfacesOf(n),
		CreatedAt:  Time(n.CreatedAt), UpdatedAt: maybe(n.UpdatedAt),
		Links: links(ctx, path), Ports: links(ctx, path+"/ports"), States: links(ctx, path+"/states"),
		Portgroups: links(ctx, path+"/portgroups"), Volume: links(ctx, path+"/volume"),
	})
}

// stateOf returns the provision state in the notation of the version.
func stateOf(ctx context.Context, n *store.Node) *string {
	if n.ProvisionState == provision.Available && !namesAvailable(ctx) {
		return nil
	}
	return &n.ProvisionState
}

// Nodes is a page of nodes.
type Nodes struct {
	Nodes []view[Node] `json:"nodes" doc:"Nodes in the requested order."`
	Next  *string      `json:"next,omitempty" nullable:"false" doc:"URL of the next page; omitted if this page is not full."`
}

// listed returns a list that is never null.
func listed[T any](of []T) []T {
	if of == nil {
		return []T{}
	}
	return of
}

func idText(id *uuid.UUID) *string {
	if id == nil {
		return nil
	}
	return new(id.String())
}

// exampleNode is the node in the examples of the documents.
var exampleNode = store.Node{
	UUID: uuid.MustParse("c0ffee00-5ca1-4b1e-8000-000000000001"), Name: new("rack-7"), Driver: "fake-hardware",
	ResourceClass: new("baremetal.gold"), ProvisionState: provision.Available, PowerState: new("power off"),
	Details: map[string]json.RawMessage{
		"properties": json.RawMessage(`{"cpus":"64","memory_mb":"524288"}`), "driver_info": json.RawMessage(`{"fake_password":"secret"}`),
	},
	Traits:    []string{"CUSTOM_GOLD", "HW_CPU_X86_VMX"},
	CreatedAt: exampleMade,
}

var exampleMade = time.Date(2026, time.November, 20, 15, 8, 1, 836794000, time.UTC)
