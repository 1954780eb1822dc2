package bruteforce

import (
	"fmt"
	"slices"

	"github.com/berthd/berth/server/search/explain"
)

// ExplanationViolations returns one line for each rule that holds for every explanation of a query and that this one
// violates.
func (d *Deployment) ExplanationViolations(rawQuery string, minor int, of *explain.Explanation) []string {
	answer := d.Ask(rawQuery, minor)
	lines := slices.Concat(funnelViolations(of.Funnel, len(answer.Candidates) > 0), partViolations(of.Parts))
	if (of.Reason == explain.Fits) != (len(answer.Candidates) > 0) {
		lines = append(lines, fmt.Sprintf("reason %s with %d candidates", of.Reason, len(answer.Candidates)))
	}
	for i, near := range of.Nearest {
		if found := d.Find(near.Tree.UUID.String()); found == nil || found.Name != near.Tree.Name || found.Parent != "" {
			lines = append(lines, "nearest: no root "+near.Tree.Name)
		} else if minor >= 29 && slices.ContainsFunc(answer.trees, func(t tree) bool { return t.anchor == found }) {
			lines = append(lines, "nearest: "+near.Tree.Name+" has candidates")
		}
		if (near.Distance == 0) != (near.Stage != "") || (near.Distance == 0) != (len(near.Missing) == 0) {
			lines = append(lines, fmt.Sprintf("nearest: %s at %v, stage %q, misses %v", near.Tree.Name, near.Distance, near.Stage, near.Missing))
		}
		if i > 0 && near.Distance < of.Nearest[i-1].Distance {
			lines = append(lines, "nearest: "+near.Tree.Name+" follows a tree that is farther")
		}
		for _, missing := range near.Missing {
			if p := missing.Provider; p != nil && (d.Find(p.UUID.String()) == nil || d.Find(p.UUID.String()).Name != p.Name) {
				lines = append(lines, "missing: no provider "+p.Name)
			}
		}
	}
	return lines
}

func funnelViolations(funnel []explain.Stage, hasCandidates bool) []string {
	var lines []string
	for i := 1; i < len(funnel); i++ {
		if funnel[i].Trees > funnel[i-1].Trees {
			lines = append(lines, fmt.Sprintf("funnel: %s has %d trees after %d", funnel[i].Stage, funnel[i].Trees, funnel[i-1].Trees))
		}
	}
	if len(funnel) < 2 || funnel[0].Stage != "all" || funnel[len(funnel)-1].Stage != "candidates" {
		return append(lines, "funnel: without its first or last stage")
	}
	if (funnel[len(funnel)-1].Trees > 0) != hasCandidates {
		lines = append(lines, fmt.Sprintf("funnel: %d trees with candidates", funnel[len(funnel)-1].Trees))
	}
	return lines
}

func partViolations(parts []explain.Part) []string {
	var lines []string
	for _, part := range parts {
		for i := 1; i < len(part.Steps); i++ {
			if before, step := part.Steps[i-1], part.Steps[i]; step.Providers > before.Providers || step.Trees > before.Trees {
				lines = append(lines, fmt.Sprintf("part %q: step %s has more than %s", part.Groups, step.Step, before.Step))
			}
		}
		last := part.Steps[len(part.Steps)-1]
		if part.CanSplit != (part.SplitTrees != nil) || part.CanSplit && *part.SplitTrees > last.Trees {
			lines = append(lines, fmt.Sprintf("part %q: split_trees", part.Groups))
		}
	}
	return lines
}
