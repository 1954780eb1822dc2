package apicommand

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthd/berth/client"
)

// Minimum widths of the columns of the table of parts.
const (
	minPartWidth      = 37
	minProvidersWidth = 11
	minTreesWidth     = 10
)

// partRow is a line of the table of parts.
type partRow struct{ label, providers, trees string }

// parts adds what one provider must meet: the steps that remove providers or trees, or one line if a part removes no tree.
func (e *explanationText) parts(of *client.Explanation) {
	if len(of.Parts) == 0 {
		return
	}
	exact := of.Sample == nil || of.Sample.Exact
	rows := []partRow{{"PART", "PROVIDERS", "TREES"}}
	for i := range of.Parts {
		rows = append(rows, partRows(&of.Parts[i], exact)...)
	}
	label, providers, trees := minPartWidth, minProvidersWidth, minTreesWidth
	for _, row := range rows {
		label = max(label, len(row.label)+1)
		providers, trees = max(providers, len(row.providers)+2), max(trees, len(row.trees)+2)
	}
	e.addf("")
	for _, row := range rows {
		e.addf("%s%*s%*s", pad(row.label, label), providers, row.providers, trees, row.trees)
	}
}

func partRows(of *client.ExplainedPart, exact bool) []partRow {
	if len(of.Steps) == 0 {
		return nil
	}
	last := of.Steps[len(of.Steps)-1]
	left := last.Trees
	if of.SplitTrees != nil {
		left = *of.SplitTrees
	}
	if left == of.Steps[0].Trees {
		return []partRow{{partName(of), count(last.Providers, exact), count(left, exact)}}
	}
	rows := []partRow{{partName(of), "", ""}}
	for i, step := range of.Steps {
		if i == 0 || step.Providers != of.Steps[i-1].Providers || step.Trees != of.Steps[i-1].Trees {
			rows = append(rows, partRow{"  " + stepText(&step), count(step.Providers, exact), count(step.Trees, exact)})
		}
	}
	if left < last.Trees {
		rows = append(rows, partRow{"  together " + strings.Join(amountTexts(of), ", "), "", count(left, exact)})
	}
	return rows
}

// amountTexts returns the amounts of a part in the order of the query, which is that of the steps.
func amountTexts(of *client.ExplainedPart) []string {
	var texts, classes []string
	for _, step := range of.Steps {
		if amount, asked := of.Resources[step.Class]; asked && !slices.Contains(classes, step.Class) {
			classes = append(classes, step.Class)
			texts = append(texts, fmt.Sprintf("%d %s", amount, step.Class))
		}
	}
	return texts
}

// partName names a part by its groups and amounts.
func partName(of *client.ExplainedPart) string {
	amounts := strings.Join(amountTexts(of), ", ")
	if slices.Contains(of.Groups, "") {
		return amounts
	}
	name := "Group " + strings.Join(of.Groups, ", ")
	if len(of.Groups) > 1 {
		name = "Groups " + strings.Join(of.Groups, ", ")
	}
	switch {
	case amounts == "":
		return name
	case len(of.Groups) > 1:
		return name + " (" + strings.ReplaceAll(amounts, ",", " each,") + " each)"
	}
	return name + " (" + amounts + ")"
}

// stepText names a step.
func stepText(of *client.ExplainedStep) string {
	switch of.Step {
	case "inventory":
		return "inventory of " + of.Class
	case "units":
		return "units of " + of.Class
	case "size":
		return "size of " + of.Class
	case "reserved":
		return "not reserved " + of.Class
	case "used":
		return "free " + of.Class
	}
	return strings.TrimSpace(of.Step + " " + of.Value)
}

// minNameWidth is the minimum width of the names of trees and providers.
const minNameWidth = 13

// nearest adds the trees that fail by least, with what they lack.
func (e *explanationText) nearest(trees []client.ExplainedTree) {
	if len(trees) == 0 {
		return
	}
	e.section("NEAREST")
	width := minNameWidth
	for _, one := range trees {
		width = max(width, len(one.Tree.Name)+2)
	}
	for _, one := range trees {
		var missing []string
		for i := range one.Missing {
			missing = append(missing, missingText(&one.Missing[i]))
		}
		if len(missing) == 0 {
			missing = append(missing, failedStage(one.Stage))
		}
		e.wrap("  "+pad(one.Tree.Name, width), strings.Join(missing, " and "))
	}
}

// failedStage says why the providers of a tree do not go together.
func failedStage(stage string) string {
	switch stage {
	case "traits":
		return "no choice of providers has all required traits together"
	case "one_per_tree":
		return "only with several providers of one tree"
	case "sums":
		return "not enough for all groups at once"
	case "isolate":
		return "the isolated groups cannot be kept apart"
	case "same_subtree":
		return "no choice of providers meets every same_subtree"
	}
	return "fails at " + stage
}

// missingText says what a tree lacks, in the words of the summary.
func missingText(of *client.ExplainedMissing) string {
	provider := "a provider"
	if of.Provider != nil {
		provider = of.Provider.Name
	}
	lacks := fmt.Sprintf("%d %s", of.Amount-of.Gives, of.Class)
	switch of.Step {
	case "used":
		return fmt.Sprintf("%s (%s can give %d of %d)", lacks, provider, of.Gives, of.Amount)
	case "size":
		return fmt.Sprintf("the size for %d %s (%s could give %d)", of.Amount, of.Class, provider, of.Gives)
	case "units":
		return fmt.Sprintf("%s in units that allow %d", of.Class, of.Amount)
	case "reserved":
		return fmt.Sprintf("%s, as too much is reserved on %s", lacks, provider)
	case "inventory":
		return "inventory of " + of.Class
	case "required":
		return traitText(of.Value)
	case "forbidden":
		return provider + " has the forbidden trait " + strings.TrimPrefix(of.Value, "!")
	case "member_of":
		return "membership in the aggregates of member_of"
	case "not_member_of":
		return provider + " is in a forbidden aggregate"
	case "in_tree":
		return "a provider in the tree of " + of.Value
	}
	return missingRoot(of)
}

// missingRoot says what the root of a tree lacks.
func missingRoot(of *client.ExplainedMissing) string {
	name, isForbidden := strings.CutPrefix(of.Value, "!")
	switch {
	case of.Step == "root_required" && isForbidden:
		return "its root has the forbidden trait " + name
	case of.Step == "root_required":
		return traitText(name) + " on its root"
	case of.Step == "root_member_of" && isForbidden:
		return "its root is in a forbidden aggregate"
	case of.Step == "root_member_of":
		return "membership of its root in " + name
	}
	return strings.TrimSpace(of.Step + " " + of.Value)
}

// traitText names a required trait, or any of several.
func traitText(value string) string {
	value = strings.TrimPrefix(value, "in:")
	if strings.Contains(value, ",") {
		return "any of the traits " + strings.ReplaceAll(value, ",", ", ")
	}
	return "the trait " + value
}
