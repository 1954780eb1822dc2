package placement

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/wire/uuidlike"
)

// Consumers is a page of consumers.
type Consumers struct {
	Consumers []selected[Consumer] `json:"consumers" doc:"The consumers of the page."`
	Links     []Link               `json:"consumers_links,omitempty" nullable:"false" doc:"The link to the next page; missing on the last page. A page with a link can be short or empty."`
	Total     *Total               `json:"total,omitempty" nullable:"false" doc:"Number of consumers that pass the filters, if the request has total=true."`
}

// Consumer is a consumer with what it has.
type Consumer struct {
	UUID           uuid.UUID                                    `json:"uuid" format:"uuid" doc:"The consumer." example:"1d5ecafe-0000-4000-8000-000000000001"`
	ProjectID      string                                       `json:"project_id" doc:"Its project." example:"7c5b1b2e0d0e4a7d8a5b0f3f2f7f5a11"`
	UserID         string                                       `json:"user_id" doc:"Its user." example:"0f2d6c5a9a6b4d0c8f0e6e8b7a3c1d22"`
	Type           string                                       `json:"consumer_type" doc:"Its type; unknown for a consumer without one." example:"INSTANCE"`
	Generation     int64                                        `json:"consumer_generation" doc:"Incremented by every write of its allocations." example:"1"`
	CreatedAt      *Moment                                      `json:"created_at" nullable:"true" nullableSince:"berth 7" format:"date-time" doc:"Time of its first claim." example:"2026-11-22T14:11:00.123456Z"`
	UpdatedAt      *Moment                                      `json:"updated_at" nullable:"true" nullableSince:"berth 7" format:"date-time" doc:"Time of its last claim." example:"2026-11-22T14:11:00.123456Z"`
	Resources      amounts                                      `json:"resources" doc:"Sums of its allocations by resource class."`
	ProviderCount  int                                          `json:"resource_provider_count" doc:"Number of providers of its allocations." example:"1"`
	Allocations    jsonbody.Ordered[AllocationsOnNamedProvider] `json:"allocations,omitempty" nullable:"false" doc:"All its allocations by provider UUID."`
	NodeAllocation *NodeAllocationName                          `json:"node_allocation,omitempty" nullable:"false" doc:"The allocation of the Bare Metal API that has claimed a node with this consumer; missing for all others."`
	Lease          shownLease                                   `json:"lease,omitempty" since:"berth 6" doc:"How long the consumer keeps what it has; null: until it is deleted."`
	At             *HistoryMoment                               `json:"at,omitempty" nullable:"false" since:"berth 7" doc:"The moment, in a response to a request with at."`
}

var (
	consumerList = &pagedList{
		Name: "consumers", Path: "/consumers", Format: "c1", Default: defaultPage, Sorts: []string{byCreation, byCreationDesc},
		HasFields: true, HasSearch: true, HasTotal: true, SearchOrder: "uuids",
	}
	// leasedConsumerList is consumerList from berth 1.6 on.
	leasedConsumerList = withSort(*consumerList, byExpiry)
)

// byExpiry is the order of the times at which consumers are removed.
const byExpiry = "expires_at"

// withSort returns a list with one more value of sort.
func withSort(list pagedList, sort string) *pagedList {
	list.Sorts = append(slices.Clone(list.Sorts), sort)
	return &list
}

var consumerMissing = route.Fails(fault.NotFound, "consumer-missing", "There is no consumer with this UUID.",
	"No consumer with uuid %s found", unknownUUID)

func (o *operations) consumerOperations() []*route.Operation {
	list := rulesOfQuery{rule: policy.ConsumersList, once: leasedConsumerParams.Once(), project: projectParam, further: consumerListRules}
	return []*route.Operation{{
		ID: "consumer-list", Method: http.MethodGet, Path: "/consumers", Tag: tagConsumers, Rule: policy.ConsumersList,
		Further: []string{policy.AllocationsList}, Authorize: list.authorize, ReadsQuery: true, Summary: "List consumers", Checks: reads,
		Description: "Returns pages of consumers that pass all filters. `resource_provider`, `in_tree`, `resource_class` and `trait` hold " +
			"for one and the same allocation. Unknown names match nothing. A page ends after 5,000 consumers that it has looked at: " +
			"it can be short or empty and still have a link to the next one. Parameters must not be repeated. The policy rule has the " +
			"target `project_id`; `include=allocations`, `resource_provider`, `in_tree` and `trait` also need the rule of `GET /allocations/{consumer_uuid}`.",
		Fails: append(consumerList.failures(), unknownInclude, tooManyValues, invalidTime, sortOfUnleased),
		Variants: []route.Variant{
			route.From(berth14, o.consumerList, route.QueryOf(consumerParams), route.Example(exampleConsumers)),
			route.From(berth16, o.consumerList, route.QueryOf(leasedConsumerParams), route.Example(exampleConsumers)),
		},
	}, {
		ID: "consumer-show", Method: http.MethodGet, Path: "/consumers/{consumer_uuid}", Tag: tagConsumers, Rule: policy.ConsumersShow,
		Further: []string{policy.HistoryList}, Authorize: rulesOfQuery{rule: policy.ConsumersShow, hasAt: true}.authorize,
		Query: route.Params{historyAtParam}, Summary: "Show a consumer", Checks: reads,
		Description: "Returns a consumer with all its allocations. Unlike the allocations of a consumer, a consumer that does not exist is an error.",
		Fails:       append([]route.Failure{consumerMissing, consumerMissingThen}, atFailures...),
		Variants:    []route.Variant{route.From(berth14, o.consumerShow, route.Example(func(ctx context.Context) any { return consumerOf(ctx, exampleConsumer) }))},
	}}
}

func (o *operations) consumerList(ctx context.Context, _ *none) (*cached[Consumers], error) {
	schema := consumerSchema
	if microversion.From(ctx).HasLeases() {
		schema = leasedConsumerSchema
	}
	values, err := query(ctx, schema)
	if err != nil {
		return nil, err
	}
	asked, err := parseConsumerList(ctx, values)
	if err != nil {
		return nil, err
	}
	found, next, err := o.store.ConsumerList(ctx, &asked.filter, &asked.page)
	if err != nil {
		return nil, err
	}
	consumers := Consumers{Consumers: make([]selected[Consumer], 0, len(found))}
	for i := range found {
		consumers.Consumers = append(consumers.Consumers, of(&asked.fields, consumerOf(ctx, &found[i])))
	}
	if next != nil {
		consumers.Links = asked.list.next(ctx, values, &asked.paging, asked.position(next))
	}
	if asked.paging.Total {
		count, exact, err := o.store.ConsumerCount(ctx, &asked.filter, maxTotal)
		if err != nil {
			return nil, err
		}
		consumers.Total = &Total{Count: count, Exact: exact}
	}
	return answer(ctx, consumers, now()), nil
}

func (o *operations) consumerShow(ctx context.Context, in *consumerPath) (*cached[Consumer], error) {
	values, err := querystring.Parse(request.From(ctx).RawQuery)
	if err != nil {
		return nil, invalidQuery.Of(err)
	}
	at, err := atOf(values)
	if err != nil {
		return nil, err
	}
	id, ok := uuidlike.Parse(in.Consumer)
	if !ok {
		return nil, consumerMissing.Of(in.Consumer)
	}
	if at != nil {
		return o.consumerShowAt(ctx, in, id, at)
	}
	found, err := o.store.ConsumerShow(ctx, id)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, consumerMissing.Of(in.Consumer)
	}
	return answer(ctx, consumerOf(ctx, found), &found.UpdatedAt), nil
}

// consumerShowAt returns a consumer as it was.
func (o *operations) consumerShowAt(ctx context.Context, in *consumerPath, id uuid.UUID, at *store.HistoryTime) (*cached[Consumer], error) {
	found, moment, err := o.store.ConsumerShowAt(ctx, id, *at)
	if err == nil {
		err = checkMoment(at, &moment)
	}
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, consumerMissingThen.Of(in.Consumer, momentText(at))
	}
	consumer := consumerOf(ctx, found)
	consumer.At = momentShown(&moment)
	return answer(ctx, consumer, now()), nil
}

// consumerOf returns a consumer as lists have it.
func consumerOf(ctx context.Context, from *store.ConsumerRecord) Consumer {
	consumer := Consumer{
		UUID: from.UUID, ProjectID: from.ProjectID, UserID: from.UserID, Type: typeName(from.Type), Generation: from.Generation,
		CreatedAt: timeShown(from.CreatedAt), UpdatedAt: timeShown(from.UpdatedAt), ProviderCount: from.ProviderCount,
		Allocations: allocationsByProvider(from), NodeAllocation: nodeAllocationOf(from),
		Lease: leaseOf(ctx, from.Lease),
	}
	for _, sum := range from.Resources {
		consumer.Resources = append(consumer.Resources, jsonbody.Entry[int64]{Key: sum.Class, Value: sum.Amount})
	}
	return consumer
}

// position returns the place of the next page as markers have it: a UUID in the order of UUIDs, else an id, behind the time in
// the order of expires_at.
func (a *consumerQuery) position(at *store.ConsumerPlace) string {
	switch id := strconv.FormatInt(at.ID, 10); {
	case a.paging.Search != "":
		return at.UUID.String()
	case a.page.ByExpiry:
		return strconv.FormatInt(at.ExpiresAt.UnixMicro(), 10) + "." + id
	default:
		return id
	}
}

// maxExpiry is the end of the year 9999 in microseconds.
const maxExpiry = 253402300799999999

// place is the inverse of position. It reports false for what position never returns.
func (a *consumerQuery) place(position string) (*store.ConsumerPlace, bool) {
	consumerPlace := &store.ConsumerPlace{}
	var err error
	if a.paging.Search != "" {
		consumerPlace.UUID, err = uuid.Parse(position)
		inRange := bytes.Compare(consumerPlace.UUID[:], a.filter.Search.Low[:]) >= 0 && bytes.Compare(consumerPlace.UUID[:], a.filter.Search.High[:]) <= 0
		return consumerPlace, err == nil && inRange && a.position(consumerPlace) == position
	}
	id := position
	if at, rest, ok := strings.Cut(position, "."); ok && a.page.ByExpiry {
		var expiry int64
		if expiry, err = strconv.ParseInt(at, 10, 64); err != nil || expiry < 0 || expiry > maxExpiry {
			return nil, false
		}
		consumerPlace.ExpiresAt, id = time.UnixMicro(expiry), rest
	}
	consumerPlace.ID, err = strconv.ParseInt(id, 10, 64)
	return consumerPlace, err == nil && consumerPlace.ID > 0 && a.position(consumerPlace) == position
}

// The examples of the documents.
var (
	exampleConsumer = &store.ConsumerRecord{
		UUID: uuid.MustParse(exampleInstance), ProjectID: exampleProject, UserID: exampleUser, Type: &instanceType, Generation: 1,
		CreatedAt: exampleMoment, UpdatedAt: exampleMoment, Resources: exampleWanted, ProviderCount: 1,
		Allocations: []store.ConsumerAllocation{
			{Provider: exampleHostID, Root: exampleHostID, ProviderName: hostRow.Name, ProviderGeneration: 4, Class: "VCPU", Used: 2, CreatedAt: exampleMoment},
			{Provider: exampleHostID, Root: exampleHostID, ProviderName: hostRow.Name, ProviderGeneration: 4, Class: "MEMORY_MB", Used: 2048, CreatedAt: exampleMoment},
		},
		Lease: &store.Lease{Seconds: new(int32(60)), ExpiresAt: exampleMoment.Add(time.Minute)},
	}
	exampleMoment = time.Date(2026, time.November, 22, 14, 11, 0, 123456000, time.UTC)
)

func exampleConsumers(ctx context.Context) any {
	return Consumers{
		Consumers: []selected[Consumer]{of(&selection{}, consumerOf(ctx, exampleConsumer))},
		Links:     []Link{{Rel: "next", Href: "/consumers?marker=" + consumerList.marker(byCreation, "3")}},
	}
}

// AllocationsOnNamedProvider is what a consumer has on one provider.
type AllocationsOnNamedProvider struct {
	Name       string    `json:"name" doc:"Name of the provider." example:"compute-1-numa-0"`
	Root       uuid.UUID `json:"root_provider_uuid" format:"uuid" doc:"Root of the provider's tree." example:"c0ffee00-5ca1-4b1e-8000-000000000001"`
	Generation *int64    `json:"generation" nullable:"true" nullableSince:"berth 7" doc:"The provider's generation." example:"5"`
	CreatedAt  *Moment   `json:"created_at" nullable:"true" nullableSince:"berth 7" format:"date-time" doc:"When the consumer got what it has there: the oldest of its classes." example:"2026-11-22T14:11:00.123456Z"`
	Resources  amounts   `json:"resources" doc:"Amounts by resource class."`
}

// NodeAllocationName names an allocation of the Bare Metal API.
type NodeAllocationName struct {
	UUID uuid.UUID `json:"uuid" format:"uuid" doc:"UUID of the node allocation." example:"c0ffee00-5ca1-4b1e-8000-000000000011"`
	Name *string   `json:"name" doc:"Its name; null if it has none." example:"web"`
}

// allocationsByProvider returns the allocations of a consumer by provider, in the order in which it got them.
func allocationsByProvider(consumer *store.ConsumerRecord) jsonbody.Ordered[AllocationsOnNamedProvider] {
	ordered := jsonbody.Ordered[AllocationsOnNamedProvider]{}
	at := map[uuid.UUID]int{}
	for i := range consumer.Allocations {
		allocation := &consumer.Allocations[i]
		position, seen := at[allocation.Provider]
		if !seen {
			position = len(ordered)
			at[allocation.Provider] = position
			ordered = append(ordered, jsonbody.Entry[AllocationsOnNamedProvider]{Key: allocation.Provider.String(), Value: AllocationsOnNamedProvider{
				Name: allocation.ProviderName, Root: allocation.Root, Generation: generationShown(allocation.ProviderGeneration), CreatedAt: timeShown(allocation.CreatedAt),
			}})
		}
		value := &ordered[position].Value
		if value.CreatedAt != nil && allocation.CreatedAt.Before(value.CreatedAt.Time) {
			value.CreatedAt = timeShown(allocation.CreatedAt) // null if one of them is unknown: the zero time is the first
		}
		value.Resources = append(value.Resources, jsonbody.Entry[int64]{Key: allocation.Class, Value: allocation.Used})
	}
	return ordered
}

// nodeAllocationOf names the node allocation whose allocations these are; nil: there is none.
func nodeAllocationOf(consumer *store.ConsumerRecord) *NodeAllocationName {
	if consumer.NodeAllocation == nil {
		return nil
	}
	return &NodeAllocationName{UUID: consumer.UUID, Name: consumer.NodeAllocation.Name}
}
