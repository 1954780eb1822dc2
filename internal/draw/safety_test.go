package draw

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// FuzzPictures draws forests whose texts are arbitrary, and checks that the output has no control characters or markup
// from them.
func FuzzPictures(f *testing.F) {
	f.Add("compute-17", "VCPU", "HW_NUMA_ROOT", int64(3), int32(8), 1.5, 80, uint8(0))
	f.Add("\x1b]0;title\a\u202e", "<b>&\"'\\", "\xff\xfe\u200d]]>", int64(-1), int32(0), -2.0, 3, uint8(1))
	f.Add("計\u0301\u0301\u0301\u0301\u0301\n\\N", "-->", "}\"\\", int64(1)<<62, int32(-5), 1e300, 1000, uint8(255))
	f.Fuzz(func(t *testing.T, name, class, trait string, used int64, total int32, ratio float64, width int, bits uint8) {
		if ratio != ratio || ratio-ratio != 0 {
			t.Skip("JSON has neither NaN nor infinity")
		}
		before := hostile(name, class, trait, used, total, ratio)
		after := hostile(class, trait, name, used/2, total/2, ratio+1)
		style := Style{
			Color: bits&1 != 0, ASCII: bits&2 != 0, Usages: bits&4 != 0, UUIDs: bits&8 != 0, All: bits&16 != 0, Width: width % 500,
		}
		checkTerminal(t, drawnText(t, before, style), style)
		checkTerminal(t, drawnDifference(t, before, after, style), style)
		for format, text := range pictures(t, before) {
			checkTerminal(t, text, Style{})
			switch format {
			case "svg":
				checkXML(t, text)
			case "json":
				checkJSONName(t, text, name)
			case "dot":
				checkQuotes(t, text)
			}
		}
	})
}

func hostile(name, class, trait string, used int64, total int32, ratio float64) Forest {
	inventory := client.InventoryRecord{Total: total, Reserved: &total, AllocationRatio: &ratio, MinUnit: &total, MaxUnit: &total, StepSize: &total}
	root := client.Node{UUID: id(1), Name: name, Inventories: client.Inventories{class: {Total: total}, trait: inventory}, Traits: []string{trait, name}}
	child := client.Node{UUID: id(2), Name: name + class, Parent: id(1), Generation: &used, Aggregates: []uuid.UUID{id(7)}}
	lost := client.Node{UUID: id(3), Name: trait, Parent: id(4), Aggregates: []uuid.UUID{id(7)}, Traits: []string{"MISC_SHARES_VIA_AGGREGATE"}}
	return Forest{
		Nodes:       []client.Node{child, root, lost},
		Usages:      map[uuid.UUID]client.Resources{id(1): {class: used, trait: -used}, id(2): {name: used}},
		Allocations: client.Allocations{id(9): {Type: trait, Allocations: map[uuid.UUID]client.Resources{id(1): {class: used}}}},
	}
}

// checkTerminal fails unless the text has only printable characters, newlines, and with Style.Color the escape
// sequences of this package.
func checkTerminal(t *testing.T, text string, style Style) {
	t.Helper()
	if style.Color {
		for _, p := range []paint{bold, dim, red, green, yellow, cyan, "0"} {
			text = strings.ReplaceAll(text, "\x1b["+string(p)+"m", "")
		}
	}
	for i, r := range text {
		if r != '\n' && (!strconv.IsPrint(r) || unicode.Is(unicode.Cf, r)) || style.ASCII && r > '~' {
			t.Fatalf("unexpected %q at offset %d of\n%q", r, i, text)
		}
	}
}

func checkJSONName(t *testing.T, text, name string) {
	t.Helper()
	var document forestDocument
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	want := strings.ToValidUTF8(name, "")
	for _, tree := range document.Trees {
		if strings.ReplaceAll(tree.Name, "\ufffd", "") == strings.ReplaceAll(want, "\ufffd", "") {
			return
		}
	}
	t.Fatalf("no tree has the name %q:\n%s", name, text)
}

// checkQuotes fails unless quoted strings and HTML-like labels end on the line on which they begin.
func checkQuotes(t *testing.T, text string) {
	t.Helper()
	for _, row := range strings.Split(strings.TrimSpace(text), "\n") {
		quoted, depth := false, 0
		for i := 0; i < len(row); i++ {
			switch {
			case quoted && row[i] == '\\':
				i++
			case row[i] == '"' && depth == 0:
				quoted = !quoted
			case !quoted && row[i] == '<':
				depth++
			case !quoted && row[i] == '>' && (i == 0 || row[i-1] != '-' || depth > 0):
				depth--
			}
		}
		if quoted || depth != 0 {
			t.Fatalf("unterminated string or label in\n%s", row)
		}
	}
}

func TestCLI_CSVLargeAmount_HasNoExponent(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	if err := CSV(&file, "capacity,used", [][]any{{1_572_864.0, 0.5}}); err != nil {
		t.Fatal(err)
	}
	if want := "capacity,used\n1572864,0.5\n"; file.String() != want {
		t.Errorf("file = %q, want %q", file.String(), want)
	}
}
