package apicommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

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
