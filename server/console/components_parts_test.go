package console

import (
	"html/template"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/draw"
)

// hostileName has markup, quotes, a direction mark and an escape sequence, and is long.
var hostileName = "<b>\"x\" 'y'</b>\u202egnp.exe\x1b[31m" + strings.Repeat("-long", 30)

// part is a use of a template of parts.html.
type part struct {
	name string
	data any
}

// sampleParts returns uses of every template of parts.html, in each variant, by the heading of their card.
func sampleParts() []struct {
	name  string
	parts []part
} {
	link := Link{Text: "gpu-07", Href: "#"}
	input := func(label string, change func(*Input)) part {
		i := Input{ID: label, Label: label, Name: label}
		change(&i)
		return part{"form-row", i}
	}
	failed := Problem{Text: "context deadline exceeded", Request: "GET /capacity?group_by=tree", RequestID: "req-4be1c1f0-7a3a-4c86-8f6a-1f0e7c1d90c2", Retry: "#"}
	kinds := []string{"", "dashed", "a", "v", "g", "r", "s"}
	var chips []Link
	for _, kind := range kinds {
		chips = append(chips, Link{Text: "CUSTOM_" + strings.ToUpper(kind), Kind: kind}, Link{Text: "link_" + kind, Kind: kind, Href: "#"})
	}
	bars := func(pieces int, kind string) template.HTML {
		b := Bar{Width: 236, Height: 10, Capacity: float64(pieces) * 2, Reserved: float64(pieces) / 3}
		for i := range pieces {
			b.Pieces = append(b.Pieces, draw.Piece{Amount: float64(i%3 + 1), Kind: kind})
			if i%7 == 3 && pieces > 1 {
				b.Pieces[i].Kind = draw.Marked
			}
		}
		return bar(b)
	}
	whole := func(used, capacity, reserved float64) template.HTML {
		return bar(Bar{Width: 236, Height: 10, Capacity: capacity, Reserved: reserved, Pieces: []draw.Piece{{Amount: used, Kind: draw.Used}}, Label: "used"})
	}
	return []struct {
		name  string
		parts []part
	}{
		{"Tabs, links, facts", []part{
			{"tabs", []Link{{Text: "Tree", Href: "#", Current: true}, {Text: "Consumers", Href: "#", Count: "14"}, {Text: "API", Href: "#"}}},
			{"link", link}, {"fact", Fact{Link: Link{Text: "2c9d7f10-4f7a-4a43-9a55-8a1f0e7c1d07"}, Copy: true}}, {"fact", Fact{Link: link}},
			{"as-of", Frame{AsOf: sampleTime}}, {"as-of", Frame{AsOf: sampleTime, Every: 15}}, {"copy", "text"},
		}},
		{"Buttons", []part{
			{"button", Link{Text: "Plain", Href: "#"}}, {"button", Link{Text: "Main", Href: "#", Kind: "main"}}, {"button", Link{Text: "Quiet", Href: "#", Kind: "quiet"}},
			{"button", Link{Text: "Small", Href: "#", Kind: "small", Download: true}},
		}},
		{"Chips", []part{{"chips", chips}, {"chips", []Link{{Text: hostileName, Href: "#"}}}}},
		{"Form rows", []part{
			input("name", func(i *Input) { i.Value, i.Hint = hostileName, "A hint below the field" }), input("empty", func(i *Input) { i.Placeholder = "placeholder" }),
			input("invalid", func(i *Input) { i.Value, i.Invalid, i.Hint = "x", true, "not a number" }), input("password", func(i *Input) { i.Type, i.Autocomplete = "password", "current-password" }),
			input("policy", func(i *Input) { i.Options = options("none: may share a provider", "isolate") }), input("body", func(i *Input) { i.Rows, i.Value = 3, "{\n  \"a\": 1\n}" }),
			{"resource", Input{Name: "resources", Class: "VCPU", Value: "4", List: "classes"}}, {"resource", Input{Name: "resources"}},
			{"tokens", Input{ID: "t", Label: "required", Name: "required", List: "traits", Tokens: []Token{{"required", "CUSTOM_A100", ""}, {"required", "_CPU", "v"}}}},
			{"tokens", Input{ID: "u", Label: "member_of", Name: "member_of", Placeholder: "uuid of an aggregate"}},
		}},
		{"Notices", []part{
			{"notice", Notice{Title: "17 trees are lost.", Text: "They have a free card.", Links: []Link{link}}}, {"notice", Notice{Kind: "r", Title: "Denied.", Text: "What is wrong."}},
			{"notice", Notice{Kind: "g", Title: "It fits.", Text: "204 would be answered."}}, {"notice", Notice{Kind: "s", Text: "Only a remark."}},
		}},
		{"Field list", []part{{"fields", []Field{
			{Name: "total", Values: []Link{{Text: "4"}}}, {Name: "capacity", Values: []Link{{Text: "4, of which"}}, Strong: "1 is free"},
			{Name: "aggregates", Values: []Link{link, link}}, {Name: hostileName, Values: []Link{{Text: hostileName}}}, {Name: "none"},
		}}}},
		{"Reasons", []part{{"reasons", []Reason{
			{Link: Link{Text: "1 VGPU with"}, Code: "CUSTOM_NVLINK", At: "14:01", Times: "×12", Sub: "none is free", More: Link{Text: "explain", Href: "#"}, Chips: chips[:2]},
			{Link: link, Dot: "r"}, {Link: Link{Text: "amber"}, Dot: "a"}, {Link: Link{Text: "green"}, Dot: "g"}, {Link: Link{Text: "gray"}, Dot: "s", Sub: hostileName},
		}}}},
		{"Bars", []part{
			{"html", bars(5, draw.Used)}, {"html", bars(40, draw.Used)}, {"html", bars(90, draw.Used)}, {"html", whole(0, 10, 0)}, {"html", whole(10, 10, 0)}, {"html", whole(4, 10, 3)},
			{"html", whole(13, 10, 2)}, {"html", whole(1, 0, 0)}, {"html", whole(0, 0, 0)}, {"html", bars(1, draw.Violet)},
		}},
		{"Legend and badges", []part{
			{"legend", []Swatch{{swatch("used"), "used"}, {swatch("track"), "free"}, {swatch("held"), "reserved"}, {swatch("over"), "over capacity"}, {swatch("cut"), "cut"}, {swatch("h3"), "shade"}, {mapKey("shades"), "0 to 100 %"}, {mapKey("over"), "over"}, {mapKey("none"), "none"}, {key("s"), "other"}}},
			{"badge", Badge{"1", true}}, {"badge", Badge{"2", false}}, {"badge", Badge{"+12", false}},
		}},
		{"Request and funnel", []part{
			{"query", []QueryPart{{"", "GET /allocation_candidates?"}, {"resources", "VCPU:1&"}, {"limit", hostileName}}}, {"command", "berth provider list --limit 5"},
			{"hist", Hist{Label: "a funnel", Funnel: true, Rows: []HistRow{{Text: "Trees", Count: "412", Bar: histBar(448, 10, 412, 412, 412, "used")}, {Text: "none", Sub: "with CUSTOM_A100", Count: "0", Bar: histBar(448, 10, 0, 412, 412, "a")}}}},
			{"hist", Hist{Label: "nothing", Rows: nil}},
		}},
		{"Table", []part{
			{"sample-table", []Cell{{Link: Link{Text: "Name", Href: "?sort=name"}}, {Link: Link{Text: "Free", Href: "?sort=free"}, Number: true}, {Link: Link{Text: "Plain"}}}},
		}},
		{"Empty", []part{{"empty", Message{Text: "This tree has no consumers.", Command: "berth allocation set …", Links: []Link{link}}}, {"empty", Message{Text: "Nothing was found."}}}},
		{"Error", []part{{"problem", failed}, {"problem", Problem{Kind: "invalid", Text: hostileName, Retry: "#"}}, {"problem", Problem{Kind: "slow", Retry: "#"}}}},
		{"Refused", []part{{"problem", Problem{Kind: "refused", Rule: "placement:resource_providers:list", Command: "berth policy check placement:resource_providers:list"}}, {"problem", Problem{Kind: "refused", Text: "Not by this user."}}}},
		{"Missing call", []part{{"problem", Problem{Kind: "missing", Text: "This service does not tell."}}}},
		{"Pager", []part{{"pager", Pager{"1 to 100 of 10,000+", "", "?marker=x"}}, {"pager", Pager{"101 to 110 of 110", "?", ""}}, {"card-foot", []Link{link, {Text: "as it was"}}}}},
		{"Empty tree", []part{{"tree", Tree{Caption: "empty", Classes: []string{"VCPU"}, Rows: []TreeRow{{Link: Link{Text: hostileName}, Sub: hostileName, Lines: treeLines([]int{0})[0], Amounts: []Amount{{Class: "VCPU"}}}}}}}},
		{"Provision states", []part{{"html", statePicture("active")}, {"html", statePicture("")}}},
	}
}

func sampleComponents(t *testing.T, pages pageSet) Frame {
	t.Helper()
	type card struct {
		Name, Width string
		Content     template.HTML
	}
	var cards []card
	for _, sample := range sampleParts() {
		var out strings.Builder
		for _, part := range sample.parts {
			if err := pages.renderPart(t.Context(), &out, "components", part.name, part.data); err != nil {
				t.Errorf("%s: %v", part.name, err)
			}
		}
		width := "w6"
		if sample.name == "Provision states" {
			width = "w9"
		}
		cards = append(cards, card{sample.name, width, template.HTML(out.String())})
	}
	heads := []Cell{{Link: Link{Text: "Name", Href: "?sort=name:desc"}}, {Link: Link{Text: "VCPU"}}, {Link: Link{Text: "MEMORY_MB"}}}
	list := treeOf([]string{"VCPU", "MEMORY_MB"}, []sampleRow{
		{name: "cmp-001", sub: "9 providers", bars: map[string]Bar{"VCPU": usedBy(60, 4, 44), "MEMORY_MB": usedBy(248*1024, 0, 192*1024)}},
		{name: "cmp-002", sub: "1 provider", mode: "at", bars: map[string]Bar{"VCPU": usedBy(60, 4, 66), "MEMORY_MB": usedBy(248*1024, 0)}},
		{name: "ceph-ssd", sub: "1 provider", mode: "shared"},
	})
	return Frame{Title: "Components", Warning: "This service does not authenticate requests.", Crumbs: []Link{{Text: "Console", Href: "#"}, {Text: hostileName}}, Facts: text(hostileName),
		Body: map[string]any{"Cards": cards, "ListHeads": heads, "List": list.Rows, "Pager": Pager{"1 to 3 of 412", "", "?marker=x"},
			"Filter": Input{ID: "class", Name: "class", Options: options("VCPU", "VGPU")},
		}}
}
