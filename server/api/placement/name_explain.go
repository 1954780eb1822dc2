package placement

import (
	"context"
	"strings"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/search/explainlog"
	"github.com/berthd/berth/server/wire/fault"
)

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
