package terminal

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// ColorChoices are the values of --color.
var ColorChoices = []string{"auto", "always", "never"}

// Of reports whether the output is a terminal, and its width in columns; 0 if unknown.
func Of(out io.Writer) (terminal bool, columns int) {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return false, 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return true, 0
	}
	return true, columns
}

// HasColor reports whether the output is colored. The flag takes precedence over NO_COLOR and
// CLICOLOR_FORCE, and these over the terminal.
func HasColor(choice string, variables map[string]string, terminal bool) bool {
	force := variables["CLICOLOR_FORCE"]
	switch {
	case choice == "always":
		return true
	case choice == "never", variables["NO_COLOR"] != "":
		return false
	case force != "" && force != "0":
		return true
	default:
		return terminal && variables["TERM"] != "dumb"
	}
}

// widest is the maximum length of lines on a wide terminal; longer ones are hard to read.
const widest = 140

// Columns returns the width of the terminal, else that of COLUMNS, else 0 for unknown.
func Columns(variables map[string]string, terminal int) int {
	if terminal == 0 {
		terminal, _ = strconv.Atoi(variables["COLUMNS"])
	}
	return min(max(terminal, 0), widest)
}

// HasUnicode reports whether the locale is UTF-8. It is true without a locale, as in most
// containers, because terminals support UTF-8.
func HasUnicode(variables map[string]string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(variables[name]); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}
