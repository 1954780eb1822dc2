package bruteforce

import (
	"cmp"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/search/explain"
)

// maxNearest is the number of nearest trees in an explanation.
const maxNearest = 5

// shortfall is what an anchor without candidates lacks.
type shortfall struct {
	anchor   *Provider
	distance float64
	missing  []shortage
}

// shortage is a failed condition with its part; the part is nil for a condition of the root.
type shortage struct {
	explain.Missing
	part *explainedPart
}

// allShortfalls returns those of all anchors that in_tree leaves and that have no candidate, the nearest first.
func (e *explainer) allShortfalls() []*shortfall {
	var found []*shortfall
	for _, anchor := range e.looked {
		if e.firstFailed(anchor) == nil {
			continue
		}
		made := &shortfall{anchor: anchor}
		for _, stage := range e.stages {
			if stage.kind == rootStage && !stage.passes(anchor) {
				made.distance++
				made.missing = append(made.missing, shortage{Missing: explain.Missing{Step: stage.Stage.Stage, Value: stage.Value}})
			}
		}
		for _, part := range e.parts {
			distance, missing := e.shortfallOf(part, anchor)
			made.distance += distance
			made.missing = append(made.missing, missing...)
		}
		made.distance = math.Round(made.distance*1e9) / 1e9 // so that the order of additions does not matter
		found = append(found, made)
	}
	slices.SortFunc(found, func(a, b *shortfall) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.anchor.Number, b.anchor.Number))
	})
	return found
}

// firstFailed returns the first stage that an anchor does not pass, or nil.
func (e *explainer) firstFailed(anchor *Provider) *funnelStage {
	for _, stage := range e.stages {
		if !stage.passes(anchor) {
			return stage
		}
	}
	return nil
}

// shortfallOf returns the distance of an anchor for a part, and what the nearest provider lacks.
func (e *explainer) shortfallOf(part *explainedPart, anchor *Provider) (float64, []shortage) {
	var nearest *Provider
	var least float64
	var missing []shortage
	byNumber := slices.SortedFunc(slices.Values(e.Providers), func(a, b *Provider) int { return cmp.Compare(a.Number, b.Number) })
	for _, provider := range byNumber {
		hasClass := func(class string) bool { return provider.Inventories[class].StepSize > 0 }
		if !e.reaches(anchor, provider) || part.classes != nil && !slices.ContainsFunc(part.classes, hasClass) {
			continue
		}
		if distance, lacks := e.lacks(part, anchor, provider); nearest == nil || distance < least-1e-9 {
			nearest, least, missing = provider, distance, lacks
		}
	}
	if nearest != nil {
		return least, missing
	}
	for _, class := range part.classes {
		missing = append(missing, shortage{explain.Missing{Groups: part.suffixes(), Step: stepInventory, Class: class}, part})
	}
	return 2 * float64(len(part.classes)), missing
}

// lacks returns the distance of a provider that serves a part at an anchor, and what it lacks.
func (e *explainer) lacks(part *explainedPart, anchor, provider *Provider) (float64, []shortage) {
	distance, missing := 0.0, []shortage(nil)
	add := func(costs float64, made explain.Missing) {
		made.Groups, made.Provider = part.suffixes(), shownProvider(provider)
		distance += costs
		missing = append(missing, shortage{made, part})
	}
	counted := map[string]bool{}
	for _, step := range part.steps {
		made := explain.Missing{Step: step.kind, Class: step.class, Value: step.value}
		switch {
		case step.isMet(anchor, provider) || counted[step.class]:
		case step.class == "":
			add(1, made)
		case step.kind == stepInventory:
			counted[step.class] = true
			add(2, made)
		default:
			counted[step.class] = true
			gives := provider.gives(step.class, part.amount(step.class))
			add(shareOf(step.kind, gives, part.amount(step.class)), withAmounts(made, part.amount(step.class), gives))
		}
	}
	if missing == nil && part.canSplit {
		class := part.classes[0]
		if sum := e.splitSum(part, anchor); sum < part.amount(class) {
			made := explain.Missing{Step: stepSplit, Class: class}
			add(shareOf(stepSplit, sum, part.amount(class)), withAmounts(made, part.amount(class), sum))
		}
	}
	return distance, missing
}

// shareOf returns what a failed step of an inventory adds to the distance.
func shareOf(step string, gives, amount int64) float64 {
	share := float64(amount-gives) / float64(amount)
	if step == stepUsed || step == stepSplit {
		return share
	}
	return 1 + share
}

func withAmounts(made explain.Missing, amount, gives int64) explain.Missing {
	made.Amount, made.Gives = amount, &gives
	return made
}

func shownProvider(provider *Provider) *explain.Provider {
	return &explain.Provider{UUID: uuid.MustParse(provider.UUID), Name: provider.Name}
}

func (e *explainer) nearest() []explain.Tree {
	shown := []explain.Tree{}
	for _, each := range e.shortfalls[:min(len(e.shortfalls), maxNearest)] {
		made := explain.Tree{Tree: *shownProvider(each.anchor), Distance: math.Round(each.distance*1000) / 1000, Missing: []explain.Missing{}}
		for _, thing := range each.missing {
			made.Missing = append(made.Missing, thing.Missing)
		}
		if len(each.missing) == 0 {
			made.Stage = e.firstFailed(each.anchor).Stage.Stage
		}
		shown = append(shown, made)
	}
	return shown
}
