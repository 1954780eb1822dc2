package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/apicommand"
)

// forwarded are the signals that the command gets in place of this process.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGWINCH,
}

// supervisor watches a command until it ends.
type supervisor struct {
	*run
	at       *place
	process  *process
	terminal *controlling
	// kill sends SIGKILL at killAt, after SIGTERM; nil: the command is not being stopped.
	kill   <-chan time.Time
	killAt time.Time
	// isLost is true if the command is stopped because its place is lost.
	isLost bool
}

// supervise runs the command at a place, and returns its exit code when its process group has ended.
func (r *run) supervise(ctx context.Context, at *place) (code int, err error) {
	select {
	case err := <-r.keeper.lost:
		return ExitLost, fmt.Errorf("the place was lost before the command could start: %w", err)
	default:
	}
	r.catch(forwarded...)
	s := &supervisor{run: r, at: at, terminal: openTerminal()}
	defer s.terminal.close()
	command := &exec.Cmd{
		Path: r.program, Args: r.line, Env: at.environ(r.Environ), Stdin: os.Stdin, Stdout: r.Stdout, Stderr: r.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true}, WaitDelay: time.Second,
	}
	endWithParent(command.SysProcAttr)
	if s.terminal.startsForeground() {
		command.SysProcAttr.Foreground, command.SysProcAttr.Ctty = true, int(s.terminal.file.Fd())
	}
	if s.process, err = startProcess(command); err != nil {
		return startCode(err), fmt.Errorf("cannot execute %s: %w", r.program, err)
	}
	guard := startGuard(s.process.pid, r.files.claim)
	defer guard.release()
	s.watch(ctx)
	s.endGroup()
	s.terminal.takeBack(s.process.pid)
	_ = command.Wait() // the process was waited for; this waits for its output if that is no file
	if s.isLost {
		return ExitLost, nil
	}
	return s.process.code(), nil
}

// watch renews the lease and forwards signals until the command ends.
func (s *supervisor) watch(ctx context.Context) {
	var over <-chan time.Time
	if !s.at.stop.IsZero() {
		timer := time.NewTimer(time.Until(s.at.stop))
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-s.process.ended:
			return
		case caught := <-s.signals:
			s.forward(caught.(syscall.Signal))
		case with := <-s.process.stopped:
			s.stopped(ctx, with)
		case err := <-s.keeper.lost:
			s.lose(err)
		case <-over:
			s.say("the time of the command is over: stopping it")
			s.terminate(s.at.stopDelay)
		case <-s.kill:
			s.process.signal(syscall.SIGKILL)
		}
	}
}

// lose stops the command because its place is lost, unless --on-lost is keep.
func (s *supervisor) lose(err error) {
	reason := "the place is lost"
	if !errors.Is(err, client.ErrLeaseLost) {
		reason = "the lease is not renewed"
	}
	if s.options.onLost == lostKeep {
		s.say("%s, the command goes on (--on-lost keep): %v", reason, err)
		return
	}
	s.say("%s, stopping the command: %v", reason, err)
	s.isLost = true
	s.terminate(killDelay)
}

// terminate sends SIGTERM, also to a command that is suspended, and SIGKILL after a delay.
func (s *supervisor) terminate(delay time.Duration) {
	if s.kill != nil {
		return
	}
	s.process.signal(syscall.SIGTERM, syscall.SIGCONT)
	s.kill, s.killAt = time.After(delay), time.Now().Add(delay)
}

// endGroup stops the processes that the command has left behind in its group, so that the place is free when it is given back.
func (s *supervisor) endGroup() {
	if !s.process.hasGroup() || s.process.awaitGroup(groupInterval*5) {
		return
	}
	if s.kill == nil {
		s.say("stopping the processes that the command has left behind")
		s.terminate(killDelay)
	}
	if !s.process.awaitGroup(time.Until(s.killAt)) {
		s.process.signal(syscall.SIGKILL)
		s.process.awaitGroup(groupTimeout)
	}
}

// forward sends a signal to the command. SIGCONT also brings the command back to the foreground if this process is there.
func (s *supervisor) forward(caught syscall.Signal) {
	if caught == syscall.SIGCONT && s.terminal.startsForeground() {
		s.terminal.give(s.process.pid)
	}
	s.process.signal(caught)
}

// stopped suspends this process if the terminal has stopped the command, so that the shell shows it; a command that only wants to
// use the terminal gets it. A command that another process has stopped keeps its place.
func (s *supervisor) stopped(ctx context.Context, with syscall.Signal) {
	usesTerminal := with == syscall.SIGTTIN || with == syscall.SIGTTOU
	foreground := s.terminal.foreground()
	switch {
	case s.terminal == nil || !usesTerminal && with != syscall.SIGTSTP:
		return
	case usesTerminal && (foreground == s.terminal.own || foreground == s.process.pid):
	case usesTerminal, foreground == s.process.pid, foreground == s.terminal.own:
		s.suspend(ctx)
	default:
		return
	}
	if s.terminal.isForeground() {
		s.terminal.give(s.process.pid)
	}
	s.process.signal(syscall.SIGCONT)
}

// suspend renews the lease a last time and stops this process until it is continued.
func (s *supervisor) suspend(ctx context.Context) {
	bounded, cancel := context.WithTimeout(ctx, minPause*4)
	defer cancel()
	if renewed, err := s.service.LeaseRenew(bounded, 0, s.at.consumer); err == nil && len(renewed.Renewed) > 0 {
		s.say("suspended: the place is lost unless it goes on within %s", s.options.lease)
	}
	// With the other processes of a pipeline or script. The runtime of Go has no way back from a caught SIGTSTP to its default;
	// this process never catches SIGTTIN, which has the same effect.
	_ = syscall.Kill(0, syscall.SIGTTIN)
	s.awaitContinue()
}

// awaitContinue returns when this process goes on, or soon if no shell could let it go on: then the kernel discards the signal.
func (s *supervisor) awaitContinue() {
	discarded := time.NewTimer(time.Second)
	defer discarded.Stop()
	for {
		select {
		case caught := <-s.signals:
			if caught == syscall.SIGCONT {
				return // the command goes on when it has the terminal
			}
			s.process.signal(caught.(syscall.Signal))
		case <-discarded.C:
			return
		}
	}
}

// leaseAt returns the lease of the flags at a time.
func leaseAt(o *options, now time.Time) (client.LeaseTerms, error) {
	return apicommand.RenewedLease(o.lease, o.until, o.lasts, now)
}
