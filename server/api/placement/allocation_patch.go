package placement

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// patchedAmounts are amounts by resource class; null removes the allocation.
type patchedAmounts struct {
	jsonbody.Ordered[orNull[claimedAmount]]
}

// Schema implements huma.SchemaProvider.
func (patchedAmounts) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(orNull[claimedAmount]{}.Schema(r), classPattern, 0)
}

// PatchedAllocations is the merge patch of a consumer's allocations on one provider.
type PatchedAllocations struct {
	Resources  patchedAmounts `json:"resources,omitempty" doc:"Amounts by resource class; null removes the allocation."`
	Generation ignored        `json:"generation,omitempty" doc:"Ignored; accepted because responses contain it."`
	Name       ignored        `json:"name,omitempty" doc:"Ignored."`
	Root       ignored        `json:"root_provider_uuid,omitempty" doc:"Ignored."`
	CreatedAt  ignored        `json:"created_at,omitempty" doc:"Ignored."`
}

// patchedProviders maps providers to merge patches of the allocations on them.
type patchedProviders struct {
	jsonbody.Ordered[orNull[PatchedAllocations]]
}

// Schema implements huma.SchemaProvider.
func (patchedProviders) Schema(r huma.Registry) *huma.Schema {
	return jsonbody.MapSchema(orNull[PatchedAllocations]{}.Schema(r), uuidKeyPattern, 0)
}

// ConsumerPatch is the merge patch of a consumer and its allocations, without the generation.
type ConsumerPatch struct {
	Allocations patchedProviders `json:"allocations,omitempty" doc:"Allocations by provider UUID; null removes all allocations on the provider."`
	ProjectID   *string          `json:"project_id,omitempty" nullable:"false" minLength:"1" maxLength:"255" doc:"The consumer's project."`
	UserID      *string          `json:"user_id,omitempty" nullable:"false" minLength:"1" maxLength:"255" doc:"The consumer's user."`
	Type        *string          `json:"consumer_type,omitempty" nullable:"false" minLength:"1" maxLength:"255" pattern:"^[A-Z0-9_]+$" doc:"The consumer's type." example:"INSTANCE"`

	UUID           ignored `json:"uuid,omitempty" doc:"Ignored."`
	CreatedAt      ignored `json:"created_at,omitempty" doc:"Ignored."`
	UpdatedAt      ignored `json:"updated_at,omitempty" doc:"Ignored."`
	SharingOnly    ignored `json:"sharing_only,omitempty" doc:"Ignored."`
	NodeAllocation ignored `json:"node_allocation,omitempty" doc:"Ignored."`
	Mappings       ignored `json:"mappings,omitempty" doc:"Ignored; accepted because allocation candidates contain it."`
}

// AllocationsPatch is the merge patch of a consumer and its allocations.
type AllocationsPatch struct {
	ConsumerPatch
	Generation *jsonbody.Int `json:"consumer_generation,omitempty" nullable:"false" doc:"The consumer generation that the client read. Default: not compared." example:"1"`
}

var (
	patchWithoutChange = route.Fails(fault.Invalid, "nothing-to-change", "The request has no member to change.",
		"One of 'allocations', 'project_id', 'user_id' and 'consumer_type' must be sent.").WithCode(fault.CodeWriteBadValue)
	allocationPatchFailures = with(claimFailures(replacingConsumer(exampleInstance)),
		malformedConsumer, consumerNotFound, patchWithoutChange)
)

// allocationPatchOperation returns the row of the table.
func (o *operations) allocationPatchOperation(path string) *route.Operation {
	body := route.Body[consumerPath]{LookFirst: checkConsumer, Example: map[string]any{
		"allocations": map[string]any{
			exampleHost: map[string]any{"resources": map[string]any{"VCPU": 2}}, exampleNode: nil,
		},
		"consumer_generation": 1,
	}}
	return &route.Operation{
		ID: "allocation-patch", Method: http.MethodPatch, Path: path, Tag: tagAllocations, Rule: policy.AllocationsUpdate,
		Summary: "Change some of a consumer's allocations", Checks: patches, Fails: allocationPatchFailures,
		Description: "A JSON merge patch (RFC 7396). It checks only amounts that change. Removing the last allocation deletes the consumer, " +
			"and the response has no allocations. A patch that changes nothing increments no generation.",
		Variants: []route.Variant{route.Write(berth13, body, o.allocationPatch,
			route.Example(showing(allocationsOf(instanceRow))))},
	}
}

// toStore converts the patch in the order of the request.
func (p *ConsumerPatch) toStore(consumer uuid.UUID, generation *int64) (store.AllocationPatch, receivedUUIDs, error) {
	patch, sent := store.AllocationPatch{
		Consumer: consumer, Generation: generation, ProjectID: p.ProjectID, UserID: p.UserID, Type: p.Type,
	}, receivedUUIDs{}
	if p.Allocations.Ordered == nil && p.ProjectID == nil && p.UserID == nil && p.Type == nil {
		return patch, sent, patchWithoutChange.Of()
	}
	seen := map[uuid.UUID]bool{}
	for _, entry := range p.Allocations.Ordered {
		id, ok := uuidlike.Parse(entry.Key)
		switch {
		case !ok && entry.Value.value == nil:
			continue // no provider has this key
		case !ok:
			return patch, sent, claimProviderUnknown.Of(entry.Key)
		case seen[id]:
			return patch, sent, route.InvalidBody.Of("resource provider " + entry.Key + " is named twice")
		}
		seen[id] = true
		sent.add(id, entry.Key)
		if entry.Value.value == nil {
			patch.Allocations = append(patch.Allocations, store.Allocation{Provider: id})
			continue
		}
		for _, resource := range entry.Value.value.Resources.Ordered {
			allocation := store.Allocation{Provider: id, Class: resource.Key}
			if resource.Value.value != nil {
				allocation.Amount = int64(resource.Value.value.Int)
			}
			patch.Allocations = append(patch.Allocations, allocation)
		}
	}
	return patch, sent, nil
}

func (o *operations) allocationPatch(
	ctx context.Context, in *consumerPath, body *AllocationsPatch,
) (*cached[AllocationsV38], error) {
	if err := checkConsumer(ctx, in); err != nil {
		return nil, err
	}
	consumer, _ := uuidlike.Parse(in.Consumer)
	patch, sent, err := body.toStore(consumer, generationOf(body.Generation))
	if err != nil {
		return nil, err
	}
	after, err := o.store.AllocationPatch(ctx, patch)
	record := auditlog.From(ctx)
	switch {
	case err != nil:
		record.Consumer(auditlog.Generation{UUID: consumer, Sent: patch.Generation})
		return nil, claimFaults(sent, replacingConsumer(in.Consumer)).With(route.RuleFaults{
			store.ConsumerNotFound: consumerNotFound.Fixed(in.Consumer),
		}).Translate(err)
	case len(after.Rows) == 0:
		record.Consumer(auditlog.Generation{UUID: consumer, Before: patch.Generation, Removed: true})
	default:
		record.Consumer(auditlog.Generation{UUID: consumer, Before: patch.Generation, After: &after.Generation})
	}
	return answer(ctx, allocationsOf(after), now()), nil
}
