package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// systemSignals delivers the signals that ask a program to stop.
func systemSignals() (signals <-chan os.Signal, stop func()) {
	channel := make(chan os.Signal, 2)
	signal.Notify(channel, syscall.SIGTERM, os.Interrupt)
	return channel, func() { signal.Stop(channel) }
}

// onHangup does something with every SIGHUP, one after the other, until the returned
// function is called.
func onHangup(do func()) (release func()) {
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

// stopSteps are the two steps of stopping. The first signal cancels asked: no
// new work, and what runs may finish. The second cancels atOnce: what still runs
// is broken off. After that the signals are no longer caught, so that a third
// one ends the process whatever it is doing.
type stopSteps struct {
	asked, atOnce context.Context
	done          func()
}

func (p *process) stopOnSignals(ctx context.Context) stopSteps {
	signals, release := p.signals()
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
	return stopSteps{asked, atOnce, func() {
		close(finished)
		stopAtOnce()
	}}
}
