package placement

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/fault"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/route"
	"github.com/berthd/berth/server/store"
)

func (o *operations) candidateOperations() []*route.Operation {
	return []*route.Operation{{
		ID: "candidate-list", Method: http.MethodGet, Path: "/allocation_candidates", Tag: tagCandidates,
		Rule: policy.CandidatesList, Summary: "List allocation candidates", Checks: readsSince,
		Description: "Which providers together could serve a request, and what to take from each. A candidate is only an offer: " +
			"whoever wants it writes it as allocations, which may fail if others were faster. " +
			"Nothing that fits is an empty list. Large answers arrive as they are found.",
		Fails: candidateListFailures, Variants: o.candidateListVariants(),
	}}
}

// candidateShapes are the answers, each from a microversion on.
var candidateShapes = []struct {
	since   microversion.Version
	shape   candidateShape
	returns route.Doc
}{
	{v(10), candidateShape{listed: true}, route.Returns[CandidatesV10]()},
	{v(12), candidateShape{}, route.Returns[CandidatesV12]()},
	{v(17), candidateShape{traits: true}, route.Returns[CandidatesV17]()},
	{v(27), candidateShape{traits: true, allClasses: true}, route.Returns[CandidatesV17]()},
	{v(29), candidateShape{traits: true, allClasses: true, place: true}, route.Returns[CandidatesV29]()},
	{v(34), candidateShape{traits: true, allClasses: true, place: true, mappings: true}, route.Returns[CandidatesV34]()},
}

// candidateListVariants has one for each version that brings a parameter, changes
// what a suffix is, or changes the answer.
func (o *operations) candidateListVariants() []route.Variant {
	versions := []microversion.Version{v(25), v(33)}
	for _, row := range candidateParams {
		versions = append(versions, row.since)
	}
	for _, row := range candidateShapes {
		versions = append(versions, row.since)
	}
	slices.Sort(versions)
	var variants []route.Variant
	for _, since := range slices.Compact(versions) {
		row := candidateShapes[0]
		for _, later := range candidateShapes {
			if later.since <= since {
				row = later
			}
		}
		variants = append(variants, route.From(since, candidateList(o, candidateListSchema(since), row.shape),
			route.Query(candidateListDocs), row.returns, route.Example(candidateExample(row.shape))))
	}
	return variants
}

// candidateExample is what the writer makes of the example's cloud.
func candidateExample(shape candidateShape) func(context.Context) any {
	return func(context.Context) any {
		w := newCandidateWriter(shape, []store.CandidateGroup{{Resources: exampleWanted}}, nil)
		for chunk := range w.chunks(exampleCandidates(shape.place)) {
			return json.RawMessage(chunk)
		}
		return nil
	}
}

// candidateAnswer is an answer whose body is written as it is found.
type candidateAnswer struct {
	LastModified string `header:"Last-Modified" doc:"Now: candidates are as fresh as the answer."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         func(huma.Context)
}

func candidateList(
	o *operations, schema *querystring.Schema, shape candidateShape,
) func(context.Context, *none) (*candidateAnswer, error) {
	return func(ctx context.Context, _ *none) (*candidateAnswer, error) {
		values, err := query(ctx, schema)
		if err != nil {
			return nil, err
		}
		asked, err := candidateQuery(values, microversion.From(ctx))
		if err != nil {
			return nil, err
		}
		o.candidates.apply(&asked)
		found, err := o.store.CandidateList(ctx, asked)
		if err != nil {
			return nil, candidateListWords.say(err)
		}
		stream, err := startCandidates(candidateSource{found.All(), found.Summaries(), found.Close}, shape, asked.Groups)
		if err != nil {
			return nil, candidateListWords.say(err)
		}
		made := &candidateAnswer{Body: stream.send}
		made.LastModified, made.CacheControl = cacheHeaders(ctx, now())
		return made, nil
	}
}

var candidateListWords = words{
	store.TraitUnknown: func(values store.Values) *fault.Error {
		return fault.New(fault.Invalid, "No such trait(s): %s.", values.Traits)
	},
	store.ClassUnknown: func(values store.Values) *fault.Error {
		return fault.New(fault.Invalid, "Invalid resource class in resources parameter: No such resource class %s.", values.Class)
	},
}

// CandidateOptions are how the server answers every question for candidates.
type CandidateOptions struct {
	// Max ends an answer after so many candidates. -1: never; 0 acts like 1.
	Max int
	// Strategy is "depth-first", all of one tree and then all of the next, or
	// "breadth-first", one of each tree in turn. It decides what Max leaves.
	Strategy string
	// Randomize shuffles trees and candidates.
	Randomize bool
	// Budget is how many combinations one question may try; 0: any number.
	Budget int64
}

// apply puts the server's part into a question.
func (c CandidateOptions) apply(to *store.CandidateQuery) {
	if limit := max(c.Max, 1); c.Max >= 0 && (to.Limit == 0 || limit < to.Limit) {
		to.Limit = limit
	}
	to.BreadthFirst = c.Strategy == "breadth-first"
	to.Randomize = c.Randomize
	to.Budget = c.Budget
}
