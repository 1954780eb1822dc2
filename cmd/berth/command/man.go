package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/version"
)

func manCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "man [COMMAND...]",
		Short: "Print or write manual pages",
		Long: `Print the manual page of a command, by default that of berth, or write the pages of all
commands to a directory. The pages have the text of --help. The output is reproducible:
its date is that of SOURCE_DATE_EPOCH; without the variable the pages have no date.`,
		Example: `  berth man | man -l -
  berth man provider list | man -l -
  berth man --all /usr/local/share/man/man1`,
	}
	directory := command.Flags().String("all", "", "`directory` for the pages of all commands")
	command.ValidArgsFunction = func(c *cobra.Command, written []string, typed string) ([]string, cobra.ShellCompDirective) {
		at, rest, err := c.Root().Find(written)
		if err != nil || len(rest) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, child := range at.Commands() {
			if child.IsAvailableCommand() && strings.HasPrefix(child.Name(), typed) {
				words = append(words, child.Name())
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
	command.RunE = func(c *cobra.Command, arguments []string) error {
		header, err := manHeader(f)
		if err != nil {
			return err
		}
		if *directory != "" {
			if len(arguments) > 0 {
				return frame.WrongFlag("all", *directory, "conflicts with a command", "omit one of them")
			}
			return writeMan(f, c.Root(), header, *directory)
		}
		found, rest, err := c.Root().Find(arguments)
		if err != nil || len(rest) > 0 {
			return frame.WrongArgument("command", strings.Join(arguments, " "), "is not a command of berth", "see 'berth --help'")
		}
		page, err := manPage(found, header)
		if err != nil {
			return err
		}
		_, err = f.Stdout.Write(page)
		return err
	}
	return command
}

// manHeader returns the header of all pages. Its date is that of SOURCE_DATE_EPOCH, because the date
// of the build would make builds irreproducible.
func manHeader(f *frame.Frame) (doc.GenManHeader, error) {
	header := doc.GenManHeader{Section: "1", Source: "berth " + version.This().Version, Manual: "Berth"}
	text := frame.Environment(f.Environ)["SOURCE_DATE_EPOCH"]
	if text == "" {
		return header, nil
	}
	epoch, err := time.ParseDuration(text + "s")
	if err != nil {
		return header, frame.InputErrors{&frame.InputError{Setting: "SOURCE_DATE_EPOCH", Value: text, Origin: "environment SOURCE_DATE_EPOCH", Rule: frame.Rule{Broken: "is not a number of seconds", Remedy: "write the seconds since 1970, or unset the variable"}}}
	}
	date := time.Unix(0, 0).UTC().Add(epoch)
	header.Date = &date
	return header, nil
}

// manPage returns the page of one command.
func manPage(command *cobra.Command, header doc.GenManHeader) ([]byte, error) {
	command.DisableAutoGenTag = true
	header.Title = strings.ToUpper(pageName(command))
	hasDate := header.Date != nil
	if !hasDate {
		// The library defaults to the current date. This one is removed below.
		header.Date = new(time.Unix(0, 0).UTC())
	}
	var page bytes.Buffer
	if err := doc.GenMan(command, &header, &page); err != nil {
		return nil, fmt.Errorf("cannot generate the page of %s: %w", command.CommandPath(), err)
	}
	if hasDate {
		return page.Bytes(), nil
	}
	return bytes.Replace(page.Bytes(), []byte(`"Jan 1970"`), []byte(`""`), 1), nil
}

func pageName(command *cobra.Command) string {
	return strings.ReplaceAll(command.CommandPath(), " ", "-")
}

// writeMan writes a page for each command to the directory, such as berth-provider-list.1.
func writeMan(f *frame.Frame, root *cobra.Command, header doc.GenManHeader, directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	commands := availableCommands(root)
	for _, command := range commands {
		page, err := manPage(command, header)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(directory, pageName(command)+".1"), page, 0o644); err != nil {
			return err
		}
	}
	return f.Printf("wrote %d pages to %s", len(commands), directory)
}

// availableCommands returns the commands that the help lists, parents before children.
func availableCommands(command *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{command}
	children := slices.Clone(command.Commands())
	for _, child := range children {
		if child.IsAvailableCommand() {
			all = append(all, availableCommands(child)...)
		}
	}
	return all
}
