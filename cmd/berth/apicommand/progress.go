package apicommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

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

// waitOptions holds the flags of commands that can wait for the result of their request.
type waitOptions struct {
	enabled *bool
	timeout *time.Duration
}

// waitFlags adds the flags; condition ends the wait.
func waitFlags(c *cobra.Command, condition string) waitOptions {
	return waitOptions{
		enabled: c.Flags().Bool("wait", false, "whether the command waits until "+condition),
		timeout: c.Flags().Duration("wait-timeout", 0, "maximum `time` of --wait, such as 10m; 0 means no limit"),
	}
}

// check returns an error for a negative timeout and for a timeout without --wait.
func (w waitOptions) check() error {
	switch {
	case *w.timeout < 0:
		return frame.WrongFlag("wait-timeout", w.timeout.String(), "is negative", "write a duration such as 10m")
	case *w.timeout > 0 && !*w.enabled:
		return frame.WrongFlag("wait-timeout", w.timeout.String(), "requires --wait", "add --wait, or omit --wait-timeout")
	}
	return nil
}

// limited calls do with the timeout, and adds an explanation to its error after the timeout.
func (w waitOptions) limited(ctx context.Context, do func(context.Context) error) error {
	if *w.timeout == 0 {
		return do(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, *w.timeout)
	defer cancel()
	err := do(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("not done within %s; the server continues; increase --wait-timeout to wait longer: %w", w.timeout, err)
	}
	return err
}

// waitLine is a line on standard error with the state during a wait. It exists on terminals only.
type waitLine struct {
	out     io.Writer // nil: no terminal
	started time.Time
	visible bool
}

func newWaitLine(f *frame.Frame) *waitLine {
	line := &waitLine{started: time.Now()}
	if terminal, _ := terminal.Of(f.Stderr); terminal {
		line.out = f.Stderr
	}
	return line
}

// show updates the line. It escapes control characters, because texts may come from the network.
func (l *waitLine) show(format string, values ...any) {
	if l.out == nil || time.Since(l.started) < progressInterval {
		return
	}
	l.visible = true
	fmt.Fprintf(l.out, "\r\x1b[K%s (%s)", terminal.Safe(fmt.Sprintf(format, values...)), time.Since(l.started).Round(time.Second))
}

// end clears the line.
func (l *waitLine) end() {
	if l.visible {
		fmt.Fprint(l.out, "\r\x1b[K")
		l.visible = false
	}
}
