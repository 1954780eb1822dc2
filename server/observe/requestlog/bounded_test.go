package requestlog_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berthd/berth/server/observe/requestlog"
)

func TestLog_LongText_CutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""}, {"resources=VCPU:1", "resources=VCPU:1"}, {strings.Repeat("a", 17), strings.Repeat("a", 13) + "…"},
		{strings.Repeat("é", 9), strings.Repeat("é", 6) + "…"}, {"\n\x00a", "\n\x00a"}, {"\n\x00\x01", "\n\x00…"},
		{"a\xffb", "a\uFFFDb"}, {strings.Repeat("\"", 9), strings.Repeat("\"", 6) + "…"},
	} {
		if got := requestlog.Bounded(c.text, 16); got != c.want {
			t.Errorf("Bounded(%q, 16) = %q, want %q", c.text, got, c.want)
		}
	}
}

func FuzzBounded(f *testing.F) {
	f.Add("a\x00\"é\xff\u2028", 16)
	f.Add(strings.Repeat("\x1b", 100), 64)
	f.Fuzz(func(t *testing.T, text string, size int) {
		if size < 4 || size > 1<<16 {
			t.Skip("callers use sizes from 4 to 65,536")
		}
		got := requestlog.Bounded(text, size)
		var encoded strings.Builder
		encoder := json.NewEncoder(&encoded)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(got); err != nil {
			t.Fatal(err)
		}
		if length := encoded.Len() - len("\"\"\n"); length > size || !utf8.ValidString(got) {
			t.Errorf("Bounded(%q, %d) = %q, which has %d bytes in JSON", text, size, got, length)
		}
	})
}
