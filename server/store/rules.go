package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs of PostgreSQL itself that mean something here.
const (
	deadlockDetected     = "40P01"
	serializationFailure = "40001"
	uniqueViolation      = "23505"
	foreignKeyViolation  = "23503"
)

// Rule names what the database refused. Rules from PL001 on are SQLSTATEs raised
// by sql/functions, which say in their headers when.
type Rule string

// The rules.
const (
	ProviderUnknown           Rule = "PL001"
	ProviderGeneration        Rule = "PL002"
	ConsumerGeneration        Rule = "PL003"
	ClassUnknown              Rule = "PL004"
	InventoryInUse            Rule = "PL005"
	InventoryReserved         Rule = "PL006"
	InventoryUnknown          Rule = "PL007"
	InventoryExists           Rule = "PL008"
	AllocationProviderUnknown Rule = "PL009"
	AllocationNoInventory     Rule = "PL010"
	AllocationUnits           Rule = "PL011"
	AllocationCapacity        Rule = "PL012"
	TraitUnknown              Rule = "PL013"
	ProviderHasChildren       Rule = "PL014"
	ProviderHasAllocations    Rule = "PL015"
	ParentUnknown             Rule = "PL016"
	Unparenting               Rule = "PL017"
	Reparenting               Rule = "PL018"
	ParentLoop                Rule = "PL019"
	ClassStandard             Rule = "PL020"
	TraitStandard             Rule = "PL021"
	ClassInUse                Rule = "PL022"
	TraitInUse                Rule = "PL023"
	// Nodes and ports.
	NodeUnknown      Rule = "PL030"
	NodeRevision     Rule = "PL031"
	NodeAssociated   Rule = "PL032"
	NodeOwnerFixed   Rule = "PL033"
	NodeNotDeletable Rule = "PL034"
	NodeProtected    Rule = "PL035"
	NodeTraitLimit   Rule = "PL036"
	NodeTraitUnknown Rule = "PL037"
	PortUnknown      Rule = "PL038"
	PortRevision     Rule = "PL039"
	ConductorUnknown Rule = "PL040"
	// Allocations of nodes.
	NodeAllocationUnknown       Rule = "PL041"
	NodeAllocationInstance      Rule = "PL042"
	NodeAllocationCandidates    Rule = "PL043"
	NodeAllocationNodeActive    Rule = "PL044"
	NodeAllocationNodeBusy      Rule = "PL045"
	BackfillState               Rule = "PL046"
	BackfillClass               Rule = "PL047"
	BackfillTraits              Rule = "PL048"
	BackfillCandidates          Rule = "PL049"
	NodeAllocationConsumerTaken Rule = "PL050"
	NodeAllocationRevision      Rule = "PL051"
	NodeAllocationNotFailed     Rule = "PL052"
	// Constraints that two requests can race for.
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

// Refused says which rule the database refused a write for, and the values that
// broke it. Operations word it for their users.
type Refused struct {
	Rule   Rule
	Values Values
}

// Values are what a rule is about; empty where the rule has none of it.
type Values struct {
	Provider string `json:"provider"`
	Parent   string `json:"parent"`
	Consumer string `json:"consumer"`
	Class    string `json:"class"`
	Traits   string `json:"traits"`
	// Node is its uuid, or what the caller called it where there is none.
	Node string `json:"node"`
	// Instance and State are what the node has.
	Instance  string `json:"instance"`
	State     string `json:"state"`
	Port      string `json:"port"`
	Conductor string `json:"conductor"`
	// Allocation is the uuid of a node's allocation, or what the caller called it.
	Allocation string `json:"allocation"`
	// Actual and Given are generations; nil: there is none.
	Actual *int64 `json:"actual"`
	Given  *int64 `json:"given"`
}

// Error names the rule, for the log; users read the operation's own words.
func (r *Refused) Error() string { return fmt.Sprintf("refused by rule %s: %+v", r.Rule, r.Values) }

// As finds what the database refused in an error's chain, nil if it is another.
func As(err error) *Refused {
	var found *Refused
	if errors.As(err, &found) {
		return found
	}
	return nil
}

// again are the errors after which a write is begun once more. Of two writes that
// wait for each other PostgreSQL breaks one off. A foreign key is violated only
// where a name was looked up and then deleted, and so is the serialization failure
// that functions raise: the next look-up finds it gone and says its name.
var again = []string{deadlockDetected, serializationFailure, foreignKeyViolation}

// passes says whether an error is one of those.
func passes(reported *pgconn.PgError) bool { return slices.Contains(again, reported.Code) }

// passesForNodes says the same where a node's provider is written with the node: what
// that needs of Placement is made where it is missing, so that whoever misses it met
// somebody who deleted it at that moment, or who made the provider first.
func passesForNodes(reported *pgconn.PgError) bool {
	switch Rule(reported.Code) {
	case ProviderUnknown, ClassUnknown, TraitUnknown:
		return true
	case uniqueViolation:
		return Rule(reported.ConstraintName) == ProviderUUIDTaken
	}
	return passes(reported)
}

// translate turns what PostgreSQL reports into a refusal, where it is one.
func translate(reported *pgconn.PgError) error {
	switch {
	case strings.HasPrefix(reported.Code, "PL"):
		refused := &Refused{Rule: Rule(reported.Code)}
		if err := json.Unmarshal([]byte(reported.Detail), &refused.Values); err != nil {
			return errors.Join(reported, err)
		}
		return refused
	case reported.Code == uniqueViolation:
		switch rule := Rule(reported.ConstraintName); rule {
		case ProviderNameTaken, ProviderUUIDTaken, ClassNameTaken,
			NodeNameTaken, NodeUUIDTaken, NodeInstanceTaken, PortUUIDTaken, PortAddressTaken,
			NodeAllocationUUIDTaken, NodeAllocationNameTaken:
			return &Refused{Rule: rule}
		}
	}
	return reported
}
