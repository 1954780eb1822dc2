package policy

// registered is a rule that the program asks for or that the defaults are made of: the
// check that holds by default, and the one from before roles were told apart, which is
// accepted beside it for as long as the new defaults are not enforced.
type registered struct {
	name       string
	check      string
	deprecated string
	// anyScope exempts a rule from the demand for a project-scoped token.
	anyScope bool
}

// Checks of the defaults.
const (
	onlyAdmin     = "role:admin"
	onlyService   = "role:service"
	adminService  = "role:admin or role:service"
	projectReader = "role:reader and project_id:%(project_id)s"
	// usualRule is what nearly all operations of Placement ask.
	usualRule = "rule:" + AdminOrServiceAPI
)

// defaults lists all rules, in the order in which people see them. It is never written
// to. The deprecated checks change nothing where admin is named anyway; they are
// kept so that the table reads like the contract's.
var defaults = []registered{
	{AdminAPI, onlyAdmin, "", false},
	{ServiceAPI, onlyService, onlyAdmin, false},
	{AdminOrServiceAPI, adminService, onlyAdmin, false},
	{ProjectReaderAPI, projectReader, onlyAdmin, true},
	{AdminOrReaderOrServiceAPI, "role:admin or rule:" + ProjectReaderAPI + " or role:service", onlyAdmin, false},

	{ProvidersList, usualRule, "", false},
	{ProvidersCreate, usualRule, "", false},
	{ProvidersShow, usualRule, "", false},
	{ProvidersUpdate, usualRule, "", false},
	{ProvidersDelete, usualRule, "", false},

	{ClassesList, usualRule, "", false},
	{ClassesCreate, usualRule, "", false},
	{ClassesShow, usualRule, "", false},
	{ClassesUpdate, usualRule, "", false},
	{ClassesDelete, usualRule, "", false},

	{InventoriesList, usualRule, "", false},
	{InventoriesCreate, usualRule, "", false},
	{InventoriesShow, usualRule, "", false},
	{InventoriesUpdate, usualRule, "", false},
	{InventoriesDelete, usualRule, "", false},

	{ProviderAggregatesList, usualRule, "", false},
	{ProviderAggregatesUpdate, usualRule, "", false},

	{ProviderUsages, usualRule, "", false},
	{Usages, "rule:" + AdminOrReaderOrServiceAPI, "", false},

	{TraitsList, usualRule, "", false},
	{TraitsShow, usualRule, "", false},
	{TraitsUpdate, usualRule, "", false},
	{TraitsDelete, usualRule, "", false},

	{ProviderTraitsList, usualRule, "", false},
	{ProviderTraitsUpdate, usualRule, "", false},
	{ProviderTraitsDelete, usualRule, "", false},

	{AllocationsManage, usualRule, "", false},
	{AllocationsList, usualRule, "", false},
	{AllocationsUpdate, usualRule, "", false},
	{AllocationsDelete, usualRule, "", false},

	{ProviderAllocationsList, usualRule, "", false},
	{CandidatesList, usualRule, "", false},

	// Moving inventories and allocations about is for services alone: it can break
	// what the services believe, and no human needs it. This is the only operation
	// where the new defaults take something away from admin.
	{Reshape, "rule:" + ServiceAPI, "", false},

	// The Bare Metal API: administrators and services may do everything and nobody else
	// anything, whatever their token is for. The machines are the deployment's and not
	// a project's. These rules stand for themselves, so that a change of Placement's
	// base rules does not change who owns machines.
	{NodesList, adminService, "", true},
	{NodesShow, adminService, "", true},
	{NodesCreate, adminService, "", true},
	{NodesUpdate, adminService, "", true},
	{NodesDelete, adminService, "", true},
	{NodesValidate, adminService, "", true},
	{NodeStatesShow, adminService, "", true},
	{NodeProvisionUpdate, adminService, "", true},
	{NodePowerUpdate, adminService, "", true},
	{NodeMaintenanceSet, adminService, "", true},
	{NodeMaintenanceUnset, adminService, "", true},
	{NodeTraitsList, adminService, "", true},
	{NodeTraitsUpdate, adminService, "", true},
	{NodeTraitsDelete, adminService, "", true},
	{DriversShow, adminService, "", true},
	{DriverPropertiesShow, adminService, "", true},
	{ConductorsShow, adminService, "", true},
	{PortsList, adminService, "", true},
	{PortsShow, adminService, "", true},
	{PortsCreate, adminService, "", true},
	{PortsUpdate, adminService, "", true},
	{PortsDelete, adminService, "", true},
	{NodeAllocationsList, adminService, "", true},
	{NodeAllocationsShow, adminService, "", true},
	{NodeAllocationsCreate, adminService, "", true},
	{NodeAllocationsUpdate, adminService, "", true},
	{NodeAllocationsDelete, adminService, "", true},
}

// parsed is the default as a tree.
func (r *registered) parsed(enforceNewDefaults bool) *check {
	made, _ := parseText(r.check)
	if r.deprecated == "" || r.deprecated == r.check || enforceNewDefaults {
		return made
	}
	old, _ := parseText(r.deprecated)
	return &check{op: opOr, parts: []*check{made, old}}
}
