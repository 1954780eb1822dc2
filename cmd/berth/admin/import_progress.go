package admin

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/terminal"
)

// importProgress prints the progress of an import or export: a bar on a terminal, otherwise a
// line per tenth of a step, at most once per linesEvery; a step without a total has one per linesEvery.
type importProgress struct {
	mu         sync.Mutex
	out        io.Writer
	isTerminal bool
	step       string
	tenth      int64
	// begun is the start of the step on a terminal.
	begun time.Time
	// told is the time of the last line, or of the start.
	told time.Time
}

const (
	// linesEvery is the minimum interval between two lines.
	linesEvery = 5 * time.Second
	// redrawInterval is the minimum interval between two bars of a step.
	redrawInterval = 100 * time.Millisecond
	barLength      = 30
)

func newImportProgress(out io.Writer) *importProgress {
	isTerminal, _ := terminal.Of(out)
	return &importProgress{out: out, isTerminal: isTerminal, told: time.Now()}
}

// tell is placementdb.Progress.
func (p *importProgress) tell(step string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.isTerminal {
		p.redraw(step, done, total)
	} else {
		p.line(step, done, total)
	}
}

// redraw replaces the bar of the step, or begins that of another one on the next line.
func (p *importProgress) redraw(step string, done, total int64) {
	now := time.Now()
	if step != p.step {
		p.finish()
		p.step, p.begun = step, now
	} else if now.Sub(p.told) < redrawInterval && done != total {
		return
	}
	p.told = now
	const toLineEnd = "\x1b[K"
	fmt.Fprintf(p.out, "\r%s"+toLineEnd, progressBar(step, done, total, now.Sub(p.begun)))
}

// progressBar returns the bar of a step that has taken a time; total is 0 if it is unknown.
func progressBar(step string, done, total int64, took time.Duration) string {
	var bar strings.Builder
	fmt.Fprintf(&bar, "%-9s", step)
	switch {
	case total > 0:
		fmt.Fprintf(&bar, " %3d%% %s %d of %d", done*100/total, draw.Bar(float64(done)/float64(total), barLength, false), done, total)
	case done > 0:
		fmt.Fprintf(&bar, " %d", done)
	}
	fmt.Fprintf(&bar, " (%s", took.Round(time.Second))
	if done > 0 && done < total {
		left := time.Duration(float64(took) * float64(total-done) / float64(done))
		fmt.Fprintf(&bar, ", about %s left", left.Round(time.Second))
	}
	return bar.String() + ")"
}

func (p *importProgress) line(step string, done, total int64) {
	tenth := int64(0)
	if total > 0 {
		tenth = done * 10 / total
	}
	counts := done > 0 && total == 0
	if step == p.step && tenth <= p.tenth && !counts || time.Since(p.told) < linesEvery {
		return
	}
	p.step, p.tenth, p.told = step, tenth, time.Now()
	switch {
	case total > 0:
		fmt.Fprintf(p.out, "%s %3d%%  %d of %d\n", step, done*100/total, done, total)
	case counts:
		fmt.Fprintf(p.out, "%s %d\n", step, done)
	default:
		fmt.Fprintf(p.out, "%s\n", step)
	}
}

// finish ends the line of a bar.
func (p *importProgress) finish() {
	if p.isTerminal && p.step != "" {
		fmt.Fprintln(p.out)
	}
}

// done terminates the last line.
func (p *importProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}
