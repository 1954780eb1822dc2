package apicommand

import (
	"strings"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/explaintext"
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

func partRows(of *api.ExplanationPart, exact bool) []partRow {
	if len(of.Steps) == 0 {
		return nil
	}
	last := of.Steps[len(of.Steps)-1]
	left := last.Trees
	if of.SplitTrees != nil {
		left = *of.SplitTrees
	}
	if left == of.Steps[0].Trees {
		return []partRow{{explaintext.Part(of), count(last.Providers, exact), count(left, exact)}}
	}
	rows := []partRow{{explaintext.Part(of), "", ""}}
	for i, step := range of.Steps {
		if i == 0 || step.Providers != of.Steps[i-1].Providers || step.Trees != of.Steps[i-1].Trees {
			rows = append(rows, partRow{"  " + explaintext.Step(&step), count(step.Providers, exact), count(step.Trees, exact)})
		}
	}
	if left < last.Trees {
		rows = append(rows, partRow{"  together " + strings.Join(explaintext.Amounts(of), ", "), "", count(left, exact)})
	}
	return rows
}

// minNameWidth is the minimum width of the names of trees and providers.
const minNameWidth = 13

// nearest adds the trees that fail by least, with what they lack.
func (e *explanationText) nearest(trees []api.ExplanationTree) {
	if len(trees) == 0 {
		return
	}
	e.section("NEAREST")
	width := minNameWidth
	for _, tree := range trees {
		width = max(width, len(tree.Tree.Name)+2)
	}
	for _, tree := range trees {
		var missing []string
		for i := range tree.Missing {
			missing = append(missing, explaintext.Missing(&tree.Missing[i]))
		}
		if len(missing) == 0 {
			missing = append(missing, explaintext.FailedStage(tree.Stage))
		}
		text := strings.Join(missing, " and ")
		if tree.FreedBy.IsNull() {
			text += ", and would not fit even when empty"
		}
		e.wrap("  "+pad(tree.Tree.Name, width), text)
	}
}
