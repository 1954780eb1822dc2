package apicommand

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/querytext"
)

// completer returns the possible values of an argument or a flag for shell completion.
type completer func(service *client.Client, ctx context.Context) ([]string, error)

// completionTimeout limits the wait for the server after the Tab key. On an error, completion returns
// no values and prints nothing, because the user is editing a line.
const completionTimeout = 2 * time.Second

// anyNumber is the maxArguments of completing for no limit.
const anyNumber = -1

// complete requests the values and returns those with the prefix typed.
func complete(f *frame.Frame, c *cobra.Command, find completer, typed string) ([]string, cobra.ShellCompDirective) {
	if find == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	quiet := *f
	quiet.Stderr = io.Discard
	service, err := connect.Client(&quiet, c, client.WithRetries(client.Retries{Attempts: 1}))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words, err := find(service, ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words = slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completing returns a function that completes the first maxArguments arguments of a command, without
// values that are already on the command line.
func completing(f *frame.Frame, find completer, maxArguments int) cobra.CompletionFunc {
	return func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if maxArguments != anyNumber && len(written) >= maxArguments {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, directive := complete(f, c, find, typed)
		return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(written, word) }), directive
	}
}

// completeProviders completes the provider of a command with one argument.
func completeProviders(f *frame.Frame, c *cobra.Command) {
	c.ValidArgsFunction = completing(f, completeProviderNames, 1)
}

// completeManyProviders completes the arguments of a command whose arguments are providers.
func completeManyProviders(f *frame.Frame, c *cobra.Command) {
	c.ValidArgsFunction = completing(f, completeProviderNames, anyNumber)
}

// completeProviderThen completes a provider as the first argument of a command and the values of
// others as its other arguments.
func completeProviderThen(f *frame.Frame, c *cobra.Command, others completer) {
	providers, rest := completing(f, completeProviderNames, 1), completing(f, others, anyNumber)
	c.ValidArgsFunction = func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(written) == 0 {
			return providers(c, written, typed)
		}
		return rest(c, written[1:], typed)
	}
}

// completeFlag completes the value of a flag. It panics if the flag does not exist.
func completeFlag(f *frame.Frame, c *cobra.Command, flag string, find completer) {
	frame.Must(c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return complete(f, c, find, typed)
	}))
}

// completeProviderFlags completes the values of flags that name a provider.
func completeProviderFlags(f *frame.Frame, c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(f, c, flag, completeProviderNames)
	}
}

// listCompleters complete the elements of lists in the values of flags.
var listCompleters = map[querytext.Values]completer{
	querytext.Amounts: completeClasses, querytext.Classes: completeClasses, querytext.Order: completeOrders, querytext.Traits: completeTraits,
}

// completeListFlags completes the last element of the comma-separated lists of classes and traits, and the value of --order,
// as far as the command has these flags of a candidate query.
func completeListFlags(f *frame.Frame, c *cobra.Command) {
	for _, d := range querytext.Definitions {
		find := listCompleters[d.Values]
		if find == nil || c.Flags().Lookup(d.Flag()) == nil {
			continue
		}
		frame.Must(c.RegisterFlagCompletionFunc(d.Flag(), func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			start := strings.LastIndexAny(typed, ",:!") + 1
			switch d.Values {
			case querytext.Amounts, querytext.Classes:
				start = strings.LastIndex(typed, ",") + 1
			case querytext.Order:
				start = 0
			}
			words, directive := complete(f, c, find, typed[start:])
			for i, word := range words {
				words[i] = typed[:start] + word
			}
			return words, directive | cobra.ShellCompDirectiveNoSpace
		}))
	}
}

// completeSuffixFlag completes the last element of lists of suffixes with those of --group.
func completeSuffixFlag(c *cobra.Command, flag string, w *CandidateRequest) {
	frame.Must(c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		start := strings.LastIndexAny(typed, ",!") + 1
		var words []string
		for _, group := range w.groups {
			suffix, _, _ := strings.Cut(group, ":")
			// cobra parses the command line twice and adds each group twice.
			if word := typed[:start] + suffix; strings.HasPrefix(suffix, typed[start:]) && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}))
}

// completeOrders returns the values of --order.
func completeOrders(service *client.Client, ctx context.Context) ([]string, error) {
	words := []string{"id", "random"}
	classes, err := completeClasses(service, ctx)
	for _, class := range classes {
		words = append(words, "pack:"+class, "spread:"+class)
	}
	return words, err
}

func completeProviderNames(service *client.Client, ctx context.Context) ([]string, error) {
	all, err := service.ProviderList(ctx, client.ProviderFilter{})
	found := make([]string, 0, len(all))
	for _, provider := range all {
		found = append(found, provider.Name)
	}
	slices.Sort(found)
	return found, err
}

func completeTraits(service *client.Client, ctx context.Context) ([]string, error) {
	return service.TraitList(ctx, client.TraitFilter{})
}

func completeClasses(service *client.Client, ctx context.Context) ([]string, error) {
	return service.ResourceClassList(ctx)
}
