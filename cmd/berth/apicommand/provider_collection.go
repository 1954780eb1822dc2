package apicommand

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// providerSetCommands is the family of commands for a set that belongs to a provider and changes
// its generation: the traits or the aggregates.
type providerSetCommands[T any] struct {
	plural  string // "traits"
	heading string
	member  string // placeholder of a member in the help: TRAIT, AGGREGATE
	path    string // parent commands: "provider trait"
	example [2]string
	parse   func(text string) (T, error)
	text    func(T) string
	list    func(*client.Client, context.Context, uuid.UUID) ([]T, int64, error)
	replace func(*client.Client, context.Context, uuid.UUID, int64, []T) ([]T, int64, error)
	// complete returns completions for members; nil: no completion.
	complete completer
	// all is the list without a provider; nil: list needs one.
	all *listWithoutProvider
}

// listWithoutProvider is what `list` does without PROVIDER, and its help.
type listWithoutProvider struct {
	short, long, example string
	list                 func(ctx context.Context, f *frame.Frame, service *client.Client, format string) error
}

// commands returns the commands list, set, add, remove and clear.
func (k providerSetCommands[T]) commands(f *frame.Frame) []*cobra.Command {
	// Each edit returns the new set, from the old set and the members in the arguments.
	set := func(_, named []string) []string { return named }
	add := func(old, named []string) []string { return append(old, named...) }
	remove := func(old, named []string) []string {
		return slices.DeleteFunc(old, func(text string) bool { return slices.Contains(named, text) })
	}
	return []*cobra.Command{
		k.listCommand(f),
		k.editCommand(f, "set", "Replace the "+k.plural+" of a provider", "Replace all "+k.plural+" of a provider.", set),
		k.editCommand(f, "add", "Add "+k.plural+" to a provider", "Add "+k.plural+" to a provider. It keeps its other "+k.plural+".", add),
		k.editCommand(f, "remove", "Remove "+k.plural+" from a provider", "Remove "+k.plural+" from a provider. The command ignores "+k.plural+" that the provider does not have.", remove),
		k.editCommand(f, "clear", "Remove all "+k.plural+" of a provider", "Remove all "+k.plural+" of a provider.", set),
	}
}

func (k providerSetCommands[T]) listCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:     "list PROVIDER",
		Short:   "List the " + k.plural + " of a provider",
		Long:    "List the " + k.plural + " of a provider, sorted. The JSON is a list of strings.",
		Example: fmt.Sprintf("  berth %s list compute-1\n  berth %s list compute-1 --output json", k.path, k.path),
		Args:    cobra.ExactArgs(1),
	}
	if k.all != nil {
		command.Use, command.Args = "list [PROVIDER]", cobra.MaximumNArgs(1)
		command.Short, command.Long, command.Example = k.all.short, k.all.long, k.all.example+command.Example
	}
	format := frame.OutputFlag(command)
	completeProviders(f, command)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		if len(arguments) == 0 {
			return k.all.list(ctx, f, service, *format)
		}
		provider, err := FindProvider(ctx, service, arguments[0])
		if err != nil {
			return err
		}
		members, _, err := k.list(service, ctx, provider.UUID)
		if err != nil {
			return err
		}
		return textRows(k.heading).Print(f.Stdout, *format, k.texts(members))
	})
	return command
}

// editCommand returns a command that changes the set and prints the result.
func (k providerSetCommands[T]) editCommand(f *frame.Frame, verb, short, long string, edit func(old, named []string) []string) *cobra.Command {
	command := &cobra.Command{
		Use:     fmt.Sprintf("%s PROVIDER %s...", verb, k.member),
		Short:   short,
		Long:    long + " The command prints the resulting " + k.plural + " as 'list' does." + "\n\n" + dryRunHelp,
		Example: fmt.Sprintf("  berth %s %s compute-1 %s\n  berth %s %s compute-1 %s %s", k.path, verb, k.example[0], k.path, verb, k.example[0], k.example[1]),
		Args:    cobra.MinimumNArgs(2),
	}
	if verb == "clear" {
		command.Use, command.Args = "clear PROVIDER", cobra.ExactArgs(1)
		command.Example = fmt.Sprintf("  berth %s clear compute-1", k.path)
	}
	format := frame.OutputFlag(command)
	generation, dryRun := generationFlag(command), dryRunFlag(command)
	completeProviderThen(f, command, k.complete)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		expected, err := generation.expected()
		if err != nil {
			return err
		}
		named, err := parseAll(arguments[1:], k.parse)
		if err != nil {
			return err
		}
		provider, err := FindProvider(ctx, service, arguments[0])
		if err != nil {
			return err
		}
		var result []T
		return write{f, service, *dryRun, *format}.run(ctx, func(ctx context.Context) error {
			err := rewrite(ctx, expected,
				func() ([]T, int64, error) { return k.list(service, ctx, provider.UUID) },
				func(old []T) ([]T, error) { return parseAll(edit(k.texts(old), k.texts(named)), k.parse) },
				func(generation int64, members []T) (err error) {
					result, _, err = k.replace(service, ctx, provider.UUID, generation, members)
					return err
				})
			if err != nil {
				return frame.About(provider.Name, err)
			}
			return nil
		}, func() error { return textRows(k.heading).Print(f.Stdout, *format, k.texts(result)) })
	})
	return command
}

// texts returns the members as sorted, unique strings.
func (k providerSetCommands[T]) texts(members []T) []string {
	texts := make([]string, 0, len(members))
	for _, member := range members {
		texts = append(texts, k.text(member))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// parseAll parses the texts in sorted order, without duplicates.
func parseAll[T any](texts []string, parse func(string) (T, error)) ([]T, error) {
	sorted := slices.Clone(texts)
	slices.Sort(sorted)
	parsed := make([]T, 0, len(sorted))
	for _, text := range slices.Compact(sorted) {
		value, err := parse(text)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, value)
	}
	return parsed, nil
}

// textRows are a table with one column.
func textRows(heading string) frame.Rows[string] {
	return frame.Rows[string]{Headings: []string{heading}, Cells: func(text string) []string { return []string{text} }}
}

func providerTraitCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "trait",
		Short: "List, add and remove the traits of a provider",
		Long: `List, add and remove the traits of a provider. A trait must exist: 'berth trait create'
creates custom traits.`,
		Example: `  berth provider trait list compute-1
  berth provider trait add compute-1 CUSTOM_RACK_7`,
	}, providerSetCommands[string]{
		plural: "traits", heading: "TRAIT", member: "TRAIT", path: "provider trait",
		example: [2]string{"HW_CPU_X86_AVX2", "CUSTOM_RACK_7"},
		parse:   parseName("trait"), text: func(name string) string { return name },
		list: (*client.Client).ProviderTraitList, replace: (*client.Client).ProviderTraitReplace,
		complete: completeTraits,
	}.commands(f)...)
}
