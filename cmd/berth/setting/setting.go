// Package setting describes and reads a setting: its name, default and environment variable, its
// flag, and the readers that convert a text to a value.
//
// It is not for particular settings: those of the server are in package config, those of commands
// in their packages.
package setting

import "strings"

// OriginDefault is the origin of a value that no flag, variable or file sets.
const OriginDefault = "default"

// Mask replaces passwords in output.
const Mask = "***"

// Scope is the set of commands that have a setting.
type Scope int

// Setting is one row of the table: the name of a setting, its help and its reader. The name is
// the flag; the environment variable follows from it.
type Setting struct {
	Name     string
	Fallback string // the default, as text, read like any other value
	Scope    Scope
	Value    Reader
	Help     string

	// Text, Origin and Wrong are set when the setting is read.
	Text   string
	Origin string
	Wrong  bool
}

// Env returns the environment variable: BERTH_LOG_FORMAT for --log-format.
func (s Setting) Env() string {
	return "BERTH_" + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// Shown returns the text for output, with passwords masked.
func (s Setting) Shown() string {
	switch {
	case !s.Value.Secret || s.Text == "":
		return s.Text
	case s.Value.Mask != nil:
		return s.Value.Mask(s.Text)
	default:
		return Mask
	}
}

// PlainHelp returns the help without the backquotes that mark the name of the value for pflag.
func PlainHelp(help string) string {
	return strings.ReplaceAll(help, "`", "")
}
