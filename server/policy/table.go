package policy

import (
	"strings"

	"github.com/berthd/berth/server/auth"
)

// check decides for one caller and one target.
type check func(caller auth.Caller, target Target) bool

// rule is an entry of the table: the check that holds by default, and the one
// from before the roles were told apart, which is accepted beside it for as
// long as the new defaults are not enforced.
type rule struct {
	check      check
	deprecated check
	// anyScope exempts a rule from the demand for a project-scoped token.
	anyScope bool
}

// defaults is the table of all rules. It is never written to.
var defaults = map[string]rule{
	AdminAPI:                  {check: role("admin")},
	ServiceAPI:                service,
	AdminOrServiceAPI:         adminOrService,
	ProjectReaderAPI:          {check: projectReader, deprecated: role("admin"), anyScope: true},
	AdminOrReaderOrServiceAPI: adminOrReaderOrService,

	ProvidersList:   adminOrService,
	ProvidersCreate: adminOrService,
	ProvidersShow:   adminOrService,
	ProvidersUpdate: adminOrService,
	ProvidersDelete: adminOrService,

	ClassesList:   adminOrService,
	ClassesCreate: adminOrService,
	ClassesShow:   adminOrService,
	ClassesUpdate: adminOrService,
	ClassesDelete: adminOrService,

	InventoriesList:   adminOrService,
	InventoriesCreate: adminOrService,
	InventoriesShow:   adminOrService,
	InventoriesUpdate: adminOrService,
	InventoriesDelete: adminOrService,

	ProviderAggregatesList:   adminOrService,
	ProviderAggregatesUpdate: adminOrService,

	ProviderUsages: adminOrService,
	Usages:         adminOrReaderOrService,

	TraitsList:   adminOrService,
	TraitsShow:   adminOrService,
	TraitsUpdate: adminOrService,
	TraitsDelete: adminOrService,

	ProviderTraitsList:   adminOrService,
	ProviderTraitsUpdate: adminOrService,
	ProviderTraitsDelete: adminOrService,

	AllocationsManage: adminOrService,
	AllocationsList:   adminOrService,
	AllocationsUpdate: adminOrService,
	AllocationsDelete: adminOrService,

	ProviderAllocationsList: adminOrService,
	CandidatesList:          adminOrService,

	// Moving inventories and allocations about is for services alone: it can
	// break what the services believe, and no human needs it. This is the
	// only operation where the new defaults take something away from admin.
	Reshape: service,
}

// The base rules that operations refer to. The deprecated check changes
// nothing where admin is named anyway; it is kept so that the table reads like
// the contract's.
var (
	service                = rule{check: role("service"), deprecated: role("admin")}
	adminOrService         = rule{check: either(role("admin"), role("service")), deprecated: role("admin")}
	adminOrReaderOrService = rule{
		check:      either(role("admin"), projectReader, role("service")),
		deprecated: role("admin"),
	}
)

// role is true for callers that have the role, in whatever case it is written.
// Case folding is not used on purpose: it would also equate letters that merely
// look alike, such as the long s in "ſervice".
func role(name string) check {
	return func(caller auth.Caller, _ Target) bool {
		for _, have := range caller.Roles {
			if strings.ToLower(have) == name {
				return true
			}
		}
		return false
	}
}

// projectReader is true for readers of the target's project. A target without
// project matches nobody, not even a caller without project.
func projectReader(caller auth.Caller, target Target) bool {
	return target.ProjectID != "" && target.ProjectID == caller.ProjectID && role("reader")(caller, target)
}

// either is true where one of the checks is.
func either(checks ...check) check {
	return func(caller auth.Caller, target Target) bool {
		for _, check := range checks {
			if check(caller, target) {
				return true
			}
		}
		return false
	}
}
