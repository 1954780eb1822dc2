// Package process runs a program, such as `berth serve`, in a process of its own.
//
// It is not for tests of how processes end: e2e has its own.
package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopTimeout is the maximum time of a process between SIGTERM and its end.
const stopTimeout = 10 * time.Second

// Process is a server in a process of its own, so that its CPU time and its memory are
// not those of the client.
type Process struct {
	// URL is where it listens.
	URL     string
	command *exec.Cmd
	exited  chan error
}

// Start runs a program until Stop or the end of the context. It returns when the
// program has printed a line that ends with "listening on" and a URL.
func Start(ctx context.Context, program string, arguments ...string) (*Process, error) {
	command := Command(ctx, program, arguments...)
	command.Stderr = os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	greeting, err := bufio.NewReader(stdout).ReadString('\n')
	_, url, announced := strings.Cut(strings.TrimSpace(greeting), "listening on ")
	if err != nil || !announced {
		_ = command.Process.Kill()
		return nil, fmt.Errorf("%s %s printed %q instead of its address: %w", program, arguments[0], greeting, command.Wait())
	}
	p := &Process{URL: url, command: command, exited: make(chan error, 1)}
	go func() {
		_, _ = io.Copy(io.Discard, stdout) // it prints nothing more
		p.exited <- command.Wait()
	}()
	return p, nil
}

// Command returns a command without the environment variables that change what Berth and
// PostgreSQL's clients do.
func Command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...)
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "BERTH_") && !strings.HasPrefix(variable, "PG") && !strings.HasPrefix(variable, "OS_") {
			command.Env = append(command.Env, variable)
		}
	}
	return command
}

// Stop ends the process with SIGTERM, and with SIGKILL after stopTimeout, and returns the
// error of the process.
func (p *Process) Stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // an error: it has exited, as its own error says
	select {
	case err := <-p.exited:
		return err
	case <-time.After(stopTimeout):
		_ = p.command.Process.Kill()
		return fmt.Errorf("%s did not stop within %s: %w", p.command.Path, stopTimeout, <-p.exited)
	}
}

// Memory returns the resident memory of the process in bytes (VmRSS), from Linux.
func (p *Process) Memory() (int64, error) { return p.status("VmRSS:") }

// PeakMemory returns the maximum of Memory since the start of the process (VmHWM).
func (p *Process) PeakMemory() (int64, error) { return p.status("VmHWM:") }

func (p *Process) status(name string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), name)
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseInt(text, 10, 64)
	return kib << 10, err
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }
