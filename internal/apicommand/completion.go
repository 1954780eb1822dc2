package apicommand

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

// completer finds the words that a shell may complete.
type completer func(service *client.Client, ctx context.Context) ([]string, error)

// completionTimeout is how long a person who pressed the tabulator key waits for
// a service that may not be there. Whatever goes wrong, nothing is completed and
// nothing is said: the person is in the middle of a line.
const completionTimeout = 2 * time.Second

// anyNumber of arguments may be completed.
const anyNumber = -1

// complete asks the service and returns what begins with the text typed so far.
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

// completing completes the first arguments of a command, those not yet written.
func completing(f *frame.Frame, find completer, most int) cobra.CompletionFunc {
	return func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most != anyNumber && len(written) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, directive := complete(f, c, find, typed)
		return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(written, word) }), directive
	}
}

// completeProviders is for commands whose one argument is a provider.
func completeProviders(f *frame.Frame, c *cobra.Command) {
	c.ValidArgsFunction = completing(f, completeProviderNames, 1)
}

// completeManyProviders is for commands whose arguments all are providers.
func completeManyProviders(f *frame.Frame, c *cobra.Command) {
	c.ValidArgsFunction = completing(f, completeProviderNames, anyNumber)
}

// completeProviderThen is for commands whose first argument is a provider and
// whose others are something else.
func completeProviderThen(f *frame.Frame, c *cobra.Command, others completer) {
	providers, rest := completing(f, completeProviderNames, 1), completing(f, others, anyNumber)
	c.ValidArgsFunction = func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(written) == 0 {
			return providers(c, written, typed)
		}
		return rest(c, written[1:], typed)
	}
}

// completeFlag completes the value of a flag. The error that cobra may return is a
// flag that does not exist, a mistake in the program.
func completeFlag(f *frame.Frame, c *cobra.Command, flag string, find completer) {
	frame.Must(c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return complete(f, c, find, typed)
	}))
}

// completeProviderFlags is completeFlag for flags that name a provider.
func completeProviderFlags(f *frame.Frame, c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		completeFlag(f, c, flag, completeProviderNames)
	}
}

// completeListFlags completes the last element of comma separated classes and
// traits.
func completeListFlags(f *frame.Frame, c *cobra.Command) {
	for flag, find := range map[string]completer{"resources": completeClasses, "required": completeTraits} {
		frame.Must(c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			start := strings.LastIndexAny(typed, ",:!") + 1
			if flag == "resources" {
				start = strings.LastIndex(typed, ",") + 1
			}
			words, directive := complete(f, c, find, typed[start:])
			for i, word := range words {
				words[i] = typed[:start] + word
			}
			return words, directive | cobra.ShellCompDirectiveNoSpace
		}))
	}
}

func completeProviderNames(service *client.Client, ctx context.Context) ([]string, error) {
	all, err := service.ProviderList(ctx, client.ProviderFilter{})
	found := make([]string, 0, len(all))
	for _, one := range all {
		found = append(found, one.Name)
	}
	slices.Sort(found)
	return found, err
}

func completeTraits(service *client.Client, ctx context.Context) ([]string, error) {
	return allTraits(service, ctx)
}

func completeClasses(service *client.Client, ctx context.Context) ([]string, error) {
	return service.ResourceClassList(ctx)
}
