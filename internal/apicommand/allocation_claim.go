package apicommand

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/connect"
	"github.com/berthd/berth/internal/frame"
)

func allocationClaimCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "claim CONSUMER",
		Short: "Find an allocation candidate for a consumer and claim it",
		Long: `Query allocation candidates, as 'berth candidate list' does with the same flags, and
claim the first for the consumer; after a conflict, the next. The command prints the
allocations of the consumer as 'berth allocation show' does. If there is no candidate, it
prints the reason on standard error, and the exit code is 1.

A consumer keeps its existing allocations and gets the missing ones of the candidate, as
a server does during a migration. A new consumer requires a project and a user.

` + groupHelp,
		Example: `  berth allocation claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU:2,MEMORY_MB:512 \
    --project demo --user alice --type INSTANCE
  berth allocation claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU:2 --in-tree compute-1`,
		Args: cobra.ExactArgs(1),
	}
	var owner OwnerFlags
	format := frame.OutputFlag(command)
	options := candidateFlags(f, command)
	owner.add(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		if err := Claim(ctx, f, service, id, options, owner); err != nil {
			return err
		}
		return printConsumer(ctx, f, service, *format, id)
	})
	return command
}

// Claim queries allocation candidates and claims the first for the consumer; after a conflict, the
// next.
func Claim(ctx context.Context, f *frame.Frame, service *client.Client, id uuid.UUID, options *CandidateRequest, owner OwnerFlags) error {
	consumer, err := service.AllocationList(ctx, id)
	if err != nil {
		return err
	}
	if err := owner.fill(consumer); err != nil {
		return err
	}
	found, err := options.list(ctx, service)
	if err != nil {
		return err
	}
	var why *client.Explanation
	for _, candidate := range found.AllocationRequests {
		request, err := client.ClaimOf(candidate, consumer.ProjectID, consumer.UserID, consumer.Type)
		if err != nil {
			return err
		}
		var claimed bool
		if found.hasExplanations {
			claimed, why, err = service.ClaimExplained(ctx, id, request)
		} else {
			claimed, err = service.Claim(ctx, id, request)
		}
		if claimed || err != nil {
			return err
		}
	}
	if tried := len(found.AllocationRequests); tried > 0 {
		printNothingFits(f, why)
		return fmt.Errorf("no candidate claimed: concurrent claims used the free capacity of all %d candidates; retry", tried)
	}
	printNothingFits(f, found.explanation)
	return &frame.CodedError{Code: frame.ExitFailed}
}

func allocationMoveCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "move FROM TO",
		Short: "Move all allocations of a consumer to another",
		Long: `Move all allocations of the consumer FROM to the consumer TO in one transaction, and
replace the allocations of TO. A new consumer TO gets the project, user and type of
FROM. The command is idempotent and prints the allocations of TO.`,
		Example: `  berth allocation move 5f0d2a1e-0001-4000-8000-000000000001 5f0d2a1e-0002-4000-8000-000000000002`,
		Args:    cobra.ExactArgs(2),
	}
	format := frame.OutputFlag(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, format, func(ctx context.Context, service *client.Client, arguments []string) error {
		from, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		to, err := parseConsumer(arguments[1])
		if err != nil {
			return err
		}
		moved, err := service.Move(ctx, from, to)
		if err != nil {
			return err
		}
		if !moved {
			return fmt.Errorf("cannot move the allocations of consumer %s: they violate the capacity or units of their inventories; nothing was changed", from)
		}
		return printConsumer(ctx, f, service, *format, to)
	})
	return command
}
