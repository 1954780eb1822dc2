package apicommand

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

// nameCommands is the names of one kind that the service knows, traits or resource
// classes: standard ones, which are always there, and custom ones. The commands
// are the same.
type nameCommands struct {
	command string // "trait"
	one     string // "trait"
	heading string
	example string
	list    func(*client.Client, context.Context) ([]string, error)
	ensure  func(*client.Client, context.Context, string) error
	remove  func(*client.Client, context.Context, string) error
	// complete gives the names there are.
	complete completer
}

var upperName = regexp.MustCompile(`^[A-Z0-9_]{1,255}$`)

// parseName refuses what can never be a name before anything is asked.
func parseName(what string) func(string) (string, error) {
	return func(text string) (string, error) {
		if !upperName.MatchString(text) {
			return text, frame.WrongArgument(what, text, "is no name of a "+what, "write upper case letters, digits and underscores, at most 255")
		}
		return text, nil
	}
}

func (v nameCommands) showCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show NAME",
		Short: fmt.Sprintf("Tell whether there is a %s", v.one),
		Long: frame.Wrap(fmt.Sprintf("Print the name of a %s if there is such a one; otherwise the exit code is 1. "+
			"The JSON is an object with the member name.", v.one)),
		Example: fmt.Sprintf("  berth %s show %s", v.command, v.example),
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, v.complete, 1)
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		wanted, err := parseName(v.one)(arguments[0])
		if err != nil {
			return err
		}
		all, err := v.list(service, ctx)
		if err != nil {
			return err
		}
		for _, name := range all {
			if name == wanted {
				return frame.PrintAs(f.Stdout, *format, map[string]string{"name": name}, [][]string{{v.heading}, {name}})
			}
		}
		if near := nearNames(wanted, all); len(near) > 0 {
			return fmt.Errorf("there is no %s %s; the nearest one is %s", v.one, wanted, near[0])
		}
		return fmt.Errorf("there is no %s %s", v.one, wanted)
	})
	return command
}

func (v nameCommands) createCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create NAME...",
		Short: fmt.Sprintf("Create a custom %s", v.one),
		Long: frame.Wrap(fmt.Sprintf("Create one or several custom names. They begin with CUSTOM_ and have upper case letters, "+
			"digits and underscores. A %s that is there already is fine.", v.one)),
		Example: fmt.Sprintf("  berth %s create %s", v.command, v.example),
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = v.each(f, "%s %s is there", v.ensure)
	return command
}

func (v nameCommands) deleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete NAME...",
		Short: fmt.Sprintf("Delete a custom %s", v.one),
		Long: frame.Wrap(fmt.Sprintf("Delete one or several custom names. The service refuses a %s that a provider has. "+
			"One that cannot be deleted does not keep the others from being deleted; the exit code is then 1.", v.one)),
		Example: fmt.Sprintf("  berth %s delete %s", v.command, v.example),
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = completing(f, v.complete, anyNumber)
	command.RunE = v.each(f, "deleted %s %s", v.remove)
	return command
}

// each does something with every name and says so.
func (v nameCommands) each(f *frame.Frame, done string, do func(*client.Client, context.Context, string) error) func(*cobra.Command, []string) error {
	return connect.WithClient(f, nil, func(ctx context.Context, service *client.Client, arguments []string) error {
		if _, err := parseAll(arguments, parseName(v.one)); err != nil {
			return err
		}
		return f.ForEach(arguments, func(name string) error {
			err := do(service, ctx, name)
			if errors.Is(err, client.ErrNotFound) {
				return fmt.Errorf("there is no %s %s", v.one, name)
			}
			if err != nil {
				return frame.About(name, err)
			}
			return f.Printf(done, v.one, name)
		})
	})
}
