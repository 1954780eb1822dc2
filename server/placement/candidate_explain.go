package placement

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/berthd/berth/server/candidates"
	"github.com/berthd/berth/server/explain"
	"github.com/berthd/berth/server/explainlog"
	"github.com/berthd/berth/server/microversion"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/querystring"
	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/route"
)

// explainExtension is the version of Berth's extensions that adds explanations.
var explainExtension = microversion.Berth(2)

// explainParam selects explanations: of empty responses, or of all.
const (
	explainParam  = "explain"
	explainEmpty  = "empty"
	explainAlways = "always"
)

// candidateSearching is a query while it is answered.
type candidateSearching struct {
	*operations
	values querystring.Values
	asked  candidates.Query
	shape  candidateShape
	// explains is the value of explain, empty without one.
	explains string
	// found is the result at hand.
	found *candidates.Result
	// explanation is the JSON of the response's explanation of an empty result, nil if it has none; reason is its reason.
	explanation json.RawMessage
	reason      explain.Reason
}

// mayExplain returns an error if the policy denies the value of explain.
func mayExplain(ctx context.Context, explains string) error {
	if explains == "" {
		return nil
	}
	return route.MayCaller(ctx, policy.ExplanationsMake)
}

// start searches, and encodes the first part of the response.
func (s *candidateSearching) start(ctx context.Context) (*candidateStream, error) {
	switch s.explains {
	case "":
		return s.list(ctx, nil)
	case explainAlways:
		return s.startExplained(ctx)
	}
	stream, err := s.list(ctx, func(int) []byte { return []byte("null") })
	if err != nil || !stream.writer.isComplete || stream.writer.count > 0 {
		return stream, err
	}
	stream.close()
	s.reason = s.emptyReason(ctx, s.found)
	leaveSearch(ctx)
	return s.startExplained(ctx)
}

// leaveSearch gives back the place of the request: an explanation is no part of the search, which the limits bound.
func leaveSearch(ctx context.Context) {
	if leave := request.From(ctx).Leave; leave != nil {
		leave()
	}
}

// list searches as without an explanation.
func (s *candidateSearching) list(ctx context.Context, explanation func(count int) []byte) (*candidateStream, error) {
	found, err := s.search.List(ctx, s.asked)
	if err != nil {
		return nil, err
	}
	return s.encode(found, explanation)
}

// encode encodes the first part of a result. explanation returns the JSON of the explanation; nil: there is none.
func (s *candidateSearching) encode(found *candidates.Result, explanation func(count int) []byte) (*candidateStream, error) {
	s.found = found
	return startCandidates(candidateSource{found.All(), found.Summaries(), found.Close}, s.shape, s.asked.Groups, explanation)
}

// startExplained searches in a snapshot and explains the result in it, if there is a place for the computation. Otherwise
// the explanation has the short form.
func (s *candidateSearching) startExplained(ctx context.Context) (*candidateStream, error) {
	leave, entered := s.explanations.Maker().Enter(ctx, explainlog.OnRequest)
	switch {
	case !entered && s.explains == explainEmpty:
		return s.startEmpty()
	case !entered:
		return s.list(ctx, func(count int) []byte { return s.short(ctx, count) })
	}
	leave = sync.OnceFunc(leave)
	stream, err := s.startInSnapshot(ctx, leave)
	if err == nil {
		stream.leave = leave
		return stream, nil
	}
	leave()
	if s.explains == explainEmpty && ctx.Err() == nil {
		logUnexplained(ctx, err)
		return s.startEmpty()
	}
	return nil, err
}

// startInSnapshot searches in a snapshot, and explains the result. It calls leave after the explanation.
func (s *candidateSearching) startInSnapshot(ctx context.Context, leave func()) (*candidateStream, error) {
	found, err := s.search.ListInSnapshot(ctx, s.asked)
	if err != nil {
		return nil, err
	}
	return s.encode(found, func(count int) []byte {
		defer leave()
		if count > 0 && s.explains == explainEmpty {
			return []byte("null")
		}
		leaveSearch(ctx)
		return s.keep(s.explain(ctx, found, count), count)
	})
}

// startEmpty encodes the empty result of a search that has ended, with the short form of its explanation.
func (s *candidateSearching) startEmpty() (*candidateStream, error) {
	empty := candidateSource{
		func(func(*candidates.Candidate, error) bool) {}, func(func(*candidates.ProviderSummary, error) bool) {},
		func() error { return nil },
	}
	return startCandidates(empty, s.shape, s.asked.Groups, func(int) []byte {
		return s.keep(explain.Short(explainlog.Candidates, s.reason), 0)
	})
}

// short returns the short form of the explanation of a complete result.
func (s *candidateSearching) short(ctx context.Context, count int) []byte {
	if count > 0 {
		return s.keep(explain.Short(explainlog.Candidates, explain.Fits), count)
	}
	_ = s.found.Close() // it is complete
	return s.keep(explain.Short(explainlog.Candidates, s.emptyReason(ctx, s.found)), count)
}

// explain explains a result in its snapshot.
func (s *candidateSearching) explain(ctx context.Context, found *candidates.Result, count int) *explain.Explanation {
	begun := time.Now()
	question := explainedQuestion(s.values, s.asked)
	question.Found, question.Reason = count, s.reason
	made, err := s.explainer.Explain(ctx, found.Snapshot(), question, s.explanations.Timeout)
	if err != nil {
		logUnexplained(ctx, err)
	}
	s.explanations.Maker().Count(explainlog.OnRequest, time.Since(begun))
	return made
}

// keep encodes an explanation, and keeps that of an empty result to record it.
func (s *candidateSearching) keep(made *explain.Explanation, count int) []byte {
	encoded, _ := json.Marshal(made) // it has strings and finite numbers only
	if count == 0 {
		if s.reason = made.Reason; !made.Incomplete {
			s.explanation = encoded
		}
	}
	return encoded
}

// emptyReason returns why a search found nothing: the label of the metric, and what is recorded and logged.
func (o *operations) emptyReason(ctx context.Context, found *candidates.Result) explain.Reason {
	return explain.Reason(o.search.EmptyReason(ctx, found))
}

// explainedQuestion returns the question of a query string.
func explainedQuestion(values querystring.Values, asked candidates.Query) *explain.Question {
	policy, _ := values.First(groupPolicyParam)
	return &explain.Question{
		Query: asked, HasPolicy: policy != "",
		Isolate: suffixLists(values.All(isolateParam)), SameSubtree: suffixLists(values.All(sameSubtreeParam)),
	}
}

// suffixLists returns lists of suffixes without blanks, and in each of them those with "!" last.
func suffixLists(values []string) []string {
	lists := make([]string, len(values))
	for i, value := range values {
		var inside, outside []string
		for suffix := range strings.SplitSeq(value, ",") {
			if rest, negated := strings.CutPrefix(strings.TrimSpace(suffix), "!"); negated {
				outside = append(outside, "!"+strings.TrimSpace(rest))
			} else {
				inside = append(inside, rest)
			}
		}
		lists[i] = strings.Join(append(inside, outside...), ",")
	}
	return lists
}
