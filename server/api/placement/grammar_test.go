package placement

import (
	"math"
	"testing"
)

func TestQuery_Integers_ParsedLikePython(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"12": 12, " 12 ": 12, "+12": 12, "-12": -12, "1_2": 12, "012": 12,
		"١٢": 12, "１２": 12, "𝟏𝟐": 12, "𝟘𝟙𝟡": 19,
		"99999999999999999999": math.MaxInt64, "-99999999999999999999": -math.MaxInt64,
	} {
		if got, ok := parseInt(text); !ok || got != want {
			t.Errorf("parseInt(%q) is %d, %t, not %d", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " ", "+", "--1", "+-1", "_1", "1_", "1__2", "1.0", "0x1", "1 2", "½", "²", "Ⅻ"} {
		if got, ok := parseInt(text); ok {
			t.Errorf("parseInt(%q) = %d, want an error", text, got)
		}
	}
}
