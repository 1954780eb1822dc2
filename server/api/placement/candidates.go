package placement

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

func (o *operations) candidateOperations() []*route.Operation {
	newest := candidateShapes[len(candidateShapes)-1]
	return []*route.Operation{{
		ID: "candidate-list", Method: http.MethodGet, Path: "/allocation_candidates", Tag: tagCandidates,
		Rule: policy.CandidatesList, Further: explainsFurther, ReadsQuery: true, Summary: "List allocation candidates", Checks: readsSince,
		Description: "Returns sets of allocations that satisfy a query. Candidates are not reserved: " +
			"claiming one can fail if a concurrent claim uses its capacity. " +
			"The list is empty if no candidate satisfies the query.",
		Fails: candidateListFailures, Variants: o.candidateListVariants(),
	}, {
		ID: "candidate-search", Method: http.MethodPost, Path: "/allocation_candidates", Tag: tagCandidates,
		Rule: policy.CandidatesList, Further: explainsFurther, ReadsQuery: true, Summary: "Search allocation candidates", Checks: searches, ReadOnly: true,
		Description: "Returns the response of `GET /allocation_candidates` to the same query, without a limit on the length of a URL. " +
			"The request changes nothing.",
		Fails: candidateSearchFailures,
		Variants: []route.Variant{route.Write(berth11,
			route.Body[none]{LookFirst: checkNoQuery, Example: exampleSearch()}, o.candidateSearch,
			newest.returns, route.Example(candidateExample(newest.shape)))},
	}}
}

// candidateShapes lists the formats of responses, each with the first microversion that uses it.
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

// candidateListVariants returns a variant for each microversion that adds a parameter, changes the format of suffixes,
// or changes the response.
func (o *operations) candidateListVariants() []route.Variant {
	versions := []microversion.Version{v(25), v(33)}
	for _, row := range candidateParams {
		versions = append(versions, row.Since)
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

// candidateExample returns the response of the example's provider.
func candidateExample(shape candidateShape) func(context.Context) any {
	return func(context.Context) any {
		w := newCandidateWriter(shape, []candidates.Group{{Resources: exampleWanted}}, nil)
		for chunk := range w.chunks(exampleCandidates(shape.place)) {
			return json.RawMessage(chunk)
		}
		return nil
	}
}

// candidateResponse is a response whose body is encoded while the search runs.
type candidateResponse struct {
	LastModified string `header:"Last-Modified" doc:"The current time."`
	CacheControl string `header:"Cache-Control" doc:"Always no-cache."`
	Body         func(huma.Context)
}

func candidateList(
	o *operations, schema *querystring.Schema, shape candidateShape,
) func(context.Context, *none) (*candidateResponse, error) {
	return func(ctx context.Context, _ *none) (*candidateResponse, error) {
		values, err := query(ctx, schema)
		if err != nil {
			return nil, err
		}
		return o.answerCandidates(ctx, values, shape)
	}
}

// answerCandidates returns the candidates of a query that has passed its schema.
func (o *operations) answerCandidates(
	ctx context.Context, values querystring.Values, shape candidateShape,
) (*candidateResponse, error) {
	asked, err := candidateQuery(values, microversion.From(ctx))
	if err != nil {
		return nil, err
	}
	o.candidates.apply(&asked)
	explains, _ := values.First(explainParam)
	if err := mayExplain(ctx, explains); err != nil {
		return nil, err
	}
	searching := &candidateRequest{operations: o, values: values, asked: asked, shape: shape, explains: explains}
	stream, err := searching.start(ctx)
	if err != nil {
		return nil, o.candidateError(ctx, err)
	}
	result := &candidateResponse{Body: func(to huma.Context) {
		stream.send(to)
		if stream.isEmpty() {
			searching.record(ctx)
		}
	}}
	result.LastModified, result.CacheControl = cacheHeaders(ctx, now())
	return result, nil
}

var candidateListFaults = route.RuleFaults{
	store.TraitNotFound: func(values store.Values) *fault.Error {
		return candidateTraitUnknown.Of(values.Traits)
	},
	store.ClassNotFound: func(values store.Values) *fault.Error {
		return invalidResources.Of(values.Class)
	},
}

// CandidateOptions are the server's settings for candidate queries.
type CandidateOptions struct {
	// Max is the maximum number of candidates in a response. -1 means no limit; 0 equals 1.
	Max int
	// Strategy is "depth-first" (all candidates of one tree, then all of the next) or "breadth-first" (one candidate of
	// each tree in turn). It determines which candidates Max drops.
	Strategy string
	// Randomize shuffles trees and candidates.
	Randomize bool
	// Budget is the maximum number of combinations that one query may try; 0 means no limit.
	Budget int64
}

// apply sets the server's limits in a query, and the order unless the query has one.
func (c CandidateOptions) apply(to *candidates.Query) {
	if limit := max(c.Max, 1); c.Max >= 0 && (to.Limit == 0 || limit < to.Limit) {
		to.Limit = limit
	}
	to.Budget = c.Budget
	if to.Order.By == candidates.OrderDefault {
		to.BreadthFirst, to.Randomize = c.Strategy == "breadth-first", c.Randomize
	} else {
		to.BreadthFirst, to.Randomize = false, to.Order.By == candidates.OrderRandom
	}
}

// candidateBuffers pools the buffers of responses. Buffers that a huge candidate enlarged are left to the garbage
// collector.
var candidateBuffers = sync.Pool{New: func() any {
	buf := make([]byte, 0, candidateChunk+candidateChunk/8)
	return &buf
}}

const candidateBufferKept = 4 * candidateChunk

// candidateStream is a response whose first chunk is encoded but not sent, so that an error can still replace it.
type candidateStream struct {
	source candidateSource
	// leave, if any, gives back the place of an explanation.
	leave func()
	// turn is that of the search.
	turn   *searchpool.Turn
	writer *candidateWriter
	pooled *[]byte
	first  []byte
	next   func() ([]byte, error, bool)
	stop   func()
	// isSent reports that the whole response was written.
	isSent bool
}

// isEmpty reports that the response was written and has no candidate.
func (s *candidateStream) isEmpty() bool { return s.isSent && s.writer.count == 0 }

// startCandidates encodes the first chunk. If that fails, it closes the source.
func startCandidates(
	source candidateSource, shape candidateShape, groups []candidates.Group, explanation func(count int) []byte,
) (*candidateStream, error) {
	s := &candidateStream{source: source, pooled: candidateBuffers.Get().(*[]byte)}
	s.writer = newCandidateWriter(shape, groups, *s.pooled)
	s.writer.explanation = explanation
	s.next, s.stop = iter.Pull2(s.writer.chunks(source))
	started := false
	defer func() {
		if !started {
			s.close()
		}
	}()
	var err error
	s.first, err, _ = s.next()
	started = err == nil
	return s, err
}

// send writes the response. If an error occurs before the first byte is sent, the error becomes the response.
func (s *candidateStream) send(to huma.Context) {
	defer s.close()
	to.SetHeader("Content-Type", "application/json")
	if s.writer.isComplete {
		to.SetHeader("Content-Length", strconv.Itoa(len(s.first)))
	}
	w := to.BodyWriter()
	chunk, err, more := s.first, error(nil), true
	for more {
		if err == nil {
			err = to.Context().Err()
		}
		if err == nil {
			_, err = w.Write(chunk)
		}
		if err != nil {
			route.Fail(to, candidateListFaults.Translate(err))
			return
		}
		chunk, err, more = s.next()
	}
	request.From(to.Context()).Candidates = s.writer.count
	s.isSent = true
}

// close releases the database connection, ends the turn and returns the buffer to the pool.
func (s *candidateStream) close() {
	s.stop()
	_ = s.source.close() // the response is complete, or an earlier error takes precedence
	if s.leave != nil {
		s.leave()
	}
	s.turn.Leave()
	if buf := s.writer.buf; cap(buf) <= candidateBufferKept {
		*s.pooled = buf[:0]
		candidateBuffers.Put(s.pooled)
	}
}
