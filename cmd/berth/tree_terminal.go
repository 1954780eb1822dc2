package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

var colorChoices = []string{"auto", "always", "never"}

// terminalOf tells whether somebody looks at the output, and how many columns
// there are; 0 if that is not known.
func terminalOf(out io.Writer) (terminal bool, columns int) {
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

// colorWanted follows the flag, then the two variables that many programs know,
// then whether there is a terminal that has colors.
func colorWanted(choice string, variables map[string]string, terminal bool) bool {
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

// widest is how far lines go on a wide terminal; longer ones are hard to read.
const widest = 140

// columnsWanted takes the terminal's width, else what the shell says, else leaves
// it open.
func columnsWanted(variables map[string]string, terminal int) int {
	if terminal == 0 {
		terminal, _ = strconv.Atoi(variables["COLUMNS"])
	}
	return min(max(terminal, 0), widest)
}

// unicodeWanted looks at the locale. Without one, as in most containers, terminals
// show UTF-8 all the same.
func unicodeWanted(variables map[string]string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := strings.ToLower(variables[name]); locale != "" {
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return true
}

const (
	// progressPatience is how long nothing is said.
	progressPatience = time.Second
	// progressPause is how often the line is written anew.
	progressPause = 200 * time.Millisecond
)

// progress is a line on standard error that tells how far a long command is. It is
// there on terminals only, and gone when something else is printed.
type progress struct {
	mutex          sync.Mutex
	out            io.Writer // nil: nobody looks
	began, written time.Time
	visible        bool
	done, all      int
}

func (p *process) newProgress() *progress {
	started := &progress{began: time.Now()}
	if terminal, _ := terminalOf(p.stderr); terminal {
		started.out = p.stderr
	}
	return started
}

// expect adds to the sum.
func (p *progress) expect(providers int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all += providers
}

// step counts one, and shows it if it is time.
func (p *progress) step() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done++
	now := time.Now()
	if p.out == nil || now.Sub(p.began) < progressPatience || now.Sub(p.written) < progressPause {
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[Kreading providers: %d of %d", p.done, p.all)
	p.visible, p.written = true, now
}

// aside takes the line away while something is printed.
func (p *progress) aside(do func() error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible = false
	}
	return do()
}
