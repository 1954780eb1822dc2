package placement

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/querystring"
)

// TreeShown is a provider tree at one moment. A member that the request does not include is missing.
type TreeShown struct {
	Root      uuid.UUID                           `json:"root_provider_uuid" format:"uuid" doc:"The root of the tree." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Providers []TreeShownProvider                 `json:"resource_providers" doc:"All providers of the tree. Parents precede their children."`
	Sharing   []TreeShownProvider                 `json:"sharing_providers,omitempty" nullable:"false" doc:"Sharing providers of other trees in an aggregate of any provider of the tree."`
	Consumers jsonbody.Ordered[TreeShownConsumer] `json:"consumers,omitempty" nullable:"false" doc:"Consumers with allocations on the tree, by UUID; with sharing providers also those that use only sharing providers. The list is never truncated."`
	At        *HistoryMoment                      `json:"at,omitempty" nullable:"false" since:"berth 7" doc:"The moment, in a response to a request with at."`
}

// TreeShownProvider is a provider of a tree, with the included parts.
type TreeShownProvider struct {
	UUID        uuid.UUID                    `json:"uuid" format:"uuid" doc:"The provider." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Name        string                       `json:"name" doc:"Unique name." example:"compute-17"`
	Generation  *int64                       `json:"generation" nullable:"true" nullableSince:"berth 7" doc:"The provider's generation." example:"4"`
	Parent      *uuid.UUID                   `json:"parent_provider_uuid" nullable:"true" format:"uuid" doc:"UUID of the parent provider; null for a root."`
	Root        uuid.UUID                    `json:"root_provider_uuid" format:"uuid" doc:"UUID of the root provider of the tree." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Inventories *jsonbody.Ordered[Inventory] `json:"inventories,omitempty" nullable:"false" doc:"Inventories by resource class."`
	Usages      *amounts                     `json:"usages,omitempty" nullable:"false" doc:"Sums of the allocations by the classes of the inventories."`
	Traits      *[]string                    `json:"traits,omitempty" nullable:"false" doc:"Names of its traits."`
	Aggregates  *uuids                       `json:"aggregates,omitempty" nullable:"false" doc:"UUIDs of its aggregates."`
}

// TreeShownConsumer is a consumer with all its allocations, also those outside of the tree.
type TreeShownConsumer struct {
	Allocations    jsonbody.Ordered[AllocationsOnNamedProvider] `json:"allocations" doc:"All allocations of the consumer by provider UUID."`
	ProjectID      string                                       `json:"project_id" doc:"The consumer's project."`
	UserID         string                                       `json:"user_id" doc:"The consumer's user."`
	Type           string                                       `json:"consumer_type" doc:"The consumer type; unknown for a consumer without one." example:"INSTANCE"`
	Generation     int64                                        `json:"consumer_generation" doc:"The consumer's generation." example:"1"`
	SharingOnly    bool                                         `json:"sharing_only,omitempty" doc:"True if the consumer uses only sharing providers, and none of the tree; otherwise omitted."`
	NodeAllocation *NodeAllocationName                          `json:"node_allocation,omitempty" nullable:"false" doc:"The allocation of the Bare Metal API that the consumer belongs to; otherwise omitted."`
	Lease          shownLease                                   `json:"lease,omitempty" since:"berth 6" doc:"How long the consumer keeps what it has; null: until it is deleted."`
}

// maxTreeConsumers is the maximum number of consumers in a response.
const maxTreeConsumers = 10_000

var (
	treeParts        = []string{partInventories, partUsages, partTraits, partAggregates, partSharing, partConsumers}
	defaultTreeParts = []string{partInventories, partUsages, partTraits, partAggregates}
	treeShowParams   = route.Params{{
		Name: includeParam, Example: "inventories,consumers",
		Doc: "Parts of the response, separated by commas: `inventories`, `usages`, `traits` and `aggregates` of each provider; `sharing`, " +
			"the sharing providers that the tree reaches; `consumers`, with all their allocations. Default: the four parts of the providers.",
	}}
	treeShowAtParams = append(slices.Clone(treeShowParams), historyAtParam)
	treeShowSchema   = treeShowParams.Schema(berth14)
	treeShowAtSchema = treeShowAtParams.Schema(berth17)
)

var tooManyConsumers = route.Fails(fault.Invalid, "too-many-consumers",
	"The response would have more than 10,000 consumers. It is never truncated, because reshapes are built from it.",
	"More than %d consumers have something of this tree%s. Page through GET /consumers?in_tree=%s instead.",
	maxTreeConsumers, "", exampleHost).WithCode(fault.CodeTooManyConsumers)

func (o *operations) treeShowOperation() *route.Operation {
	rules := rulesOfQuery{rule: policy.TreeShow, once: treeShowParams.Once(), further: func(values querystring.Values) []string {
		return rulesOfParts(includedTexts(values, defaultTreeParts...))
	}, hasAt: true}
	return &route.Operation{
		ID: "tree-show", Method: http.MethodGet, Path: "/resource_providers/{uuid}/tree", Tag: tagProviders,
		Rule: rules.rule, Further: append(rulesOfParts(treeParts), policy.HistoryList), Authorize: rules.authorize, ReadsQuery: true,
		Summary: "Show a provider tree", Checks: readsSince,
		Description: "Returns the tree of any of its providers, as it was at one moment. Each included part also needs the " +
			"rule of the request that returns it for one provider or consumer.",
		Fails: append([]route.Failure{invalidQuery, queryRepeated, unknownInclude, providerNotFound, tooManyConsumers, providerMissingThen}, atFailures...),
		Variants: []route.Variant{
			route.From(berth14, o.treeShow(treeShowSchema), route.QueryOf(treeShowParams), route.Returns[TreeShown](), route.Example(exampleTreeShown)),
			route.From(berth17, o.treeShow(treeShowAtSchema), route.QueryOf(treeShowAtParams), route.Returns[TreeShown](), route.Example(exampleTreeShown)),
		},
	}
}

func exampleTreeShown(ctx context.Context) any {
	parts := partsOf(defaultTreeParts)
	host := store.ShownProvider{Provider: hostRow, Inventories: inventoryRows, Traits: []string{exampleTrait}}
	consumer := store.ConsumerRecord{ProjectID: exampleProject, UserID: exampleUser, Type: &instanceType, Generation: 1}
	for _, record := range inventoryRows {
		consumer.Allocations = append(consumer.Allocations, store.ConsumerAllocation{
			Provider: exampleHostID, Root: exampleHostID, ProviderName: hostRow.Name, ProviderGeneration: hostRow.Generation,
			Class: record.Class, Used: record.Used, CreatedAt: time.Date(2026, 11, 22, 14, 11, 0, 123456000, time.UTC),
		})
	}
	return TreeShown{
		Root:      exampleHostID,
		Providers: []TreeShownProvider{parts.provider(&host), parts.provider(&store.ShownProvider{Provider: nodeRow})},
		Consumers: jsonbody.Ordered[TreeShownConsumer]{{Key: exampleInstance, Value: treeShownConsumer(ctx, &consumer)}},
	}
}

// treePartSet tells which parts a response has.
type treePartSet struct{ inventories, usages, traits, aggregates, sharing, consumers bool }

func partsOf(names []string) treePartSet {
	has := func(part string) bool { return slices.Contains(names, part) }
	return treePartSet{
		inventories: has(partInventories), usages: has(partUsages), traits: has(partTraits), aggregates: has(partAggregates),
		sharing: has(partSharing), consumers: has(partConsumers),
	}
}

// treeShow returns the handler of a variant, with the parameters that it has.
func (o *operations) treeShow(schema *querystring.Schema) func(context.Context, *providerPath) (*streamedResponse, error) {
	return func(ctx context.Context, in *providerPath) (*streamedResponse, error) {
		return o.treeShown(ctx, in, schema)
	}
}

func (o *operations) treeShown(ctx context.Context, in *providerPath, schema *querystring.Schema) (*streamedResponse, error) {
	values, err := query(ctx, schema)
	if err != nil {
		return nil, err
	}
	at, err := atOf(values)
	if err != nil {
		return nil, err
	}
	known := treeParts
	if at != nil { // the record does not tell which providers the tree reached
		known = slices.DeleteFunc(slices.Clone(treeParts), func(part string) bool { return part == partSharing })
	}
	names, err := included(values, known)
	if err != nil {
		return nil, err
	}
	if names == nil {
		names = defaultTreeParts
	}
	parts := partsOf(names)
	tree, moment, err := o.treeOf(ctx, in, &parts, at)
	switch {
	case err != nil:
		return nil, err
	case tree.ConsumersExceeded && parts.sharing:
		return nil, tooManyConsumers.Of(maxTreeConsumers, " and of the providers that it reaches", in.UUID)
	case tree.ConsumersExceeded:
		return nil, tooManyConsumers.Of(maxTreeConsumers, "", in.UUID)
	}
	result := &streamedResponse{Body: func(to huma.Context) {
		to.SetHeader("Content-Type", "application/json")
		if err := parts.write(ctx, to.BodyWriter(), &tree, moment); err != nil {
			route.Fail(to, err)
		}
	}}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, now())
	return result, nil
}

// treeOf returns the tree, or with at as it was, and the moment.
func (o *operations) treeOf(
	ctx context.Context, in *providerPath, parts *treePartSet, at *store.HistoryTime,
) (store.ShownTree, *HistoryMoment, error) {
	query := store.TreeQuery{
		Provider: in.id(), Inventories: parts.inventories || parts.usages, Traits: parts.traits, Aggregates: parts.aggregates,
		Sharing: parts.sharing, Consumers: parts.consumers, MaxConsumers: maxTreeConsumers,
	}
	if at == nil {
		tree, err := o.store.TreeShow(ctx, query)
		return tree, nil, route.RuleFaults{store.ProviderNotFound: providerNotFound.Fixed(in.UUID)}.Translate(err)
	}
	tree, moment, err := o.store.TreeShowAt(ctx, query, *at)
	if err == nil {
		err = checkMoment(at, &moment)
	}
	if err != nil {
		return tree, nil, route.RuleFaults{store.ProviderNotFound: providerMissingThen.Fixed(in.UUID, momentText(at))}.Translate(err)
	}
	return tree, momentShown(&moment), nil
}

// write encodes a TreeShown one provider and one consumer at a time, so that its JSON is never in memory as a whole.
func (p treePartSet) write(ctx context.Context, w io.Writer, tree *store.ShownTree, moment *HistoryMoment) error {
	if err := writeJSON(w, `{"root_provider_uuid": `, tree.Providers[0].Root); err != nil {
		return err
	}
	if err := p.writeProviders(w, `, "resource_providers": [`, tree.Providers); err != nil {
		return err
	}
	if p.sharing {
		if err := p.writeProviders(w, `, "sharing_providers": [`, tree.Sharing); err != nil {
			return err
		}
	}
	if p.consumers {
		if err := writeConsumers(ctx, w, tree.Consumers); err != nil {
			return err
		}
	}
	if moment != nil {
		if err := writeJSON(w, `, "at": `, moment); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "}\n")
	return err
}

func writeConsumers(ctx context.Context, w io.Writer, consumers []store.ConsumerRecord) error {
	if _, err := io.WriteString(w, `, "consumers": {`); err != nil {
		return err
	}
	for i := range consumers {
		if err := writeJSON(w, separator(i), consumers[i].UUID); err != nil {
			return err
		}
		if err := writeJSON(w, ": ", treeShownConsumer(ctx, &consumers[i])); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "}")
	return err
}

func (p treePartSet) writeProviders(w io.Writer, before string, providers []store.ShownProvider) error {
	if _, err := io.WriteString(w, before); err != nil {
		return err
	}
	for i := range providers {
		if err := writeJSON(w, separator(i), p.provider(&providers[i])); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "]")
	return err
}

// separator returns what precedes an element of a list.
func separator(position int) string {
	if position == 0 {
		return ""
	}
	return ", "
}

func writeJSON(w io.Writer, before string, value any) error {
	encoded, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if _, err = io.WriteString(w, before); err == nil {
		_, err = w.Write(encoded)
	}
	return err
}

// provider returns the wire form of a provider, with the parts.
func (p treePartSet) provider(from *store.ShownProvider) TreeShownProvider {
	result := TreeShownProvider{UUID: from.UUID, Name: from.Name, Generation: generationShown(from.Generation), Parent: from.Parent, Root: from.Root}
	if p.inventories {
		result.Inventories = &jsonbody.Ordered[Inventory]{}
	}
	if p.usages {
		result.Usages = &amounts{}
	}
	for i := range from.Inventories {
		record := &from.Inventories[i]
		if p.inventories {
			*result.Inventories = append(*result.Inventories, jsonbody.Entry[Inventory]{Key: record.Class, Value: toWire(*record)})
		}
		if p.usages {
			*result.Usages = append(*result.Usages, jsonbody.Entry[int64]{Key: record.Class, Value: record.Used})
		}
	}
	if p.traits {
		result.Traits = &[]string{}
		*result.Traits = append(*result.Traits, from.Traits...)
	}
	if p.aggregates {
		result.Aggregates = &uuids{}
		*result.Aggregates = append(*result.Aggregates, from.Aggregates...)
	}
	return result
}

func treeShownConsumer(ctx context.Context, from *store.ConsumerRecord) TreeShownConsumer {
	return TreeShownConsumer{
		Allocations: allocationsByProvider(from), ProjectID: from.ProjectID, UserID: from.UserID, Type: typeName(from.Type),
		Generation: from.Generation, SharingOnly: from.SharingOnly, NodeAllocation: nodeAllocationOf(from),
		Lease: leaseOf(ctx, from.Lease),
	}
}
