package reconcile

import (
	"fmt"
	"io"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

const (
	// progressDelay is the run time after which the command shows its progress.
	progressDelay = time.Second
	// progressInterval is the minimum time between two updates of the line.
	progressInterval = 200 * time.Millisecond
)

// progressLine is a line on standard error that says what the command reads or writes. It exists on terminals only.
type progressLine struct {
	out              io.Writer // nil: no terminal
	started, written time.Time
	isVisible        bool
}

func newProgressLine(f *frame.Frame) *progressLine {
	line := &progressLine{started: time.Now()}
	if isTerminal, _ := terminal.Of(f.Stderr); isTerminal {
		line.out = f.Stderr
	}
	return line
}

// show updates the line, at most once per progressInterval.
func (p *progressLine) show(format string, values ...any) {
	now := time.Now()
	if p.out == nil || now.Sub(p.started) < progressDelay || now.Sub(p.written) < progressInterval {
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[K%s", terminal.Safe(fmt.Sprintf(format, values...)))
	p.isVisible, p.written = true, now
}

// end clears the line.
func (p *progressLine) end() {
	if p.isVisible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.isVisible = false
	}
}
