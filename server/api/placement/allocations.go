package placement

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/observe/auditlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// consumerPath is the input of operations on one consumer.
type consumerPath struct {
	Consumer string `path:"consumer_uuid" doc:"The consumer." example:"1d5ecafe-0000-4000-8000-000000000001"`
}

// AllocationsOnProvider is the set of a consumer's allocations on one provider.
type AllocationsOnProvider struct {
	Resources  amounts `json:"resources" doc:"Amounts by resource class."`
	Generation int64   `json:"generation" doc:"The provider's generation." example:"5"`
}

// AllocationsV0 is the response with a consumer's allocations, up to 1.11.
type AllocationsV0 struct {
	Allocations jsonbody.Ordered[AllocationsOnProvider] `json:"allocations" doc:"Allocations by provider UUID. Empty without further members if the consumer does not exist."`
}

// AllocationsV12 adds the consumer's project and user.
type AllocationsV12 struct {
	AllocationsV0
	ProjectID string `json:"project_id,omitempty" doc:"The consumer's project."`
	UserID    string `json:"user_id,omitempty" doc:"The consumer's user."`
}

// AllocationsV28 adds the consumer generation.
type AllocationsV28 struct {
	AllocationsV12
	ConsumerGeneration *int64 `json:"consumer_generation,omitempty" doc:"Incremented by every write of the consumer's allocations. A claim contains the generation that the client read." example:"1"`
}

// AllocationsV38 adds the consumer type.
type AllocationsV38 struct {
	AllocationsV28
	ConsumerType string     `json:"consumer_type,omitempty" doc:"The consumer type; unknown for a consumer without one." example:"INSTANCE"`
	Lease        shownLease `json:"lease,omitempty" since:"berth 6" doc:"How long the consumer keeps what it has; null: until it is deleted."`
}

// ConsumerOnProviderV0 is the set of one consumer's allocations on a provider, up to 1.27.
type ConsumerOnProviderV0 struct {
	Resources amounts `json:"resources" doc:"Amounts by resource class."`
}

// ConsumerOnProviderV28 adds the consumer generation.
type ConsumerOnProviderV28 struct {
	ConsumerOnProviderV0
	ConsumerGeneration int64 `json:"consumer_generation" doc:"The consumer's generation." example:"1"`
}

// providerAllocations is the response with the allocations on a provider.
type providerAllocations[C any] struct {
	Generation  int64               `json:"resource_provider_generation" doc:"The provider's generation." example:"5"`
	Allocations jsonbody.Ordered[C] `json:"allocations" doc:"Allocations by consumer UUID."`
}

// ProviderAllocationsV0 is the response with the allocations on a provider, up to 1.27.
type ProviderAllocationsV0 providerAllocations[ConsumerOnProviderV0]

// ProviderAllocationsV28 adds the consumer generations.
type ProviderAllocationsV28 providerAllocations[ConsumerOnProviderV28]

func (o *operations) allocationOperations() []*route.Operation {
	const single = "/allocations/{consumer_uuid}"
	onProvider := ConsumerOnProviderV28{
		ConsumerOnProviderV0: ConsumerOnProviderV0{Resources: exampleAmounts()}, ConsumerGeneration: 1,
	}
	return []*route.Operation{{
		ID: "provider-allocation-list", Method: http.MethodGet, Path: "/resource_providers/{uuid}/allocations",
		Tag: tagAllocations, Rule: policy.ProviderAllocationsList, Summary: "List the allocations on a provider",
		Checks: reads, Fails: []route.Failure{allocationProviderNotFound},
		Variants: []route.Variant{
			route.From(v(0), o.providerAllocationListV0, route.Example(showing(ProviderAllocationsV0{
				Generation: 4, Allocations: exampleByInstance(onProvider.ConsumerOnProviderV0),
			}))),
			route.From(v(28), o.providerAllocationListV28, route.Example(showing(ProviderAllocationsV28{
				Generation: 4, Allocations: exampleByInstance(onProvider),
			}))),
		},
	}, {
		ID: "allocation-replace-many", Method: http.MethodPost, Path: "/allocations", Tag: tagAllocations, Body: route.BodyLarge,
		Rule: policy.AllocationsManage, Further: explainsFurther, Summary: "Replace the allocations of several consumers",
		Description: "Atomic. The previous allocations of these consumers count as free capacity, so consumers can swap providers.",
		Checks:      writesSince, Keyed: true, Fails: claimFailures(textReplaceMany),
		Variants: o.allocationReplaceManyVariants(),
	}, {
		ID: "allocation-list", Method: http.MethodGet, Path: single, Tag: tagAllocations,
		Rule: policy.AllocationsList, Summary: "List the allocations of a consumer", Checks: reads,
		Variants: []route.Variant{
			allocationList(v(0), o, func(of AllocationsV38) AllocationsV0 { return of.AllocationsV0 }),
			allocationList(v(12), o, func(of AllocationsV38) AllocationsV12 { return of.AllocationsV12 }),
			allocationList(v(28), o, func(of AllocationsV38) AllocationsV28 { return of.AllocationsV28 }),
			allocationList(v(38), o, func(of AllocationsV38) AllocationsV38 { return of }),
		},
	}, {
		ID: "allocation-replace", Method: http.MethodPut, Path: single, Tag: tagAllocations,
		Rule: policy.AllocationsUpdate, Further: explainsFurther, Summary: "Replace a consumer's allocations",
		Description: "The first allocations create the consumer; removing the last ones deletes it.",
		Checks:      writes, Fails: allocationReplaceFailures,
		Variants: o.allocationReplaceVariants(),
	}, {
		ID: "allocation-delete", Method: http.MethodDelete, Path: single, Tag: tagAllocations,
		Rule: policy.AllocationsDelete, Summary: "Delete a consumer's allocations",
		Description: "The request compares no generation and changes no provider generation.",
		Fails:       []route.Failure{consumerNotFound, staleConsumer.From(berth13)}, Query: comparesConsumer,
		Variants: []route.Variant{route.From(v(0), o.allocationDelete, route.DescribedFrom(berth13,
			"The request compares a consumer generation in the query string and changes no provider generation."))},
	}, o.allocationPatchOperation(single), o.claimCreateOperation()}
}

// allocationList returns the handler of one response type. Each response type is a subset of the newest one.
func allocationList[A any](since microversion.Version, o *operations, shape func(AllocationsV38) A) route.Variant {
	return route.From(since, func(ctx context.Context, in *consumerPath) (*cached[A], error) {
		consumer, ok := uuidlike.Parse(in.Consumer)
		if !ok {
			return answer(ctx, shape(AllocationsV38{}), now()), nil
		}
		found, err := o.store.AllocationList(ctx, consumer)
		if err != nil {
			return nil, err
		}
		allocations := allocationsOf(found)
		if len(found.Rows) > 0 {
			allocations.Lease = leaseOf(ctx, found.Lease)
		}
		return answer(ctx, shape(allocations), newestAllocation(found.Rows)), nil
	}, route.Example(exampleAllocations(shape)))
}

// exampleAllocations returns the response of the documents.
func exampleAllocations[A any](shape func(AllocationsV38) A) func(context.Context) any {
	return func(ctx context.Context) any {
		allocations := allocationsOf(instanceRow)
		allocations.Lease = leaseOf(ctx, nil)
		return shape(allocations)
	}
}

func allocationsOf(found store.ConsumerAllocations) AllocationsV38 {
	var allocations AllocationsV38
	if len(found.Rows) == 0 {
		return allocations
	}
	allocations.ProjectID, allocations.UserID, allocations.ConsumerGeneration = found.ProjectID, found.UserID, &found.Generation
	allocations.ConsumerType = typeName(found.Type)
	places := map[uuid.UUID]int{}
	for _, row := range found.Rows {
		place, seen := places[row.Provider]
		if !seen {
			place = len(allocations.Allocations)
			places[row.Provider] = place
			allocations.Allocations = append(allocations.Allocations, jsonbody.Entry[AllocationsOnProvider]{
				Key: row.Provider.String(), Value: AllocationsOnProvider{Generation: row.Generation},
			})
		}
		resources := &allocations.Allocations[place].Value.Resources
		*resources = append(*resources, jsonbody.Entry[int64]{Key: row.Class, Value: row.Amount})
	}
	return allocations
}

func newestAllocation(rows []store.AllocationRow) *time.Time {
	if len(rows) == 0 {
		return now()
	}
	latest := rows[0].CreatedAt
	for _, row := range rows {
		if row.CreatedAt.After(latest) {
			latest = row.CreatedAt
		}
	}
	return &latest
}

func (o *operations) providerAllocationListV0(ctx context.Context, in *providerPath) (*cached[ProviderAllocationsV0], error) {
	allocations, modified, err := providerAllocationList(ctx, o, in, func(of ConsumerOnProviderV28) ConsumerOnProviderV0 {
		return of.ConsumerOnProviderV0
	})
	return answer(ctx, ProviderAllocationsV0(allocations), modified), err
}

func (o *operations) providerAllocationListV28(ctx context.Context, in *providerPath) (*cached[ProviderAllocationsV28], error) {
	allocations, modified, err := providerAllocationList(ctx, o, in, func(of ConsumerOnProviderV28) ConsumerOnProviderV28 { return of })
	return answer(ctx, ProviderAllocationsV28(allocations), modified), err
}

func providerAllocationList[C any](
	ctx context.Context, o *operations, in *providerPath, shape func(ConsumerOnProviderV28) C,
) (allocations providerAllocations[C], modified *time.Time, err error) {
	generation, rows, err := o.store.ProviderAllocationList(ctx, in.id())
	if err != nil {
		return allocations, nil, route.RuleFaults{store.ProviderNotFound: allocationProviderNotFound.Fixed(in.UUID)}.Translate(err)
	}
	var order []uuid.UUID
	consumers := map[uuid.UUID]ConsumerOnProviderV28{}
	for _, row := range rows {
		consumer, seen := consumers[row.Consumer]
		if !seen {
			order = append(order, row.Consumer)
			consumer.ConsumerGeneration = row.Generation
		}
		consumer.Resources = append(consumer.Resources, jsonbody.Entry[int64]{Key: row.Class, Value: row.Amount})
		consumers[row.Consumer] = consumer
	}
	allocations.Generation = generation
	for _, id := range order {
		allocations.Allocations = append(allocations.Allocations, jsonbody.Entry[C]{Key: id.String(), Value: shape(consumers[id])})
	}
	return allocations, newestAllocation(rows), nil
}

func (o *operations) allocationDelete(ctx context.Context, in *consumerPath) (*empty, error) {
	consumer, ok := uuidlike.Parse(in.Consumer)
	if !ok {
		return nil, consumerNotFound.Of(in.Consumer)
	}
	sent := sentGeneration(ctx, consumerGenerationParam)
	existed, err := o.store.AllocationDelete(ctx, consumer, sent)
	if err == nil && !existed {
		return nil, consumerNotFound.Of(in.Consumer)
	}
	auditlog.From(ctx).Consumer(removedGeneration(consumer, sent, err))
	return nil, route.RuleFaults{store.ConsumerGenerationConflict: consumerConflict}.Translate(err)
}

// checksConsumers reports whether requests of the microversion contain a consumer generation.
func checksConsumers(ctx context.Context) bool { return microversion.From(ctx).ChecksConsumers() }

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
	Lease      receivedLease `json:"lease,omitempty" since:"berth 6" doc:"The consumer's lease, whose time starts again; null takes it away. Default: unchanged."`
}

var (
	patchWithoutChange = route.Fails(fault.Invalid, "nothing-to-change", "The request has no member to change.",
		"One of 'allocations', 'project_id', 'user_id' and 'consumer_type' must be sent.").WithCode(fault.CodeWriteBadValue)
	patchWithoutLease = route.Fails(fault.Invalid, "nothing-to-change", "The request has no member to change.",
		"One of 'allocations', 'project_id', 'user_id', 'consumer_type' and 'lease' must be sent.").WithCode(fault.CodeWriteBadValue).From(berth16)
	allocationPatchFailures = with(claimFailures(replacingConsumer(exampleInstance)),
		malformedConsumer, consumerNotFound, patchWithoutChange.Until(berth16), patchWithoutLease)
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
		Variants: []route.Variant{route.Write(berth13, body, o.allocationPatch, route.Example(exampleAllocations(
			func(of AllocationsV38) AllocationsV38 { return of })))},
	}
}

// isEmpty reports whether the patch has no member to change.
func (p *ConsumerPatch) isEmpty() bool {
	return p.Allocations.Ordered == nil && p.ProjectID == nil && p.UserID == nil && p.Type == nil
}

// toStore converts the patch in the order of the request.
func (p *ConsumerPatch) toStore(consumer uuid.UUID, generation *int64) (store.AllocationPatch, receivedUUIDs, error) {
	patch, sent := store.AllocationPatch{
		Consumer: consumer, Generation: generation, ProjectID: p.ProjectID, UserID: p.UserID, Type: p.Type,
	}, receivedUUIDs{}
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
	if body.isEmpty() && !body.Lease.isSent {
		if microversion.From(ctx).HasLeases() {
			return nil, patchWithoutLease.Of()
		}
		return nil, patchWithoutChange.Of()
	}
	patch, sent, err := body.toStore(consumer, generationOf(body.Generation))
	if err != nil {
		return nil, err
	}
	if patch.Lease, err = body.Lease.terms(); err == nil {
		err = o.checkLease(patch.Lease)
	}
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
		}).With(leaseFaults).Translate(err)
	case len(after.Rows) == 0:
		record.Consumer(auditlog.Generation{UUID: consumer, Before: patch.Generation, Removed: true})
	default:
		record.Consumer(auditlog.Generation{UUID: consumer, Before: patch.Generation, After: &after.Generation})
	}
	allocations := allocationsOf(after)
	if len(after.Rows) > 0 {
		allocations.Lease = leaseOf(ctx, after.Lease)
	}
	return answer(ctx, allocations, now()), nil
}
