package apicommand

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

func consumerCommand(f *frame.Frame) *cobra.Command {
	return frame.Family(&cobra.Command{
		Use:   "consumer",
		Short: "List and show consumers, and renew their leases",
		Long: `List and show consumers, such as instances, migrations and jobs, and what they have, and
renew their leases. The commands need a service with berth 1.4, those of leases 1.6.`,
		Example: `  berth consumer list --type MIGRATION --older-than 1h
  berth consumer list --in-tree compute-1 --limit 0
  berth consumer show 1d5ecafe-0000-4000-8000-0000000000b1
  berth consumer renew 1d5ecafe-0000-4000-8000-0000000000b1`,
	}, consumerListCommand(f), consumerShowCommand(f), consumerRenewCommand(f))
}

func consumerShowCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "show CONSUMER",
		Short: "Show a consumer and all its allocations",
		Long: `Show a consumer, such as an instance, and all its allocations with their providers.

` + atHelp + `

The JSON is the consumer in the format of the API.

Exit codes: 0 succeeded, 1 failed, 2 the argument is no UUID, or a flag is invalid.`,
		Example: `  berth consumer show 1d5ecafe-0000-4000-8000-0000000000b1
  berth consumer show 1d5ecafe-0000-4000-8000-0000000000b1 --at 18:00
  berth consumer show 1d5ecafe-0000-4000-8000-0000000000b1 --output json`,
		Args: cobra.ExactArgs(1),
	}
	format := frame.ReportFlag(command)
	var at string
	addAtFlag(command.Flags(), &at)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := uuid.Parse(arguments[0])
		if err != nil {
			return frame.WrongArgument("consumer", arguments[0], "is not a UUID", "write the UUID of the consumer; 'berth consumer list' lists them")
		}
		moment, err := parseAt(at, time.Now())
		switch {
		case err != nil:
			return err
		case moment != nil:
			return showConsumerAt(ctx, f, service, *format, id, *moment)
		}
		return showConsumer(ctx, f, service, *format, id)
	})
	return command
}

// showConsumer prints a consumer.
func showConsumer(ctx context.Context, f *frame.Frame, service *client.Client, format string, id uuid.UUID) error {
	ctx, hasLeases, err := selectLeases(ctx, service)
	if err != nil {
		return err
	}
	found, err := service.ConsumerShow(ctx, id)
	if err != nil {
		return consumerError(err, "berth:consumers:show")
	}
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, consumerDocument(&found, hasLeases))
	}
	return printShownConsumer(ctx, f, service, &found, fmt.Sprintf("generation %d, made %s", found.Generation, secondsOf(found.CreatedAt)))
}

// showConsumerAt prints a consumer as it was.
func showConsumerAt(ctx context.Context, f *frame.Frame, service *client.Client, format string, id uuid.UUID, at client.HistoryTime) error {
	if err := requireHistory(ctx, service, "--at"); err != nil {
		return err
	}
	found, err := service.ConsumerShowAt(ctx, id, at)
	if err != nil {
		return atError(err)
	}
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, found)
	}
	state := fmt.Sprintf("generation %d", found.Generation)
	if !found.CreatedAt.IsZero() {
		state += ", made " + secondsOf(found.CreatedAt)
	}
	return printShownConsumer(ctx, f, service, &found.ListedConsumer, state+", "+momentPhrase(&found.At))
}

// printShownConsumer prints a consumer as text, with its state.
func printShownConsumer(ctx context.Context, f *frame.Frame, service *client.Client, found *client.ListedConsumer, state string) error {
	names := newProviderNames(service)
	var roots []uuid.UUID
	for _, on := range found.Allocations {
		names.known[on.Provider] = on.Name
		roots = append(roots, on.Root)
	}
	if err := names.load(ctx, roots); err != nil {
		return err
	}
	text := fmt.Sprintf("consumer %s, type %s, project %s, user %s, %s", found.UUID, found.Type, found.ProjectID, found.UserID, state)
	if found.NodeAllocation != nil {
		name := found.NodeAllocation.UUID.String()
		if found.NodeAllocation.Name != nil {
			name = *found.NodeAllocation.Name
		}
		text += ", node allocation " + name
	}
	text += leaseEnd(found.Lease)
	table := [][]string{{"PROVIDER", "ROOT", "CLASS", "USED"}}
	for _, on := range found.Allocations {
		for _, resource := range on.Resources {
			table = append(table, []string{on.Name, names.known[on.Root], resource.Class, fmt.Sprint(resource.Amount)})
		}
	}
	return f.Printf("%s\n\n%s", terminal.Safe(text), strings.TrimSuffix(frame.LayOut(table), "\n"))
}

// leasedConsumer is a consumer of a service with leases: its JSON has the member lease, null without one.
type leasedConsumer struct {
	*client.ListedConsumer
	Lease *client.Lease `json:"lease"`
}

// consumerDocument returns the JSON document of a consumer, in the format of the API.
func consumerDocument(of *client.ListedConsumer, hasLeases bool) any {
	if hasLeases {
		return leasedConsumer{of, of.Lease}
	}
	return of
}

// consumerError returns the error of a request for consumers, which policy permits with a rule.
func consumerError(err error, rule string) error {
	return readError(notFoundText(err), "lists no consumers", readingVersion,
		"this list of consumers to this user; the rules are "+rule+" and, where providers are named or shown, placement:allocations:list")
}
