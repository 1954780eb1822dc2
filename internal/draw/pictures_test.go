package draw

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// pictures returns a forest in all formats except text.
func pictures(t testing.TB, forest Forest) map[string]string {
	t.Helper()
	drawn := map[string]string{}
	for name, draw := range map[string]func(io.Writer, Forest) error{"dot": DOT, "svg": SVG, "json": JSON} {
		var out strings.Builder
		if err := draw(&out, forest); err != nil {
			t.Fatal(err)
		}
		drawn[name] = out.String()
	}
	return drawn
}

func TestCLI_TreeFormats_MatchGolden(t *testing.T) {
	t.Parallel()
	withSharing := numaHost()
	pool := node(30, "nfs-1", 0, nil, "MISC_SHARES_VIA_AGGREGATE")
	pool.Aggregates = withSharing.Nodes[3].Aggregates[:1]
	withSharing.Nodes = append(withSharing.Nodes, pool)
	for name, forest := range map[string]Forest{"numa": withSharing, "odd": oddForest(), "empty_forest": {}} {
		for format, got := range pictures(t, forest) {
			checkGolden(t, name+"."+format, got)
		}
	}
}

func checkXML(t testing.TB, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("invalid XML: %v\n%s", err, text)
		}
	}
}
