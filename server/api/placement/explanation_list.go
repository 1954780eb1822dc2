package placement

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
)

// ExplanationList is a page of explained queries.
type ExplanationList struct {
	Explanations []ListedExplanation `json:"explanations" doc:"The queries of the page."`
	Links        []Link              `json:"explanations_links,omitempty" nullable:"false" doc:"The link to the next page; missing on the last page."`
}

// ListedExplanation is a query without a result, as one or several requests have sent it.
type ListedExplanation struct {
	ID           int64     `json:"id" doc:"Number of the element."`
	Kind         string    `json:"kind" doc:"Kind of the explanation: candidates or claim." example:"candidates"`
	API          string    `json:"api" doc:"API of the requests." example:"placement"`
	Microversion string    `json:"microversion" doc:"Microversion of the requests." example:"1.36"`
	Reason       string    `json:"reason" doc:"The first condition that leaves nothing." example:"no_tree"`
	Summary      *string   `json:"summary" doc:"Summary of the explanation; null until it is computed."`
	Question     string    `json:"question" doc:"The query string; of a claim its allocations as JSON." example:"resources=VCPU:8"`
	Requests     int64     `json:"requests" doc:"Number of recorded requests."`
	FirstAskedAt time.Time `json:"first_asked_at" doc:"Time of the first one."`
	LastAskedAt  time.Time `json:"last_asked_at" doc:"Time of the last one."`
	RequestIDs   []string  `json:"request_ids" doc:"Ids of the newest three requests."`
}

// Parameters of the list, and their values.
const (
	kindParam   = "kind"
	reasonParam = "reason"
	sinceParam  = "since"
	sortParam   = "sort"
	markerParam = "marker"

	sortByTime     = "-last_asked_at"
	sortByRequests = "-requests"

	defaultPage = 100
	maxMarker   = 200
)

var (
	explanationKinds   = []string{explainlog.Candidates, explainlog.Claim}
	explanationReasons = func() (names []string) {
		for _, reason := range slices.Concat(explainlog.Reasons, explainlog.ClaimReasons) {
			names = append(names, string(reason))
		}
		return names
	}()
	explanationSorts  = []string{sortByTime, sortByRequests}
	explanationParams = func() route.Params {
		longest, low, high := maxMarker, 1.0, 1000.0
		return route.Params{
			{Name: kindParam, Check: querystring.Param{Enum: explanationKinds}, Doc: "Only explanations of this kind.", Example: explainlog.Candidates},
			{Name: reasonParam, Check: querystring.Param{Enum: explanationReasons}, Doc: "Only explanations with this reason.", Example: "no_tree"},
			{Name: sinceParam, Example: "2h",
				Doc: "Only queries whose last request is at or after this time (RFC 3339), or at most this duration ago. Default: all."},
			{Name: sortParam, Check: querystring.Param{Enum: explanationSorts}, Example: sortByRequests,
				Doc: "Order: `-last_asked_at`, newest first, or `-requests`, most frequent first. Default: `-last_asked_at`."},
			{Name: limitParam, Check: querystring.Param{Pattern: "^([1-9][0-9]{0,2}|1000)$"}, Example: 10,
				Doc: "Maximum number of elements of a page. Default: 100.", Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high}},
			{Name: markerParam, Check: querystring.Param{MaxLength: maxMarker}, Example: "eDE6dDoxNzY0NTQ0OTIwMDAwMDAwOjQ3MTE",
				Doc: "Position after the page before, from its link. Do not construct it.", Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &longest}},
		}
	}()
	explanationSchema = explanationParams.Schema(berth12)
)

var (
	queryRepeated = route.Fails(fault.Invalid, "parameter-repeated", "A query parameter is repeated.",
		"Query parameter '%s' may be specified only once.", limitParam).WithCode(fault.CodeExtensionDuplicateKey)
	invalidSince = route.Fails(fault.Invalid, "invalid-since", "`since` is neither a time nor a duration.",
		"Invalid query string parameters: '%s' is not a 'date-time' with a zone, and not a duration such as 2h.", "yesterday")
	invalidMarker = route.Fails(fault.Invalid, "invalid-marker", "`marker` is not from a link of this list with this order.",
		"The marker does not belong to this list. Begin again without it.").WithCode(fault.CodePageBadMarker)
)

func (o *operations) explanationList(ctx context.Context, _ *none) (*cached[ExplanationList], error) {
	values, err := query(ctx, explanationSchema)
	if err != nil {
		return nil, err
	}
	filter, err := explanationFilter(values, time.Now())
	if err != nil {
		return nil, err
	}
	size := filter.Max
	filter.Max++ // one more shows whether there is a next page
	found, err := o.store.ExplanationList(ctx, filter)
	if err != nil {
		return nil, err
	}
	list := ExplanationList{Explanations: make([]ListedExplanation, 0, min(size, len(found)))}
	for i := range found[:min(size, len(found))] {
		list.Explanations = append(list.Explanations, listedExplanation(&found[i]))
	}
	if len(found) > size {
		next := querystring.Of(slices.Concat(values.Without(markerParam).Pairs(),
			[]querystring.Pair{{Name: markerParam, Value: markerOf(&found[size-1], filter.ByRequests)}})...)
		list.Links = []Link{{Rel: "next", Href: href(ctx, "/explanations?"+next.Encode())}}
	}
	return answer(ctx, list, now()), nil
}

func listedExplanation(row *store.ListedExplanation) ListedExplanation {
	explanation := ListedExplanation{
		ID: row.ID, Kind: row.Kind, API: row.API, Microversion: row.Microversion, Reason: row.Reason, Question: row.Text,
		Requests: row.Requests, FirstAskedAt: row.FirstAskedAt.UTC(), LastAskedAt: row.LastAskedAt.UTC(), RequestIDs: []string{},
	}
	if row.Summary != "" {
		explanation.Summary = &row.Summary
	}
	for _, id := range row.RequestIDs {
		explanation.RequestIDs = append(explanation.RequestIDs, requestIDText(id))
	}
	return explanation
}

// explanationFilter parses the parameters. Their order here is the order of errors.
func explanationFilter(values querystring.Values, now time.Time) (filter store.ExplanationFilter, err error) {
	for _, pair := range values.Pairs() {
		switch {
		case len(values.All(pair.Name)) > 1:
			return filter, queryRepeated.Of(pair.Name)
		case pair.Name == kindParam:
			filter.Kind = &pair.Value
		case pair.Name == reasonParam:
			filter.Reason = &pair.Value
		}
	}
	if text, ok := values.First(sinceParam); ok {
		since, ok := parseSince(text, now)
		if !ok {
			return filter, invalidSince.Of(text)
		}
		filter.Since = &since
	}
	filter.Max = defaultPage
	if text, ok := values.First(limitParam); ok {
		filter.Max, _ = strconv.Atoi(text) // the schema has validated it
	}
	sort, _ := values.First(sortParam)
	filter.ByRequests = sort == sortByRequests
	if text, ok := values.First(markerParam); ok {
		if filter.After, ok = parseMarker(text, filter.ByRequests); !ok {
			return filter, invalidMarker.Of()
		}
	}
	return filter, nil
}

// parseSince parses a time, or a duration before now.
func parseSince(text string, now time.Time) (time.Time, bool) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), true
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// The beginnings of markers: the list with the version of its format, and the order.
const (
	markerByTime     = "x1:t:"
	markerByRequests = "x1:r:"
)

// markerOf returns the marker of the page after an element.
func markerOf(last *store.ListedExplanation, byRequests bool) string {
	text := fmt.Sprintf("%s%d:%d", markerByTime, last.LastAskedAt.UnixMicro(), last.ID)
	if byRequests {
		text = fmt.Sprintf("%s%d:%d", markerByRequests, last.Requests, last.ID)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// parseMarker is the inverse of markerOf. It reports false for a marker of another list or order.
func parseMarker(text string, byRequests bool) (*store.ExplanationPosition, bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil, false
	}
	begin := markerByTime
	if byRequests {
		begin = markerByRequests
	}
	rest, ok := strings.CutPrefix(string(decoded), begin)
	value, id, both := strings.Cut(rest, ":")
	place, err := strconv.ParseInt(value, 10, 64)
	if err != nil || !ok || !both {
		return nil, false
	}
	position := &store.ExplanationPosition{Requests: place, Time: time.UnixMicro(place)}
	position.ID, err = strconv.ParseInt(id, 10, 64)
	return position, err == nil && position.Time.Year() > 0 && position.Time.Year() < 10_000
}
