package frame

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SystemSignals delivers SIGTERM and SIGINT until stop is called.
func SystemSignals() (signals <-chan os.Signal, stop func()) {
	channel := make(chan os.Signal, 2)
	signal.Notify(channel, syscall.SIGTERM, os.Interrupt)
	return channel, func() { signal.Stop(channel) }
}

// OnHangup calls do for every SIGHUP, one at a time, until release is called.
func OnHangup(do func()) (release func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-hangups:
				do()
			case <-ended:
				return
			}
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(ended)
	}
}

// StopSteps has the contexts of the two steps of shutdown. The first signal cancels Asked: the
// process starts no new work, and running work may finish. The second signal cancels AtOnce,
// which interrupts running work. After that the process no longer catches signals, so that a
// third one ends it.
type StopSteps struct {
	Asked, AtOnce context.Context
	Done          func()
}

// StopOnSignals catches SIGTERM and SIGINT until Done of the steps is called. The contexts of the
// steps are canceled with ctx too.
func (f *Frame) StopOnSignals(ctx context.Context) StopSteps {
	signals, release := f.Signals()
	atOnce, stopAtOnce := context.WithCancel(ctx)
	asked, stopAsked := context.WithCancel(atOnce)
	finished := make(chan struct{})
	go func() {
		defer release()
		for _, step := range []context.CancelFunc{stopAsked, stopAtOnce} {
			select {
			case <-signals:
				step()
			case <-finished:
				return
			}
		}
	}()
	return StopSteps{asked, atOnce, func() {
		close(finished)
		stopAtOnce()
	}}
}
