package apicommand

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/terminal"
)

// berth13 is the version of the extensions with claims, dry runs and generations of deletions.
const berth13 = "1.3"

// dryRunHelp is the part about --dry-run in the help of the commands with the flag.
const dryRunHelp = `--dry-run prints the changes as 'berth reshape' does, and writes nothing. The exit code is
1 if the service would reject the write. It needs berth 1.3.`

// dryRunFlag adds --dry-run to a command that writes.
func dryRunFlag(c *cobra.Command) *bool {
	return c.Flags().Bool("dry-run", false, "whether the service only computes the changes, and writes nothing")
}

// write is one write of a command, with what it prints afterwards.
type write struct {
	f       *frame.Frame
	service *client.Client
	// dryRun is the value of --dry-run, format that of --output.
	dryRun bool
	format string
}

// run calls do, and then print. With --dry-run it calls do with a context of dry runs, and prints what that would change.
func (w write) run(ctx context.Context, do func(context.Context) error, print func() error) error {
	if w.dryRun {
		return rehearse(ctx, w.f, w.service, w.format, do)
	}
	if err := do(ctx); err != nil {
		return err
	}
	return print()
}

// each calls do for each argument, as frame.ForEach does, and prints its text. With --dry-run each is a dry run of its
// own, so that none sees what the others would change.
func (w write) each(ctx context.Context, arguments []string, do func(ctx context.Context, argument string) (string, error)) error {
	every := func(ctx context.Context) error {
		return w.f.ForEach(arguments, func(argument string) error {
			text, err := do(ctx, argument)
			if err != nil || w.dryRun {
				return err
			}
			return w.f.Printf("%s", text)
		})
	}
	if w.dryRun {
		return rehearse(ctx, w.f, w.service, w.format, every)
	}
	return every(ctx)
}

// rehearse calls do with a context whose writes are dry runs, and prints their changes: as text, or the last response
// as JSON. It returns the error of do, which is that of a write that would be rejected.
func rehearse(ctx context.Context, f *frame.Frame, service *client.Client, format string, do func(context.Context) error) error {
	if err := requireExtensions(ctx, service, "--dry-run"); err != nil {
		return err
	}
	if format == frame.OutputCSV {
		return frame.WrongFlag("output", format, "is not a format of --dry-run", "write table, json or yaml")
	}
	dry, runs := client.WithDryRun(ctx)
	failed := do(dry)
	results := runs.Results()
	if frame.IsDocument(format) {
		if len(results) == 0 {
			return failed
		}
		return errors.Join(frame.WriteDocument(f.Stdout, format, results[len(results)-1].Response), failed)
	}
	drawn := false
	for i := range results {
		if results[i].Would >= 300 {
			continue
		}
		if drawn {
			if err := f.Printf(""); err != nil {
				return err
			}
		}
		drawn = true
		if err := drawChanges(ctx, f, service, &results[i].Changes); err != nil {
			return err
		}
	}
	if drawn {
		return errors.Join(f.Printf("Nothing was changed."), failed)
	}
	return failed
}

// drawChanges draws what a write would change.
func drawChanges(ctx context.Context, f *frame.Frame, service *client.Client, changed *api.StateChange) error {
	changes, err := changesOf(ctx, service, changed)
	if err != nil {
		return err
	}
	variables := frame.Environment(f.Environ)
	isTerminal, columns := terminal.Of(f.Stdout)
	return changes.Text(f.Stdout, draw.Style{
		Color: terminal.HasColor("auto", variables, isTerminal), Width: terminal.Columns(variables, columns), ASCII: !terminal.HasUnicode(variables),
	})
}

// requireExtensions returns an error if the service does not have berth 1.3, which a flag needs.
func requireExtensions(ctx context.Context, service *client.Client, flag string) error {
	has, err := service.HasExtensions(ctx, berth13)
	if err != nil || has {
		return err
	}
	return needsExtensions(ctx, service, flag, berth13)
}

// needsExtensions returns the error of a flag that needs a version of the extensions, which the service does not have.
func needsExtensions(ctx context.Context, service *client.Client, flag, version string) error {
	address, err := service.Address(ctx)
	if err != nil {
		return err
	}
	// A sentence, as the contract has it.
	text := fmt.Sprintf("The service at %s has no berth %s, which %s needs.", address, version, flag)
	return errors.New(text)
}

// changesOf returns the changes of a dry run for drawing. The service returns only what differs, so it reads the names
// and parents of the providers, and the types of the consumers.
func changesOf(ctx context.Context, service *client.Client, changed *api.StateChange) (*draw.Changes, error) {
	trees, err := treesOf(ctx, service, changed)
	if err != nil {
		return nil, err
	}
	types, err := typesOf(ctx, service, changed)
	if err != nil {
		return nil, err
	}
	known := make(map[uuid.UUID]client.Node, len(trees))
	for id, provider := range trees {
		known[id] = nodeOf(provider)
	}
	return draw.CompareDryRun(changed, known, types), nil
}

func nodeOf(provider api.Provider) client.Node {
	node := client.Node{UUID: provider.UUID, Name: provider.Name, Generation: new(provider.Generation)}
	if parent := provider.ParentProviderUUID; parent != nil {
		node.Parent = *parent
	}
	return node
}

// treesOf returns the providers of the trees of changed providers, as they are now. New providers are not among them.
func treesOf(ctx context.Context, service *client.Client, changed *api.StateChange) (map[uuid.UUID]api.Provider, error) {
	needed := map[uuid.UUID]bool{}
	for id, change := range changed.ResourceProviders {
		switch {
		case change.Before != nil:
			needed[id] = true
		case change.After.ParentProviderUUID != nil:
			needed[*change.After.ParentProviderUUID] = true
		}
		if change.After != nil && change.After.ParentProviderUUID != nil {
			needed[*change.After.ParentProviderUUID] = true
		}
	}
	maps.DeleteFunc(needed, func(id uuid.UUID, _ bool) bool {
		change, named := changed.ResourceProviders[id]
		return named && change.Before == nil // it is new
	})
	found := map[uuid.UUID]api.Provider{}
	for trees := 0; len(needed) > 0; trees++ {
		filter := client.ProviderFilter{}
		ids := sortedIDs(needed)
		if trees < FewProviders {
			filter.InTree = ids[0].String()
		}
		providers, err := service.ProviderList(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, provider := range providers {
			found[provider.UUID] = provider
			delete(needed, provider.UUID)
		}
		if filter.InTree == "" {
			break
		}
		delete(needed, ids[0]) // it may have been deleted since
	}
	return found, nil
}

// typesOf returns the types of the changed consumers whose type does not change.
func typesOf(ctx context.Context, service *client.Client, changed *api.StateChange) (map[uuid.UUID]string, error) {
	types := map[uuid.UUID]string{}
	for id, change := range changed.Consumers {
		if draw.ChangedType(change) != "" {
			continue
		}
		current, err := service.AllocationList(ctx, id)
		if err != nil {
			return nil, err
		}
		types[id] = current.Type
	}
	return types, nil
}
