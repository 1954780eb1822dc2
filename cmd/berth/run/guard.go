package run

import (
	"io"
	"os/exec"
	"strconv"
	"syscall"
)

// guardScript waits for a line. If the input ends without one, this process was killed: the script kills the process group of
// the command, and removes the file of the claim.
const guardScript = `trap "" HUP INT QUIT TERM
read -r ended || { kill -s KILL -- "-$0"; rm -f -- "$1"; }`

// guard is a shell beside the command, in its own session. It ends the processes of the command's group that the parent-death
// signal does not reach, such as the children of a shell.
type guard struct {
	command *exec.Cmd
	line    io.WriteCloser
}

// startGuard starts the guard of a process group; nil: this host has no shell.
func startGuard(group int, claimFile string) *guard {
	command := exec.Command("/bin/sh", "-c", guardScript, strconv.Itoa(group), claimFile)
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	line, err := command.StdinPipe()
	if err != nil {
		return nil
	}
	if err := command.Start(); err != nil {
		return nil
	}
	return &guard{command, line}
}

// release ends the guard without an effect.
func (g *guard) release() {
	if g == nil {
		return
	}
	_, _ = io.WriteString(g.line, "ended\n") // it was killed
	g.line.Close()
	_ = g.command.Wait() // its exit code means nothing
}
