package frame

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes of all commands except 'berth db online-data-migrations' and 'berth status', which
// have those of placement-manage and placement-status. 'berth reconcile' has one more, and 'berth run' has those
// of its command and more.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2 // the command line or a setting was wrong; nothing was done
)

// CodedError ends a command with a specific exit code, for compatibility with placement-manage
// and placement-status, and for scripts. A nil Cause means that the command has printed the error.
type CodedError struct {
	Code  int
	Cause error
}

// Error returns the text of the cause.
func (e *CodedError) Error() string { return fmt.Sprint(e.Cause) }

// Unwrap returns the cause.
func (e *CodedError) Unwrap() error { return e.Cause }

// Execute runs the subcommand of root that the arguments name, and returns the exit code.
func (f *Frame) Execute(ctx context.Context, root *cobra.Command, arguments []string) int {
	began := false
	// An error before the command starts is an invalid command line.
	root.PersistentPreRun = func(*cobra.Command, []string) { began = true }
	root.SetArgs(arguments)
	root.SetOut(f.Stdout)
	root.SetErr(f.Stderr)
	root.SetHelpFunc(f.printHelp)
	root.SetFlagErrorFunc(suggestFlag)
	root.DisableSuggestions = true // usageError has better ones
	command, err := root.ExecuteContextC(ctx)
	if err != nil && !began {
		err = usageError(root, command, arguments, err)
	}
	var wrong InputErrors
	var coded *CodedError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		if coded.Cause != nil {
			fmt.Fprintf(f.Stderr, "berth: %v\n", coded.Cause)
		}
		return coded.Code
	case errors.As(err, &wrong):
		f.printMistakes(wrong)
		return ExitUsage
	case !began:
		fmt.Fprintf(f.Stderr, "berth: %v\nSee '%s --help'.\n", err, command.CommandPath())
		return ExitUsage
	default:
		fmt.Fprintf(f.Stderr, "berth: %v\n", err)
		return ExitFailed
	}
}

// flagSynonyms are flags of other tools and of other commands, by the flag of berth.
var flagSynonyms = map[string][]string{
	"member-of": {"aggregate", "aggregates", "agg", "rack", "zone"},
	"required":  {"trait", "traits", "require", "property"},
	"in-tree":   {"tree", "host", "parent", "root"},
	"resources": {"class", "amount", "amounts"},
	"limit":     {"count", "max", "top", "max-items"},
	"output":    {"format"},
}

// suggestFlag adds the most similar flag to the error of an unknown one.
func suggestFlag(c *cobra.Command, err error) error {
	unknown, is := errors.AsType[*pflag.NotExistError](err)
	if !is || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	typed := unknown.GetSpecifiedName()
	for _, name := range names {
		if slices.Contains(flagSynonyms[name], typed) {
			return fmt.Errorf("%w; did you mean --%s?", err, name)
		}
	}
	if len(names) == 0 || Distance(typed, Nearest(typed, names)) > max(1, len(typed)/3) {
		return err
	}
	return fmt.Errorf("%w; did you mean --%s?", err, Nearest(typed, names))
}

func (f *Frame) printMistakes(wrong InputErrors) {
	if len(wrong) == 1 {
		fmt.Fprintf(f.Stderr, "berth: %v\n", wrong)
		return
	}
	fmt.Fprintf(f.Stderr, "berth: %d settings are invalid:\n", len(wrong))
	for _, err := range wrong {
		fmt.Fprintf(f.Stderr, "  %v\n", err)
	}
}
