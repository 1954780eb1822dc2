package placement

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/search/candidates"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/search/searchpool"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
)

// berth12 is the version of Berth's extensions that adds explanations.
var berth12 = microversion.Berth(2)

// explainParam selects explanations: of empty responses, or of all.
const (
	explainParam  = "explain"
	explainEmpty  = "empty"
	explainAlways = "always"
)

// candidateRequest is a query while it is answered.
type candidateRequest struct {
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
	// cause is the label of the metric; empty until it is found.
	cause candidates.EmptyCause
}

// mayExplain returns an error if the policy denies the value of explain.
func mayExplain(ctx context.Context, explains string) error {
	if explains == "" {
		return nil
	}
	return route.MayCaller(ctx, policy.ExplanationsMake)
}

// start searches in a turn, and encodes the first part of the response. The turn ends when the stream is closed. An
// explanation has the same turn.
func (s *candidateRequest) start(ctx context.Context) (*candidateStream, error) {
	return candidates.InTurn(ctx, s.search, &s.asked, func(ctx context.Context, turn *searchpool.Turn) (*candidateStream, error) {
		stream, err := s.startInTurn(ctx)
		if err == nil {
			stream.turn = turn
			turn.Keep()
		}
		return stream, err
	})
}

func (s *candidateRequest) startInTurn(ctx context.Context) (*candidateStream, error) {
	if s.explains == "" {
		return s.list(ctx, nil)
	}
	short, err := s.list(ctx, func(count int) []byte { return s.shortForm(ctx, count) })
	switch {
	case err != nil:
		return nil, err
	case short.writer.isComplete && (short.writer.count == 0 || s.explains == explainAlways):
		return s.startAgain(ctx, short), nil
	case s.explains == explainAlways:
		return s.startLong(ctx, short)
	}
	return short, nil
}

// shortForm returns the explanation of a result for which there is no place, or which cannot be explained.
func (s *candidateRequest) shortForm(ctx context.Context, count int) []byte {
	reason := explain.Fits
	switch {
	case count == 0:
		_ = s.found.Close() // it is complete
		reason = s.findReason(ctx)
	case s.explains == explainEmpty:
		return []byte("null")
	}
	return s.keep(explain.Short(explainlog.Candidates, reason), count)
}

// startAgain searches again in a snapshot, and explains the result in it. It returns the complete response with the short
// form if there is no place for the computation, or if the second search fails. Neither the wait for a place nor the
// second search uses the slot of the request.
func (s *candidateRequest) startAgain(ctx context.Context, short *candidateStream) *candidateStream {
	_ = s.found.Close() // it is complete
	leaveSlot(ctx)
	leave, entered := s.explanations.Maker().Enter(ctx, explainlog.OnRequest)
	if !entered {
		return short
	}
	explained, err := s.startExplained(ctx, leave)
	if err != nil {
		logUnexplained(ctx, err)
		return short
	}
	short.close()
	return explained
}

// startLong is startAgain for a response of several parts. It waits for no place, because the response may hold a
// connection.
func (s *candidateRequest) startLong(ctx context.Context, short *candidateStream) (*candidateStream, error) {
	leave, entered := s.explanations.Maker().TryEnter()
	if !entered {
		return short, nil
	}
	short.close()
	return s.startExplained(ctx, leave)
}

// leaveSlot gives back the slot of a request: an explanation is no part of the search, which the limits bound.
func leaveSlot(ctx context.Context) {
	if leave := request.From(ctx).Leave; leave != nil {
		leave()
	}
}

// list searches as without an explanation.
func (s *candidateRequest) list(ctx context.Context, explanation func(count int) []byte) (*candidateStream, error) {
	found, err := s.search.List(ctx, s.asked)
	if err != nil {
		return nil, err
	}
	return s.encode(found, explanation)
}

// encode encodes the first part of a result. explanation returns the JSON of the explanation; nil: there is none.
func (s *candidateRequest) encode(found *candidates.Result, explanation func(count int) []byte) (*candidateStream, error) {
	s.found = found
	return startCandidates(candidateSource{found.All(), found.Summaries(), found.Close}, s.shape, s.asked.Groups, explanation)
}

// startExplained searches in a snapshot and explains the result in it, in a place for the computation.
func (s *candidateRequest) startExplained(ctx context.Context, leave func()) (*candidateStream, error) {
	searchpool.From(ctx).Pin() // the first search was short, or its turn is long
	leave = sync.OnceFunc(leave)
	started := false
	defer func() {
		if !started {
			leave() // also after a panic
		}
	}()
	found, err := s.search.ListInSnapshot(ctx, s.asked)
	if err != nil {
		return nil, err
	}
	stream, err := s.encode(found, func(count int) []byte {
		defer leave()
		if count > 0 && s.explains == explainEmpty {
			return []byte("null")
		}
		leaveSlot(ctx)
		return s.keep(s.explain(ctx, found, count), count)
	})
	if err != nil {
		return nil, err
	}
	stream.leave, started = leave, true
	return stream, nil
}

// explain explains a result in its snapshot. After a panic the explanation has the short form.
func (s *candidateRequest) explain(ctx context.Context, found *candidates.Result, count int) *explain.Explanation {
	begun := time.Now()
	explained := explainedQuery(s.values, s.asked)
	explained.Found, explained.Reason, explained.FreesConsumers = count, s.reason, maySeeFreed(ctx)
	var explanation *explain.Explanation
	err := explainlog.Guard(func() (err error) {
		explanation, err = s.explainer.Explain(ctx, found.Snapshot(), explained, s.explanations.Timeout)
		return err
	})
	if err != nil {
		logUnexplained(ctx, err)
	}
	s.explanations.Maker().Count(explainlog.OnRequest, time.Since(begun))
	if explanation != nil {
		return explanation
	}
	reason := cmp.Or(s.reason, explain.NoTree)
	if count > 0 {
		reason = explain.Fits
	}
	return explain.Short(explainlog.Candidates, reason)
}

// maySeeFreed reports whether an explanation for a request says which consumers must go.
func maySeeFreed(ctx context.Context) bool {
	return microversion.From(ctx).NamesFreedConsumers() && route.MayCaller(ctx, policy.ProviderAllocationsList) == nil
}

// keep encodes an explanation, and keeps that of an empty result to record it.
func (s *candidateRequest) keep(explanation *explain.Explanation, count int) []byte {
	encoded, _ := json.Marshal(explanation) // it has strings and finite numbers only
	if count == 0 {
		if s.reason = explanation.Reason; !explanation.Incomplete {
			s.explanation = encoded
		}
	}
	return encoded
}

// findReason returns why the search found nothing, which is recorded and logged, and sets the cause.
func (s *candidateRequest) findReason(ctx context.Context) explain.Reason {
	found := s.search.EmptyReason(ctx, s.found)
	s.cause = found.Cause
	return explain.Reason(found.Reason)
}

// explainedQuestion returns the query of a query string.
func explainedQuery(values querystring.Values, asked candidates.Query) *explain.ExplainedQuery {
	policy, _ := values.First(groupPolicyParam)
	return &explain.ExplainedQuery{
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

// candidateError returns the error of a candidate query. If the query names a class or traits that do not exist, clients of
// the extension get similar names.
func (o *operations) candidateError(ctx context.Context, err error) error {
	translated := candidateListFaults.Translate(err)
	violation, found := store.AsRuleViolation(err), fault.As(translated)
	if violation == nil || found == nil || !explainsErrors(ctx) {
		return translated
	}
	if explanation := o.explainNames(ctx, violation); explanation != nil {
		return found.WithExplanation(explanation)
	}
	return translated
}

// explainNames returns the explanation of names that do not exist; nil for another violation. Without a place for the
// computation, or after an error, it has no similar names.
func (o *operations) explainNames(ctx context.Context, violation *store.RuleViolation) *explain.Names {
	result := &explain.Names{Kind: explain.KindNames}
	var list func(context.Context) ([]store.Named, error)
	switch violation.Rule {
	case store.ClassNotFound:
		result.Conflicts = []explain.Conflict{{Conflict: explain.ClassUnknown, Name: violation.Values.Class}}
		list = o.store.ResourceClassList
	case store.TraitNotFound:
		for name := range strings.SplitSeq(violation.Values.Traits, ", ") {
			result.Conflicts = append(result.Conflicts, explain.Conflict{Conflict: explain.TraitUnknown, Name: name})
		}
		list = func(ctx context.Context) ([]store.Named, error) { return o.store.TraitList(ctx, store.TraitFilter{}) }
	default:
		return nil
	}
	leaveSlot(ctx)
	_, err := o.explanations.Maker().Make(ctx, explainlog.OnRequest, func(ctx context.Context) (*explain.Explanation, error) {
		ctx, cancel := context.WithTimeout(ctx, o.explanations.Timeout)
		defer cancel()
		known, err := list(ctx)
		if err != nil {
			return nil, err
		}
		names := make([]string, len(known))
		for i := range known {
			names[i] = known[i].Name
		}
		return &explain.Explanation{}, explain.AddSimilar(ctx, result.Conflicts, names) // the result is made
	})
	if err != nil {
		logUnexplained(ctx, err)
		result.Incomplete = true
	}
	return result
}
