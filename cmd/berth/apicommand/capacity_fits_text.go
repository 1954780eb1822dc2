package apicommand

import (
	"fmt"
	"strconv"
	"strings"

	api "github.com/berthd/berth/gen/client"
)

// fitStops are the texts for the reasons why a search ended before its last tree.
var fitStops = map[string]string{
	"count":  "the search ended at --count",
	"budget": "the search tried as many combinations as the service permits",
	"time":   "the search reached the time limit of the service",
}

// fitsSentence returns the first line of the output.
func fitsSentence(found *api.CapacityFit) string {
	text := fitCount(found.Fit, found.Stopped)
	if before := found.Before; before != nil {
		text += " instead of " + strings.TrimSuffix(strings.TrimSuffix(fitCount(before.Fit, before.Stopped), " fit"), " fits")
	}
	if stopped := fitStops[found.Stopped]; stopped != "" {
		return text + "; " + stopped
	}
	var notes []string
	switch {
	case found.Exact:
		if found.Fit > 0 {
			text += ", no more"
		}
		notes = append(notes, "exact")
	case found.AtMost != nil:
		text += fmt.Sprintf(", at most %d", *found.AtMost)
	}
	details := fitTrees(&found.Trees)
	if found.Before != nil {
		details = fitEnds(found)
	}
	if details != "" {
		notes = append(notes, details)
	}
	if len(notes) == 0 {
		return text
	}
	return text + " (" + strings.Join(notes, "; ") + ")"
}

// fitCount returns a number of members with its verb.
func fitCount(fit int64, stopped string) string {
	text := fmt.Sprintf("%d fit", fit)
	switch fit {
	case 0:
		text = "none fits"
	case 1:
		text = "1 fits"
	}
	if stopped != "all" {
		text = fmt.Sprintf("at least %d fit", fit)
		if fit == 1 {
			text += "s"
		}
	}
	return text
}

// fitTrees returns how many trees have room.
func fitTrees(of *api.CapacityFitTrees) string {
	switch {
	case of.LookedAt == 0:
		return "no tree meets the conditions"
	case of.WithRoom == 0 && of.LookedAt == 1:
		return "the only tree has no room"
	case of.WithRoom == 0:
		return fmt.Sprintf("none of %d trees has room", of.LookedAt)
	}
	trees, have := "trees", "have"
	if of.LookedAt == 1 {
		trees = "tree"
	}
	if of.WithRoom == 1 {
		have = "has"
	}
	return fmt.Sprintf("%d of %d %s %s room, at most %d in one", of.WithRoom, of.LookedAt, trees, have, of.MostInOne)
}

// fitEnds returns the class that ends first, and the one that does without the changes if it is another one.
func fitEnds(found *api.CapacityFit) string {
	if found.EndsFirst == nil {
		return ""
	}
	text := *found.EndsFirst + " ends first"
	if before := found.Before.EndsFirst; before != nil && *before != *found.EndsFirst {
		text += ", " + *before + " before"
	}
	return text
}

// fitsTable returns a row for each class of a query.
func fitsTable(found *api.CapacityFit, classes []string, isUnicode bool) [][]string {
	table := [][]string{{"CLASS", "AMOUNT", "ENOUGH FOR", "FREE", "STRANDED", ""}}
	number := func(value *int64) string {
		if value == nil {
			return "-"
		}
		return strconv.FormatInt(*value, 10)
	}
	arrow := "<- short"
	if isUnicode {
		arrow = "← short"
	}
	for _, class := range classes {
		of, isKnown := found.Resources[class]
		if !isKnown {
			continue
		}
		row := []string{class, strconv.FormatInt(of.Amount, 10), number(of.Limit), number(of.Free), number(of.Stranded), ""}
		if found.EndsFirst != nil && *found.EndsFirst == class {
			row[5] = arrow
		}
		table = append(table, row)
	}
	return table
}
