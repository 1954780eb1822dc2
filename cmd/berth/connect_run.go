package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
)

// asking makes what a command does out of a function that needs a client. The
// format of the output is checked before anything is asked.
func (p *process) asking(format *string, do func(ctx context.Context, service *client.Client, arguments []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, arguments []string) error {
		if format != nil {
			if err := checkOutput(*format); err != nil {
				return err
			}
		}
		service, err := p.connect(c)
		if err != nil {
			return err
		}
		return do(c.Context(), service, arguments)
	}
}

// say prints one sentence about what was done.
func (p *process) say(format string, values ...any) error {
	_, err := fmt.Fprintf(p.stdout, format+"\n", values...)
	return err
}

// forEach does something with each argument. One that fails is reported at once
// and does not keep the others from their turn; the error says how many failed.
// A single argument needs no such sum.
func (p *process) forEach(arguments []string, do func(argument string) error) error {
	if len(arguments) == 1 {
		return do(arguments[0])
	}
	failed := 0
	for _, argument := range arguments {
		if err := do(argument); err != nil {
			failed++
			fmt.Fprintf(p.stderr, "berth: %v\n", err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, len(arguments))
	}
	return nil
}

// wrongArgument is a mistake in something that stands after the command.
func wrongArgument(name, value, broken, remedy string) error {
	return mistakes{&mistake{name, value, "argument", rule{broken, remedy}}}
}

// wrongFlag is a mistake in the value of a flag.
func wrongFlag(name, value, broken, remedy string) error {
	return mistakes{&mistake{name, value, "flag --" + name, rule{broken, remedy}}}
}

// about says what an error is about, where the command names several things or the
// service names it by uuid only.
func about(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }
