package frame

import (
	"errors"
	"fmt"
)

// InputError is an invalid setting: its name, value and origin, the rule that it breaks and the
// remedy.
type InputError struct {
	Setting, Value, Origin string
	Rule
}

// Error returns the error as one sentence.
func (m *InputError) Error() string {
	return fmt.Sprintf("%s: %q (%s) %s; %s", m.Setting, m.Value, m.Origin, m.Broken, m.Remedy)
}

// InputErrors is a list of all invalid settings of a command.
type InputErrors []error

// Error returns one line per error.
func (m InputErrors) Error() string { return errors.Join(m...).Error() }

// Unwrap returns the single errors for errors.Is and errors.As.
func (m InputErrors) Unwrap() []error { return m }

// Rule is the rule that a value breaks, and the remedy.
type Rule struct {
	Broken string // continues the value: `"soon" is not a duration`
	Remedy string
}

// WrongArgument returns an InputErrors for an argument of a command.
func WrongArgument(name, value, broken, remedy string) error {
	return InputErrors{&InputError{name, value, "argument", Rule{broken, remedy}}}
}

// WrongFlag returns an InputErrors for the value of a flag.
func WrongFlag(name, value, broken, remedy string) error {
	return InputErrors{&InputError{name, value, "flag --" + name, Rule{broken, remedy}}}
}

// About adds the subject to an error, for commands with several arguments and for errors of the
// server that name only a UUID.
func About(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
