package apicommand

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

func allocationCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "allocation",
		Short: "Show, set, move and delete allocations",
		Long: `Show, set, move and delete the allocations of consumers, such as servers or volumes.
CONSUMER is a UUID, PROVIDER a name or a UUID. 'berth claim' selects the providers.`,
		Example: `  berth allocation show 5f0d2a1e-0001-4000-8000-000000000001
  berth allocation delete 5f0d2a1e-0001-4000-8000-000000000001`,
	}, allocationShowCommand(f), allocationSetCommand(f), allocationUnsetCommand(f), allocationDeleteCommand(f),
		allocationMoveCommand(f), allocationClaimCommand(f))
}

// parseConsumer parses the UUID of a consumer.
func parseConsumer(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return id, frame.WrongArgument("consumer", text, "is not a UUID", "write a UUID such as 5f0d2a1e-0001-4000-8000-000000000001")
	}
	return id, nil
}

// allocationDocument is one allocation in an allocationsDocument.
type allocationDocument struct {
	Provider uuid.UUID `json:"resource_provider_uuid"`
	Name     string    `json:"resource_provider_name"`
	Class    string    `json:"resource_class"`
	Used     int64     `json:"used"`
}

var allocationRows = frame.Rows[allocationDocument]{
	Headings: []string{"PROVIDER", "UUID", "CLASS", "USED"},
	Cells: func(d allocationDocument) []string {
		return []string{d.Name, d.Provider.String(), d.Class, fmt.Sprint(d.Used)}
	},
}

// allocationsDocument is the JSON document of a consumer. Scripts depend on the names of its members.
// Without allocations only Consumer and Allocations have a value.
type allocationsDocument struct {
	Consumer    uuid.UUID            `json:"consumer_uuid"`
	Generation  *int64               `json:"consumer_generation"`
	Project     string               `json:"project_id"`
	User        string               `json:"user_id"`
	Type        string               `json:"consumer_type"`
	Lease       *client.Lease        `json:"lease"`
	Allocations []allocationDocument `json:"allocations"`
}

// printConsumer reads and prints the allocations of a consumer.
func printConsumer(ctx context.Context, f *frame.Frame, service *client.Client, format string, id uuid.UUID) error {
	ctx, _, err := selectLeases(ctx, service)
	if err != nil {
		return err
	}
	consumer, err := service.AllocationList(ctx, id)
	if err != nil {
		return err
	}
	names := newProviderNames(service)
	if err := names.load(ctx, sortedIDs(consumer.Allocations)); err != nil {
		return err
	}
	document := allocationsDocument{
		Consumer: id, Generation: consumer.Generation, Project: consumer.ProjectID, User: consumer.UserID, Type: consumer.Type,
		Lease: consumer.Lease, Allocations: []allocationDocument{},
	}
	providers := sortedIDs(consumer.Allocations)
	slices.SortStableFunc(providers, func(a, b uuid.UUID) int { return strings.Compare(names.known[a], names.known[b]) })
	for _, provider := range providers {
		resources := consumer.Allocations[provider]
		for _, class := range sortedKeys(resources) {
			document.Allocations = append(document.Allocations, allocationDocument{provider, names.known[provider], class, resources[class]})
		}
	}
	if frame.IsDocument(format) {
		return frame.PrintAs(f.Stdout, format, document, nil)
	}
	if len(document.Allocations) == 0 {
		return f.Printf("consumer %s has no allocations", id)
	}
	if err := f.Printf("consumer %s, type %s, project %s, user %s, generation %d%s\n",
		id, document.Type, document.Project, document.User, valueOr(document.Generation, 0), leaseEnd(document.Lease)); err != nil {
		return err
	}
	return allocationRows.Print(f.Stdout, format, document.Allocations)
}

func allocationShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show CONSUMER",
		Short: "Show the allocations of a consumer",
		Long: `Show the allocations of a consumer with its project and user. The list is empty for an
unknown consumer; that is not an error.

The JSON is one object with the members consumer_uuid, consumer_generation (null without
allocations), project_id, user_id, consumer_type, lease (null without one) and allocations,
a list with the members resource_provider_uuid, resource_provider_name, resource_class and
used.`,
		Example: `  berth allocation show 5f0d2a1e-0001-4000-8000-000000000001
  berth allocation show 5f0d2a1e-0001-4000-8000-000000000001 --output json | jq '.allocations[].used'`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.ReportFlag(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		return printConsumer(ctx, f, service, *format, id)
	})
	return command
}

func allocationDeleteCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "delete CONSUMER...",
		Short: "Delete all allocations of consumers",
		Long: `Delete all allocations of one or several consumers, and with them the consumers. A
consumer without allocations is an error. The command continues with the other
consumers; the exit code is then 1. --generation needs berth 1.3.

` + dryRunHelp,
		Example: `  berth allocation delete 5f0d2a1e-0001-4000-8000-000000000001
  berth allocation delete 5f0d2a1e-0001-4000-8000-000000000001 --generation 2`,
		Args: cobra.MinimumNArgs(1),
	}
	generation, dryRun := deletedGenerationFlag(command), dryRunFlag(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		consumers, err := parseAll(arguments, parseConsumer)
		if err != nil {
			return err
		}
		texts := make([]string, 0, len(consumers))
		for _, id := range consumers {
			texts = append(texts, id.String())
		}
		expected, err := generation.ofOne(ctx, service, texts)
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, ""}.each(ctx, texts, func(ctx context.Context, text string) (string, error) {
			err := deleteAt(ctx, uuid.MustParse(text), expected, service.AllocationDelete, service.AllocationDeleteAt)
			if errors.Is(err, client.ErrNotFound) {
				return "", fmt.Errorf("consumer %s has no allocations", text)
			}
			if err != nil {
				return "", frame.About("consumer "+text, err)
			}
			return "deleted the allocations of consumer " + text, nil
		})
	})
	return command
}

func allocationMoveCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "move FROM TO",
		Short: "Move all allocations of a consumer to another",
		Long: `Move all allocations of the consumer FROM to the consumer TO in one transaction, and
replace the allocations of TO. A new consumer TO gets the project, user and type of
FROM. The command is idempotent and prints the allocations of TO.

` + dryRunHelp,
		Example: `  berth allocation move 5f0d2a1e-0001-4000-8000-000000000001 5f0d2a1e-0002-4000-8000-000000000002`,
		Args:    cobra.ExactArgs(2),
	}
	format := frame.ReportFlag(command)
	dryRun := dryRunFlag(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		from, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		to, err := parseConsumer(arguments[1])
		if err != nil {
			return err
		}
		return write{f, service, *dryRun, *format}.run(ctx, func(ctx context.Context) error {
			moved, err := service.Move(ctx, from, to)
			if err == nil && !moved {
				err = fmt.Errorf("cannot move the allocations of consumer %s: they violate the capacity or units of their inventories; nothing was changed", from)
			}
			return err
		}, func() error { return printConsumer(ctx, f, service, *format, to) })
	})
	return command
}
