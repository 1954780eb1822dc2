package policy

// The rules of the Bare Metal API, by the names that ironic gives them. The server checks NodesShow before
// every other rule of a node: a node that the caller may not see is a 404.
const (
	NodesList             = "baremetal:node:list_all"                // GET /v1/nodes, /v1/nodes/detail
	NodesListOwn          = "baremetal:node:list"                    // the same, of nodes that the project owns or leases
	NodesShow             = "baremetal:node:get"                     // GET /v1/nodes/{n}
	NodesCreate           = "baremetal:node:create"                  // POST /v1/nodes
	NodesCreateOwn        = "baremetal:node:create:self_owned_node"  // the same, of nodes that the project will own
	NodesUpdate           = "baremetal:node:update"                  // PATCH /v1/nodes/{n}, of members without a rule below
	NodesDelete           = "baremetal:node:delete"                  // DELETE /v1/nodes/{n}
	NodesDeleteOwn        = "baremetal:node:delete:self_owned_node"  // the same, of nodes that the project owns
	NodesValidate         = "baremetal:node:validate"                // GET /v1/nodes/{n}/validate
	NodeStatesShow        = "baremetal:node:get_states"              // GET /v1/nodes/{n}/states
	NodeProvisionUpdate   = "baremetal:node:set_provision_state"     // PUT .../states/provision
	NodePowerUpdate       = "baremetal:node:set_power_state"         // PUT .../states/power
	NodeMaintenanceSet    = "baremetal:node:set_maintenance"         // PUT .../maintenance
	NodeMaintenanceUnset  = "baremetal:node:clear_maintenance"       // DELETE .../maintenance
	NodeTraitsList        = "baremetal:node:traits:list"             // GET .../traits
	NodeTraitsUpdate      = "baremetal:node:traits:set"              // PUT of one and of all
	NodeTraitsDelete      = "baremetal:node:traits:delete"           // DELETE of one and of all
	DriversShow           = "baremetal:driver:get"                   // GET /v1/drivers and of one
	DriverPropertiesShow  = "baremetal:driver:get_properties"        // GET /v1/drivers/{d}/properties
	ConductorsShow        = "baremetal:conductor:get"                // GET /v1/conductors and of one
	PortsList             = "baremetal:port:list_all"                // GET /v1/ports, .../{n}/ports
	PortsListOwn          = "baremetal:port:list"                    // the same, of nodes that the project owns or leases
	PortsShow             = "baremetal:port:get"                     // GET /v1/ports/{p}
	PortsCreate           = "baremetal:port:create"                  // POST /v1/ports
	PortsUpdate           = "baremetal:port:update"                  // PATCH /v1/ports/{p}
	PortsDelete           = "baremetal:port:delete"                  // DELETE /v1/ports/{p}
	NodeAllocationsList   = "baremetal:allocation:list_all"          // GET /v1/allocations
	NodeAllocationsOwn    = "baremetal:allocation:list"              // the same, of those that the project owns
	NodeAllocationsShow   = "baremetal:allocation:get"               // GET of one and of a node's
	NodeAllocationsCreate = "baremetal:allocation:create"            // POST /v1/allocations, of those that the project will own
	NodeAllocationsAnyone = "baremetal:allocation:create_restricted" // the same, with any owner or none
	NodeAllocationsUpdate = "baremetal:allocation:update"            // PATCH /v1/allocations/{a}
	NodeAllocationsDelete = "baremetal:allocation:delete"            // DELETE of one and of a node's
)

// The rules of members of a node: which callers may see them, and which may change them.
const (
	NodeWhole                = "baremetal:node:get:filter_threshold"     // all of them; else by the next three
	NodeLastErrorShow        = "baremetal:node:get:last_error"           // last_error
	NodeReservationShow      = "baremetal:node:get:reservation"          // reservation and conductor
	NodeDriverInfoShow       = "baremetal:node:get:driver_info"          // driver_info
	NodeDriverInfoUpdate     = "baremetal:node:update:driver_info"       // driver_info
	NodePropertiesUpdate     = "baremetal:node:update:properties"        // properties
	NodeChassisUpdate        = "baremetal:node:update:chassis_uuid"      // chassis_uuid
	NodeInstanceUpdate       = "baremetal:node:update:instance_uuid"     // instance_uuid
	NodeLesseeUpdate         = "baremetal:node:update:lessee"            // lessee
	NodeOwnerUpdate          = "baremetal:node:update:owner"             // owner
	NodeOwnerActiveUpdate    = "baremetal:node:update_owner_provisioned" // owner of an active node
	NodeInterfacesUpdate     = "baremetal:node:update:driver_interfaces" // driver and the *_interface
	NodeNetworkDataUpdate    = "baremetal:node:update:network_data"      // network_data
	NodeConductorGroupUpdate = "baremetal:node:update:conductor_group"   // conductor_group
	NodeNameUpdate           = "baremetal:node:update:name"              // name
	NodeRetiredUpdate        = "baremetal:node:update:retired"           // retired, retired_reason
	NodeExtraUpdate          = "baremetal:node:update_extra"             // extra
	NodeInstanceInfoUpdate   = "baremetal:node:update_instance_info"     // instance_info
	NodeCleaningDisable      = "baremetal:node:disable_cleaning"         // automated_clean, to false
	NodeShardUpdate          = "baremetal:node:update:shard"             // shard
)

// ServiceRole is ironic's name of the rule that gives services of a project the access of the system. It
// permits no caller unless a policy file defines it.
const ServiceRole = "service_role"

// The checks of the defaults, as in ironic 21.4. Owner and lessee mean a token of the project that owns or
// leases the node.
const (
	systemAdmin  = "role:admin and system_scope:all"
	systemMember = "(role:member and system_scope:all) or rule:" + ServiceRole
	systemReader = "(role:reader and system_scope:all) or (role:service and system_scope:all) or rule:" + ServiceRole

	ownerProject  = "project_id:%(node.owner)s"
	lesseeProject = "project_id:%(node.lessee)s"
	eitherProject = "(" + ownerProject + " or " + lesseeProject + ")"

	systemService = " or (role:service and system_scope:all)"
	ownerAdmin    = " or (role:admin and " + ownerProject + ") or (role:manager and " + ownerProject + ")"
	ownerMember   = " or (role:member and " + ownerProject + ")"
	ownerReader   = " or (role:reader and " + ownerProject + ")"
	ownerService  = " or (role:service and " + ownerProject + ")"
	lesseeAdmin   = " or (role:admin and " + lesseeProject + ") or (role:manager and " + lesseeProject + ")"

	adminOrService      = "(" + systemAdmin + ")" + systemService
	memberOrEither      = "(" + systemMember + ") or (role:member and " + eitherProject + ")" + systemService
	readerOrEither      = "(" + systemReader + ") or (role:reader and " + eitherProject + ")" + ownerService
	readerOrOwner       = "(" + systemReader + ")" + systemService + ownerReader + ownerService
	memberOrOwner       = "(" + systemMember + ")" + systemService + ownerMember + ownerService
	memberOrOwnerAdmin  = "(" + systemMember + ")" + systemService + ownerAdmin + ownerService
	memberOrLesseeAdmin = "(" + systemMember + ")" + systemService + ownerMember + lesseeAdmin + ownerService
	adminOrOwnerAdmin   = "(" + systemAdmin + ")" + systemService + ownerAdmin + ownerService
	anyReader           = "(role:reader) or (role:service)"

	allocationMember = "(" + systemMember + ") or (role:member and project_id:%(allocation.owner)s)"
	allocationReader = "(" + systemReader + ") or (role:reader and project_id:%(allocation.owner)s)"
)

// baremetalDefaults lists the rules of the Bare Metal API: those of ironic 21.4 with both enforce_scope
// and enforce_new_defaults. The deprecated check is the rule of earlier versions of Berth: administrators
// and services may do everything.
var baremetalDefaults = []registered{
	{ServiceRole, "!", "", anyScope},

	{NodesList, systemReader, adminService, systemOrProject},
	{NodesListOwn, anyReader, adminService, systemOrProject},
	{NodesShow, readerOrEither, adminService, systemOrProject},
	{NodesCreate, adminOrService, adminService, systemOrProject},
	{NodesCreateOwn, "(role:admin) or (role:service)", adminService, systemOrProject},
	{NodesUpdate, memberOrEither, adminService, systemOrProject},
	{NodesDelete, systemAdmin, adminService, systemOrProject},
	{NodesDeleteOwn, "role:admin and " + ownerProject, adminService, systemOrProject},
	{NodesValidate, memberOrLesseeAdmin, adminService, systemOrProject},
	{NodeStatesShow, readerOrEither, adminService, systemOrProject},
	{NodeProvisionUpdate, memberOrLesseeAdmin, adminService, systemOrProject},
	{NodePowerUpdate, memberOrEither, adminService, systemOrProject},
	{NodeMaintenanceSet, memberOrLesseeAdmin, adminService, systemOrProject},
	{NodeMaintenanceUnset, memberOrLesseeAdmin, adminService, systemOrProject},
	{NodeTraitsList, readerOrEither, adminService, systemOrProject},
	{NodeTraitsUpdate, memberOrOwnerAdmin, adminService, systemOrProject},
	{NodeTraitsDelete, memberOrOwnerAdmin, adminService, systemOrProject},

	{NodeWhole, systemReader, adminService, systemOrProject},
	{NodeLastErrorShow, readerOrOwner, adminService, systemOrProject},
	{NodeReservationShow, readerOrOwner, adminService, systemOrProject},
	{NodeDriverInfoShow, readerOrOwner, adminService, systemOrProject},
	{NodeDriverInfoUpdate, memberOrOwner, adminService, systemOrProject},
	{NodePropertiesUpdate, memberOrOwner, adminService, systemOrProject},
	{NodeChassisUpdate, systemAdmin, adminService, systemOrProject},
	{NodeInstanceUpdate, memberOrOwner, adminService, systemOrProject},
	{NodeLesseeUpdate, memberOrOwner, adminService, systemOrProject},
	{NodeOwnerUpdate, systemMember, adminService, systemOrProject},
	{NodeOwnerActiveUpdate, systemAdmin, adminService, systemScope},
	{NodeInterfacesUpdate, memberOrOwnerAdmin, adminService, systemOrProject},
	{NodeNetworkDataUpdate, memberOrOwner, adminService, systemOrProject},
	{NodeConductorGroupUpdate, systemMember, adminService, systemOrProject},
	{NodeNameUpdate, memberOrOwner, adminService, systemOrProject},
	{NodeRetiredUpdate, memberOrOwner, adminService, systemOrProject},
	{NodeExtraUpdate, memberOrEither, adminService, systemOrProject},
	{NodeInstanceInfoUpdate, memberOrLesseeAdmin, adminService, systemOrProject},
	{NodeCleaningDisable, systemAdmin, adminService, systemScope},
	{NodeShardUpdate, systemAdmin, adminService, systemOrProject},

	{DriversShow, systemReader, adminService, systemScope},
	{DriverPropertiesShow, systemReader, adminService, systemScope},
	{ConductorsShow, systemReader, adminService, systemScope},

	{PortsList, systemReader, adminService, systemOrProject},
	{PortsListOwn, anyReader, adminService, systemOrProject},
	{PortsShow, readerOrEither, adminService, systemOrProject},
	{PortsCreate, adminOrOwnerAdmin, adminService, systemOrProject},
	{PortsUpdate, memberOrOwnerAdmin, adminService, systemOrProject},
	{PortsDelete, adminOrOwnerAdmin, adminService, systemOrProject},

	{NodeAllocationsList, systemReader, adminService, systemOrProject},
	{NodeAllocationsOwn, anyReader, adminService, systemOrProject},
	{NodeAllocationsShow, allocationReader, adminService, systemOrProject},
	{NodeAllocationsCreate, "(" + systemMember + ") or (role:member)", adminService, systemOrProject},
	{NodeAllocationsAnyone, systemMember, adminService, systemOrProject},
	{NodeAllocationsUpdate, allocationMember, adminService, systemOrProject},
	{NodeAllocationsDelete, allocationMember, adminService, systemOrProject},
}

// NewBaremetal returns the policy of the Bare Metal API with the default rules, for use without policy
// files. One policy has the rules of both APIs.
func NewBaremetal() *Policy { return New(Defaults()) }
