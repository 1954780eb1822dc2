package policy

// Names of the rules of the Bare Metal API, as ironic names them.
const (
	NodesList             = "baremetal:node:list_all"            // GET /v1/nodes, /v1/nodes/detail
	NodesShow             = "baremetal:node:get"                 // GET /v1/nodes/{n}
	NodesCreate           = "baremetal:node:create"              // POST /v1/nodes
	NodesUpdate           = "baremetal:node:update"              // PATCH /v1/nodes/{n}
	NodesDelete           = "baremetal:node:delete"              // DELETE /v1/nodes/{n}
	NodesValidate         = "baremetal:node:validate"            // GET /v1/nodes/{n}/validate
	NodeStatesShow        = "baremetal:node:get_states"          // GET /v1/nodes/{n}/states
	NodeProvisionUpdate   = "baremetal:node:set_provision_state" // PUT .../states/provision
	NodePowerUpdate       = "baremetal:node:set_power_state"     // PUT .../states/power
	NodeMaintenanceSet    = "baremetal:node:set_maintenance"     // PUT .../maintenance
	NodeMaintenanceUnset  = "baremetal:node:clear_maintenance"   // DELETE .../maintenance
	NodeTraitsList        = "baremetal:node:traits:list"         // GET .../traits
	NodeTraitsUpdate      = "baremetal:node:traits:set"          // PUT of one and of all
	NodeTraitsDelete      = "baremetal:node:traits:delete"       // DELETE of one and of all
	DriversShow           = "baremetal:driver:get"               // GET /v1/drivers and of one
	DriverPropertiesShow  = "baremetal:driver:get_properties"    // GET /v1/drivers/{d}/properties
	ConductorsShow        = "baremetal:conductor:get"            // GET /v1/conductors and of one
	PortsList             = "baremetal:port:list_all"            // GET /v1/ports, .../{n}/ports
	PortsShow             = "baremetal:port:get"                 // GET /v1/ports/{p}
	PortsCreate           = "baremetal:port:create"              // POST /v1/ports
	PortsUpdate           = "baremetal:port:update"              // PATCH /v1/ports/{p}
	PortsDelete           = "baremetal:port:delete"              // DELETE /v1/ports/{p}
	NodeAllocationsList   = "baremetal:allocation:list_all"      // GET /v1/allocations
	NodeAllocationsShow   = "baremetal:allocation:get"           // GET of one and of a node's
	NodeAllocationsCreate = "baremetal:allocation:create"        // POST /v1/allocations
	NodeAllocationsUpdate = "baremetal:allocation:update"        // PATCH /v1/allocations/{a}
	NodeAllocationsDelete = "baremetal:allocation:delete"        // DELETE of one and of a node's
)

// NewBaremetal makes the policy of the Bare Metal API with the default rules, for
// where no policy file is read. One policy holds the rules of both APIs.
func NewBaremetal() *Policy { return New(Options{EnforceNewDefaults: true}) }
