package explain

import (
	"fmt"
	"slices"
	"strings"
)

// shortForms are the summaries of explanations without details.
var shortForms = map[Reason]string{
	Fits:        "Candidates were found.",
	InTree:      "in_tree names no resource provider.",
	Root:        "No root provider has all that is asked of roots.",
	Amount:      "No provider has room for one of the amounts.",
	Trait:       "No provider has one of the required traits.",
	Aggregate:   "No provider is in one of the wanted aggregates.",
	NoTree:      "No tree has a provider for every group.",
	Together:    "Trees have a provider for every group, but not for all at once.",
	NoInventory: "A provider has no inventory of one of the classes.",
	Units:       "One of the amounts violates min_unit, max_unit or step_size.",
	Capacity:    "A provider has no room for one of the amounts.",
}

// Short returns the short form of an explanation.
func Short(kind string, reason Reason) *Explanation {
	return &Explanation{Kind: kind, Reason: reason, Summary: shortForms[reason], Incomplete: true}
}

// summary returns a paragraph for people: what fails, the nearest tree, what would help, and how sure that is. If candidates
// were found, nothing is missing, and it has no nearest tree.
func (e *explanationBuilder) summary() string {
	texts := []string{e.firstSentence()}
	if near := e.explanation.Nearest; e.explanation.Reason != Fits && len(near) > 0 && len(near[0].Missing) > 0 {
		var missing []string
		for _, item := range near[0].Missing {
			missing = append(missing, missingText(&item))
		}
		texts = append(texts, fmt.Sprintf("Nearest: %s lacks %s%s.", near[0].Tree.Name, strings.Join(missing, " and "), neverText(near[0].FreedBy)))
	}
	if near := e.explanation.Nearest; len(near) > 0 && near[0].FreedBy.FreedSet != nil {
		texts = append(texts, fmt.Sprintf("It would fit on %s without %s.", near[0].Tree.Name, plural(int64(len(near[0].FreedBy.Consumers)), "consumer")))
	}
	for _, relaxation := range e.explanation.Relaxations[:min(2, len(e.explanation.Relaxations))] {
		texts = append(texts, relaxationText(&relaxation))
	}
	if e.explanation.Relaxations != nil && len(e.explanation.Relaxations) == 0 && e.explanation.Reason != Fits {
		texts = append(texts, "No single change of the question that was tried gives candidates.")
	}
	if sample := e.explanation.Sample; sample != nil && !sample.Exact {
		texts = append(texts, fmt.Sprintf("Numbers of trees are estimates from %d of %d trees.", sample.LookedAt, sample.Trees))
	}
	if count := int64(len(e.givenUp)); count > 0 {
		texts = append(texts, fmt.Sprintf("%s %s not decided: the search would try too many combinations of providers.",
			plural(count, "tree"), choose(count == 1, "is", "are")))
	}
	return strings.Join(texts, " ")
}

// neverText says that a tree would not fit even when it is empty, if that is known.
func neverText(of FreedBy) string {
	return choose(of.IsKnown && of.FreedSet == nil, ", and the query would not fit even when it is empty", "")
}

// choose returns one of two texts: for one thing or for several.
func choose(item bool, singular, plural string) string {
	if item {
		return singular
	}
	return plural
}

func plural(count int64, text string) string {
	return fmt.Sprintf("%d %s%s", count, text, choose(count == 1, "", "s"))
}

// relaxationText says what a change gives.
func relaxationText(relaxation *Relaxation) string {
	count := plural(int64(relaxation.Candidates), "candidate")
	if relaxation.More {
		count += " or more"
	}
	how := "Without " + relaxation.Value
	switch relaxation.Change {
	case "amount":
		how = fmt.Sprintf("With %d %s instead of %d", relaxation.To, relaxation.Class, relaxation.From)
	case "can_split":
		how = "With can_split=" + relaxation.Class
	case "replace":
		how = "With " + relaxation.Value
	}
	return how + " there would be " + count + "."
}

// missingText says what a tree lacks.
func missingText(missing *Missing) string {
	forbidden, isForbidden := strings.CutPrefix(missing.Value, "!")
	switch missing.Step {
	case stepUsed, stepSplit:
		return fmt.Sprintf("%d %s (%s can give %d of %d)", missing.Amount-*missing.Gives, missing.Class, missing.Provider.Name, *missing.Gives, missing.Amount)
	case stepSize:
		return fmt.Sprintf("the size for %d %s (%s could give %d)", missing.Amount, missing.Class, missing.Provider.Name, *missing.Gives)
	case stepUnits:
		return fmt.Sprintf("%s in units that allow %d", missing.Class, missing.Amount)
	case stepReserved:
		return fmt.Sprintf("%d %s, as too much is reserved on %s", missing.Amount-*missing.Gives, missing.Class, missing.Provider.Name)
	case stepInventory:
		return "inventory of " + missing.Class
	case stepRequired:
		return traitText(missing.Value)
	case stepForbidden:
		return "a provider without the trait " + missing.Value
	case stepMemberOf:
		return "membership in the aggregates of member_of"
	case stepNotMemberOf:
		return "a provider outside of the forbidden aggregates"
	case stepInTree:
		return "a provider in the tree of " + missing.Value
	case "root_required":
		return choose(isForbidden, "a root without the trait "+forbidden, traitText(missing.Value)+" on its root")
	default:
		return choose(isForbidden, "a root outside of "+aggregateText(forbidden), "membership of its root in "+aggregateText(missing.Value))
	}
}

// traitText names a required trait, or any of several.
func traitText(value string) string {
	if strings.Contains(value, ",") {
		return "any of the traits " + strings.ReplaceAll(value, ",", ", ")
	}
	return "the trait " + value
}

// aggregateText names an aggregate, or any of several.
func aggregateText(value string) string {
	value = strings.TrimPrefix(value, "in:")
	return choose(strings.Contains(value, ","), "any of ", "") + strings.ReplaceAll(value, ",", ", ")
}

// firstSentence says what fails. An incomplete explanation has that of the short form.
func (e *explanationBuilder) firstSentence() string {
	switch e.explanation.Reason {
	case Fits:
		return e.fitsSentence()
	case InTree:
		if at := slices.IndexFunc(e.explanation.Conflicts, isUnknownTree); at >= 0 {
			return fmt.Sprintf("in_tree names %s, which is no resource provider.", e.explanation.Conflicts[at].Name)
		}
	case Root, Amount, Trait, Aggregate:
		if e.unavailable != nil {
			return e.unavailableSentence()
		}
	case NoTree:
		if e.explanation.Funnel != nil {
			return e.noTreeSentence()
		}
	case Together:
		if e.explanation.Funnel != nil {
			return e.togetherSentence()
		}
	}
	return shortForms[e.explanation.Reason]
}

// fitsSentence says how many trees have a candidate, and how many candidates the response has. A number that reaches the limit
// of the query is not that of all candidates.
func (e *explanationBuilder) fitsSentence() string {
	found := plural(int64(e.Found), "candidate")
	if e.explanation.Funnel == nil {
		return found + choose(e.Found == 1, " was", " were") + " found."
	}
	if limit := e.Query.Limit; limit > 0 && e.Found >= limit {
		found += " or more"
	}
	hosts := e.explanation.Funnel[len(e.explanation.Funnel)-1].Trees
	return fmt.Sprintf("%s %s, with %s.", plural(hosts, "host"), choose(hosts == 1, "fits", "fit"), found)
}

// unavailableSentence is about the first single thing that no provider has.
func (e *explanationBuilder) unavailableSentence() string {
	thing, fact := e.unavailable, &e.unavailable.fact
	switch fact.Kind {
	case "root_trait":
		return fmt.Sprintf("No provider has %s, which root_required asks for.", traitText(fact.Name))
	case "root_aggregate":
		return fmt.Sprintf("No provider is in %s, which root_member_of asks for.", aggregateText(fact.Name))
	case "class":
		switch {
		case fact.Providers == 0:
			return fmt.Sprintf("No provider has inventory of %s.", fact.Name)
		case *fact.Largest < thing.Least:
			return fmt.Sprintf("No provider can ever give %d %s at once: the most that any could give is %d.", fact.Amount, fact.Name, *fact.Largest)
		}
		return fmt.Sprintf("No provider has %d %s free: the most is %d.", fact.Amount, fact.Name, *fact.MostRoom)
	case "aggregate":
		return fmt.Sprintf("No provider is in %s.", aggregateText(fact.Name))
	}
	text := "No provider has " + traitText(fact.Name) + "."
	for _, conflict := range e.explanation.Conflicts {
		if conflict.Conflict == "trait_unused" && conflict.Name == fact.Name && len(conflict.Similar) > 0 {
			text += " Did you mean " + strings.Join(conflict.Similar, " or ") + "?"
		}
	}
	return text
}

// partName names a part at the beginning of a sentence.
func (e *explanationBuilder) partName(of *part) string {
	var amounts []string
	for _, amount := range of.amounts {
		amounts = append(amounts, fmt.Sprintf("%d %s", amount.Amount, amount.Class))
	}
	text := strings.Join(amounts, ", ")
	if !of.suffixed {
		return text
	}
	isOne := len(of.groups) == 1
	name := choose(isOne, "Group ", "Groups ") + strings.Join(e.r.suffixes(of.groups), ", ")
	if text == "" {
		return name
	}
	return name + " (" + text + choose(isOne, "", " each") + ")"
}

// nowhere is the sentence about parts that are in some tree each.
const nowhere = "Everything that is asked for is in some tree, but no tree has all of it."

func (e *explanationBuilder) noTreeSentence() string {
	at := slices.IndexFunc(e.explanation.Funnel, func(s Stage) bool { return s.Trees == 0 })
	if at < 1 {
		return nowhere
	}
	switch stage := e.explanation.Funnel[at]; stage.Stage {
	case "root_required", "root_member_of":
		before := e.explanation.Funnel[at-1].Trees
		return fmt.Sprintf("No tree passes %s=%s: %s %s what comes before.", stage.Stage, stage.Value, plural(before, "tree"), choose(before == 1, "passes", "pass"))
	case "group":
		for i := range e.r.parts {
			if !slices.Contains(e.explanation.Parts[i].Groups, *stage.Group) {
				continue
			}
			if text := e.partSentence(&e.r.parts[i], &e.explanation.Parts[i]); text != "" {
				return text
			}
		}
	}
	return nowhere
}

// partSentence says which step of a part no provider passes; empty if there is none.
func (e *explanationBuilder) partSentence(of *part, shown *Part) string {
	at := slices.IndexFunc(shown.Steps, func(s Step) bool { return s.Providers == 0 })
	fails := ""
	switch {
	case at > 0:
		fails = failsText(of, &of.steps[at])
	case at < 0 && of.canSplit && *shown.SplitTrees == 0:
		at = len(of.steps)
		fails = fmt.Sprintf("in no tree do they add up to %d %s", of.amounts[0].Amount, of.amounts[0].Class)
	default:
		return ""
	}
	passed := shown.Steps[at-1].Providers
	return fmt.Sprintf("%s: of %s %s, %s.", e.partName(of), plural(passed, "provider"), passedText(&of.steps[at-1], passed == 1), fails)
}

func passedText(last *step, isOne bool) string {
	switch last.kind {
	case stepReached:
		return "that can be reached"
	case stepRequired:
		return "with " + traitText(last.value)
	}
	return choose(isOne, "that qualifies", "that qualify")
}

func failsText(of *part, item *step) string {
	text := ""
	if item.isOfInventory() {
		text = fmt.Sprintf("%d %s", of.amounts[item.at].Amount, of.amounts[item.at].Class)
	}
	switch item.kind {
	case stepInventory:
		return "none has inventory of " + of.amounts[item.at].Class
	case stepInTree:
		return "none is in the tree of " + item.value
	case stepMemberOf:
		return "none is in the aggregates of member_of"
	case stepNotMemberOf:
		return "all are in a forbidden aggregate"
	case stepRequired:
		return "none has " + traitText(item.value)
	case stepForbidden:
		return "all have the forbidden trait " + item.value
	case stepUnits:
		return fmt.Sprintf("none allows %s (min_unit, max_unit or step_size)", text)
	case stepSize:
		return "all are too small for " + text
	case stepReserved:
		return "too much is reserved on all for " + text
	}
	return fmt.Sprintf("none has %s free", text)
}

func (e *explanationBuilder) togetherSentence() string {
	met := e.tally.met()
	text := fmt.Sprintf("%s %s a provider for each group, but ", plural(met, "tree"), choose(met == 1, "has", "have"))
	at := slices.IndexFunc(e.explanation.Funnel, func(s Stage) bool { return s.Trees == 0 })
	switch e.explanation.Funnel[at].Stage {
	case stageTraits:
		return text + "no choice of providers has all required traits together."
	case stageOnePerTree:
		return text + "only with several providers of one tree, which versions before 1.29 do not combine."
	case stageSums:
		return text + "there is not enough for all groups at once."
	case stageIsolate:
		for _, conflict := range e.explanation.Conflicts {
			if conflict.Conflict == "isolated_groups" {
				return text + fmt.Sprintf("%d isolated groups need %d providers and no tree has more than %d.", conflict.Amount, conflict.Amount, *conflict.Largest)
			}
		}
		return text + "the isolated groups cannot be kept apart."
	case stageSameSubtree:
		return text + "no choice of providers meets every same_subtree."
	}
	return text + "none of them has a candidate."
}
