package run

import "syscall"

// endWithParent makes the kernel kill the command when this process ends, whatever ends it. It does not reach the children of the
// command: the guard does.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
