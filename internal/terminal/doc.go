// Package terminal writes text for terminals: it escapes control characters, counts columns, and
// detects whether the output is a terminal, its width, and its support for colors and Unicode.
//
// It is not for pictures (package draw), nor for the output formats of commands (package frame).
package terminal
