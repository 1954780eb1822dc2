package admin

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// importProgress prints the progress of an import or export: a bar on a terminal, otherwise a
// line per tenth of a step, at most once per linesEvery.
type importProgress struct {
	mu    sync.Mutex
	out   io.Writer
	bar   *progressbar.ProgressBar
	lines bool
	step  string
	tenth int64
	// told is the time of the last line, or of the start.
	told time.Time
}

// linesEvery is the minimum interval between two lines.
const linesEvery = 5 * time.Second

func newImportProgress(out io.Writer) *importProgress {
	file, isFile := out.(*os.File)
	return &importProgress{out: out, lines: !isFile || !term.IsTerminal(int(file.Fd())), told: time.Now()}
}

// tell is placementdb.Progress.
func (p *importProgress) tell(step string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines {
		p.line(step, done, total)
		return
	}
	if step != p.step {
		p.finish()
		p.step = step
		size := total
		if size == 0 {
			size = -1 // a spinner
		}
		p.bar = progressbar.NewOptions64(size, progressbar.OptionSetWriter(p.out), progressbar.OptionSetDescription(fmt.Sprintf("%-9s", step)),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(100*time.Millisecond))
	}
	_ = p.bar.Set64(done)
}

func (p *importProgress) line(step string, done, total int64) {
	tenth := int64(0)
	if total > 0 {
		tenth = done * 10 / total
	}
	if step == p.step && tenth <= p.tenth || time.Since(p.told) < linesEvery {
		return
	}
	p.step, p.tenth, p.told = step, tenth, time.Now()
	if total == 0 {
		fmt.Fprintf(p.out, "%s\n", step)
		return
	}
	fmt.Fprintf(p.out, "%s %3d%%  %d of %d\n", step, done*100/total, done, total)
}

func (p *importProgress) finish() {
	if p.bar != nil {
		_ = p.bar.Finish()
		fmt.Fprintln(p.out)
		p.bar = nil
	}
}

// done terminates the last line.
func (p *importProgress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
}
