package console

import (
	"flag"
	"html/template"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/berthd/berth/internal/draw"
)

var componentsDir = flag.String("components", "", "directory for the HTML of the components page and the sample pages")

// samplePages returns the templates of the console with the pages of the tests.
func samplePages(t *testing.T) fs.FS {
	t.Helper()
	files := fstest.MapFS{}
	for _, dir := range []string{".", "testdata"} {
		names, err := filepath.Glob(filepath.Join(dir, "templates", "*.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if dir == "." && name != "templates/layout.html" && name != "templates/parts.html" {
				continue // the page of its author
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files["templates/"+filepath.Base(name)] = &fstest.MapFile{Data: text}
		}
	}
	return files
}

func TestConsole_SamplePages_Render(t *testing.T) {
	t.Parallel()
	pages, err := parsePages(samplePages(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := *componentsDir
	if dir == "" {
		dir = t.TempDir()
	}
	frames := sampleFrames(t, pages)
	for _, name := range slices.Sorted(maps.Keys(frames)) {
		for _, theme := range []string{"light", "dark"} {
			frame := frames[name]
			frame.Theme, frame.Base, frame.Assets = theme, "/console", "assets"
			frame.Path = "/console/" + name
			frame.Who = Who{
				SignedIn: true, User: "ada", Roles: "admin, service", CanChoose: true,
				Personas: []Link{{Text: "operator", Href: "operator", Current: true}, {Text: "administrator", Href: "admin"}, {Text: "reader", Href: "reader"}, {Text: "no role", Href: "none"}},
			}
			var out strings.Builder
			if err := pages.render(t.Context(), &out, name, frame); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := os.WriteFile(filepath.Join(dir, name+"-"+theme+".html"), []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func sampleFrames(t *testing.T, pages pageSet) map[string]Frame {
	t.Helper()
	return map[string]Frame{
		"overview": sampleOverview(), "tree": sampleTree(), "candidates": sampleCandidates(), "components": sampleComponents(t, pages),
	}
}

var sampleTime = time.Date(2026, 11, 12, 14, 2, 11, 0, time.UTC)

func options(texts ...string) []Link {
	links := make([]Link, len(texts))
	for i, text := range texts {
		links[i] = Link{Text: text, Href: text, Current: i == 0}
	}
	return links
}

func text(texts ...string) []Fact {
	facts := make([]Fact, len(texts))
	for i, text := range texts {
		facts[i] = Fact{Link: Link{Text: text}}
	}
	return facts
}

func squareMap(squares []draw.Square, columns int, label string) template.HTML {
	return template.HTML(draw.Map(squares, columns, label))
}

// cardHead is the head of a card of a sample.
type cardHead struct{ ID, Title, Note string }

func sampleOverview() Frame {
	type row struct {
		Class Link
		Warn  string
		Bar   template.HTML
		Cells []Cell
	}
	var rows []row
	for _, r := range []struct {
		class, warn             string
		total, used, reserved   int64
		largest                 int64
		at, stranded, strandedP string
	}{
		{"VCPU", "", 61440, 45902, 0, 52, "cmp-113", "3,104", "20 %"},
		{"MEMORY_MB", "", 251658240, 195000000, 8000000, 421888, "cmp-131", "2.1 TiB", "5 %"},
		{"DISK_GB", "", 2023424, 1121000, 0, 215040, "ceph-ssd", "", ""},
		{"VGPU", "over capacity on 1 provider", 1536, 1489, 0, 3, "gpu-07", "29", "62 %"},
		{"SRIOV_NET_VF", "", 13184, 5020, 0, 64, "118 providers", "", ""},
		{"CUSTOM_GOLD", "", 87, 71, 9, 1, "16 nodes", "", ""},
	} {
		free := Cell{Link: Link{Text: amount(r.class, r.total-r.used)}, Number: true, Strong: true, Sub: &Link{Text: "of " + amount(r.class, r.total)}}
		if r.reserved > 0 {
			free.Sub.Text += ", " + amount(r.class, r.reserved) + " reserved"
		}
		stranded := Cell{Link: Link{Text: none}, Number: true}
		if r.stranded != "" {
			stranded = Cell{Link: Link{Text: r.stranded}, Strong: true, Number: true, Sub: &Link{Text: r.strandedP}}
		}
		rows = append(rows, row{
			Class: Link{Text: r.class, Href: "/console/classes/" + r.class}, Warn: r.warn,
			Bar: bar(Bar{Width: 236, Height: 10, Capacity: float64(r.total), Reserved: float64(r.reserved), Pieces: []draw.Piece{{Amount: float64(r.used), Kind: draw.Used}}}),
			Cells: []Cell{
				{Link: Link{Text: share(float64(r.used), float64(r.total))}, Number: true}, free,
				{Link: Link{Text: amount(r.class, r.largest)}, Number: true, Sub: &Link{Text: r.at, Href: "#"}}, stranded,
			},
		})
	}
	type group struct {
		Name, Share string
		Map         template.HTML
	}
	var maps []group
	random := rand.New(rand.NewPCG(1, 2))
	for i, mean := range []float64{.62, .72, .80, .74, .97, .95, .55, .70} {
		squares := make([]draw.Square, 56)
		if i == 7 {
			squares = squares[:20]
		}
		for j := range squares {
			squares[j] = draw.Square(min(1, max(0, mean+(random.Float64()-.5)*min(.8, 2*(1-mean)))))
		}
		if i == 4 {
			squares[19] = 1.3
		}
		if i == 6 {
			squares[3], squares[4] = draw.NoInventory, draw.NoInventory
		}
		name := "rack-" + string(rune('a'+i))
		maps = append(maps, group{name, percent(mean, 1), squareMap(squares, 7, name+": VCPU of "+number(int64(len(squares)))+" trees")})
	}
	pieces := Hist{Label: "Free VGPU by size of the piece: 22 of 1, 11 of 2, 1 of 3, none of 4"}
	for i, n := range []float64{22, 11, 1, 0} {
		pieces.Rows = append(pieces.Rows, HistRow{Text: number(int64(i+1)) + " free", Count: number(int64(n)), Bar: histBar(200, 10, n, 22, 22, draw.Used)})
	}
	type state struct {
		Swatch template.HTML
		Text   string
		Count  int
	}
	states := []state{
		{key("used"), "active", 71}, {key("g"), "available", 16}, {key("used2"), "cleaning", 4},
		{key("a"), "maintenance", 3}, {key("r"), "clean failed", 2},
	}
	return Frame{
		Title: "Overview", Nav: "", Facts: text("412 trees", "4,212 providers", "18,304 consumers"), AsOf: sampleTime, Every: 15,
		Actions: []Link{{Text: "Export", Href: "/console/providers.csv", Download: true}},
		Body: map[string]any{
			"Shape": Input{ID: "shape", Name: "shape", Label: "stranded for", Kind: "small", Options: options("m1.large: 4 VCPU, 16 GiB, 80 GB")},
			"Heads": []Cell{
				{Link: Link{Text: "Resource class"}}, {Link: Link{Text: "Used, reserved, free"}}, {Link: Link{Text: "Used"}, Number: true},
				{Link: Link{Text: "Free"}, Number: true}, {Link: Link{Text: "Largest piece"}, Number: true}, {Link: Link{Text: "Stranded"}, Number: true},
			},
			"Rows": rows, "Legend": []Swatch{{swatch("used"), "used"}, {swatch("track"), "free"}, {swatch("held"), "reserved"}},
			"Failed": cardHead{ID: "failed", Title: "Could not be placed", Note: "last 2 hours, by count"},
			"Reasons": []Reason{
				{Link: Link{Text: "1 VGPU with"}, Code: "CUSTOM_NVLINK", At: "14:01", Times: "×12", Sub: "38 trees have the trait, none of them a free VGPU", More: Link{Text: "explain", Href: "#"}},
				{Link: Link{Text: "4 VGPU and 32 VCPU below one NUMA node"}, At: "13:58", Times: "×3", Sub: "the largest free piece is 3 VGPU, on gpu-07", More: Link{Text: "explain", Href: "#"}},
				{Link: Link{Text: "64 VCPU from one provider in"}, Code: "a9907c1e…", At: "13:40", Times: "×2", Sub: "max_unit is 48 on all 56 hosts there", More: Link{Text: "explain", Href: "#"}},
				{Link: Link{Text: "1 CUSTOM_GOLD with"}, Code: "CUSTOM_RAID10", At: "12:17", Times: "×1", Sub: "16 machines are free, none has the trait", More: Link{Text: "explain", Href: "#"}},
			},
			"FailedFoot": []Link{{Text: "18 requests without candidates."}, {Text: "All of them", Href: "#"}},
			"Class":      Input{ID: "class", Name: "class", Kind: "small", Options: options("VCPU")},
			"By":         Input{ID: "by", Name: "by", Kind: "small", Options: options("aggregate", "tree")},
			"Maps":       maps, "Pieces": pieces, "PiecesFoot": []Link{{Text: "Which trees have them?", Href: "#"}},
			"PieceClass": Input{ID: "piece", Name: "piece", Kind: "small", Options: options("VGPU")},
			"Look":       cardHead{ID: "look", Title: "Worth a look"},
			"Looks": []Reason{
				{Link: Link{Text: "VGPU of gpu-04_86:00.0 is over capacity: 4 of 3", Href: "#"}, Dot: "r"},
				{Link: Link{Text: "Conductor bm-2 is silent; bm-1 took over 4 nodes", Href: "#"}, Dot: "a"},
				{Link: Link{Text: "17 checks of the data found nothing"}, Dot: "g"},
			},
			"Metal":    cardHead{ID: "metal", Title: "Bare metal", Note: "the first 96 nodes, 2 conductors"},
			"StateBar": stackedBar(414, 12, []draw.Piece{{Amount: 71, Kind: "used"}, {Amount: 16, Kind: "g"}, {Amount: 4, Kind: "used2"}, {Amount: 3, Kind: "a"}, {Amount: 2, Kind: "r"}}, "Nodes by state: 71 active, 16 available, 4 cleaning, 3 in maintenance, 2 clean failed"),
			"States":   states,
		},
	}
}
