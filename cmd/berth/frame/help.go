package frame

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/internal/terminal"
)

// Widths of help texts. Lines wider than widestHelp are hard to read, and flags do not fit into less than narrowestHelp.
const (
	pipeWidth     = 80
	narrowestHelp = 60
	widestHelp    = 110
)

// helpWidth returns the width of the terminal within these bounds, or pipeWidth if the output is not a terminal.
func (f *Frame) helpWidth() int {
	isTerminal, columns := terminal.Of(f.Stdout)
	if !isTerminal {
		return pipeWidth
	}
	return min(max(terminal.Columns(Environment(f.Environ), columns), narrowestHelp), widestHelp)
}

// printHelp prints the help of a command in the order of cobra's, which does not wrap lines nor group flags.
func (f *Frame) printHelp(c *cobra.Command, _ []string) {
	c.InitDefaultHelpFlag()
	width := f.helpWidth()
	long := c.Long
	if long == "" {
		long = c.Short
	}
	parts := []string{Reflow(long, width), strings.TrimRight("Usage:"+usageLines(c), "\n")}
	if c.HasExample() {
		parts = append(parts, "Examples:"+examples(c.Example, width))
	}
	parts = append(parts, commandLists(c, width)...)
	parts = append(parts, flagLists(c, width)...)
	if c.HasAvailableSubCommands() {
		parts = append(parts, Reflow(fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", c.CommandPath()), width))
	}
	fmt.Fprintln(f.Stdout, strings.Join(parts, "\n\n"))
}

func usageLines(c *cobra.Command) string {
	text := ""
	if c.Runnable() {
		text += "\n  " + c.UseLine()
	}
	if c.HasAvailableSubCommands() {
		text += "\n  " + c.CommandPath() + " [command]"
	}
	return text
}

// examples returns the command lines; it continues long ones before a flag, or a pipe, on lines of their own.
func examples(text string, width int) string {
	const margin, ending = "    ", ` \`
	out := ""
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > width {
			at := -1
			for i := range line {
				breaks := strings.HasPrefix(line[i:], " --") || strings.HasPrefix(line[i:], " | ")
				quoted := strings.Count(line[:i], "'")%2 == 1 || strings.Contains(line[:i], " #")
				if breaks && !quoted && i > len(margin) && i+len(ending) <= width {
					at = i
				}
			}
			if at < 0 {
				break
			}
			out += "\n" + line[:at] + ending
			line = margin + line[at+1:]
		}
		out += "\n" + line
	}
	return out
}

// commandLists returns the subcommands, a part for each group.
func commandLists(c *cobra.Command, width int) []string {
	var parts []string
	list := func(title, group string) {
		text := ""
		for _, child := range c.Commands() {
			if child.GroupID == group && (child.IsAvailableCommand() || child.Name() == "help") {
				head := fmt.Sprintf("  %-*s ", child.NamePadding(), child.Name())
				text += "\n" + head + hang(child.Short, len(head), width)
			}
		}
		if text != "" {
			parts = append(parts, title+text)
		}
	}
	for _, group := range c.Groups() {
		list(group.Title, group.ID)
	}
	if len(parts) == 0 {
		list("Available Commands:", "")
	} else {
		list("Additional Commands:", "")
	}
	return parts
}

// hang wraps a text whose first line begins at a column, and its other lines too.
func hang(text string, column, width int) string {
	return strings.ReplaceAll(Reflow(text, width-column), "\n", "\n"+strings.Repeat(" ", column))
}

// Reflow wraps the paragraphs of a text. It keeps indented lines, which are examples or tables.
func Reflow(text string, width int) string {
	var out, words []string
	flush := func() {
		line := ""
		for _, word := range words {
			switch {
			case line == "":
				line = word
			case terminal.Cells(line)+1+terminal.Cells(word) > width:
				out, line = append(out, line), word
			default:
				line += " " + word
			}
		}
		if line != "" {
			out = append(out, line)
		}
		words = nil
	}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, line)
			continue
		}
		for word := range strings.FieldsSeq(line) {
			words = append(words, breakable(word, width)...)
		}
	}
	flush()
	return strings.Join(out, "\n")
}

// breakable splits a list without blanks that is wider than a line at its commas.
func breakable(word string, width int) []string {
	if terminal.Cells(word) <= width {
		return []string{word}
	}
	return strings.SplitAfter(word, ",")
}

// Commands with many flags have groups of flags. The annotation FlagGroup of a flag names its group; FlagFirst marks those
// that --help describes. Of the others it lists only the names; --help-all describes all.
const (
	FlagGroup = "berth_flag_group"
	FlagFirst = "berth_flag_first"
)

const helpAllFlag = "help-all"

// helpAll is the flag --help-all, which ends the command line as --help does.
type helpAll struct {
	groups []string
	given  bool
}

func (h *helpAll) String() string   { return "false" }
func (h *helpAll) Type() string     { return "bool" }
func (h *helpAll) Set(string) error { h.given = true; return pflag.ErrHelp }

// AddHelpAll adds --help-all to flags that have groups, which the help lists in this order.
func AddHelpAll(flags *pflag.FlagSet, groups []string) {
	flags.VarPF(&helpAll{groups: groups}, helpAllFlag, "", "help with all flags, by group").NoOptDefVal = "true"
}

// flagLists returns the flags of a command: a part without groups, or one for each group.
func flagLists(c *cobra.Command, width int) []string {
	if !c.HasAvailableLocalFlags() {
		return nil
	}
	local := c.LocalFlags()
	more, described := []string(nil), func(*pflag.Flag) bool { return true }
	if grouped := groupsOf(local); grouped != nil {
		described = func(flag *pflag.Flag) bool {
			return groupOf(flag) == "" || !grouped.given && flag.Annotations[FlagFirst] != nil
		}
		more = otherFlags(local, grouped, width)
	}
	return append([]string{"Flags:" + describe(local, width, described)}, more...)
}

// groupsOf returns the value of --help-all, or nil if the flags have no groups.
func groupsOf(flags *pflag.FlagSet) *helpAll {
	flag := flags.Lookup(helpAllFlag)
	if flag == nil {
		return nil
	}
	value, _ := flag.Value.(*helpAll)
	return value
}

func groupOf(flag *pflag.Flag) string { return strings.Join(flag.Annotations[FlagGroup], "") }

// widestFlag is the width of the column of flags; the description of a longer one begins on the next line.
const widestFlag = 30

// describe returns the descriptions of some flags, each on new lines. pflag writes them; its own wrapping is uneven.
func describe(flags *pflag.FlagSet, width int, wanted func(*pflag.Flag) bool) string {
	var rows [][2]string
	column := 0
	add := func(flag *pflag.Flag) {
		if flag.Hidden || !wanted(flag) {
			return
		}
		flagSet := pflag.NewFlagSet("", pflag.ContinueOnError)
		flagSet.AddFlag(flag)
		line := strings.TrimRight(flagSet.FlagUsages(), "\n")
		head := strings.TrimLeft(line, " ")
		margin := line[:len(line)-len(head)]
		head, text, _ := strings.Cut(head, "   ")
		rows = append(rows, [2]string{margin + head, text})
		if len(margin+head) <= widestFlag {
			column = max(column, len(margin+head))
		}
	}
	flags.VisitAll(add)
	text := ""
	for _, row := range rows {
		// The name of a long environment variable does not break: such a description begins further left, below its flag.
		margin := column + 2
		for word := range strings.FieldsSeq(row[1]) {
			margin = max(min(margin, width-terminal.Cells(word)), 0)
		}
		text += "\n" + row[0]
		if len(row[0])+2 > margin {
			text += "\n" + strings.Repeat(" ", margin)
		} else {
			text += strings.Repeat(" ", margin-len(row[0]))
		}
		text += hang(row[1], margin, width)
	}
	return text
}

// otherFlags returns the flags of each group: their descriptions, or the names of those that --help does not describe.
func otherFlags(flags *pflag.FlagSet, grouped *helpAll, width int) []string {
	var parts []string
	text := "Other flags, which --help-all describes:"
	for _, group := range grouped.groups {
		var names []string
		flags.VisitAll(func(flag *pflag.Flag) {
			if groupOf(flag) == group && flag.Annotations[FlagFirst] == nil && !flag.Hidden {
				names = append(names, "--"+flag.Name)
			}
		})
		text += "\n  " + group + ":\n      " + hang(strings.Join(names, " "), 6, width)
		parts = append(parts, group+":"+describe(flags, width, func(flag *pflag.Flag) bool { return groupOf(flag) == group }))
	}
	if grouped.given {
		return parts
	}
	return []string{text}
}
