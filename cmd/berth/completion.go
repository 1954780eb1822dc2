package main

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
)

// completer finds the words that a shell may complete.
type completer func(service *client.Client, ctx context.Context) ([]string, error)

// completionPatience is how long a person who pressed the tabulator key waits for
// a service that may not be there. Whatever goes wrong, nothing is completed and
// nothing is said: the person is in the middle of a line.
const completionPatience = 2 * time.Second

// anyNumber of arguments may be completed.
const anyNumber = -1

// complete asks the service and returns what begins with the text typed so far.
func (p *process) complete(c *cobra.Command, find completer, typed string) ([]string, cobra.ShellCompDirective) {
	if find == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionPatience)
	defer cancel()
	quiet := *p
	quiet.stderr = io.Discard
	service, err := quiet.connect(c, client.WithRetries(client.Retries{Attempts: 1}))
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
func (p *process) completing(find completer, most int) cobra.CompletionFunc {
	return func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if most != anyNumber && len(written) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		words, directive := p.complete(c, find, typed)
		return slices.DeleteFunc(words, func(word string) bool { return slices.Contains(written, word) }), directive
	}
}

// completeProviders is for commands whose one argument is a provider.
func (p *process) completeProviders(c *cobra.Command) {
	c.ValidArgsFunction = p.completing(completeProviderNames, 1)
}

// completeManyProviders is for commands whose arguments all are providers.
func (p *process) completeManyProviders(c *cobra.Command) {
	c.ValidArgsFunction = p.completing(completeProviderNames, anyNumber)
}

// completeProviderThen is for commands whose first argument is a provider and
// whose others are something else.
func (p *process) completeProviderThen(c *cobra.Command, others completer) {
	providers, rest := p.completing(completeProviderNames, 1), p.completing(others, anyNumber)
	c.ValidArgsFunction = func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(written) == 0 {
			return providers(c, written, typed)
		}
		return rest(c, written[1:], typed)
	}
}

// completeFlag completes the value of a flag. The error that cobra may return is a
// flag that does not exist, a mistake in the program.
func (p *process) completeFlag(c *cobra.Command, flag string, find completer) {
	must(c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return p.complete(c, find, typed)
	}))
}

// completeProviderFlags is completeFlag for flags that name a provider.
func (p *process) completeProviderFlags(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		p.completeFlag(c, flag, completeProviderNames)
	}
}

// completeListFlags completes the last element of comma separated classes and
// traits.
func (p *process) completeListFlags(c *cobra.Command) {
	for flag, find := range map[string]completer{"resources": completeClasses, "required": completeTraits} {
		must(c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			start := strings.LastIndexAny(typed, ",:!") + 1
			if flag == "resources" {
				start = strings.LastIndex(typed, ",") + 1
			}
			words, directive := p.complete(c, find, typed[start:])
			for i, word := range words {
				words[i] = typed[:start] + word
			}
			return words, directive | cobra.ShellCompDirectiveNoSpace
		}))
	}
}

// completeConnectFlags completes the flags whose values are few.
func completeConnectFlags(c *cobra.Command) {
	completeChoices(c, "auth", "noauth", "token", "keystone")
	completeChoices(c, "interface", "public", "internal", "admin")
}

// completeChoices completes the value of a flag from a list.
func completeChoices(c *cobra.Command, flag string, choices ...string) {
	must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)))
}

func must(err error) {
	if err != nil {
		panic(err)
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
