package bruteforce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/server/search/explain"
)

// summary returns the sentences for people (docs/contract/berth/explain.md#summary).
func (e *explainer) summary(of *explain.Explanation) string {
	sentences := []string{e.firstSentence(of)}
	if of.Reason != explain.Fits && len(e.shortfalls) > 0 && len(e.shortfalls[0].missing) > 0 {
		var lacks []string
		for _, thing := range e.shortfalls[0].missing {
			lacks = append(lacks, lackText(thing.Missing))
		}
		sentences = append(sentences, fmt.Sprintf("Nearest: %s lacks %s.", e.shortfalls[0].anchor.Name, strings.Join(lacks, " and ")))
	}
	for _, each := range of.Relaxations[:min(len(of.Relaxations), 2)] {
		sentences = append(sentences, relaxationText(each))
	}
	if len(of.Relaxations) == 0 && of.Reason != explain.Fits {
		sentences = append(sentences, "No single change of the question that was tried gives candidates.")
	}
	return strings.Join(sentences, " ")
}

func (e *explainer) firstSentence(of *explain.Explanation) string {
	switch thing := e.firstUnavailable(); of.Reason {
	case explain.Fits:
		count := e.answer.count()
		more := ""
		if e.answer.Limit > 0 && count >= e.answer.Limit {
			count, more = e.answer.Limit, " or more"
		}
		hosts := of.Funnel[len(of.Funnel)-1].Trees
		return fmt.Sprintf("%s, with %s%s.", choose(hosts == 1, "1 host fits", fmt.Sprintf("%d hosts fit", hosts)),
			choose(count == 1, "1 candidate", fmt.Sprintf("%d candidates", count)), more)
	case explain.InTree:
		for _, g := range e.request.groups {
			if g.inTree != "" && e.Find(g.inTree) == nil {
				return "in_tree names " + g.inTree + ", which is no resource provider."
			}
		}
	case explain.Root:
		if thing.kind == factRootTrait {
			return "No provider has " + traitText(thing.name) + ", which root_required asks for."
		}
		return "No provider is in " + aggregateText(thing.name) + ", which root_member_of asks for."
	case explain.Amount:
		return e.amountSentence(thing)
	case explain.Trait:
		text := "No provider has " + traitText(thing.name) + "."
		if similar := Similar(thing.anyOf, e.usedTraits()); len(similar) > 0 {
			text += " Did you mean " + strings.Join(similar, " or ") + "?"
		}
		return text
	case explain.Aggregate:
		return "No provider is in " + aggregateText(thing.name) + "."
	case explain.NoTree:
		return e.noTreeSentence()
	}
	return e.togetherSentence(of)
}

func choose(condition bool, yes, no string) string {
	if condition {
		return yes
	}
	return no
}

// traitText returns "the trait A", or "any of the traits A, B".
func traitText(name string) string {
	if strings.Contains(name, ",") {
		return "any of the traits " + strings.ReplaceAll(name, ",", ", ")
	}
	return "the trait " + name
}

// aggregateText returns "U", or "any of U, U".
func aggregateText(name string) string {
	name = strings.TrimPrefix(name, "in:")
	return choose(strings.Contains(name, ","), "any of ", "") + strings.ReplaceAll(name, ",", ", ")
}

func (e *explainer) amountSentence(thing *wantedThing) string {
	fact := e.fact(thing)
	switch {
	case fact.Providers == 0:
		return "No provider has inventory of " + thing.name + "."
	case *fact.Largest < thing.needed:
		return fmt.Sprintf("No provider can ever give %d %s at once: the most that any could give is %d.", thing.amount, thing.name, *fact.Largest)
	}
	return fmt.Sprintf("No provider has %d %s free: the most is %d.", thing.amount, thing.name, *fact.MostRoom)
}

func (e *explainer) noTreeSentence() string {
	const otherwise = "Everything that is asked for is in some tree, but no tree has all of it."
	at := slices.IndexFunc(e.stages, func(stage *funnelStage) bool { return stage.left == 0 })
	switch stage := e.stages[at]; stage.kind {
	case rootStage:
		before := choose(e.stages[at-1].left == 1, "1 tree passes", fmt.Sprintf("%d trees pass", e.stages[at-1].left))
		return fmt.Sprintf("No tree passes %s=%s: %s what comes before.", stage.Stage.Stage, stage.Value, before)
	case groupStage:
		for i, shown := range e.shownParts() {
			if !slices.Contains(shown.Groups, *stage.Group) {
				continue
			}
			if text := e.parts[i].failure(shown); text != "" {
				return text
			}
		}
	}
	return otherwise
}

// failure returns the sentence of the first step of a part that no provider passes; empty if there is none.
func (p *explainedPart) failure(shown explain.Part) string {
	failed := slices.IndexFunc(shown.Steps, func(s explain.Step) bool { return s.Providers == 0 })
	fails := ""
	switch {
	case failed > 0:
		fails = p.failText(shown.Steps[failed])
	case failed < 0 && p.canSplit && *shown.SplitTrees == 0:
		failed, fails = len(shown.Steps), fmt.Sprintf("in no tree do they add up to %d %s", p.amount(p.classes[0]), p.classes[0])
	default:
		return ""
	}
	last := shown.Steps[failed-1]
	isOne := last.Providers == 1
	passed := choose(isOne, "that qualifies", "that qualify")
	switch last.Step {
	case stepReached:
		passed = "that can be reached"
	case stepRequired:
		passed = "with " + traitText(last.Value)
	}
	return fmt.Sprintf("%s: of %s %s, %s.", p.name(), choose(isOne, "1 provider", fmt.Sprintf("%d providers", last.Providers)), passed, fails)
}

// name returns the name of a part at the beginning of a sentence.
func (p *explainedPart) name() string {
	var amounts []string
	for _, class := range p.classes {
		amounts = append(amounts, fmt.Sprintf("%d %s", p.amount(class), class))
	}
	text := strings.Join(amounts, ", ")
	if p.groups[0].suffix == "" {
		return text
	}
	isOne := len(p.groups) == 1
	name := choose(isOne, "Group ", "Groups ") + strings.Join(p.suffixes(), ", ")
	if text == "" {
		return name
	}
	return name + " (" + text + choose(isOne, "", " each") + ")"
}

func (p *explainedPart) failText(step explain.Step) string {
	n := fmt.Sprintf("%d %s", p.amount(step.Class), step.Class)
	return map[string]string{
		stepInventory:   "none has inventory of " + step.Class,
		stepInTree:      "none is in the tree of " + step.Value,
		stepMemberOf:    "none is in the aggregates of member_of",
		stepNotMemberOf: "all are in a forbidden aggregate",
		stepRequired:    "none has " + traitText(step.Value),
		stepForbidden:   "all have the forbidden trait " + step.Value,
		stepUnits:       "none allows " + n + " (min_unit, max_unit or step_size)",
		stepSize:        "all are too small for " + n,
		stepReserved:    "too much is reserved on all for " + n,
		stepUsed:        "none has " + n + " free",
	}[step.Step]
}

func (e *explainer) togetherSentence(of *explain.Explanation) string {
	at := slices.IndexFunc(e.stages, func(stage *funnelStage) bool { return stage.left == 0 })
	before, fails := 0, ""
	for _, stage := range e.stages {
		if stage.kind == groupStage {
			before = stage.left
		}
	}
	switch e.stages[at].Stage.Stage {
	case "traits":
		fails = "no choice of providers has all required traits together"
	case "one_per_tree":
		fails = "only with several providers of one tree, which versions before 1.29 do not combine"
	case "sums":
		fails = "there is not enough for all groups at once"
	case "isolate":
		fails = "the isolated groups cannot be kept apart"
		for _, conflict := range slices.Backward(of.Conflicts) {
			if conflict.Conflict == "isolated_groups" {
				fails = fmt.Sprintf("%d isolated groups need %[1]d providers and no tree has more than %d", conflict.Amount, *conflict.Largest)
			}
		}
	case "same_subtree":
		fails = "no choice of providers meets every same_subtree"
	}
	return fmt.Sprintf("%s a provider for each group, but %s.", choose(before == 1, "1 tree has", fmt.Sprintf("%d trees have", before)), fails)
}

// lackText returns what follows "lacks".
func lackText(of explain.Missing) string {
	switch of.Step {
	case stepUsed, stepSplit:
		return fmt.Sprintf("%d %s (%s can give %d of %d)", of.Amount-*of.Gives, of.Class, of.Provider.Name, *of.Gives, of.Amount)
	case stepSize:
		return fmt.Sprintf("the size for %d %s (%s could give %d)", of.Amount, of.Class, of.Provider.Name, *of.Gives)
	case stepReserved:
		return fmt.Sprintf("%d %s, as too much is reserved on %s", of.Amount-*of.Gives, of.Class, of.Provider.Name)
	}
	forbidden, isForbidden := strings.CutPrefix(of.Value, "!")
	return map[string]string{
		stepUnits:        fmt.Sprintf("%s in units that allow %d", of.Class, of.Amount),
		stepInventory:    "inventory of " + of.Class,
		stepRequired:     traitText(of.Value),
		stepForbidden:    "a provider without the trait " + of.Value,
		stepMemberOf:     "membership in the aggregates of member_of",
		stepNotMemberOf:  "a provider outside of the forbidden aggregates",
		stepInTree:       "a provider in the tree of " + of.Value,
		"root_required":  choose(isForbidden, "a root without the trait "+forbidden, traitText(of.Value)+" on its root"),
		"root_member_of": choose(isForbidden, "a root outside of "+aggregateText(forbidden), "membership of its root in "+aggregateText(of.Value)),
	}[of.Step]
}

func relaxationText(of explain.Relaxation) string {
	change := map[string]string{
		"amount":    fmt.Sprintf("With %d %s instead of %d", of.To, of.Class, of.From),
		"can_split": "With can_split=" + of.Class,
		"replace":   "With " + of.Value,
		"drop":      "Without " + of.Value,
	}[of.Change]
	return fmt.Sprintf("%s there would be %d candidate%s%s.", change, of.Candidates, choose(of.Candidates == 1, "", "s"), choose(of.More, " or more", ""))
}
