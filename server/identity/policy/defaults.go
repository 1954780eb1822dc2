package policy

import "strings"

// registered is a rule that an operation uses or that the defaults are built from. It has the default
// check and the deprecated check, from before OpenStack distinguished roles. The deprecated check applies
// in addition unless the new defaults are enforced.
type registered struct {
	name       string
	check      string
	deprecated string
	// scopes is the set of token scopes that the rule accepts.
	scopes scopes
}

// baremetal reports whether the rule is one of the Bare Metal API.
func (r *registered) baremetal() bool { return strings.HasPrefix(r.name, "baremetal:") }

// The checks of the defaults.
const (
	onlyAdmin     = "role:admin"
	onlyService   = "role:service"
	adminService  = "role:admin or role:service"
	projectReader = "role:reader and project_id:%(project_id)s"
	// usualRule is the check of nearly all operations of Placement.
	usualRule = "rule:" + AdminOrServiceAPI
)

// defaults lists all rules in the order of listings; it includes baremetalDefaults. The code never writes
// to it. Deprecated checks have no effect on rules that name admin anyway; the table keeps them so that it
// equals the one of the contract.
var defaults = append([]registered{
	{AdminAPI, onlyAdmin, "", projectScope},
	{ServiceAPI, onlyService, onlyAdmin, projectScope},
	{AdminOrServiceAPI, adminService, onlyAdmin, projectScope},
	{ProjectReaderAPI, projectReader, onlyAdmin, anyScope},
	{AdminOrReaderOrServiceAPI, "role:admin or rule:" + ProjectReaderAPI + " or role:service", onlyAdmin, projectScope},

	{ProvidersList, usualRule, "", projectScope},
	{ProvidersCreate, usualRule, "", projectScope},
	{ProvidersShow, usualRule, "", projectScope},
	{ProvidersUpdate, usualRule, "", projectScope},
	{ProvidersDelete, usualRule, "", projectScope},

	{ClassesList, usualRule, "", projectScope},
	{ClassesCreate, usualRule, "", projectScope},
	{ClassesShow, usualRule, "", projectScope},
	{ClassesUpdate, usualRule, "", projectScope},
	{ClassesDelete, usualRule, "", projectScope},

	{InventoriesList, usualRule, "", projectScope},
	{InventoriesCreate, usualRule, "", projectScope},
	{InventoriesShow, usualRule, "", projectScope},
	{InventoriesUpdate, usualRule, "", projectScope},
	{InventoriesDelete, usualRule, "", projectScope},

	{ProviderAggregatesList, usualRule, "", projectScope},
	{ProviderAggregatesUpdate, usualRule, "", projectScope},

	{ProviderUsages, usualRule, "", projectScope},
	{Usages, "rule:" + AdminOrReaderOrServiceAPI, "", projectScope},

	{TraitsList, usualRule, "", projectScope},
	{TraitsShow, usualRule, "", projectScope},
	{TraitsUpdate, usualRule, "", projectScope},
	{TraitsDelete, usualRule, "", projectScope},

	{ProviderTraitsList, usualRule, "", projectScope},
	{ProviderTraitsUpdate, usualRule, "", projectScope},
	{ProviderTraitsDelete, usualRule, "", projectScope},

	{AllocationsManage, usualRule, "", projectScope},
	{AllocationsList, usualRule, "", projectScope},
	{AllocationsUpdate, usualRule, "", projectScope},
	{AllocationsDelete, usualRule, "", projectScope},

	{ProviderAllocationsList, usualRule, "", projectScope},
	{CandidatesList, usualRule, "", projectScope},

	// Only services may reshape: a reshape can invalidate the state that services cache, and users have no
	// need for it. This is the only operation where the new defaults take a permission away from admin.
	{Reshape, "rule:" + ServiceAPI, "", projectScope},

	{ExplanationsList, usualRule, "", projectScope},
	{ExplanationsShow, usualRule, "", projectScope},
	{ExplanationsMake, usualRule, "", projectScope},
	// It covers what a reshape does.
	{TreeUpdate, "rule:" + ServiceAPI, "", projectScope},
	{ClaimsCreate, usualRule, "", projectScope},
	{LeasesRenew, usualRule, "", projectScope},
	{TreeShow, usualRule, "", projectScope},
	{ConsumersList, "rule:" + AdminOrReaderOrServiceAPI, "", projectScope},
	{ConsumersShow, usualRule, "", projectScope},
	{AggregatesList, usualRule, "", projectScope},
	{CapacityShow, usualRule, "", projectScope},
	{HistoryList, usualRule, "", projectScope},
	// It can delete the record.
	{HistoryUpdate, "rule:" + AdminAPI, "", projectScope},
	{EventsWatch, usualRule, "", projectScope},
}, baremetalDefaults...)

// parsed returns the default as a tree.
func (r *registered) parsed(enforceNewDefaults bool) *check {
	result, _ := parseText(r.check)
	if r.deprecated == "" || r.deprecated == r.check || enforceNewDefaults {
		return result
	}
	old, _ := parseText(r.deprecated)
	return &check{op: opOr, parts: []*check{result, old}}
}
