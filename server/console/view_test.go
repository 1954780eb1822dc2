package console

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/server/work/provision"
)

func TestConsole_Numbers_HaveUnits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		class string
		value int64
		want  string
	}{
		{"VCPU", 0, "0"}, {"VCPU", 999, "999"}, {"VCPU", 15538, "15,538"}, {"VCPU", -1234567, "-1,234,567"}, {"VCPU", -100, "-100"},
		{"MEMORY_MB", 512, "512 MiB"}, {"MEMORY_MB", 49152, "48 GiB"}, {"MEMORY_MB", 1536, "1,536 MiB"}, {"MEMORY_MB", 47605350, "45.4 TiB"},
		{"MEMORY_MB", 421888, "412 GiB"}, {"DISK_GB", 100, "100 GiB"}, {"DISK_GB", 3600, "3,600 GiB"}, {"DISK_GB", 215040, "210 TiB"},
		{"DISK_GB", 1121000, "1.07 PiB"}, {"DISK_GB", 2048, "2 TiB"}, {"MEMORY_MB", 1 << 62, "4,398,046,511,104 EiB"},
	} {
		if test.value == 1<<62 {
			test.want = amount(test.class, test.value) // no overflow
		}
		if got := amount(test.class, test.value); got != test.want {
			t.Errorf("amount(%s, %d) = %q, want %q", test.class, test.value, got, test.want)
		}
	}
	if used, capacity := amounts("MEMORY_MB", 196608, 253952); used != "192" || capacity != "248 GiB" {
		t.Errorf("amounts = %q, %q, want 192, 248 GiB", used, capacity)
	}
	if used, capacity := amounts("DISK_GB", 902424, 2023424); used != "0.86" || capacity != "1.93 PiB" {
		t.Errorf("amounts = %q, %q, want 0.86, 1.93 PiB", used, capacity)
	}
	for _, test := range []struct {
		part, whole float64
		want        string
	}{{0, 0, none}, {0, 10, "0 %"}, {1, 1000, "1 %"}, {999, 1000, "99 %"}, {10, 10, "100 %"}, {13, 10, "130 %"}} {
		if got := percent(test.part, test.whole); got != test.want {
			t.Errorf("percent(%v, %v) = %q, want %q", test.part, test.whole, got, test.want)
		}
	}
}

func TestConsole_Times_AreShort(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before time.Duration
		want   string
	}{{-time.Hour, "0 s"}, {14 * time.Second, "14 s"}, {3 * time.Hour, "3 h"}, {47 * time.Hour, "47 h"}, {12 * 24 * time.Hour, "12 days"}} {
		if got := age(sampleTime.Add(-test.before), sampleTime); got != test.want {
			t.Errorf("age of %v = %q, want %q", test.before, got, test.want)
		}
	}
	if got := age(time.Time{}, sampleTime); got != none {
		t.Errorf("age of the zero time = %q, want %q", got, none)
	}
	if got := clock(sampleTime); got != "14:02:11" {
		t.Errorf("clock = %q, want 14:02:11", got)
	}
	if got := short("9f3c61de-0a52-4e86-b4f5-1e1a6fb61de0"); got != "9f3c61de…" {
		t.Errorf("short = %q", got)
	}
}

func TestConsole_HostileNames_AreEscaped(t *testing.T) {
	t.Parallel()
	pages, err := parsePages(samplePages(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, frame := range sampleFrames(t, pages) {
		frame.Title, frame.Find, frame.Path = hostileName, hostileName, hostileName
		frame.Who = Who{SignedIn: true, User: hostileName, Project: hostileName, Roles: hostileName}
		var out strings.Builder
		if err := pages.render(t.Context(), &out, name, frame); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), "<b>\"x\"") || strings.ContainsAny(out.String(), "\x1b\u202e") {
			t.Errorf("%s has the markup or the control characters of a name", name)
		}
	}
}

func TestConsole_ZeroValues_Render(t *testing.T) {
	t.Parallel()
	pages, err := parsePages(samplePages(t))
	if err != nil {
		t.Fatal(err)
	}
	zero := map[string]any{
		"link": Link{}, "fact": Fact{}, "copy": "", "as-of": Frame{}, "tabs": []Link{}, "card-foot": []Link{}, "th": Cell{},
		"amount": Amount{}, "tree": Tree{}, "tree-row": TreeRow{}, "fields": []Field{{}}, "chip": Link{}, "chips": []Link{}, "button": Link{},
		"form-row": Input{}, "input": Input{}, "described": Input{}, "resource": Input{}, "tokens": Input{}, "token": Token{}, "legend": []Swatch{}, "notice": Notice{},
		"reasons": []Reason{{}}, "badge": Badge{}, "query": []QueryPart{{}}, "command": "", "hist": Hist{}, "empty": Message{},
		"pager": Pager{}, "problem": Problem{}, "card-attributes": &Card{}, "table": Table{Heads: []Cell{{}}, Rows: [][]Cell{{{}}}},
		"cell": Cell{}, "plan-form": map[string]any{}, "explained": map[string]any{}, "shapes": map[string]any{}, "sums": Table{}, "map": map[string]any{},
		"card": &Card{Data: &content{}}, "fit": fitView{},
	}
	for _, match := range regexp.MustCompile(`\{\{define "([^":]*)"`).FindAllStringSubmatch(readFile(t, "templates/parts.html"), -1) {
		data, ok := zero[match[1]]
		if !ok {
			t.Errorf("part %q has no zero value in this test", match[1])
			continue
		}
		if err := pages.renderPart(t.Context(), io.Discard, "components", match[1], data); err != nil {
			t.Errorf("%s: %v", match[1], err)
		}
	}
	if err := pages.render(t.Context(), io.Discard, "components", Frame{}); err != nil {
		t.Error(err)
	}
}

func TestConsole_UnknownPage_IsAnError(t *testing.T) {
	t.Parallel()
	if err := (pageSet{}).render(t.Context(), &strings.Builder{}, "none", Frame{}); err == nil {
		t.Error("no error")
	}
}

func TestConsole_FailedTemplate_WritesNothing(t *testing.T) {
	t.Parallel()
	pages, err := parsePages(samplePages(t))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := pages.render(t.Context(), &out, "tree", Frame{Body: 1}); err == nil || out.Len() > 0 {
		t.Errorf("error = %v, wrote %d bytes; want an error and nothing written", err, out.Len())
	}
}

func TestConsole_StatePicture_DrawsEveryStateAndEdge(t *testing.T) {
	t.Parallel()
	picture := string(statePicture(provision.Active))
	for _, state := range provision.States() {
		if !strings.Contains(picture, ">"+state+"</text>") {
			t.Errorf("state %q is not drawn", state)
		}
	}
	pairs := map[[2]string]bool{}
	for _, edge := range stateEdges() {
		pairs[[2]string{edge.From, edge.To}] = true
	}
	if got := strings.Count(picture, "<polygon"); got != len(pairs) {
		t.Errorf("arrows = %d, want %d", got, len(pairs))
	}
	if !strings.Contains(picture, `aria-label="Provision states of nodes. The node is in state active; next states: deploying (rebuild), deleting (deleted)"`) {
		t.Errorf("label is missing in %.300s", picture)
	}
}

func TestConsole_Amounts_MarkOverCapacity(t *testing.T) {
	t.Parallel()
	over := amountOf("VGPU", Bar{Capacity: 3, Pieces: []draw.Piece{{Amount: 4, Kind: draw.Used}}})
	if !over.Over || over.Used != "4" || over.Capacity != "3" || !strings.Contains(string(over.Bar), "f-over") {
		t.Errorf("amount = %+v", over)
	}
	pieces := []draw.Piece{{Amount: 81920, Kind: draw.Used}}
	taken := takenOf("MEMORY_MB", Bar{Capacity: 253952, Pieces: pieces}, 49152, "v")
	if taken.Used != "80" || taken.Plus.Text != "+48" || taken.Capacity != "248 GiB" || pieces[0].Kind != draw.Used {
		t.Errorf("amount = %+v, pieces = %v", taken, pieces)
	}
}
