package terminal

import "testing"

func TestCLI_TreeColorAndWidth_FollowTerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		choice    string
		variables map[string]string
		terminal  bool
		want      bool
	}{
		{"auto", nil, true, true},
		{"auto", nil, false, false},
		{"auto", map[string]string{"TERM": "dumb"}, true, false},
		{"auto", map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, true, false},
		{"auto", map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{"auto", map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{"always", map[string]string{"NO_COLOR": "1"}, false, true},
		{"never", map[string]string{"CLICOLOR_FORCE": "1"}, true, false},
	} {
		if got := HasColor(test.choice, test.variables, test.terminal); got != test.want {
			t.Errorf("%+v: %t", test, got)
		}
	}
	for columns, want := range map[int]int{0: 132, 60: 60, 500: widest} {
		if got := Columns(map[string]string{"COLUMNS": "132"}, columns); got != want {
			t.Errorf("on a terminal of %d: %d columns, want %d", columns, got, want)
		}
	}
	for locale, want := range map[string]bool{"": true, "C": false, "C.UTF-8": true, "de_DE.utf8": true, "de_DE@euro": false} {
		if got := HasUnicode(map[string]string{"LANG": locale}); got != want {
			t.Errorf("in the locale %q: %t", locale, got)
		}
	}
}
