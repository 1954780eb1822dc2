package apicommand

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

const (
	// progressDelay is the run time after which a command shows its progress.
	progressDelay = time.Second
	// progressInterval is the minimum time between two updates of the progress line.
	progressInterval = 200 * time.Millisecond
)

// Progress is a progress line on standard error. It exists on terminals only. It is safe for
// concurrent use.
type Progress struct {
	mutex            sync.Mutex
	out              io.Writer // nil: no terminal
	started, written time.Time
	visible          bool
	done, total      int
}

func newProgress(f *frame.Frame) *Progress {
	progress := &Progress{started: time.Now()}
	if isTerminal, _ := terminal.Of(f.Stderr); isTerminal {
		progress.out = f.Stderr
	}
	return progress
}

// expect adds providers to the total.
func (p *Progress) expect(providers int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.total += providers
}

// step counts one provider and updates the line, at most once per progressInterval.
func (p *Progress) step() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done++
	now := time.Now()
	if p.out == nil || now.Sub(p.started) < progressDelay || now.Sub(p.written) < progressInterval {
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[Kreading providers: %d of %d", p.done, p.total)
	p.visible, p.written = true, now
}

// aside clears the line and calls do, which may print. It returns the error of do.
func (p *Progress) aside(do func() error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible = false
	}
	return do()
}
