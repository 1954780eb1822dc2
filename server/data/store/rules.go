package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/berthd/berth/server/data/postgres"
)

// Rule is a rule that a write or query violated. Rules from PL001 on are SQLSTATEs of sql/functions, whose headers
// describe the conditions.
type Rule string

// The rules.
const (
	ProviderNotFound           Rule = "PL001"
	ProviderGenerationConflict Rule = "PL002"
	ConsumerGenerationConflict Rule = "PL003"
	ClassNotFound              Rule = "PL004"
	InventoryInUse             Rule = "PL005"
	InventoryOverReserved      Rule = "PL006"
	InventoryNotFound          Rule = "PL007"
	InventoryExists            Rule = "PL008"
	AllocationProviderNotFound Rule = "PL009"
	AllocationNoInventory      Rule = "PL010"
	AllocationViolatesUnits    Rule = "PL011"
	AllocationExceedsCapacity  Rule = "PL012"
	TraitNotFound              Rule = "PL013"
	ProviderHasChildren        Rule = "PL014"
	ProviderHasAllocations     Rule = "PL015"
	ParentNotFound             Rule = "PL016"
	UnparentNotAllowed         Rule = "PL017"
	ReparentNotAllowed         Rule = "PL018"
	ParentCycle                Rule = "PL019"
	ClassStandard              Rule = "PL020"
	TraitStandard              Rule = "PL021"
	ClassInUse                 Rule = "PL022"
	TraitInUse                 Rule = "PL023"
	// Trees.
	TreeNotRoot        Rule = "PL072"
	ProviderElsewhere  Rule = "PL073"
	TreeParentNotFound Rule = "PL074"
	ProviderNameInUse  Rule = "PL077"
	// Merge patches.
	ConsumerNotFound      Rule = "PL075"
	InventoryTotalMissing Rule = "PL076"
	// Idempotency keys.
	IdempotencyKeyStored Rule = "PL070"
	IdempotencyKeyReused Rule = "PL071"
	// Leases.
	LeaseUntilOutOfRange Rule = "PL080"
	LeaseOfNode          Rule = "PL081"
	// The record of changes.
	HistoryGenerationConflict Rule = "PL090"
	// Claims that choose one of several candidates.
	ClaimNoneLeft  Rule = "PL060"
	ClaimContended Rule = "PL062"
	// Nodes and ports.
	NodeNotFound         Rule = "PL030"
	NodeRevisionConflict Rule = "PL031"
	NodeAssociated       Rule = "PL032"
	NodeOwnerFixed       Rule = "PL033"
	NodeNotDeletable     Rule = "PL034"
	NodeProtected        Rule = "PL035"
	NodeTraitLimit       Rule = "PL036"
	NodeTraitNotFound    Rule = "PL037"
	PortNotFound         Rule = "PL038"
	PortRevisionConflict Rule = "PL039"
	ConductorNotFound    Rule = "PL040"
	// Node allocations.
	NodeAllocationNotFound         Rule = "PL041"
	NodeAllocationInstance         Rule = "PL042"
	NodeAllocationCandidates       Rule = "PL043"
	NodeAllocationNodeActive       Rule = "PL044"
	NodeAllocationNodeBusy         Rule = "PL045"
	BackfillState                  Rule = "PL046"
	BackfillClass                  Rule = "PL047"
	BackfillTraits                 Rule = "PL048"
	BackfillCandidates             Rule = "PL049"
	NodeAllocationConsumerTaken    Rule = "PL050"
	NodeAllocationRevisionConflict Rule = "PL051"
	NodeAllocationNotFailed        Rule = "PL052"
	// Constraints that two concurrent requests can violate.
	ProviderNameTaken       Rule = "resource_providers_name_key"
	ProviderUUIDTaken       Rule = "resource_providers_uuid_key"
	ClassNameTaken          Rule = "resource_classes_name_key"
	NodeNameTaken           Rule = "nodes_name_key"
	NodeUUIDTaken           Rule = "nodes_uuid_key"
	NodeInstanceTaken       Rule = "nodes_instance_uuid_key"
	PortUUIDTaken           Rule = "ports_uuid_key"
	PortAddressTaken        Rule = "ports_address_key"
	NodeAllocationUUIDTaken Rule = "node_allocations_uuid_key"
	NodeAllocationNameTaken Rule = "node_allocations_name_key"
)

// RuleViolation is the error of a request that violates a rule, with the offending values. Operations translate it for
// their clients.
type RuleViolation struct {
	Rule   Rule
	Values Values
}

// Values are the values that a violation is about; empty if the rule has no such value.
type Values struct {
	Provider string `json:"provider"`
	Parent   string `json:"parent"`
	// Root is the root of the tree of Provider.
	Root string `json:"root"`
	// Providers are the UUIDs of several providers, with commas.
	Providers string `json:"providers"`
	// Name is that of a provider.
	Name     string `json:"name"`
	Consumer string `json:"consumer"`
	Class    string `json:"class"`
	Traits   string `json:"traits"`
	// Node is its UUID, or the caller's ident if it does not exist.
	Node string `json:"node"`
	// Instance and State are the current values of the node.
	Instance  string `json:"instance"`
	State     string `json:"state"`
	Port      string `json:"port"`
	Conductor string `json:"conductor"`
	// Allocation is the UUID of a node allocation, or the caller's ident.
	Allocation string `json:"allocation"`
	// Request is the method and path of the first request of an idempotency key, and CreatedAt its time.
	Request   string    `json:"request"`
	CreatedAt time.Time `json:"created_at"`
	// Until is the end of a lease, and Now the time of the database.
	Until time.Time `json:"until"`
	Now   time.Time `json:"now"`
	// Actual and Given are generations; nil: none.
	Actual *int64 `json:"actual"`
	Given  *int64 `json:"given"`
	// ClaimEffort and Refused are those of a claim without a candidate.
	ClaimEffort
	Refused []RefusedCandidate `json:"refused"`
}

// Error returns the rule and the values, for the log; clients read the texts of the operation.
func (r *RuleViolation) Error() string {
	return fmt.Sprintf("rule %s violated: %+v", r.Rule, r.Values)
}

// AsRuleViolation returns the violation in an error's chain; nil if there is none.
func AsRuleViolation(err error) *RuleViolation {
	var found *RuleViolation
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// Is reports whether target is postgres.ErrFinal: every server of a database returns the same violation.
func (r *RuleViolation) Is(target error) bool { return target == postgres.ErrFinal }

// ruleViolationFromPg converts an error of PostgreSQL to a RuleViolation if it is one, and returns any other error
// unchanged.
func ruleViolationFromPg(err error) error {
	reported, ok := err.(*pgconn.PgError) //nolint:errorlint // the cause of another error is no rule violation
	if !ok {
		return err
	}
	switch {
	case strings.HasPrefix(reported.Code, "PL"):
		refused := &RuleViolation{Rule: Rule(reported.Code)}
		if err := json.Unmarshal([]byte(reported.Detail), &refused.Values); err != nil {
			return errors.Join(reported, err)
		}
		return refused
	case reported.Code == postgres.UniqueViolation:
		switch rule := Rule(reported.ConstraintName); rule {
		case ProviderNameTaken, ProviderUUIDTaken, ClassNameTaken,
			NodeNameTaken, NodeUUIDTaken, NodeInstanceTaken, PortUUIDTaken, PortAddressTaken,
			NodeAllocationUUIDTaken, NodeAllocationNameTaken:
			return &RuleViolation{Rule: rule}
		}
	}
	return reported
}
