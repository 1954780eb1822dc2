package run

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

// attemptTimeout bounds one attempt, whatever --timeout is.
const attemptTimeout = time.Minute

// signalError is the cause of a context that a signal has ended.
type signalError struct{ signal syscall.Signal }

func (e signalError) Error() string { return "ended by the signal " + e.signal.String() }

// noTreeError is the error of --here on a host without a provider tree. The agent of the host may create it later.
type noTreeError struct{ name string }

func (e noTreeError) Error() string {
	return fmt.Sprintf("no root provider has the name %q of this host; name it with --host, or use --anywhere", e.name)
}

// find tries until there is a place or --wait has passed. It prints why there is none, and again when that changes.
func (r *run) find(ctx context.Context) (*place, error) {
	limit := r.started.Add(r.options.wait)
	if end := r.untilTime(); !end.IsZero() && end.Before(limit) {
		limit = end
	}
	printed := ""
	for failed := 0; ; failed++ {
		found, err := r.attempt(ctx)
		if err == nil {
			if printed != "" {
				r.say("running as consumer %s on %s", found.consumer, found.hostText())
			}
			return found, nil
		}
		left := time.Until(limit)
		var signaled signalError
		switch isSignaled := errors.As(context.Cause(ctx), &signaled); {
		case isSignaled:
			r.abandon()
			return nil, &frame.CodedError{Code: exitSignal + int(signaled.signal)}
		case !isAwaited(err):
			r.abandon()
			return nil, err
		case r.options.wait > 0:
			if reason := reasonText(err); reason != printed {
				r.say("waiting: %s", strings.TrimSuffix(reason, "\n"))
				printed = reason
			}
		}
		if left <= 0 {
			r.abandon()
			return nil, r.exit(err)
		}
		sleep(ctx, pauseAfter(failed, left, fitsIn(err)))
	}
}

// exit returns the error of the last attempt. With --wait its reason is printed already.
func (r *run) exit(err error) error {
	code, last := frame.ExitFailed, err
	switch {
	case errors.Is(err, client.ErrNothingFits), errors.Is(err, client.ErrContended):
		code = ExitNothingFits
		if failed, ok := errors.AsType[*client.Error](err); ok && r.options.wait == 0 {
			fmt.Fprint(r.Stderr, apicommand.NothingFitsText(failed))
			return &frame.CodedError{Code: code}
		}
	case isUnavailable(err):
		code = ExitUnavailable
	}
	if r.options.wait > 0 {
		last = fmt.Errorf("no place after %v", r.options.wait)
	}
	return &frame.CodedError{Code: code, Cause: last}
}

// isAwaited reports whether a later attempt may succeed.
func isAwaited(err error) bool {
	var noTree noTreeError
	return errors.Is(err, client.ErrNothingFits) || errors.Is(err, client.ErrContended) || errors.As(err, &noTree) || isUnavailable(err)
}

// isUnavailable reports whether the server is absent, starting, overloaded or failing.
func isUnavailable(err error) bool {
	var failed *client.Error
	return errors.Is(err, client.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrOutcomeUnknown) ||
		errors.As(err, &failed) && failed.Status >= http.StatusInternalServerError
}

// reasonText returns why an attempt failed, without what differs from one attempt to the next, such as the ID of the request.
func reasonText(err error) string {
	var failed *client.Error
	switch {
	case !errors.As(err, &failed):
		return err.Error()
	case errors.Is(err, client.ErrNothingFits):
		return apicommand.NothingFitsText(failed)
	case failed.Cause != nil:
		return failed.Cause.Error()
	case failed.Detail != "":
		return fmt.Sprintf("%d %s: %s", failed.Status, failed.Title, terminal.Safe(failed.Detail))
	}
	return fmt.Sprintf("%d %s", failed.Status, failed.Title)
}

// sleep waits for a time, or for the end of the context.
func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
