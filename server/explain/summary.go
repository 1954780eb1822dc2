package explain

import (
	"fmt"
	"slices"
	"strings"
)

// shortForms are the summaries of explanations without details.
var shortForms = map[Reason]string{
	InTree:    "in_tree names no resource provider.",
	Root:      "No root provider has all that is asked of roots.",
	Amount:    "No provider has room for one of the amounts.",
	Trait:     "No provider has one of the required traits.",
	Aggregate: "No provider is in one of the wanted aggregates.",
	NoTree:    "No tree has a provider for every group.",
	Together:  "Trees have a provider for every group, but not for all at once.",
}

// Short returns the short form of an explanation.
func Short(reason Reason) *Explanation {
	return &Explanation{Kind: "candidates", Reason: reason, Summary: shortForms[reason], Incomplete: true}
}

// summary returns a paragraph for people: what fails, the nearest tree, what would help, and how sure that is.
func (e *explaining) summary() string {
	texts := []string{e.first()}
	if near := e.made.Nearest; e.made.Reason != Fits && len(near) > 0 && len(near[0].Missing) > 0 {
		var missing []string
		for _, one := range near[0].Missing {
			missing = append(missing, missingText(&one))
		}
		texts = append(texts, fmt.Sprintf("Nearest: %s lacks %s.", near[0].Tree.Name, strings.Join(missing, " and ")))
	}
	if e.made.Reason != Fits {
		texts = append(texts, e.helps()...)
	}
	if sample := e.made.Sample; !sample.Exact {
		texts = append(texts, fmt.Sprintf("Numbers of trees are estimates from %d of %d trees.", sample.LookedAt, sample.Trees))
	}
	return strings.Join(texts, " ")
}

func plural(count int64, one string) string {
	if count == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", count, one)
}

// helps returns the sentences of the first two relaxations.
func (e *explaining) helps() (texts []string) {
	if len(e.made.Relaxations) == 0 {
		return []string{"No single change of the question that was tried gives candidates."}
	}
	for _, one := range e.made.Relaxations[:min(2, len(e.made.Relaxations))] {
		count := plural(int64(one.Candidates), "candidate")
		if one.More {
			count += " or more"
		}
		how := "Without " + one.Value
		switch one.Change {
		case "amount":
			how = fmt.Sprintf("With %d %s instead of %d", one.To, one.Class, one.From)
		case "can_split":
			how = "With can_split=" + one.Class
		case "replace":
			how = "With " + one.Value
		}
		texts = append(texts, how+" there would be "+count+".")
	}
	return texts
}

// missingText says what a tree lacks.
func missingText(one *Missing) string {
	switch one.Step {
	case stepUsed:
		return fmt.Sprintf("%d %s (%s can give %d of %d)", one.Amount-*one.Gives, one.Class, one.Provider.Name, *one.Gives, one.Amount)
	case stepSize:
		return fmt.Sprintf("the size for %d %s (%s could give %d)", one.Amount, one.Class, one.Provider.Name, *one.Gives)
	case stepUnits:
		return fmt.Sprintf("%s in units that allow %d", one.Class, one.Amount)
	case stepReserved:
		return fmt.Sprintf("%d %s, as too much is reserved on %s", one.Amount-*one.Gives, one.Class, one.Provider.Name)
	case stepInventory:
		return "inventory of " + one.Class
	case stepRequired:
		return traitText(one.Value)
	case stepMemberOf:
		return "membership in the aggregates of member_of"
	case "root_required":
		return traitText(one.Value) + " on its root"
	case "root_member_of":
		return "membership of its root in " + one.Value
	}
	return one.Step + "=" + one.Value
}

// traitText names a required trait, or any of several.
func traitText(value string) string {
	if strings.Contains(value, ",") {
		return "any of the traits " + strings.ReplaceAll(value, ",", ", ")
	}
	return "the trait " + value
}

// first returns the sentence that says what fails.
func (e *explaining) first() string {
	switch e.made.Reason {
	case Fits:
		count := int64(e.base)
		if count == 1 {
			return "1 candidate was found."
		}
		return plural(count, "candidate") + " were found."
	case InTree:
		at := slices.IndexFunc(e.made.Conflicts, func(c Conflict) bool { return c.Conflict == "in_tree_unknown" })
		return fmt.Sprintf("in_tree names %s, which is no resource provider.", e.made.Conflicts[at].Name)
	case NoTree:
		return e.firstOfNoTree()
	case Together:
		return e.firstOfTogether()
	}
	return e.firstOfFact()
}

// firstOfFact is the sentence about the first single thing that nothing has.
func (e *explaining) firstOfFact() string {
	at := slices.IndexFunc(e.made.Facts, func(f Fact) bool { return reasonOf(&f) == e.made.Reason })
	if at < 0 {
		return shortForms[e.made.Reason]
	}
	switch fact := &e.made.Facts[at]; fact.Kind {
	case "root_trait":
		return fmt.Sprintf("No provider has the trait %s, which root_required asks for.", fact.Name)
	case "root_aggregate":
		return fmt.Sprintf("No provider is in %s, which root_member_of asks for.", fact.Name)
	case "class":
		switch {
		case fact.Providers == 0:
			return fmt.Sprintf("No provider has inventory of %s.", fact.Name)
		case fact.Largest != nil && *fact.Largest < fact.Amount:
			return fmt.Sprintf("No provider can ever give %d %s at once: the most that any could give is %d.", fact.Amount, fact.Name, *fact.Largest)
		}
		return fmt.Sprintf("No provider has %d %s free: the most is %d.", fact.Amount, fact.Name, *fact.MostRoom)
	case "aggregate":
		return fmt.Sprintf("No provider is in %s.", fact.Name)
	default:
		text := "No provider has " + traitText(fact.Name) + "."
		for _, one := range e.made.Conflicts {
			if one.Conflict == "trait_unused" && one.Name == fact.Name && len(one.Similar) > 0 {
				text += " Did you mean " + strings.Join(one.Similar, " or ") + "?"
			}
		}
		return text
	}
}

// partName names a part.
func (e *explaining) partName(of *part) string {
	var amounts []string
	for _, one := range of.amounts {
		text := fmt.Sprintf("%d %s", one.Amount, one.Class)
		if len(of.groups) > 1 {
			text += " each"
		}
		amounts = append(amounts, text)
	}
	names := strings.Join(e.r.suffixes(of.groups), ", ")
	switch {
	case !of.suffixed:
		return strings.Join(amounts, ", ")
	case len(amounts) == 0 && len(of.groups) == 1:
		return "Group " + names
	case len(amounts) == 0:
		return "Groups " + names
	case len(of.groups) == 1:
		return fmt.Sprintf("Group %s (%s)", names, strings.Join(amounts, ", "))
	}
	return fmt.Sprintf("Groups %s (%s)", names, strings.Join(amounts, ", "))
}

func (e *explaining) firstOfNoTree() string {
	before := e.roots
	for _, stage := range e.made.Funnel[1:] {
		if stage.Trees > 0 {
			before = stage.Trees
			continue
		}
		if stage.Stage == "root_required" || stage.Stage == "root_member_of" {
			return fmt.Sprintf("No tree passes %s=%s: %s pass what comes before.", stage.Stage, stage.Value, plural(before, "tree"))
		}
		break
	}
	empty := slices.IndexFunc(e.made.Funnel, func(s Stage) bool { return s.Stage == "group" && s.Trees == 0 })
	if empty < 0 {
		return "Everything that is asked for is in some tree, but no tree has all of it."
	}
	for i := range e.r.parts {
		of, counted := &e.r.parts[i], &e.tally.parts[i]
		if !slices.Contains(e.r.suffixes(of.groups), *e.made.Funnel[empty].Group) {
			continue
		}
		if at := slices.Index(counted.providers, 0); at > 0 {
			return fmt.Sprintf("%s: of %s %s, %s.", e.partName(of), plural(counted.providers[at-1], "provider"), passedText(&of.steps[at-1]), failsText(of, &of.steps[at]))
		}
		if of.canSplit && counted.splitTrees == 0 {
			last := len(of.steps) - 1
			return fmt.Sprintf("%s: of %s %s, in no tree do they add up to %d %s.", e.partName(of), plural(counted.providers[last], "provider"),
				passedText(&of.steps[last]), of.amounts[0].Amount, of.amounts[0].Class)
		}
	}
	return "Everything that is asked for is in some tree, but no tree has all of it."
}

func passedText(one *step) string {
	switch one.kind {
	case stepReached:
		return "that can be reached"
	case stepRequired:
		return "with " + traitText(one.value)
	}
	return "that qualify"
}

func failsText(of *part, one *step) string {
	text := ""
	if one.isOfInventory() {
		text = fmt.Sprintf("%d %s", of.amounts[one.at].Amount, of.amounts[one.at].Class)
	}
	switch one.kind {
	case stepInventory:
		return "none has inventory of " + of.amounts[one.at].Class
	case stepInTree:
		return "none is in the tree of " + one.value
	case stepMemberOf:
		return "none is in the aggregates of member_of"
	case stepNotMemberOf:
		return "all are in a forbidden aggregate"
	case stepRequired:
		return "none has " + traitText(one.value)
	case stepForbidden:
		return "all have the forbidden trait " + one.value
	case stepUnits:
		return fmt.Sprintf("none allows %s (min_unit, max_unit or step_size)", text)
	case stepSize:
		return "all are too small for " + text
	case stepReserved:
		return "too much is reserved on all for " + text
	}
	return fmt.Sprintf("none has %s free", text)
}

func (e *explaining) firstOfTogether() string {
	text := fmt.Sprintf("%s have a provider for each group, but ", plural(e.estimate(int64(len(e.tally.met))), "tree"))
	at := slices.IndexFunc(e.made.Funnel, func(s Stage) bool { return s.Trees == 0 })
	switch e.made.Funnel[at].Stage {
	case "traits":
		return text + "no choice of providers has all required traits together."
	case "one_per_tree":
		return text + "only with several providers of one tree, which versions before 1.29 do not combine."
	case "sums":
		return text + "there is not enough for all groups at once."
	case "isolate":
		for _, one := range e.made.Conflicts {
			if one.Conflict == "isolated_groups" {
				return text + fmt.Sprintf("%d isolated groups need %d providers and no tree has more than %d.", one.Amount, one.Amount, *one.Largest)
			}
		}
		return text + "the isolated groups cannot be kept apart."
	}
	return text + "no choice of providers meets every same_subtree."
}
