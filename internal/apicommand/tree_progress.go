package apicommand

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/terminal"
)

const (
	// progressDelay is how long nothing is said.
	progressDelay = time.Second
	// progressPause is the interval at which the line is written.
	progressPause = 200 * time.Millisecond
)

// Progress is a line on standard error that tells how far a long command is. It is
// there on terminals only, and gone when something else is printed.
type Progress struct {
	mutex          sync.Mutex
	out            io.Writer // nil: no terminal
	began, written time.Time
	visible        bool
	done, all      int
}

func newProgress(f *frame.Frame) *Progress {
	started := &Progress{began: time.Now()}
	if isTerminal, _ := terminal.Of(f.Stderr); isTerminal {
		started.out = f.Stderr
	}
	return started
}

// expect adds to the sum.
func (p *Progress) expect(providers int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.all += providers
}

// step counts one, and shows it if it is time.
func (p *Progress) step() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.done++
	now := time.Now()
	if p.out == nil || now.Sub(p.began) < progressDelay || now.Sub(p.written) < progressPause {
		return
	}
	fmt.Fprintf(p.out, "\r\x1b[Kreading providers: %d of %d", p.done, p.all)
	p.visible, p.written = true, now
}

// aside takes the line away while something is printed.
func (p *Progress) aside(do func() error) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.visible {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.visible = false
	}
	return do()
}
