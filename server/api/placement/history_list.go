package placement

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// HistoryList is a page of events.
type HistoryList struct {
	Events        []historyElement `json:"events" doc:"The events of the page. With request, also the requests that found nothing, at their times."`
	Links         []Link           `json:"events_links,omitempty" nullable:"false" doc:"The link to the next page; missing on the last page. A page with a link can be short or empty."`
	Log           uuid.UUID        `json:"log" format:"uuid" doc:"Series of the indexes." example:"7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10"`
	Oldest        int64            `json:"oldest" doc:"Index of the oldest event that is kept; 0: there is none." example:"12004"`
	Newest        int64            `json:"newest" doc:"Index of the newest event; 0: there is none." example:"41822"`
	CompleteSince *Moment          `json:"complete_since,omitempty" nullable:"false" format:"date-time" doc:"Time from which the list is complete, if since is before it." example:"2026-11-01T09:00:00.000000Z"`
}

// historyElement is a HistoryEvent or a HistoryRefusal.
type historyElement struct{ value any }

// MarshalJSON implements json.Marshaler.
func (e historyElement) MarshalJSON() ([]byte, error) { return json.Marshal(e.value) }

// Schema implements huma.SchemaProvider.
func (historyElement) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[HistoryEvent](r), schemaOf[HistoryRefusal](r)}}
}

// HistoryRefusal is a request that found nothing, as explanations have recorded it. It has no index.
type HistoryRefusal struct {
	Kind      string        `json:"kind" enum:"refused" doc:"Always refused." example:"refused"`
	At        Moment        `json:"at" format:"date-time" doc:"Time of the response." example:"2026-11-22T14:11:00.123456Z"`
	By        HistoryCaller `json:"by" doc:"The request: its ids."`
	RequestID string        `json:"request_id" doc:"Id for GET /explanations/{request_id}." example:"req-6b6837d1-5af3-4138-b4ed-e0275c3efda4"`
	Reason    string        `json:"reason" doc:"The first condition that left nothing." example:"no_tree"`
	Summary   string        `json:"summary,omitempty" doc:"Summary of the explanation."`
}

// Parameters of GET /history in addition to those of paging.
const (
	consumerParam = "consumer"
	nodeParam     = "node"
	nameParam     = "name"
	requestParam  = "request"
	topicParam    = "topic"
	untilParam    = "until"

	byIndex     = "index"
	byIndexDesc = "-index"
)

// historyTopics are the topics of the wire with those of the table.
var historyTopics = map[string][]string{
	"aggregate": {"aggregate"}, "allocation": {"allocation"}, "history": {"history"}, "inventory": {"inventory"},
	"name": {"class_name", "trait_name"}, "node": {"node", "node_trait"}, "node_allocation": {"node_allocation"},
	"provider": {"provider"}, "trait": {"trait"},
}

var (
	historyPages  = &pagedList{Name: "events", Path: "/history", Format: "h1", Default: defaultPage, Sorts: []string{byIndexDesc, byIndex}}
	historyParams = append(route.Params{
		{Name: providerParam, Doc: "A change is of this provider or of a consumer on it, or of one of up to 500 in `in:UUID,UUID`.", Example: exampleHost},
		{Name: inTreeParam, Check: querystring.Param{UUID: true}, Doc: "A change is of the tree that this provider is in now.", Example: exampleHost},
		{Name: consumerParam, Doc: "A change is of this consumer, or of one of up to 500 in `in:UUID,UUID`.", Example: exampleInstance},
		{Name: nodeParam, Doc: "A change is of this node, of its allocation, or of the provider with its UUID; up to 500 in `in:UUID,UUID`.", Example: exampleHost},
		{Name: nameParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "A change is of a provider, node or node allocation that has or had this name.", Example: "compute-17"},
		{Name: requestParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "The request, or the global request, had this id.", Example: exampleRequestID},
		{Name: userParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "This user asked.", Example: exampleUser},
		{Name: projectParam, Check: querystring.Param{MinLength: 1, MaxLength: 255}, Doc: "A change is of a consumer of this project, before or after.", Example: exampleProject},
		{Name: topicParam, Doc: "A change has this topic, or one of `in:TOPIC,TOPIC`: aggregate, allocation, history, inventory, name, node, node_allocation, provider or trait.", Example: "allocation"},
		{Name: sinceParam, Doc: "Only events at or after this time (RFC 3339) or index.", Example: exampleTime},
		{Name: untilParam, Doc: "Only events before this time (RFC 3339) or index.", Example: "41822"},
	}, historyPages.params()...)
	historySchema = historyParams.Schema(berth17)

	invalidMoment = route.Fails(fault.Invalid, "invalid-time-or-index", "`since` or `until` is neither a time nor an index.",
		"'%s' is neither a time nor an index: %s.", sinceParam, "yesterday").WithCode(fault.CodeWriteBadValue)
	unknownTopic = route.Fails(fault.Invalid, "unknown-topic", "`topic` has an unknown name.",
		"'topic' names %s; known are %s.", "color", "aggregate, allocation").WithCode(fault.CodeWriteBadValue)
	historyOff = route.Fails(fault.Conflict, "history-off", "Nothing was ever recorded.",
		"No history is kept. Turn it on with PUT /history/settings.").WithCode(fault.CodeHistoryOff)
)

// historyListOperation returns the row of the table.
func (o *operations) historyListOperation() *route.Operation {
	list := rulesOfQuery{rule: policy.HistoryList, once: historyParams.Once(), project: projectParam}
	return &route.Operation{
		ID: "history-list", Method: http.MethodGet, Path: "/history", Tag: tagHistory, Rule: policy.HistoryList, Authorize: list.authorize,
		ReadsQuery: true, Summary: "List events", Checks: reads,
		Description: "Returns pages of events: what each write changed, by which request, with the values before and after. An event is listed if " +
			"one of its changes meets all filters, and is shown whole. Whatever was answered before this request is in the list. A page ends after " +
			"5,000 changes that it has looked at: it can be short or empty and still have a link to the next one. With `request`, requests " +
			"that found nothing are elements of kind `refused`. The policy rule has the target `project_id`.",
		Fails:    append(historyPages.failures(), tooManyValues, invalidMoment, unknownTopic, historyOff),
		Variants: []route.Variant{route.From(berth17, o.historyList, route.QueryOf(historyParams), route.Example(showing(exampleHistoryList())))},
	}
}

// historyQuery is a parsed query string of GET /history.
type historyQuery struct {
	filter store.HistoryFilter
	page   store.HistoryPage
	paging page
	// boundary is the time at which the page before has ended; nil: this is the first one.
	boundary *time.Time
}

func (o *operations) historyList(ctx context.Context, _ *none) (*cached[HistoryList], error) {
	values, err := query(ctx, historySchema)
	if err != nil {
		return nil, err
	}
	asked, err := parseHistoryList(values)
	if err != nil {
		return nil, err
	}
	found, err := o.store.HistoryList(ctx, &asked.filter, asked.page)
	if err != nil {
		return nil, err
	}
	if found.State == store.HistoryOff && found.Newest == 0 {
		return nil, historyOff.Of()
	}
	list := HistoryList{Events: []historyElement{}, Log: found.Log, Oldest: found.Oldest, Newest: found.Newest}
	if asked.beginsBefore(&found) {
		list.CompleteSince = &Moment{*found.CompleteSince}
	}
	for i := range found.Events {
		event, err := historyEventOf(&found.Events[i])
		if err != nil {
			return nil, err
		}
		list.Events = append(list.Events, historyElement{event})
	}
	boundary, err := o.addRefusals(ctx, &asked, &list, found.Next == nil)
	if err != nil {
		return nil, err
	}
	if found.Next != nil {
		list.Links = historyPages.next(ctx, values, &asked.paging, historyPosition(*found.Next, boundary))
	}
	return answer(ctx, list, now()), nil
}

// parseHistoryList parses the parameters, which the schema has validated. Their order here is the order of errors.
func parseHistoryList(values querystring.Values) (asked historyQuery, err error) {
	if err = checkOnce(values, historyParams.Once()...); err != nil {
		return asked, err
	}
	if asked.filter, err = parseEventFilter(values); err != nil {
		return asked, err
	}
	filter := &asked.filter
	for _, text := range []struct {
		name string
		into **string
	}{{nameParam, &filter.Name}, {requestParam, &filter.Request}, {userParam, &filter.UserID}} {
		if value, ok := values.First(text.name); ok {
			*text.into = &value
		}
	}
	if filter.Since, filter.SinceIndex, err = momentOf(values, sinceParam); err != nil {
		return asked, err
	}
	if filter.Until, filter.UntilIndex, err = momentOf(values, untilParam); err != nil {
		return asked, err
	}
	if asked.paging, err = historyPages.parse(values); err != nil {
		return asked, err
	}
	asked.page.Limit, asked.page.Descending = asked.paging.Limit, asked.paging.Sort == byIndexDesc
	if asked.paging.After != nil {
		from, boundary, ok := historyPlace(*asked.paging.After)
		if !ok {
			return asked, invalidMarker.Of()
		}
		asked.page.From, asked.boundary = &from, boundary
	}
	return asked, nil
}

// parseEventFilter parses the filters that lists and streams of events have.
func parseEventFilter(values querystring.Values) (filter store.HistoryFilter, err error) {
	for _, ids := range []struct {
		name string
		into *[]uuid.UUID
	}{{providerParam, &filter.Providers}, {consumerParam, &filter.Consumers}, {nodeParam, &filter.Nodes}} {
		if *ids.into, err = uuidsOf(values, ids.name, maxValues); err != nil {
			return filter, err
		}
	}
	if filter.InTree, err = uuidOf(values, inTreeParam); err != nil {
		return filter, err
	}
	if project, ok := values.First(projectParam); ok {
		filter.ProjectID = &project
	}
	filter.Topics, err = topicsOf(values)
	return filter, err
}

// topicsOf returns the topics of the table that the parameter topic names; nil: it is missing.
func topicsOf(values querystring.Values) ([]string, error) {
	named, err := listOf(values, topicParam, maxValues)
	if err != nil {
		return nil, err
	}
	var topics []string
	for _, name := range named {
		of, ok := historyTopics[name]
		if !ok {
			known := make([]string, 0, len(historyTopics))
			for topic := range historyTopics {
				known = append(known, topic)
			}
			slices.Sort(known)
			return nil, unknownTopic.Of(name, strings.Join(known, ", "))
		}
		topics = append(topics, of...)
	}
	return topics, nil
}

// momentOf returns the value of a parameter with a time or an index; nil and nil: it is missing.
func momentOf(values querystring.Values, name string) (*time.Time, *int64, error) {
	text, ok := values.First(name)
	if !ok {
		return nil, nil, nil
	}
	if index, err := strconv.ParseInt(text, 10, 64); err == nil && index >= 0 && text[0] != '+' {
		return nil, &index, nil
	}
	at, err := timeOf(values, name)
	if err != nil {
		return nil, nil, invalidMoment.Of(name, text)
	}
	return at, nil, nil
}

// beginsBefore reports whether since is before the beginning of the record.
func (a *historyQuery) beginsBefore(found *store.HistoryList) bool {
	return found.CompleteSince != nil && (a.filter.Since != nil && a.filter.Since.Before(*found.CompleteSince) ||
		a.filter.SinceIndex != nil && *a.filter.SinceIndex < found.Oldest)
}

// historyPosition returns the place of the next page as markers have it: an index, and the time at which the page has ended.
func historyPosition(next int64, boundary *time.Time) string {
	position := strconv.FormatInt(next, 10)
	if boundary != nil {
		position += "." + strconv.FormatInt(boundary.UnixMicro(), 10)
	}
	return position
}

// historyPlace is the inverse of historyPosition. It reports false for what historyPosition never returns.
func historyPlace(position string) (from int64, boundary *time.Time, ok bool) {
	index, rest, isTimed := strings.Cut(position, ".")
	from, err := strconv.ParseInt(index, 10, 64)
	if err != nil || from < 1 {
		return 0, nil, false
	}
	if isTimed {
		at, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || at < 0 || at > maxExpiry {
			return 0, nil, false
		}
		boundary = new(time.UnixMicro(at))
	}
	return from, boundary, historyPosition(from, boundary) == position
}

// addRefusals adds to a page the requests that found nothing, if it is of one request: those from the end of the page before to the end of
// this one, which it returns.
func (o *operations) addRefusals(ctx context.Context, asked *historyQuery, list *HistoryList, isLast bool) (*time.Time, error) {
	if asked.filter.Request == nil {
		return nil, nil
	}
	boundary := asked.boundary
	if len(list.Events) > 0 {
		boundary = new(list.Events[len(list.Events)-1].at())
	}
	id, ok := explainlog.ParseRequestID(*asked.filter.Request)
	if !ok || !asked.hasRefusals() || o.explanations.Keeps() == 0 || route.MayCaller(ctx, policy.ExplanationsShow) != nil {
		return boundary, nil
	}
	recorded, err := o.explanations.Show(ctx, id)
	if err != nil {
		return nil, err
	}
	for i := range recorded {
		if !asked.isOfPage(recorded[i].AskedAt, boundary, isLast) {
			continue
		}
		refusal, err := refusalOf(&recorded[i])
		if err != nil {
			return nil, err
		}
		list.Events = append(list.Events, historyElement{refusal})
	}
	slices.SortStableFunc(list.Events, func(a, b historyElement) int {
		if asked.page.Descending {
			a, b = b, a
		}
		return cmp.Compare(a.at().UnixMicro(), b.at().UnixMicro())
	})
	return boundary, nil
}

// hasRefusals reports whether a list can have requests that found nothing: these have no objects, callers and topics.
func (a *historyQuery) hasRefusals() bool {
	f := &a.filter
	return f.Request != nil && f.Providers == nil && f.InTree == nil && f.Consumers == nil && f.Nodes == nil && f.Name == nil &&
		f.UserID == nil && f.ProjectID == nil && f.Topics == nil && f.SinceIndex == nil && f.UntilIndex == nil
}

// isOfPage reports whether a time is of the page that ends at a boundary: behind the end of the page before, and of the last page to the
// end of the list.
func (a *historyQuery) isOfPage(at time.Time, boundary *time.Time, isLast bool) bool {
	if a.filter.Since != nil && at.Before(*a.filter.Since) || a.filter.Until != nil && !at.Before(*a.filter.Until) {
		return false
	}
	begins, ends := a.boundary == nil || at.After(*a.boundary), isLast || boundary != nil && !at.After(*boundary)
	if a.page.Descending {
		begins, ends = a.boundary == nil || at.Before(*a.boundary), isLast || boundary != nil && !at.Before(*boundary)
	}
	return begins && ends
}

// refusalOf returns a recorded request as lists of events have it.
func refusalOf(from *store.RecordedResult) (HistoryRefusal, error) {
	id := requestIDText(from.ID)
	refusal := HistoryRefusal{Kind: "refused", At: Moment{from.AskedAt}, By: HistoryCaller{RequestID: &id}, RequestID: id, Reason: from.Reason}
	if from.GlobalID != nil {
		refusal.By.GlobalRequestID = new(requestIDText(*from.GlobalID))
	}
	var explanation struct{ Summary string }
	err := json.Unmarshal(from.Content, &explanation)
	refusal.Summary = explanation.Summary
	return refusal, err
}

// at returns the time of an element.
func (e historyElement) at() time.Time {
	if refusal, ok := e.value.(HistoryRefusal); ok {
		return refusal.At.Time
	}
	return e.value.(HistoryEvent).At.Time
}

// exampleHistoryList is the response of the documents: a claim.
func exampleHistoryList() HistoryList {
	request, user, project, operation := exampleRequestID, exampleUser, exampleProject, "claim-create"
	return HistoryList{
		Events: []historyElement{{HistoryEvent{
			Kind: "write", Index: 41822, At: Moment{exampleMoment},
			By: HistoryCaller{RequestID: &request, UserID: &user, ProjectID: &project, Operation: &operation},
			Changes: HistoryChanges{
				Providers: map[string]HistoryProviderChange{exampleHost: {
					Before: stateOrNull[HistoryProviderPart]{&HistoryProviderPart{}}, After: stateOrNull[HistoryProviderPart]{&HistoryProviderPart{Generation: new(int64(4))}},
				}},
				Consumers: map[string]ConsumerChange{exampleInstance: {After: stateOrNull[ConsumerPart]{&ConsumerPart{
					Generation: new(int64(1)), ProjectID: &project, UserID: &user, Type: new(instanceType),
					Allocations: map[string]AllocationsPart{exampleHost: {Resources: map[string]int64{"VCPU": 2, "MEMORY_MB": 2048}}},
				}}}},
			},
		}}},
		Links: []Link{{Rel: "next", Href: "/history?marker=" + historyPages.marker(byIndexDesc, "41821")}},
		Log:   exampleHistoryLog, Oldest: 12004, Newest: 41822,
	}
}
