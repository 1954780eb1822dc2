package apicommand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/terminal"
)

// applyFlags are the flags of `berth provider apply`.
type applyFlags struct {
	deleted []string
	inverse string
	dryRun  *bool
	format  *string
}

func providerApplyCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "apply FILE",
		Short: "Create, update and delete the providers of a tree from a file",
		Long: `Create, update and delete providers of one tree, and move allocations, in one
transaction. FILE is the body of PUT /resource_providers/{uuid}/tree in YAML or JSON; - is
standard input. It needs a service with berth 1.3.

resource_providers lists providers with name, uuid, parent_provider_uuid, generation,
inventories, traits and aggregates. A name is permitted instead of any UUID of a
provider. A new provider without a uuid gets a random one. Members that are left out keep
their value. Providers that the file does not name stay. deleted_providers has the
providers to delete, as --delete has. consumers has consumers with all their allocations
afterwards. A generation that is left out is the current one.

A file that describes what exists changes nothing. The service creates custom resource
classes and traits. --inverse writes a file that reverses the changes, before they are
made; with --dry-run it only previews them.

` + dryRunHelp + `

The JSON is the response of the API.`,
		Example: `  berth provider apply host.yaml --dry-run
  berth provider apply host.yaml --delete compute-1-gpu-0 --inverse undo.json
  berth provider apply undo.json`,
		Args: cobra.ExactArgs(1),
	}
	flags := &applyFlags{format: frame.ReportFlag(command)}
	command.Flags().StringArrayVar(&flags.deleted, "delete", nil, "name or UUID of a `provider` to delete; repeatable")
	command.Flags().StringVar(&flags.inverse, "inverse", "", "`file` for the tree that reverses the changes; it must not exist")
	flags.dryRun = dryRunFlag(command)
	completeProviderFlags(f, command, "delete")
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		return flags.run(ctx, f, service, arguments[0])
	})
	return command
}

// run sends the tree of a file.
func (a *applyFlags) run(ctx context.Context, f *frame.Frame, service *client.Client, path string) error {
	file, err := readTreeFile(path)
	if err != nil {
		return err
	}
	needed := "berth provider apply"
	if *a.dryRun {
		needed = "--dry-run"
	}
	if err := requireExtensions(ctx, service, needed); err != nil {
		return err
	}
	if _, err := os.Lstat(a.inverse); a.inverse != "" && err == nil {
		return inverseExists(a.inverse)
	}
	names := newFileNames(service, path)
	root, wanted, err := file.resolve(ctx, f, names, a.deleted)
	if err != nil {
		return err
	}
	if a.inverse != "" {
		if err := a.saveInverse(ctx, f, service, root, wanted); err != nil {
			return err
		}
	}
	var done api.TreeChanged
	return write{f, service, *a.dryRun, *a.format}.run(ctx, func(ctx context.Context) (err error) {
		done, err = service.TreeReplace(ctx, root, *wanted)
		return err
	}, func() error { return a.print(ctx, f, names, wanted, &done) })
}

// saveInverse previews the tree and saves the tree that reverses it. Without changes it saves none.
func (a *applyFlags) saveInverse(ctx context.Context, f *frame.Frame, service *client.Client, root uuid.UUID, wanted *client.WantedTree) error {
	dry, runs := client.WithDryRun(ctx)
	if _, err := service.TreeReplace(dry, root, *wanted); err != nil {
		return err
	}
	results := runs.Results()
	preview := results[len(results)-1]
	switch {
	case preview.IrreversibleReason != "":
		return fmt.Errorf("cannot write %s: %s Nothing was changed", a.inverse, terminal.Safe(preview.IrreversibleReason))
	case len(preview.Inverse) == 0 || string(preview.Inverse) == "null":
		fmt.Fprintf(f.Stderr, "berth: %s was not written: there are no changes to reverse\n", a.inverse)
		return nil
	}
	return saveNew(a.inverse, preview.Inverse)
}

// saveNew writes JSON to a file that must not exist, so that the inverse of an earlier change is not lost.
func saveNew(path string, document json.RawMessage) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return inverseExists(path)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := terminal.WriteJSON(file, document); err != nil {
		return err
	}
	return file.Sync()
}

func inverseExists(path string) error {
	return frame.WrongFlag("inverse", path, "exists", "name a new file")
}

// print prints what changed.
func (a *applyFlags) print(ctx context.Context, f *frame.Frame, file *fileNames, wanted *client.WantedTree, done *api.TreeChanged) error {
	if frame.IsDocument(*a.format) {
		return frame.PrintAs(f.Stdout, *a.format, done, nil)
	}
	names := newProviderNames(file.service)
	names.known = file.names // those of deleted providers
	for _, provider := range wanted.Providers {
		names.known[provider.UUID] = provider.Name
	}
	if err := names.load(ctx, sortedIDs(done.ResourceProviders)); err != nil {
		return err
	}
	table := [][]string{{"PROVIDER", "UUID", "CHANGE", "GENERATION", "CHANGED"}}
	for _, id := range sortedIDs(done.ResourceProviders) {
		change := done.ResourceProviders[id]
		table = append(table, []string{
			names.known[id], id.String(), change.Change, optional(change.Generation), frame.OrDash(strings.Join(change.Changed, ", ")),
		})
	}
	if err := frame.PrintAs(f.Stdout, *a.format, done, table); err != nil || len(done.Consumers) == 0 {
		return err
	}
	table = [][]string{{"CONSUMER", "CHANGE", "GENERATION"}}
	for _, id := range sortedIDs(done.Consumers) {
		change := done.Consumers[id]
		table = append(table, []string{id.String(), change.Change, optional(change.ConsumerGeneration)})
	}
	if err := f.Printf(""); err != nil {
		return err
	}
	return frame.PrintAs(f.Stdout, *a.format, done, table)
}
