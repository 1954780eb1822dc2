package placement

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// badClaim returns a failure of a body that fits its schema and makes no sense.
func badClaim(name, when, format string, values ...any) route.Failure {
	return route.Fails(fault.Invalid, name, when, format, values...).WithCode(fault.CodeWriteBadValue)
}

var (
	claimWithoutPlaces = badClaim("queries-or-candidates", "The request has both `queries` and `candidates`, or none of them.",
		"Exactly one of 'queries' and 'candidates' must be sent.")
	claimSeveralListed = badClaim("candidates-for-several", "`candidates` is combined with several consumers.",
		"'candidates' is for a single consumer; %d were sent.", 3)
	claimSeveralExisting = badClaim("existing-of-several", "`existing` is combined with several consumers.",
		"'existing': '%s' is for a single consumer; %d were sent.", existingReplace, 3)
	claimHeir = badClaim("hand-over-to", "`hand_over_to` is missing, or not expected.",
		"'hand_over_to' belongs to 'existing': 'hand_over', and is required with it.")
	claimRefuses = badClaim("existing-refuse", "A consumer has a generation, and `existing` is `refuse`.",
		"'existing': 'refuse' is for consumers that do not exist: 'consumer_generation' must be null.")
	claimNeedsGeneration = badClaim("existing-generation", "The consumer has no generation, and `existing` is not `refuse`.",
		"'existing': '%s' is for a consumer that exists: 'consumer_generation' must be its generation.", existingReplace)
	claimHeirExists = badClaim("hand-over-generation", "`hand_over_to` has a generation.",
		"'hand_over_to' must not exist: its 'consumer_generation' must be null.")
	claimRelationListed   = badClaim("relation-of-candidates", "`relation` is combined with `candidates`.", "'relation' needs 'queries'.")
	claimRelationConflict = badClaim("relation-conflict", "`relation` has both members.",
		"'relation' cannot be met: consumers that are together by root are not apart by root.")

	claimNothingFits = route.Fails(fault.Conflict, "nothing-fits",
		"There is no place. The error has an `explanation`; with `candidates` it has the reason of each in `refused`; for several "+
			"consumers it has `fit` and `exact`.",
		"Nothing fits. %s", "No provider has 31 VCPU free: the most is 30.").WithCode(fault.CodeNothingFits)
	claimContended = route.Fails(fault.Conflict, "claim-contended",
		"Other requests took every place that was found. The header `Retry-After` has the delay after which to retry.",
		"Others were faster 16 times. Nothing was changed; send it again.").WithCode(fault.CodeClaimContended)
	claimUndecided = route.Fails(fault.Conflict, "claim-undecided",
		"The search for places of several consumers found none for all, and ended before it had tried every choice. `fit` is how many "+
			"consumers it could place, and `exact` is false.",
		"Not found. %s The search ended before it had tried every choice.", "2 of 3 consumers can be placed.").WithCode(fault.CodeClaimUndecided)

	claimCreateFailures = with(with(candidateSearchFailures, leaseFailures...), claimWithoutPlaces, claimSeveralListed, claimSeveralExisting, claimHeir,
		claimRefuses, claimNeedsGeneration, claimHeirExists, claimRelationListed, claimRelationConflict,
		claimProviderUnknown, unknownClassOfClaim(), staleConsumer, claimNothingFits, claimContended, claimUndecided)
)

// unknownClassOfClaim returns the failure of candidates with a class that does not exist.
func unknownClassOfClaim() route.Failure {
	class := claimClassUnknown
	class.Fault = class.Of(replacingConsumer(exampleInstance), unknownClass)
	return class
}

// checkClaim checks a request. The order of its checks is the order of errors.
func (o *operations) checkClaim(ctx context.Context, body *ClaimCreate) (*claimCreateRequest, error) {
	if (body.Queries == nil) == (body.Candidates == nil) {
		return nil, claimWithoutPlaces.Of()
	}
	request := &claimCreateRequest{sent: receivedUUIDs{}}
	if err := request.readConsumers(body); err != nil {
		return nil, err
	}
	if err := o.checkLeases(request.all()); err != nil {
		return nil, err
	}
	for _, check := range []func(*ClaimCreate) error{checkSeveral, checkGenerations, request.readListed} {
		if err := check(body); err != nil {
			return nil, err
		}
	}
	if err := o.readQueries(ctx, request, body.Queries); err != nil {
		return nil, err
	}
	if body.Relation.isConflict() {
		return nil, claimRelationConflict.Of()
	}
	request.relation = body.Relation.relation()
	return request, nil
}

// readConsumers reads the consumers. It returns an error if one is named twice.
func (c *claimCreateRequest) readConsumers(body *ClaimCreate) error {
	all := body.Consumers
	if body.HandOverTo != nil {
		all = append(all[:len(all):len(all)], *body.HandOverTo)
	}
	seen := map[uuid.UUID]bool{}
	for i := range all {
		id, _ := uuidlike.Parse(all[i].UUID) // the schema has validated it
		if seen[id] {
			return route.InvalidBody.Of("consumer " + all[i].UUID + " is named twice")
		}
		seen[id] = true
		lease, err := all[i].Lease.terms()
		if err != nil {
			return err
		}
		c.consumers = append(c.consumers, store.Claim{
			Consumer: id, ProjectID: all[i].ProjectID, UserID: all[i].UserID, Type: all[i].Type, Generation: all[i].Generation.value,
			Lease: lease,
		})
	}
	if body.HandOverTo != nil {
		c.heir = &c.consumers[len(c.consumers)-1]
		c.consumers = c.consumers[:len(c.consumers)-1]
	}
	return nil
}

// isRefusing reports whether the consumers must not exist.
func (c *ClaimCreate) isRefusing() bool { return c.Existing == "" || c.Existing == existingRefuse }

// checkSeveral checks what is for a single consumer.
func checkSeveral(body *ClaimCreate) error {
	count := len(body.Consumers)
	switch {
	case count > 1 && body.Candidates != nil:
		return claimSeveralListed.Of(count)
	case count > 1 && !body.isRefusing():
		return claimSeveralExisting.Of(body.Existing, count)
	case (body.Existing == existingHandOver) != (body.HandOverTo != nil):
		return claimHeir.Of()
	}
	return nil
}

// checkGenerations checks the generations against existing.
func checkGenerations(body *ClaimCreate) error {
	for i := range body.Consumers {
		switch generation := body.Consumers[i].Generation.value; {
		case body.isRefusing() && generation != nil:
			return claimRefuses.Of()
		case !body.isRefusing() && generation == nil:
			return claimNeedsGeneration.Of(body.Existing)
		}
	}
	if body.HandOverTo != nil && body.HandOverTo.Generation.value != nil {
		return claimHeirExists.Of()
	}
	if body.Relation != nil && body.Candidates != nil {
		return claimRelationListed.Of()
	}
	return nil
}

// readListed reads the candidates of the client.
func (c *claimCreateRequest) readListed(body *ClaimCreate) error {
	for i := range body.Candidates {
		var candidate []store.Allocation
		seen := map[uuid.UUID]bool{}
		for _, entry := range body.Candidates[i].Allocations.Ordered {
			id, ok := uuidlike.Parse(entry.Key)
			switch {
			case !ok:
				return claimProviderUnknown.Of(entry.Key)
			case seen[id]:
				return route.InvalidBody.Of("resource provider " + entry.Key + " is named twice")
			}
			seen[id] = true
			c.sent.add(id, entry.Key)
			for _, resource := range entry.Value.Resources.Ordered {
				candidate = append(candidate, store.Allocation{Provider: id, Class: resource.Key, Amount: int64(resource.Value.Int)})
			}
		}
		c.listed = append(c.listed, candidate)
	}
	return nil
}

// readQueries parses the queries as POST /allocation_candidates does.
func (o *operations) readQueries(ctx context.Context, request *claimCreateRequest, queries []ClaimQuery) error {
	for i := range queries {
		values := querystring.Of(queries[i].params(queries[i].Order)...)
		query, err := candidateQuery(values, microversion.From(ctx))
		if err != nil {
			return inQuery(err, i, len(queries))
		}
		query.Budget = o.candidates.Budget
		request.values, request.queries = append(request.values, values), append(request.queries, query)
	}
	return nil
}

// inQuery adds the place of one of several queries to its error.
func inQuery(err error, place, count int) error {
	found := fault.As(err)
	if found == nil || count == 1 {
		return err
	}
	changed := *found
	changed.Detail = fmt.Sprintf("queries[%d]: %s", place, found.Detail)
	return &changed
}

const textAllocate = "Unable to allocate inventory: "

// These are the failures of all writes of allocations.
var (
	claimProviderUnknown = route.Fails(fault.Invalid, "unknown-provider", "A provider does not exist.",
		"Allocation for resource provider '%s' that does not exist.", unknownUUID)
	claimClassUnknown = route.Fails(fault.Invalid, "unknown-class", "A resource class does not exist.",
		"%s"+textNoClass, "", unknownClass)
	staleConsumer = route.Fails(fault.Conflict, "stale-consumer-generation",
		"The request contains an outdated consumer generation, or a generation although the consumer does not exist, "+
			"or null although it exists. Read its allocations again and retry.",
		"consumer generation conflict - expected %s but got %s", "2", "1").
		WithCode(fault.CodeConcurrentUpdate).From(v(28))
	claimInventoryMissing = route.Fails(fault.Conflict, "no-inventory",
		"A provider has no inventory of a class.",
		textAllocate+"Inventory for '%s' on resource provider '%s' invalid.", "VCPU", exampleHost)
	amountViolatesUnits = route.Fails(fault.Conflict, "amount-violates-units",
		"An amount is below `min_unit`, above `max_unit` or not a multiple of `step_size`.",
		textAllocate+"Unable to create allocation for '%s' on resource provider '%s'. "+
			"The requested amount would violate inventory constraints.", "VCPU", exampleHost)
	amountExceedsCapacity = route.Fails(fault.Conflict, "amount-exceeds-capacity",
		"An amount exceeds the free capacity.",
		textAllocate+"Unable to create allocation for '%s' on resource provider '%s'. "+
			"The requested amount would exceed the capacity.", "VCPU", exampleHost)
)

// These texts precede the error for a resource class that does not exist, one for each write of allocations.
const (
	textReplaceMany = "Unable to allocate inventory "
	textReshape     = "malformed reshaper data: "
)

func replacingConsumer(consumer string) string {
	return "Unable to allocate inventory for consumer " + consumer + ": "
}

// claimFailures returns the failures of a write of allocations. unknown precedes the error for a resource class that
// does not exist.
func claimFailures(unknown string) []route.Failure {
	class := claimClassUnknown
	class.Fault = class.Of(unknown, unknownClass)
	return with([]route.Failure{
		claimProviderUnknown, class, staleConsumer, claimInventoryMissing, amountViolatesUnits, amountExceedsCapacity,
	}, leaseFailures...)
}

var (
	malformedConsumer = route.Fails(fault.Invalid, "malformed-consumer-uuid",
		"The consumer in the path is not a UUID.",
		"Malformed consumer_uuid: %s", "17")
	consumerNotFound = route.Fails(fault.NotFound, "consumer-not-found", "The consumer has no allocations.",
		"No allocations for consumer '%s'", unknownUUID)
	allocationProviderNotFound = route.Fails(fault.NotFound, "provider-not-found", whenNoProvider,
		"Resource provider '%[1]s' not found: "+textNoProvider, unknownUUID)
	shapeProviderUnknown = route.Fails(fault.Invalid, "unknown-inventory-provider",
		"A provider in `inventories` does not exist.",
		"Resource provider %[1]s in inventories not found: "+textNoProvider, unknownUUID).
		WithCode(fault.CodeProviderNotFound)
	staleShape = staleProvider("resource provider generation conflict for provider %s: actual: %d, given: %d",
		exampleHost, 5, 4)

	allocationReplaceFailures = with(claimFailures(replacingConsumer(exampleInstance)), malformedConsumer)
	reshapeFailures           = with(claimFailures(textReshape),
		shapeProviderUnknown, staleShape, inventoryInUseForUpdate)
)
