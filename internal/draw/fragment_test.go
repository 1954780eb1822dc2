package draw

import (
	"slices"
	"strings"
	"testing"
)

// fragments returns examples of all SVG fragments.
func fragments() map[string]string {
	consumers := func(n int) []Piece {
		var pieces []Piece
		for i := range n {
			piece := Piece{Amount: float64(i%3 + 1), Kind: Used}
			if i == 2 {
				piece.Kind = Marked
			}
			pieces = append(pieces, piece)
		}
		return pieces
	}
	used := func(amount float64) []Piece { return []Piece{{Amount: amount, Kind: Used}} }
	squares := []Square{0, .1, .25, .4, .6, .85, .95, 1, 1.2, NoInventory}
	states := []string{"enroll", "verifying", "manageable", "available", "rescue"}
	edges := []StateEdge{
		{From: "enroll", Verb: "manage", To: "verifying"}, {From: "verifying", To: "manageable"}, {From: "verifying", To: "enroll", Failed: true},
		{From: "available", Verb: "manage", To: "manageable"}, {From: "rescue", To: "active"},
	}
	drawn := map[string]string{
		"bar_whole":    UsageBar{Capacity: 60, Pieces: used(44), Label: "44 of 60 used"}.Fragment(),
		"bar_cut":      UsageBar{Capacity: 20, Pieces: consumers(5)}.Fragment(),
		"bar_many":     UsageBar{Width: 236, Height: 10, Capacity: 200, Pieces: consumers(41)}.Fragment(),
		"bar_taken":    UsageBar{Capacity: 60, Pieces: []Piece{{20, UsedNow}, {12, Violet}}}.Fragment(),
		"bar_reserved": UsageBar{Capacity: 60, Reserved: 4, Pieces: used(60)}.Fragment(),
		"bar_over":     UsageBar{Capacity: 60, Reserved: 4, Pieces: used(80)}.Fragment(),
		"bar_empty":    UsageBar{Pieces: used(0)}.Fragment(),
		"map":          Map(squares, 4, "VCPU by tree"),
		"map_empty":    Map(nil, 0, ""),
		"histogram":    HistogramBar(200, 10, 11, 22, 44, Used) + HistogramBar(200, 10, 0, 0, 0, Used),
		"share":        Share(200, 12, []Piece{{71, Used}, {2, Red}, {0, Gray}}, "71 active, 2 failed"),
		"states":       States(states, edges, "verifying"),
		"keys":         Swatch("held") + Swatch("over") + Swatch("cut") + Swatch("h3") + Swatch(Used) + Key(Green) + MapKey("shades") + MapKey("over") + MapKey("none"),
	}
	for _, position := range TreePositions([]int{0, 1, 2, 2, 1, 0}) {
		drawn["tree_lines"] += position.Fragment() + "\n"
	}
	return drawn
}

func TestConsole_Fragments_MatchGolden(t *testing.T) {
	t.Parallel()
	var names []string
	drawn := fragments()
	for name := range drawn {
		names = append(names, name)
	}
	slices.Sort(names)
	var all strings.Builder
	for _, name := range names {
		checkXML(t, "<g>"+drawn[name]+"</g>")
		all.WriteString("<!-- " + name + " -->\n" + drawn[name] + "\n")
	}
	checkGolden(t, "fragments.html", all.String())
	if strings.Contains(all.String(), "style") {
		t.Error("a fragment has a style")
	}
}

func TestConsole_HostileLabels_AreEscaped(t *testing.T) {
	t.Parallel()
	const hostile = "\"><script>\u202e\x1b[31m"
	for name, text := range map[string]string{
		"bar": UsageBar{Capacity: 1, Label: hostile}.Fragment(), "map": Map(nil, 1, hostile), "swatch": Swatch(hostile) + Key(hostile),
		"states": States([]string{hostile}, []StateEdge{{From: hostile, To: "active", Verb: hostile}}, hostile), "share": Share(1, 1, nil, hostile),
	} {
		checkXML(t, "<g>"+text+"</g>")
		if strings.Contains(text, "<script") || strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%s is not escaped: %s", name, text)
		}
	}
	if got, want := Escape("a\tb\n\u202ec\x1b"), "a\tb\n\\u202ec\\x1b"; got != want {
		t.Errorf("Escape = %q, want %q", got, want)
	}
}

func TestConsole_LargeMap_StaysSmall(t *testing.T) {
	t.Parallel()
	squares := make([]Square, 10_000)
	for i := range squares {
		squares[i] = Square(i%101) / 100
	}
	text := Map(squares, 100, "10,000 trees")
	if len(text) > 200_000 || strings.Count(text, "<path") != mapShades {
		t.Errorf("%d bytes in %d paths, want at most 200,000 in %d", len(text), strings.Count(text, "<path"), mapShades)
	}
}

func TestConsole_TreePositions_ContinueLinesToSiblings(t *testing.T) {
	t.Parallel()
	positions := TreePositions([]int{0, 1, 2, 2, 1, 0})
	for i, want := range [][]bool{nil, {true}, {true, true}, {true, false}, {false}, nil} {
		if !slices.Equal(positions[i].Guides, want) {
			t.Errorf("guides of row %d = %v, want %v", i, positions[i].Guides, want)
		}
	}
	if positions[2].Parent || !positions[1].Parent {
		t.Error("parents are wrong")
	}
}
