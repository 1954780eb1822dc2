// Package explaintext has the texts of explanations for people, which the commands and the console show.
package explaintext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// Stage says which trees are left after a stage.
func Stage(of *client.Explanation, stage *api.ExplanationStage) string {
	switch stage.Stage {
	case "all":
		return "all"
	case "group":
		return "with " + groupText(of, stage)
	case "in_tree":
		return "that every in_tree permits"
	case "not_in_tree":
		return "that not_in_tree permits"
	case "traits":
		return "with all required traits together"
	case "one_per_tree":
		return "with one provider of each tree"
	case "sums":
		return "with enough for all groups at once"
	case "isolate":
		return "with the isolated groups apart"
	case "same_subtree":
		return "with every same_subtree"
	case "candidates":
		return "with a candidate"
	}
	text := "with " + stage.Stage
	if stage.Value != "" {
		text += "=" + stage.Value
	}
	return text
}

// groupText names the group of a stage: that without a suffix by its amounts.
func groupText(of *client.Explanation, stage *api.ExplanationStage) string {
	if stage.Group == nil {
		return "a group"
	}
	if *stage.Group != "" {
		return "group " + *stage.Group
	}
	var amounts []string
	for i := range of.Parts {
		if part := &of.Parts[i]; slices.Contains(part.Groups, "") {
			amounts = append(amounts, Amounts(part)...)
		}
	}
	if len(amounts) == 0 {
		return "the group without a suffix"
	}
	return join(amounts)
}

// join joins a list with commas and "and".
func join(all []string) string {
	last := len(all) - 1
	if last < 1 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:last], ", ") + " and " + all[last]
}

// Amounts returns the amounts of a part in the order of the query, which is that of the steps.
func Amounts(of *api.ExplanationPart) []string {
	var texts, classes []string
	for _, step := range of.Steps {
		if amount, asked := of.Resources[step.Class]; asked && !slices.Contains(classes, step.Class) {
			classes = append(classes, step.Class)
			texts = append(texts, fmt.Sprintf("%d %s", amount, step.Class))
		}
	}
	return texts
}

// Part names a part by its groups and amounts.
func Part(of *api.ExplanationPart) string {
	amounts := strings.Join(Amounts(of), ", ")
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

// Step names a step.
func Step(of *api.ExplanationStep) string {
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

// FailedStage says why the providers of a tree do not go together.
func FailedStage(stage string) string {
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

// Missing says what a tree lacks, in the words of the summary.
func Missing(of *api.ExplanationMissing) string {
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
func missingRoot(of *api.ExplanationMissing) string {
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

// Freed says without how many consumers a query fits in a tree.
func Freed(tree string, of *api.ExplanationFreedSet) string {
	count := "1 consumer"
	if len(of.Consumers) != 1 {
		count = fmt.Sprintf("%d consumers", len(of.Consumers))
	}
	text := fmt.Sprintf("It would fit on %s without %s:", tree, count)
	if !of.Exact {
		text = strings.TrimSuffix(text, ":") + "; fewer may be enough:"
	}
	return text
}

// Held lists what a consumer holds.
func Held(of *api.ExplanationFreedConsumer) string {
	texts := make([]string, len(of.Allocations))
	for i, allocation := range of.Allocations {
		texts[i] = fmt.Sprintf("%d %s of %s", allocation.Amount, allocation.Class, allocation.Provider.Name)
	}
	return strings.Join(texts, ", ")
}

// maxNamedEnds is how many consumers the sentence of FitsAt names.
const maxNamedEnds = 3

// FitsAt says when a query fits because consumers end: "At the earliest at 14:20 UTC, when …". It is empty if it never fits, and
// if the service does not know it.
func FitsAt(of *client.Explanation, now time.Time) string {
	fit, err := of.FitsAt.Get()
	if err != nil {
		return "" // null or missing
	}
	text := " " + Clock(fit.At, now)
	if len(fit.Consumers) > 0 {
		text += ", when " + endText(&fit)
	}
	if fit.Exact {
		return "At the earliest" + text + "."
	}
	return "At the latest" + text + ". The service has not compared all trees and times."
}

// endText names the consumers that end.
func endText(fit *api.ExplanationFit) string {
	named := make([]string, len(fit.Consumers))
	for i := range fit.Consumers {
		named[i] = endingText(&fit.Consumers[i])
	}
	switch others := int64(len(named)) - 1 + fit.More; {
	case others == 0:
		return named[0] + " ends"
	case others >= maxNamedEnds:
		named = []string{named[0], fmt.Sprintf("%d other consumers", others)}
	}
	return join(named) + " end"
}

// EndsWithMore reports whether a fit has more consumers than the sentence of FitsAt names.
func EndsWithMore(fit *api.ExplanationFit) bool {
	return int64(len(fit.Consumers))+fit.More > maxNamedEnds
}

// endingText names a consumer with what it holds.
func endingText(of *api.ExplanationFitConsumer) string {
	texts := make([]string, len(of.Allocations))
	for i, allocation := range of.Allocations {
		texts[i] = fmt.Sprintf("%d %s on %s", allocation.Amount, allocation.Class, allocation.Provider.Name)
	}
	return fmt.Sprintf("%s (%s)", of.Consumer, strings.Join(texts, ", "))
}

// Clock returns a time in UTC, not earlier than it is, with the date unless that is the one of now.
func Clock(at, now time.Time) string {
	at = at.UTC()
	if up := at.Truncate(time.Second); up.Before(at) {
		at = up.Add(time.Second)
	}
	text := "at " + strings.TrimSuffix(at.Format(time.TimeOnly), ":00") + " UTC"
	if at.Format(time.DateOnly) != now.UTC().Format(time.DateOnly) {
		text = "on " + at.Format(time.DateOnly) + " " + text
	}
	return text
}

// traitText names a required trait, or any of several.
func traitText(value string) string {
	value = strings.TrimPrefix(value, "in:")
	if strings.Contains(value, ",") {
		return "any of the traits " + strings.ReplaceAll(value, ",", ", ")
	}
	return "the trait " + value
}

// Change names a change of the query.
func Change(of *api.ExplanationRelaxation) string {
	text := "without " + of.Value
	switch of.Change {
	case "amount":
		text = fmt.Sprintf("with %d %s instead of %d", of.To, of.Class, of.From)
	case "can_split":
		text = "with can_split=" + of.Class
	case "replace":
		text = "with " + of.Value
	case "drop":
		// The value is that of the first of equal groups.
		if len(of.Groups) > 1 {
			text += " in groups " + strings.Join(of.Groups, ", ")
		}
	}
	if of.Needs != "" {
		text += ", which needs " + of.Needs
	}
	return text
}
