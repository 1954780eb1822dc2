package apicommand

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// nameCommands is the family of commands for traits or for resource classes. Both have standard
// names, which always exist, and custom names.
type nameCommands struct {
	command          string // "class"
	singular, plural string // "resource class", "resource classes"
	heading          string
	example          string
	list             func(*client.Client, context.Context) ([]string, error)
	ensure           func(*client.Client, context.Context, string) error
	remove           func(*client.Client, context.Context, string) error
	// complete returns the existing names.
	complete completer
}

var upperName = regexp.MustCompile(`^[A-Z0-9_]{1,255}$`)

// parseName returns a parser of names in any case that rejects invalid names without a request.
func parseName(singular string) func(string) (string, error) {
	return func(text string) (string, error) {
		name := upperClass(text)
		if !upperName.MatchString(name) {
			return text, frame.WrongArgument(singular, text, "is not a valid name of a "+singular, "write at most 255 letters, digits and underscores")
		}
		return name, nil
	}
}

// parseCustomName returns a parser like parseName that also rejects names without CUSTOM_, which no caller can create.
func parseCustomName(singular string) func(string) (string, error) {
	return func(text string) (string, error) {
		name := upperClass(text)
		custom := "CUSTOM_" + strings.Trim(notUpper.ReplaceAllString(name, "_"), "_")
		if name != custom && !strings.HasPrefix(name, "CUSTOM_") {
			return text, frame.WrongArgument(singular, text, "does not begin with CUSTOM_, as all names that are not standard do", "write "+custom)
		}
		return parseName(singular)(text)
	}
}

var notUpper = regexp.MustCompile(`[^A-Z0-9_]+`)

func (v nameCommands) showCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show NAME",
		Short: fmt.Sprintf("Check whether a %s exists", v.singular),
		Long: fmt.Sprintf("Print the name of a %s if it exists; otherwise the exit code is 1. "+
			"The JSON is an object with the member name.", v.singular),
		Example: fmt.Sprintf("  berth %s show %s", v.command, v.example),
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = completing(f, v.complete, 1)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		searched, err := parseName(v.singular)(arguments[0])
		if err != nil {
			return err
		}
		all, err := v.list(service, ctx)
		if err != nil {
			return err
		}
		for _, name := range all {
			if name == searched {
				return frame.PrintAs(f.Stdout, *format, map[string]string{"name": name}, [][]string{{v.heading}, {name}})
			}
		}
		if similar := frame.Similar(searched, all); len(similar) > 0 {
			return fmt.Errorf("%s %s not found; the most similar name is %s", v.singular, searched, similar[0])
		}
		return fmt.Errorf("%s %s not found", v.singular, searched)
	})
	return command
}

func (v nameCommands) createCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "create NAME...",
		Short: "Create custom " + v.plural,
		Long: fmt.Sprintf("Create custom %s. A name begins with CUSTOM_ and consists of upper-case letters, digits and underscores. "+
			"The command ignores %s that exist already.", v.plural, v.plural) + "\n\n" + dryRunHelp,
		Example: fmt.Sprintf("  berth %s create %s", v.command, v.example),
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = v.each(f, dryRunFlag(command), "%s %s exists", parseCustomName(v.singular), v.ensure)
	return command
}

func (v nameCommands) deleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete custom " + v.plural,
		Long: fmt.Sprintf("Delete custom %s. The server rejects the deletion of %s that a provider uses. "+
			"The command continues with the other %s; the exit code is then 1.", v.plural, v.plural, v.plural) + "\n\n" + dryRunHelp,
		Example: fmt.Sprintf("  berth %s delete %s", v.command, v.example),
		Args:    cobra.MinimumNArgs(1),
	}
	command.ValidArgsFunction = completing(f, v.complete, anyNumber)
	command.RunE = v.each(f, dryRunFlag(command), "deleted %s %s", parseName(v.singular), v.remove)
	return command
}

// each returns a command function that calls do for each name and prints done, a format with the
// singular and the name.
func (v nameCommands) each(f *frame.Frame, dryRun *bool, done string, parse func(string) (string, error), do func(*client.Client, context.Context, string) error) func(*cobra.Command, []string) error {
	return connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		names := make([]string, 0, len(arguments))
		for _, argument := range arguments {
			name, err := parse(argument)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		return write{f, service, *dryRun, ""}.each(ctx, names, func(ctx context.Context, name string) (string, error) {
			err := do(service, ctx, name)
			if errors.Is(err, client.ErrNotFound) {
				return "", fmt.Errorf("%s %s not found", v.singular, name)
			}
			if err != nil {
				return "", frame.About(name, err)
			}
			return fmt.Sprintf(done, v.singular, name), nil
		})
	})
}

var traitNames = nameCommands{
	command: "trait", singular: "trait", plural: "traits", heading: "TRAIT", example: "CUSTOM_RACK_7",
	list: completeTraits, ensure: (*client.Client).TraitEnsure, remove: (*client.Client).TraitDelete, complete: completeTraits,
}

func traitCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "trait",
		Short: "List, create and delete traits",
		Long: `List, create and delete traits, which are names of capabilities of providers. Standard
traits always exist; names of custom traits begin with CUSTOM_. 'berth provider trait'
lists and changes the traits of a provider.`,
		Example: `  berth trait list --name startswith:HW_CPU_X86
  berth trait create CUSTOM_RACK_7`,
	}, traitListCommand(f), traitNames.showCommand(f), traitNames.createCommand(f), traitNames.deleteCommand(f))
}

func traitListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List traits",
		Long: `List the existing traits that match all filters, by default all, sorted by name.

The JSON is a list of strings.`,
		Example: `  berth trait list
  berth trait list --name startswith:HW_CPU_X86
  berth trait list --name in:HW_CPU_X86_AVX2,CUSTOM_RACK_7
  berth trait list --associated=false --name startswith:CUSTOM_`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	name := command.Flags().String("name", "", "name `filter`: startswith:PREFIX or in:NAME,NAME")
	associated := command.Flags().Bool("associated", false, "whether a provider has the trait (default: both)")
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		found, err := service.TraitList(ctx, client.TraitFilter{Name: *name, Associated: ifChanged(command, "associated", associated)})
		if err != nil {
			return err
		}
		slices.Sort(found)
		return textRows(traitNames.heading).Print(f.Stdout, *format, append([]string{}, found...))
	})
	return command
}

var classNames = nameCommands{
	command: "class", singular: "resource class", plural: "resource classes", heading: "CLASS", example: "CUSTOM_LICENSE",
	list: (*client.Client).ResourceClassList, ensure: (*client.Client).ResourceClassEnsure,
	remove: (*client.Client).ResourceClassDelete, complete: completeClasses,
}

func classCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:     "class",
		Aliases: []string{"resource-class"},
		Short:   "List, create and delete resource classes",
		Long: `List, create and delete resource classes. Standard classes such as VCPU always exist;
names of custom classes begin with CUSTOM_.`,
		Example: `  berth class list
  berth class create CUSTOM_LICENSE`,
	}, classListCommand(f), classNames.showCommand(f), classNames.createCommand(f), classNames.deleteCommand(f))
}

func classListCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: "List resource classes",
		Long: `List the resource classes: standard classes first, then custom classes in the order of
their creation. The JSON is a list of strings.`,
		Example: "  berth class list\n  berth class list --output json | jq -r '.[]' | grep ^CUSTOM_",
		Args:    cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		found, err := service.ResourceClassList(ctx)
		if err != nil {
			return err
		}
		return textRows(classNames.heading).Print(f.Stdout, *format, append([]string{}, found...))
	})
	return command
}
