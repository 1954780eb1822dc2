package run

import (
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is the command: the leader of a process group of its own.
type process struct {
	pid int
	// stopped delivers the signal whenever the command is stopped. ended is closed when the command has ended with status.
	stopped chan syscall.Signal
	ended   chan struct{}
	status  syscall.WaitStatus
}

// startProcess starts a command. The goroutine keeps its thread until the command ends, because the kernel sends the
// parent-death signal when the thread ends that has started the command.
func startProcess(command *exec.Cmd) (*process, error) {
	p := &process{stopped: make(chan syscall.Signal, 16), ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		if err == nil {
			p.pid = command.Process.Pid
		}
		started <- err
		if err == nil {
			p.wait()
		}
	}()
	return p, <-started
}

// wait waits for the end of the command, and reports when it is stopped, which os.Process does not.
func (p *process) wait() {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.pid, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err == nil && status.Stopped():
			p.stopped <- status.StopSignal()
		default:
			p.status = status
			close(p.ended)
			return
		}
	}
}

// signal sends a signal to the process group of the command.
func (p *process) signal(signals ...syscall.Signal) {
	for _, sent := range signals {
		_ = syscall.Kill(-p.pid, sent) // the group has ended
	}
}

// hasGroup reports whether the process group has a process. It reaps processes whose parent this process has become.
func (p *process) hasGroup() bool {
	for {
		reaped, err := syscall.Wait4(-p.pid, nil, syscall.WNOHANG, nil)
		if reaped <= 0 && !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	return !errors.Is(syscall.Kill(-p.pid, 0), syscall.ESRCH)
}

// groupInterval is the interval between two looks for processes of the group, and groupTimeout the time that they get to end
// after SIGKILL: in a container without init, ended processes can remain for ever.
const groupInterval, groupTimeout = 20 * time.Millisecond, 2 * time.Second

// awaitGroup waits until the group has no process, or for a time, and reports whether it has none.
func (p *process) awaitGroup(limit time.Duration) bool {
	for end := time.Now().Add(limit); p.hasGroup(); time.Sleep(groupInterval) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// code returns the exit code of the command as a shell shows it.
func (p *process) code() int {
	switch {
	case p.status.Signaled():
		return exitSignal + int(p.status.Signal())
	default:
		return p.status.ExitStatus()
	}
}
