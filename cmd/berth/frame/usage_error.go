package frame

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError returns an error that cobra or pflag found in a command line as one sentence that names the value, the rule and
// a command line that works. Other errors are unchanged.
func usageError(root, command *cobra.Command, arguments []string, err error) error {
	if invalid, is := errors.AsType[*pflag.InvalidValueError](err); is {
		return invalidFlagValue(invalid, err)
	}
	text := err.Error()
	if strings.HasPrefix(text, "unknown command ") {
		return unknownCommand(root, command, arguments)
	}
	if parts := argumentCount.FindStringSubmatch(text); parts != nil {
		return wrongArgumentCount(command, parts)
	}
	return err
}

// invalidFlagValue returns the error of a flag whose value has the wrong type.
func invalidFlagValue(invalid *pflag.InvalidValueError, err error) error {
	rule, known := map[string]Rule{
		"int":      {"is not a whole number", "write digits only, such as 20"},
		"int32":    {"is not a whole number", "write digits only, such as 20"},
		"int64":    {"is not a whole number", "write digits only, such as 20"},
		"uint":     {"is not a whole number", "write digits only, such as 20"},
		"uint64":   {"is not a whole number", "write digits only, such as 20"},
		"float64":  {"is not a number", "write a number such as 1.5"},
		"bool":     {"is neither true nor false", "write true or false"},
		"duration": {"is not a duration", "write a number and a unit, such as 30s or 5m"},
	}[invalid.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return InputErrors{&InputError{invalid.GetFlag().Name, invalid.GetValue(), "flag --" + invalid.GetFlag().Name, rule}}
}

// argumentCount matches the errors of cobra about the number of arguments.
var argumentCount = regexp.MustCompile(`^(?:accepts|requires) (at least |at most |between \d+ and )?(\d+) arg\(s\), (?:only )?received (\d+)$`)

// wrongArgumentCount returns the error of a command with too few or too many arguments.
func wrongArgumentCount(command *cobra.Command, parts []string) error {
	plural, given := "s", parts[3]+" were given"
	if parts[2] == "1" {
		plural = ""
	}
	switch parts[3] {
	case "0":
		given = "none was given"
	case "1":
		given = "1 was given"
	}
	return fmt.Errorf("'%s' takes %s%s argument%s, but %s; write '%s'",
		command.CommandPath(), parts[1], parts[2], plural, given, strings.TrimSuffix(command.UseLine(), " [flags]"))
}

// unknownCommand returns the error of a word that is no command, or of an argument to a command without arguments.
func unknownCommand(root, command *cobra.Command, arguments []string) error {
	words := wordsOf(command, arguments)
	path := strings.Fields(command.CommandPath())[1:]
	words = words[min(len(path), len(words)):]
	word := ""
	if len(words) > 0 {
		word = words[0]
	}
	if len(path) > 0 && !command.HasAvailableSubCommands() {
		text := fmt.Sprintf("'%s' takes no arguments, but %q was given", command.CommandPath(), word)
		if show := sibling(command, "show"); show != nil && command.Name() == "list" {
			text += fmt.Sprintf("; did you mean '%s %s'?", show.CommandPath(), word)
		}
		return errors.New(text)
	}
	text := fmt.Sprintf("unknown command %q for %q", word, command.CommandPath())
	if meant := similarCommand(root, append(path, words...)); meant != "" {
		text += fmt.Sprintf("; did you mean '%s'?", meant)
	}
	return errors.New(text)
}

// wordsOf returns the arguments without flags and without the values of those flags that the command knows.
func wordsOf(command *cobra.Command, arguments []string) (words []string) {
	for i := 0; i < len(arguments); i++ {
		name, isLong := strings.CutPrefix(arguments[i], "--")
		switch {
		case arguments[i] == "--":
			return append(words, arguments[i+1:]...)
		case isLong:
			flag := command.Flags().Lookup(name)
			if flag != nil && flag.NoOptDefVal == "" {
				i++
			}
		case len(arguments[i]) == 2 && arguments[i][0] == '-':
			flag := command.Flags().ShorthandLookup(arguments[i][1:])
			if flag != nil && flag.NoOptDefVal == "" {
				i++
			}
		case !strings.HasPrefix(arguments[i], "-"):
			words = append(words, arguments[i])
		}
	}
	return words
}

// sibling returns the command with a name beside another one, nil if there is none.
func sibling(command *cobra.Command, name string) *cobra.Command {
	for _, other := range command.Parent().Commands() {
		if other.Name() == name && other.IsAvailableCommand() {
			return other
		}
	}
	return nil
}
