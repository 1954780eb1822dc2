package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

const (
	// killDelay is the time from SIGTERM to SIGKILL.
	killDelay = 10 * time.Second
	// releaseTimeout bounds giving back a place, and releaseRetries how long a server that is not available is tried again.
	releaseTimeout, releaseRetries = 15 * time.Second, 5 * time.Second
)

// run is one run of `berth run`.
type run struct {
	*frame.Frame
	service *client.Client
	options *options
	// program is the path of the command, and line are its arguments, the first one as it was written.
	program string
	line    []string
	started time.Time
	signals chan os.Signal
	files   files

	// hasLooked is true when hostRoot is known; uuid.Nil: this host has no tree.
	hasLooked bool
	hostName  string
	hostRoot  uuid.UUID
	owner     client.TokenOwner
	queries   []client.CandidateQuery
	// pending is a request whose outcome is unknown, or whose place is not described yet; nil: none.
	pending *search
	// keeper renews the lease of the claim from its response on; nil: there is no claim.
	keeper *keeper
}

// say prints a line on standard error.
func (r *run) say(format string, values ...any) {
	fmt.Fprintf(r.Stderr, "berth: "+format+"\n", values...)
}

// execute finds a place, runs the command and gives the place back.
func (r *run) execute(ctx context.Context) error {
	if err := r.openFiles(); err != nil {
		return err
	}
	defer r.files.remove()
	r.catch(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2)
	defer signal.Stop(r.signals)
	// Without this, the runtime ends the process when it writes to a closed pipe, such as to 'head', before it gives the place back.
	// Ignoring the signal would ignore it in the command, too.
	closedPipe := make(chan os.Signal, 1)
	signal.Notify(closedPipe, syscall.SIGPIPE)
	defer signal.Stop(closedPipe)
	found, err := r.findUntilSignal(ctx)
	if err != nil {
		return err
	}
	if err := r.files.write(found); err != nil {
		r.giveBack(ctx, found)
		return err
	}
	code, err := r.supervise(ctx, found)
	r.giveBack(ctx, found)
	if err == nil && code == frame.ExitOK {
		return nil
	}
	return &frame.CodedError{Code: code, Cause: err}
}

// catch delivers signals to r.signals, except those that were ignored when the process started, as with nohup.
func (r *run) catch(signals ...os.Signal) {
	if r.signals == nil {
		r.signals = make(chan os.Signal, 32)
	}
	for _, caught := range signals {
		if !signal.Ignored(caught) {
			signal.Notify(r.signals, caught)
		}
	}
}

// findUntilSignal is find, which a signal that ends processes cancels.
func (r *run) findUntilSignal(ctx context.Context) (*place, error) {
	searching, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-searching.Done():
				return
			case caught := <-r.signals:
				if number, is := caught.(syscall.Signal); is && number != syscall.SIGUSR1 && number != syscall.SIGUSR2 {
					cancel(signalError{number})
				}
			}
		}
	}()
	found, err := r.find(searching)
	cancel(nil)
	<-ended
	var signaled signalError
	if err == nil && errors.As(context.Cause(searching), &signaled) { // it came after the claim
		r.giveBack(ctx, found)
		return nil, &frame.CodedError{Code: exitSignal + int(signaled.signal)}
	}
	return found, err
}

// untilTime returns the time of --until, a moment before it; zero: the flag is not set.
func (r *run) untilTime() time.Time {
	if r.options.until == "" {
		return time.Time{}
	}
	terms, err := leaseAt(r.options, r.started)
	if err != nil {
		return time.Time{}
	}
	return terms.Until.Add(-time.Second)
}

// abandon deletes the consumer of a request whose outcome is unknown. If that fails, its lease ends.
func (r *run) abandon() {
	r.keeper.end()
	r.keeper = nil
	if r.pending == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), releaseRetries)
	defer cancel()
	_, _ = r.service.Release(ctx, r.pending.Consumers[0].UUID, true)
	r.pending = nil
}

// giveBack deletes the allocations of a place, if no other client has changed them.
func (r *run) giveBack(ctx context.Context, at *place) {
	r.keeper.end()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	began := time.Now()
	for {
		err := r.service.AllocationDeleteAt(ctx, at.consumer, at.generation)
		switch {
		case err == nil || errors.Is(err, client.ErrNotFound):
			return
		case errors.Is(err, client.ErrConsumerGeneration):
			r.say("consumer %s is not given back, because another client has changed it; its lease ends at most %s from now", at.consumer, r.options.lease)
			return
		case !isUnavailable(err) || ctx.Err() != nil || time.Since(began) > releaseRetries:
			r.say("consumer %s is not given back (%s); its lease ends at most %s from now", at.consumer, reasonText(err), r.options.lease)
			return
		}
		sleep(ctx, minPause)
	}
}

// startCode returns the code of a command that cannot be started.
func startCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return ExitNotFound
	}
	return ExitNotExecutable
}
