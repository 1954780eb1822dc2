package baremetal

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/store"
)

// Node is a machine.
type Node struct {
	UUID                 string   `json:"uuid,omitempty" format:"uuid" doc:"Its id, forever." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name                 *string  `json:"name,omitempty" since:"5" nullable:"true" doc:"Unique among nodes." example:"rack-7"`
	Driver               string   `json:"driver,omitempty" doc:"What manages it." example:"fake-hardware"`
	ResourceClass        *string  `json:"resource_class,omitempty" since:"21" nullable:"true" doc:"What allocations ask for." example:"baremetal.gold"`
	Traits               []string `json:"traits,omitempty" since:"37" doc:"What allocations may ask for besides, sorted."`
	InstanceUUID         *string  `json:"instance_uuid,omitempty" nullable:"true" format:"uuid" doc:"Whose machine it is: the uuid of the allocation, or what a client wrote."`
	AllocationUUID       *string  `json:"allocation_uuid,omitempty" since:"52" nullable:"true" format:"uuid" doc:"The allocation that has it."`
	ProvisionState       *string  `json:"provision_state,omitempty" nullable:"true" doc:"Where it is in its life; null stands for available below version 1.2." example:"available"`
	TargetProvisionState *string  `json:"target_provision_state,omitempty" nullable:"true" doc:"Where it is going; null at rest." example:"active"`
	ProvisionUpdatedAt   *Time    `json:"provision_updated_at,omitempty" nullable:"true" doc:"When the state last changed."`
	PowerState           *string  `json:"power_state,omitempty" nullable:"true" doc:"power on or power off; null if it is not known, and then no allocation gets the node." example:"power off"`
	TargetPowerState     *string  `json:"target_power_state,omitempty" nullable:"true" doc:"What the power is to be; null at rest." example:"power on"`
	LastError            *string  `json:"last_error,omitempty" nullable:"true" doc:"Why the last work on it failed."`
	Maintenance          bool     `json:"maintenance" required:"false" doc:"Whether somebody sees to it; no allocation gets it meanwhile." example:"false"`
	MaintenanceReason    *string  `json:"maintenance_reason,omitempty" nullable:"true" doc:"Why."`
	Fault                *string  `json:"fault,omitempty" since:"42" nullable:"true" doc:"What the server put it into maintenance for." example:"clean failure"`
	Reservation          *string  `json:"reservation,omitempty" nullable:"true" doc:"The conductor that works on it now." example:"berth-1"`
	Conductor            *string  `json:"conductor,omitempty" since:"49" nullable:"true" doc:"The conductor that works on it now. At rest it is nobody's." example:"berth-1"`
	ConductorGroup       string   `json:"conductor_group" required:"false" since:"46" doc:"The group of conductors that may work on it." example:""`
	Owner                *string  `json:"owner,omitempty" since:"50" nullable:"true" doc:"Whose it is; allocations with an owner get only nodes of theirs." example:"compute-team"`
	Lessee               *string  `json:"lessee,omitempty" since:"65" nullable:"true" doc:"Who may have it besides the owner."`
	Description          *string  `json:"description,omitempty" since:"51" nullable:"true" doc:"For people." example:"The one below the window"`
	Shard                *string  `json:"shard,omitempty" since:"82" nullable:"true" doc:"A part of all nodes that some client sees to."`
	Protected            bool     `json:"protected" required:"false" since:"48" doc:"Whether it may be neither deleted, torn down nor rebuilt." example:"false"`
	ProtectedReason      *string  `json:"protected_reason,omitempty" since:"48" nullable:"true" doc:"Why."`
	Retired              bool     `json:"retired" required:"false" since:"61" doc:"Whether nobody is to get it any more: when it is clean it stays manageable." example:"false"`
	RetiredReason        *string  `json:"retired_reason,omitempty" since:"61" nullable:"true" doc:"Why."`
	AutomatedClean       *bool    `json:"automated_clean,omitempty" since:"47" nullable:"true" doc:"Whether it is cleaned before it is available; null: as the server has it."`
	Properties           object   `json:"properties,omitempty" doc:"What the machine has, such as memory_mb and capabilities."`
	DriverInfo           object   `json:"driver_info,omitempty" doc:"How the driver reaches it. Values of members whose names contain password are shown as ******."`
	DriverInternalInfo   object   `json:"driver_internal_info,omitempty" since:"3" doc:"What the driver remembers."`
	InstanceInfo         object   `json:"instance_info,omitempty" doc:"What is to be put on it. Passwords, configdrive and image_url are shown as ******."`
	Extra                object   `json:"extra,omitempty" doc:"Anything that clients want to remember."`
	NetworkData          object   `json:"network_data,omitempty" since:"66" doc:"Its network while it is deployed."`
	RAIDConfig           object   `json:"raid_config,omitempty" since:"12" doc:"What its disks are."`
	TargetRAIDConfig     object   `json:"target_raid_config,omitempty" since:"12" doc:"What its disks are to be."`
	CleanStep            object   `json:"clean_step,omitempty" since:"7" doc:"What cleaning is at."`
	DeployStep           object   `json:"deploy_step,omitempty" since:"44" doc:"What deploying is at."`
	ConsoleEnabled       bool     `json:"console_enabled" required:"false" doc:"Whether its console is open." example:"false"`
	BootMode             *string  `json:"boot_mode,omitempty" since:"75" nullable:"true" doc:"uefi or bios; null if it is not known."`
	SecureBoot           *bool    `json:"secure_boot,omitempty" since:"75" nullable:"true" doc:"Whether it starts only what is signed; null if that is not known."`
	InspectionStartedAt  *Time    `json:"inspection_started_at,omitempty" since:"6" nullable:"true" doc:"When it was last looked at."`
	InspectionFinishedAt *Time    `json:"inspection_finished_at,omitempty" since:"6" nullable:"true" doc:"When that was done."`
	ChassisUUID          *string  `json:"chassis_uuid,omitempty" nullable:"true" format:"uuid" doc:"Always null: there are no chassis here."`
	Interfaces
	CreatedAt  Time   `json:"created_at,omitempty" doc:"When it was made."`
	UpdatedAt  *Time  `json:"updated_at,omitempty" nullable:"true" doc:"When it last changed."`
	Links      []Link `json:"links" doc:"Where the node is."`
	Ports      []Link `json:"ports,omitempty" doc:"Where its ports are."`
	States     []Link `json:"states,omitempty" since:"14" doc:"Where its states are."`
	Portgroups []Link `json:"portgroups,omitempty" since:"24" doc:"Where its groups of ports would be."`
	Volume     []Link `json:"volume,omitempty" since:"32" doc:"Where its volumes would be."`
}

// Interfaces name the parts of a driver that a node uses.
type Interfaces struct {
	BIOS       string `json:"bios_interface,omitempty" since:"40" doc:"Part of the driver for its settings." example:"fake"`
	Boot       string `json:"boot_interface,omitempty" since:"31" doc:"Part of the driver for starting it." example:"fake"`
	Console    string `json:"console_interface,omitempty" since:"31" doc:"Part of the driver for its console." example:"fake"`
	Deploy     string `json:"deploy_interface,omitempty" since:"31" doc:"Part of the driver for deploying." example:"fake"`
	Inspect    string `json:"inspect_interface,omitempty" since:"31" doc:"Part of the driver for inspecting." example:"fake"`
	Management string `json:"management_interface,omitempty" since:"31" doc:"Part of the driver for managing." example:"fake"`
	Network    string `json:"network_interface,omitempty" since:"20" doc:"Part of the driver for networks." example:"noop"`
	Power      string `json:"power_interface,omitempty" since:"31" doc:"Part of the driver for power." example:"fake"`
	RAID       string `json:"raid_interface,omitempty" since:"31" doc:"Part of the driver for disks." example:"fake"`
	Rescue     string `json:"rescue_interface,omitempty" since:"38" doc:"Part of the driver for rescuing." example:"fake"`
	Storage    string `json:"storage_interface,omitempty" since:"33" doc:"Part of the driver for volumes." example:"noop"`
	Vendor     string `json:"vendor_interface,omitempty" since:"31" doc:"Part of the driver for what one vendor has." example:"fake"`
}

var nodeShape = newShape[Node]()

// nodeBrief is what lists show of a node unless more is asked for.
var nodeBrief = []string{"uuid", "name", "instance_uuid", "maintenance", "power_state", "provision_state"}

// nodeUnsorted are members that a list cannot be sorted by: those that are no
// single value, and those that are not kept with the node.
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

// interfaceOf is the part of the driver that a node uses for something.
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

// nodeOf shows what is chosen of a node.
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

// stateOf is the provision state as the version shows it.
func stateOf(ctx context.Context, n *store.Node) *string {
	if n.ProvisionState == provision.Available && !namesAvailable(ctx) {
		return nil
	}
	return &n.ProvisionState
}

// Nodes are a page of nodes.
type Nodes struct {
	Nodes []view[Node] `json:"nodes" doc:"In the order asked for."`
	Next  *string      `json:"next,omitempty" nullable:"false" doc:"The next page, where this one is full."`
}

// listed is a list that is never null.
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

// exampleNode is the node of the documents.
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
