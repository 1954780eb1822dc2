package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
)

func (p *process) allocationClaimCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "claim CONSUMER",
		Short: "Find room for a consumer and take it",
		Long: `Ask for candidates, as 'berth candidate list' does with the same flags, and claim the
first for the consumer; where somebody else was faster, the next. Shows what the
consumer has afterwards, as 'berth allocation show' does. The exit code is 1 where
nothing fits.

A consumer that has something already keeps it, and gets what it lacks of the
candidate, as a server does that is on its way from one host to another. A new
consumer needs a project and a user.

` + groupHelp,
		Example: `  berth allocation claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU:2,MEMORY_MB:512 \
    --project demo --user alice --type INSTANCE
  berth allocation claim 5f0d2a1e-0001-4000-8000-000000000001 --resources VCPU:2 --in-tree compute-1`,
		Args: cobra.ExactArgs(1),
	}
	var owner ownerFlags
	format := outputFlag(command)
	wish := p.wishFlags(command)
	owner.add(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = p.asking(format, func(ctx context.Context, service *client.Client, arguments []string) error {
		id, err := parseConsumer(arguments[0])
		if err != nil {
			return err
		}
		if err := p.claim(ctx, service, id, wish, owner); err != nil {
			return err
		}
		return p.printConsumer(ctx, service, *format, id)
	})
	return command
}

// claim takes the first candidate that is still there when its turn comes.
func (p *process) claim(ctx context.Context, service *client.Client, id uuid.UUID, wish *wish, owner ownerFlags) error {
	consumer, err := service.AllocationList(ctx, id)
	if err != nil {
		return err
	}
	if err := owner.fill(consumer); err != nil {
		return err
	}
	query, err := wish.query(ctx, service)
	if err != nil {
		return err
	}
	found, err := service.CandidateList(ctx, query)
	if err != nil {
		return err
	}
	for _, candidate := range found.AllocationRequests {
		request, err := client.ClaimOf(candidate, consumer.ProjectID, consumer.UserID, consumer.Type)
		if err != nil {
			return err
		}
		if claimed, err := service.Claim(ctx, id, request); claimed || err != nil {
			return err
		}
	}
	if tried := len(found.AllocationRequests); tried > 0 {
		return fmt.Errorf("nothing was claimed: the room of all %d candidates was taken in the meantime; try again", tried)
	}
	return fmt.Errorf("nothing fits: there is no candidate")
}

func (p *process) allocationMoveCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "move FROM TO",
		Short: "Give what one consumer has to another",
		Long: `Give everything that one consumer has to another, at once: a moment at which both or
neither have it is never seen. What the other had before is replaced. A consumer TO
that is new gets project, user and type of FROM. Moving again what has been moved is
fine. Shows what the consumer TO has afterwards.`,
		Example: `  berth allocation move 5f0d2a1e-0001-4000-8000-000000000001 5f0d2a1e-0002-4000-8000-000000000002`,
		Args:    cobra.ExactArgs(2),
	}
	format := outputFlag(command)
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = p.asking(format, func(ctx context.Context, service *client.Client, arguments []string) error {
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
			return fmt.Errorf("what %s has does not fit where it is any more; nothing was moved", from)
		}
		return p.printConsumer(ctx, service, *format, to)
	})
	return command
}
