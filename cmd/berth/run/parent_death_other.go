//go:build !linux

package run

import "syscall"

// endWithParent does nothing on systems without a parent-death signal: the guard ends the command there.
func endWithParent(*syscall.SysProcAttr) {}
