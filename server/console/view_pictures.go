package console

import (
	"html/template"
	"slices"

	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/work/provision"
)

// Bar is a bar of the usage of an inventory.
type Bar = draw.UsageBar

// The functions below mark the output of package draw as HTML: it escapes its texts.

func bar(b Bar) template.HTML { return template.HTML(b.Fragment()) }

// treeLines returns the lines of the rows of a tree, in depth-first order, from their depths.
func treeLines(depths []int) []template.HTML {
	lines := make([]template.HTML, len(depths))
	for i, position := range draw.TreePositions(depths) {
		lines[i] = template.HTML(position.Fragment())
	}
	return lines
}

// amountOf returns the amount of a class with its bar.
func amountOf(class string, b Bar) Amount {
	used := 0.0
	for _, piece := range b.Pieces {
		used += piece.Amount
	}
	a := Amount{Class: class, Bar: bar(b), Over: used > b.Capacity}
	a.Used, a.Capacity = amounts(class, int64(used), whole(b.Capacity))
	return a
}

// takenOf returns the amount of a class on a provider of a candidate: what is used, and what the candidate adds, in the
// color of its group.
func takenOf(class string, b Bar, plus float64, kind string) Amount {
	used := 0.0
	for _, piece := range b.Pieces {
		used += piece.Amount
	}
	b.Pieces = []draw.Piece{{Amount: used, Kind: draw.UsedNow}, {Amount: plus, Kind: kind}}
	a := Amount{Class: class, Bar: bar(b), Over: used+plus > b.Capacity}
	texts, unit := scaled(class, int64(used), int64(plus), whole(b.Capacity))
	a.Used, a.Plus, a.Capacity = texts[0], &Link{Text: "+" + texts[1], Kind: kind}, texts[2]
	if unit != "" {
		a.Capacity += " " + unit
	}
	return a
}

func histBar(width, height int, value, previous, whole float64, kind string) template.HTML {
	return template.HTML(draw.HistogramBar(width, height, value, previous, whole, kind))
}

func stackedBar(width, height int, pieces []draw.Piece, label string) template.HTML {
	return template.HTML(draw.Share(width, height, pieces, label))
}

func mapKey(kind string) template.HTML { return template.HTML(draw.MapKey(kind)) }

func swatch(kind string) template.HTML { return template.HTML(draw.Swatch(kind)) }

func key(kind string) template.HTML { return template.HTML(draw.Key(kind)) }

// provisionVerbs are the verbs with edges of their own: not abort, and not the synonyms.
var provisionVerbs = []string{
	provision.Manage, provision.Provide, provision.Inspect, provision.Clean, provision.Adopt, provision.Activate, provision.Rebuild, provision.Delete,
}

// stateEdges returns the edges of the state machine of nodes. Cleaning ends in each of its two targets.
func stateEdges() []draw.StateEdge {
	var edges []draw.StateEdge
	for _, state := range provision.States() {
		for _, verb := range provisionVerbs {
			if edge, ok := provision.EdgeForVerb(state, verb); ok {
				edges = append(edges, draw.StateEdge{From: state, Verb: verb, To: edge.To})
			}
		}
		for _, target := range []string{provision.Available, provision.Manageable} {
			done, ok := provision.EdgeOnSuccess(state, target)
			if next := (draw.StateEdge{From: state, To: done.To}); ok && !slices.Contains(edges, next) {
				edges = append(edges, next)
			}
		}
		if failed, ok := provision.EdgeOnFailure(state, ""); ok {
			edges = append(edges, draw.StateEdge{From: state, To: failed.To, Failed: true})
		}
	}
	return edges
}

// statePicture returns the diagram of provision states with the current one marked.
func statePicture(current string) template.HTML {
	return template.HTML(draw.States(provision.States(), stateEdges(), current))
}
