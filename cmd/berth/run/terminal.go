package run

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// controlling is the controlling terminal of this process. Its foreground process group reads what is typed, and gets the
// signals of ^C, ^\ and ^Z.
type controlling struct {
	file *os.File
	// own is the process group of this process.
	own int
}

// openTerminal returns the controlling terminal; nil: there is none, as in a service or from cron.
func openTerminal() *controlling {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return &controlling{file, unix.Getpgrp()}
}

func (t *controlling) close() {
	if t != nil {
		t.file.Close()
	}
}

// foreground returns the foreground process group; 0: there is none.
func (t *controlling) foreground() int {
	if t == nil {
		return 0
	}
	group, err := unix.IoctlGetInt(int(t.file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// isForeground reports whether this process is in the foreground.
func (t *controlling) isForeground() bool { return t != nil && t.foreground() == t.own }

// startsForeground reports whether the command is in the foreground from its start. In a pipeline it is not, so that ^C and the
// terminal stay with the whole pipeline; it comes to the foreground when it reads from the terminal.
func (t *controlling) startsForeground() bool {
	return t.isForeground() && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

// give makes a process group the foreground one.
func (t *controlling) give(group int) {
	signal.Ignore(syscall.SIGTTOU) // else it would stop this process while it is in the background
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(int(t.file.Fd()), unix.TIOCSPGRP, group) // the terminal was closed
}

// takeBack makes the group of this process the foreground one if that of the command still is.
func (t *controlling) takeBack(from int) {
	if t != nil && t.foreground() == from {
		t.give(t.own)
	}
}
