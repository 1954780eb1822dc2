package frame

import "github.com/spf13/cobra"

// CompleteChoices completes the value of a flag from a list.
func CompleteChoices(c *cobra.Command, flag string, choices ...string) {
	Must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)))
}

// Must panics if err is not nil, which is then a bug in the program.
func Must(err error) {
	if err != nil {
		panic(err)
	}
}

// Family adds subcommands to a command that has no action of its own. Alone it prints its help;
// an unknown argument is an error, which cobra reports only for the root.
func Family(command *cobra.Command, members ...*cobra.Command) *cobra.Command {
	command.Args = cobra.NoArgs
	command.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	command.AddCommand(members...)
	return command
}
