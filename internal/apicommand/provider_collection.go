package apicommand

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

// providerSetCommands is what a provider has any number of, without order and with the
// provider's generation: its traits, its aggregates. The commands are the same.
type providerSetCommands[T any] struct {
	many    string // "traits"
	heading string
	member  string // how the help calls a member: TRAIT, AGGREGATE
	path    string // the commands before list, set, …: "provider trait"
	example [2]string
	parse   func(text string) (T, error)
	text    func(T) string
	list    func(*client.Client, context.Context, uuid.UUID) ([]T, int64, error)
	replace func(*client.Client, context.Context, uuid.UUID, int64, []T) ([]T, int64, error)
	// complete gives completions for members; nil: there are none.
	complete completer
}

// commands are list, set, add, remove and clear.
func (k providerSetCommands[T]) commands(f *frame.Frame) []*cobra.Command {
	// Each edit makes the new collection out of the old one and what was named.
	set := func(_, named []string) []string { return named }
	add := func(old, named []string) []string { return append(old, named...) }
	remove := func(old, named []string) []string {
		return slices.DeleteFunc(old, func(text string) bool { return slices.Contains(named, text) })
	}
	return []*cobra.Command{
		k.listCommand(f),
		k.editCommand(f, "set", "Give a provider exactly these "+k.many, "Give a provider these "+k.many+" and take away all others.", set),
		k.editCommand(f, "add", "Give a provider more "+k.many, "Give a provider these "+k.many+" on top of those it has.", add),
		k.editCommand(f, "remove", "Take "+k.many+" away from a provider", "Take these "+k.many+" away from a provider. One that it does not have is passed over.", remove),
		k.editCommand(f, "clear", "Take all "+k.many+" away from a provider", "Take all "+k.many+" away from a provider.", set),
	}
}

func (k providerSetCommands[T]) listCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:     "list PROVIDER",
		Short:   "List the " + k.many + " of a provider",
		Long:    "List the " + k.many + " of a provider, sorted. The JSON is a list of texts.",
		Example: fmt.Sprintf("  berth %s list compute-1\n  berth %s list compute-1 --output json", k.path, k.path),
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	completeProviders(f, command)
	command.RunE = withProvider(f, format, func(ctx context.Context, service *client.Client, provider api.Provider, _ []string) error {
		members, _, err := k.list(service, ctx, provider.UUID)
		if err != nil {
			return err
		}
		return printTexts(f, *format, k.heading, k.texts(members))
	})
	return command
}

// editCommand makes a command that changes the collection and prints what it is
// afterwards.
func (k providerSetCommands[T]) editCommand(f *frame.Frame, verb, short, long string, edit func(old, named []string) []string) *cobra.Command {
	command := &cobra.Command{
		Use:     fmt.Sprintf("%s PROVIDER %s...", verb, k.member),
		Short:   short,
		Long:    frame.Wrap(long + " Shows what the provider has afterwards, as 'list' does."),
		Example: fmt.Sprintf("  berth %s %s compute-1 %s\n  berth %s %s compute-1 %s %s", k.path, verb, k.example[0], k.path, verb, k.example[0], k.example[1]),
		Args:    cobra.MinimumNArgs(2),
	}
	if verb == "clear" {
		command.Use, command.Args = "clear PROVIDER", cobra.ExactArgs(1)
		command.Example = fmt.Sprintf("  berth %s clear compute-1", k.path)
	}
	format := frame.OutputFlag(command)
	generation := generationFlag(command)
	completeProviderThen(f, command, k.complete)
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		wanted, err := generation.wanted()
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
		var left []T
		err = rewrite(ctx, wanted,
			func() ([]T, int64, error) { return k.list(service, ctx, provider.UUID) },
			func(old []T) ([]T, error) { return parseAll(edit(k.texts(old), k.texts(named)), k.parse) },
			func(generation int64, members []T) (err error) {
				left, _, err = k.replace(service, ctx, provider.UUID, generation, members)
				return err
			})
		if err != nil {
			return frame.About(provider.Name, err)
		}
		return printTexts(f, *format, k.heading, k.texts(left))
	})
	return command
}

// texts are the members for people, sorted and each once.
func (k providerSetCommands[T]) texts(members []T) []string {
	texts := make([]string, 0, len(members))
	for _, member := range members {
		texts = append(texts, k.text(member))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// parseAll reads texts, each once.
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

// printTexts prints one column, or a list of texts as JSON.
func printTexts(f *frame.Frame, format, heading string, texts []string) error {
	table := [][]string{{heading}}
	for _, text := range texts {
		table = append(table, []string{text})
	}
	return frame.PrintAs(f.Stdout, format, texts, table)
}

func providerTraitCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "trait",
		Short: "Which traits a provider has",
		Long: `Show and change which traits a provider has. A trait has to exist: custom ones are made
with 'berth trait create'.`,
		Example: `  berth provider trait list compute-1
  berth provider trait add compute-1 CUSTOM_RACK_7`,
	}, providerSetCommands[string]{
		many: "traits", heading: "TRAIT", member: "TRAIT", path: "provider trait",
		example: [2]string{"HW_CPU_X86_AVX2", "CUSTOM_RACK_7"},
		parse:   parseName("trait"), text: func(name string) string { return name },
		list: (*client.Client).ProviderTraitList, replace: (*client.Client).ProviderTraitReplace,
		complete: completeTraits,
	}.commands(f)...)
}
