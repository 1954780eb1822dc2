package apicommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/internal/frame"
	"github.com/berthd/berth/internal/terminal"
)

// waiting are the flags of commands that may wait for what they began.
type waiting struct {
	wanted *bool
	most   *time.Duration
}

func waitFlags(c *cobra.Command, what string) waiting {
	return waiting{
		wanted: c.Flags().Bool("wait", false, "wait until "+what),
		most:   c.Flags().Duration("wait-timeout", 0, "with --wait, the longest `time` to wait, such as 10m; 0 means no limit"),
	}
}

// check refuses a limit without a wait.
func (w waiting) check() error {
	switch {
	case *w.most < 0:
		return frame.WrongFlag("wait-timeout", w.most.String(), "is less than nothing", "write a time such as 10m")
	case *w.most > 0 && !*w.wanted:
		return frame.WrongFlag("wait-timeout", w.most.String(), "limits no wait", "add --wait, or leave it out")
	}
	return nil
}

// limited is the context of a wait, and what an error of it means.
func (w waiting) limited(ctx context.Context, do func(context.Context) error) error {
	if *w.most == 0 {
		return do(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, *w.most)
	defer cancel()
	err := do(limited)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("not done within %s; it goes on, and --wait-timeout sets how long to wait: %w", w.most, err)
	}
	return err
}

// waitingLine is a line on standard error that tells what is waited for. It is there
// on terminals only, and gone when the wait ends.
type waitingLine struct {
	out     io.Writer // nil: no terminal
	began   time.Time
	visible bool
}

func newWaitingLine(f *frame.Frame) *waitingLine {
	line := &waitingLine{began: time.Now()}
	if terminal, _ := terminal.Of(f.Stderr); terminal {
		line.out = f.Stderr
	}
	return line
}

// show writes the line again. Texts may come from the network.
func (l *waitingLine) show(format string, values ...any) {
	if l.out == nil || time.Since(l.began) < progressPause {
		return
	}
	l.visible = true
	fmt.Fprintf(l.out, "\r\x1b[K%s (%s)", terminal.Safe(fmt.Sprintf(format, values...)), time.Since(l.began).Round(time.Second))
}

// end takes the line away.
func (l *waitingLine) end() {
	if l.visible {
		fmt.Fprint(l.out, "\r\x1b[K")
		l.visible = false
	}
}
