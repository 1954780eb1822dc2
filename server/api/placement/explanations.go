package placement

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// explanationPath is the input of a look-up.
type explanationPath struct {
	RequestID string `path:"request_id" doc:"The id of a request, or the global request id that its client sent." example:"req-6b6837d1-5af3-4138-b4ed-e0275c3efda4"`
}

// The failures of look-ups.
var (
	explanationNotFound = route.Fails(fault.NotFound, "explanation-not-found",
		"The request had another result, was not recorded, or is too old.",
		"No explanation is kept for %s. Empty answers and refused claims of the last %s can be explained, if they were recorded.",
		exampleRequestID, 24*time.Hour).WithCode(fault.CodeExplanationNotFound)
	explanationsOff = route.Fails(fault.NotFound, "explanations-off", "The server records no requests.",
		"This service keeps no explanations (explain-keep is 0).").WithCode(fault.CodeExplanationNotFound)
)

func (o *operations) explanationOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "explanation-list", Method: http.MethodGet, Path: "/explanations", Tag: tagExplanations,
		Rule: policy.ExplanationsList, ReadsQuery: true, Summary: "List queries without a result", Checks: reads,
		Description: "Returns pages of queries that found nothing, with the summaries of their explanations. " +
			"Equal queries of five minutes are one element. Servers keep them for a limited time.",
		Fails: []route.Failure{invalidQuery, queryRepeated, invalidSince, invalidMarker},
		Variants: []route.Variant{route.From(berth12, o.explanationList,
			route.QueryOf(explanationParams), route.Example(showing(exampleExplanationList)))},
	}, {
		ID: "explanation-show", Method: http.MethodGet, Path: "/explanations/{request_id}", Tag: tagExplanations,
		Rule: policy.ExplanationsShow, ReadsQuery: true, Summary: "Explain a query without a result", Checks: reads,
		Description: "Returns the recorded requests with a request id, or else those with it as their global request id: at most 100, oldest first. " +
			"A query that is not explained yet is explained now, with the state of the cloud at this time.",
		Fails:    []route.Failure{invalidQuery, explanationNotFound, explanationsOff},
		Variants: []route.Variant{route.From(berth12, o.explanationShow, route.Example(showing(exampleExplanations)))},
	}}
}

// Explanations is the response of a look-up.
type Explanations struct {
	Explanations []RecordedExplanation `json:"explanations" doc:"The requests, oldest first."`
}

// RecordedExplanation is a request without a result, and its explanation.
type RecordedExplanation struct {
	RequestID       string             `json:"request_id" doc:"The id of the request."`
	GlobalRequestID *string            `json:"global_request_id" doc:"The id that the client sent for a chain of requests; null without one."`
	AskedAt         time.Time          `json:"asked_at" doc:"Time of the response."`
	API             string             `json:"api" doc:"API of the request." example:"placement"`
	Microversion    string             `json:"microversion" doc:"Microversion of the request." example:"1.36"`
	Berth           *string            `json:"berth" doc:"Version of the extensions of the request; null without one." example:"1.2"`
	Question        string             `json:"question" doc:"The query string; of a claim its allocations as JSON." example:"resources=VCPU:8"`
	Options         ExplanationOptions `json:"options" doc:"Settings of the server that took part in the search."`
	SameQuestion    EqualQueries       `json:"same_question" doc:"Equal queries in the same five minutes, this one included."`
	Explanation     explanationContent `json:"explanation" doc:"The explanation, in the short form if it could not be computed."`
	MadeAt          *time.Time         `json:"made_at" doc:"Time at which the explanation was computed; null for the short form."`
}

// ExplanationOptions are settings of the server.
type ExplanationOptions struct {
	Max       int    `json:"max_allocation_candidates" doc:"Maximum number of candidates; -1: none."`
	Strategy  string `json:"strategy" doc:"Order of the search: depth-first or breadth-first." example:"breadth-first"`
	Randomize bool   `json:"randomize" doc:"Whether trees and candidates are shuffled."`
}

// EqualQueries counts equal queries.
type EqualQueries struct {
	Requests     int64     `json:"requests" doc:"Number of recorded requests."`
	FirstAskedAt time.Time `json:"first_asked_at" doc:"Time of the first one."`
	LastAskedAt  time.Time `json:"last_asked_at" doc:"Time of the last one."`
}

func (o *operations) explanationShow(ctx context.Context, in *explanationPath) (*cached[Explanations], error) {
	if err := checkNoQuery(ctx, nil); err != nil {
		return nil, err
	}
	keep := o.explanations.Keeps()
	if keep == 0 {
		return nil, explanationsOff.Of()
	}
	var found []store.RecordedResult
	if id, ok := explainlog.ParseRequestID(in.RequestID); ok {
		var err error
		if found, err = o.explanations.Show(ctx, id); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, explanationNotFound.Of(in.RequestID, keep)
	}
	explanations := Explanations{Explanations: make([]RecordedExplanation, 0, len(found))}
	for i := range found {
		shown, err := recordedExplanation(&found[i], maySeeFreed(ctx))
		if err != nil {
			return nil, err
		}
		explanations.Explanations = append(explanations.Explanations, shown)
	}
	return answer(ctx, explanations, now()), nil
}

func recordedExplanation(row *store.RecordedResult, showsFreed bool) (RecordedExplanation, error) {
	explanation := RecordedExplanation{
		RequestID: requestIDText(row.ID), AskedAt: row.AskedAt.UTC(), API: row.API, Microversion: row.Microversion,
		Berth: row.Extension, Question: row.Text, MadeAt: utc(row.MadeAt),
		SameQuestion: EqualQueries{row.Requests, row.FirstAskedAt.UTC(), row.LastAskedAt.UTC()},
	}
	if row.GlobalID != nil {
		global := requestIDText(*row.GlobalID)
		explanation.GlobalRequestID = &global
	}
	if err := json.Unmarshal(row.Options, &explanation.Options); err != nil {
		return explanation, err
	}
	var err error
	explanation.Explanation, err = orderedContent(row.Content, showsFreed)
	return explanation, err
}

// requestIDText returns a request id in the form of the headers.
func requestIDText(id uuid.UUID) string { return "req-" + id.String() }

// utc returns a time in UTC; nil for none.
func utc(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	converted := at.UTC()
	return &converted
}

// explanationContent is the JSON of an explanation.
type explanationContent json.RawMessage

// MarshalJSON implements json.Marshaler.
func (c explanationContent) MarshalJSON() ([]byte, error) { return json.RawMessage(c).MarshalJSON() }

// orderedContent returns an explanation with its members in the order of the documents, which the database has not kept. Without
// showsFreed, it leaves out which consumers must go, and when the query fits.
func orderedContent(content json.RawMessage, showsFreed bool) (explanationContent, error) {
	var explanation explain.Explanation
	if err := json.Unmarshal(content, &explanation); err != nil {
		return nil, err
	}
	if !showsFreed {
		explanation.FitsAt = explain.FitsAt{}
		for i := range explanation.Nearest {
			explanation.Nearest[i].FreedBy = explain.FreedBy{}
		}
	}
	ordered, err := json.Marshal(&explanation)
	return explanationContent(ordered), err
}

// record records that a query has no candidates, for the metric, the log and explanations.
func (s *candidateRequest) record(ctx context.Context) {
	if s.cause == "" {
		s.reason = cmp.Or(s.reason, s.findReason(ctx)) // that of an explanation is exact
	}
	info := request.From(ctx)
	info.EmptyReason, info.EmptyCause = string(s.reason), string(s.cause)
	s.addRecord(info, explainlog.Record{
		RequestID: info.ID, GlobalRequestID: info.GlobalID, At: time.Now(), Kind: explainlog.Candidates,
		Version: microversion.From(ctx), Values: s.values, Options: s.candidates.recorded(),
		Reason: s.reason, Content: s.explanation,
	})
}

// addRecord records a request that found nothing. Those of the console are not recorded: a page that shows what could not be
// placed would add to it.
func (o *operations) addRecord(info *request.Info, record explainlog.Record) {
	if !info.OfConsole {
		o.explanations.Add(record)
	}
}

// StoredExplainer returns the function that explains recorded queries and claims, each in at most the given time. It uses
// the connection for explanations, and takes none from requests.
func StoredExplainer(
	on *store.Store, settings CandidateOptions, limit time.Duration,
) func(context.Context, explainlog.Query) (*explain.Explanation, error) {
	explainer := explain.New(candidates.New(on.Pool()))
	return func(ctx context.Context, recorded explainlog.Query) (*explain.Explanation, error) {
		options := CandidateOptions{
			Max: recorded.Options.Max, Strategy: recorded.Options.Strategy, Randomize: recorded.Options.Randomize, Budget: settings.Budget,
		}
		var explainIn explainFunc
		var err error
		if recorded.Kind == explainlog.Claim {
			explainIn, err = storedClaim(explainer, &recorded, options)
		} else {
			explainIn, err = storedQuery(explainer, &recorded, options, limit)
		}
		if err != nil {
			return nil, err
		}
		var explanation *explain.Explanation
		err = on.InExplanationSnapshot(ctx, func(ctx context.Context, in *postgres.Snapshot) (err error) {
			explanation, err = explainIn(ctx, in)
			return err
		})
		return explanation, err
	}
}

// explainFunc explains in a snapshot.
type explainFunc func(context.Context, *postgres.Snapshot) (*explain.Explanation, error)

// storedQuery returns the function that explains a recorded candidate query.
func storedQuery(
	by *explain.Explainer, recorded *explainlog.Query, options CandidateOptions, limit time.Duration,
) (explainFunc, error) {
	values, err := querystring.Parse(recorded.Text)
	if err != nil {
		return nil, err
	}
	asked, err := candidateQuery(values, recorded.Version)
	if err != nil {
		return nil, err
	}
	options.apply(&asked)
	explained := explainedQuery(values, asked)
	explained.Reason, explained.FreesConsumers = recorded.Reason, true
	return func(ctx context.Context, in *postgres.Snapshot) (_ *explain.Explanation, err error) {
		if explained.Found, err = by.CountFound(ctx, in, asked); err != nil {
			return nil, err
		}
		return by.Explain(ctx, in, explained, limit)
	}, nil
}

// storedClaim returns the function that explains a recorded claim.
func storedClaim(by *explain.Explainer, recorded *explainlog.Query, options CandidateOptions) (explainFunc, error) {
	asked, err := parseClaim(recorded.Text, recorded.Reason)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, in *postgres.Snapshot) (*explain.Explanation, error) {
		explanation, err := by.Claim(ctx, in, asked)
		if err == nil {
			by.AddElsewhere(ctx, in, asked, explanation, options.apply)
		}
		return explanation, err
	}, nil
}
