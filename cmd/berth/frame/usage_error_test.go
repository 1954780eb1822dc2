package frame

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"
)

// commandsForUsage returns a small tree of commands.
func commandsForUsage() *cobra.Command {
	run := func(*cobra.Command, []string) error { return nil }
	root := &cobra.Command{Use: "berth", SilenceErrors: true, SilenceUsage: true}
	list := &cobra.Command{Use: "list", Args: cobra.NoArgs, RunE: run}
	list.Flags().Int("limit", 0, "")
	list.Flags().Duration("wait", 0, "")
	list.Flags().String("member-of", "", "")
	list.Flags().String("resources", "", "")
	root.AddCommand(Family(&cobra.Command{Use: "provider"}, list,
		&cobra.Command{Use: "show PROVIDER", Args: cobra.ExactArgs(1), RunE: run},
		&cobra.Command{Use: "delete PROVIDER...", Args: cobra.MinimumNArgs(1), RunE: run}))
	root.AddCommand(Family(&cobra.Command{Use: "capacity"}, &cobra.Command{Use: "fits", Args: cobra.NoArgs, RunE: run}))
	root.AddCommand(&cobra.Command{Use: "serve", Args: cobra.NoArgs, RunE: run}, &cobra.Command{Use: "agent", Args: cobra.NoArgs, RunE: run})
	return root
}

func TestCLI_WrongCommandLine_NamesOneThatWorks(t *testing.T) {
	t.Parallel()
	const help = "\nSee 'berth --help'.\n"
	for _, test := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"get", "providers"}, `unknown command "get" for "berth"; did you mean 'berth provider list'?` + help},
		{[]string{"ls", "provider"}, `unknown command "ls" for "berth"; did you mean 'berth provider list'?` + help},
		{[]string{"get", "provider", "cn 1"}, `unknown command "get" for "berth"; did you mean 'berth provider show cn 1'?` + help},
		{[]string{"rm", "provider", "cn1"}, `unknown command "rm" for "berth"; did you mean 'berth provider delete cn1'?` + help},
		{[]string{"providers"}, `unknown command "providers" for "berth"; did you mean 'berth provider'?` + help},
		{[]string{"capacities"}, `unknown command "capacities" for "berth"; did you mean 'berth capacity'?` + help},
		{[]string{"sevre"}, `unknown command "sevre" for "berth"; did you mean 'berth serve'?` + help},
		{[]string{"get"}, `unknown command "get" for "berth"` + help},
		{[]string{"provider", "lst"}, `unknown command "lst" for "berth provider"; did you mean 'berth provider list'?` + "\nSee 'berth provider --help'.\n"},
		{[]string{"provider", "frob"}, `unknown command "frob" for "berth provider"` + "\nSee 'berth provider --help'.\n"},
		{[]string{"provider", "list", "--member-of", "x", "cn1"}, `'berth provider list' takes no arguments, but "cn1" was given; did you mean 'berth provider show cn1'?` + "\nSee 'berth provider list --help'.\n"},
		{[]string{"serve", "x"}, `'berth serve' takes no arguments, but "x" was given` + "\nSee 'berth serve --help'.\n"},
		{[]string{"provider", "show"}, `'berth provider show' takes 1 argument, but none was given; write 'berth provider show PROVIDER'` + "\nSee 'berth provider show --help'.\n"},
		{[]string{"provider", "show", "a", "b"}, `'berth provider show' takes 1 argument, but 2 were given; write 'berth provider show PROVIDER'` + "\nSee 'berth provider show --help'.\n"},
		{[]string{"provider", "delete"}, `'berth provider delete' takes at least 1 argument, but none was given; write 'berth provider delete PROVIDER...'` + "\nSee 'berth provider delete --help'.\n"},
		{[]string{"provider", "list", "--limit", "abc"}, `limit: "abc" (flag --limit) is not a whole number; write digits only, such as 20` + "\n"},
		{[]string{"provider", "list", "--wait=soon"}, `wait: "soon" (flag --wait) is not a duration; write a number and a unit, such as 30s or 5m` + "\n"},
		{[]string{"provider", "list", "--aggregate", "x"}, `unknown flag: --aggregate; did you mean --member-of?` + "\nSee 'berth provider list --help'.\n"},
		{[]string{"provider", "list", "--resource", "x"}, `unknown flag: --resource; did you mean --resources?` + "\nSee 'berth provider list --help'.\n"},
	} {
		var stdout, stderr bytes.Buffer
		host := Frame{Stdout: &stdout, Stderr: &stderr, Signals: SystemSignals}
		code := host.Execute(t.Context(), commandsForUsage(), test.arguments)
		if want := "berth: " + test.want; code != ExitUsage || stderr.String() != want || stdout.Len() > 0 {
			t.Errorf("%q: exit code %d, %q, %q, want %q", test.arguments, code, stderr.String(), stdout.String(), want)
		}
	}
}
