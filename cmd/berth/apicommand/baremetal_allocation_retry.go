package apicommand

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/cmd/berth/frame"
)

func bmAllocationRetryCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "retry ALLOCATION",
		Short: "Try a failed node allocation again",
		Long: `Delete a node allocation in the state "error" and create it again with the same UUID,
name, resource class, traits, candidate nodes, owner and extra values. The API has no
call for both: if the second one fails, the node allocation is gone, and the error says
so. The command prints the allocation as 'berth baremetal allocation show' does.`,
		Example: `  berth baremetal allocation retry web --wait`,
		Args:    cobra.ExactArgs(1),
	}
	format := frame.OutputFlag(command)
	wait := waitFlags(command, "the node allocation is active or has failed")
	command.ValidArgsFunction = completing(f, completeNodeAllocations, 1)
	command.RunE = withBaremetalClient(f, func(ctx context.Context, service *baremetal.Client, arguments []string) error {
		if err := wait.check(); err != nil {
			return err
		}
		failed, err := service.NodeAllocationShow(ctx, arguments[0])
		if err != nil {
			return err
		}
		if failed.State != baremetal.Failed {
			return fmt.Errorf("node allocation %s is %s; only a failed one, in the state %q, can be tried again", arguments[0], failed.State, baremetal.Failed)
		}
		if err := service.NodeAllocationDelete(ctx, failed.UUID.String()); err != nil {
			return err
		}
		created, err := service.NodeAllocationCreate(ctx, sameAllocation(failed))
		if err != nil {
			return fmt.Errorf("node allocation %s was deleted, but not created again: %w", arguments[0], err)
		}
		return finishAllocation(ctx, f, service, *format, created, wait)
	})
	return command
}

// sameAllocation returns the request of an allocation.
func sameAllocation(of baremetal.Allocation) baremetal.NewAllocation {
	var candidates []string
	for _, id := range of.CandidateNodes {
		candidates = append(candidates, id.String())
	}
	return baremetal.NewAllocation{
		UUID: &of.UUID, Name: valueOr(of.Name, ""), ResourceClass: valueOr(of.ResourceClass, ""), Traits: of.Traits,
		CandidateNodes: candidates, Owner: valueOr(of.Owner, ""), Extra: of.Extra,
	}
}

// createAllocation creates a node allocation and finishes it.
func createAllocation(ctx context.Context, f *frame.Frame, service *baremetal.Client, format string, request baremetal.NewAllocation, wait waitOptions) error {
	created, err := service.NodeAllocationCreate(ctx, request)
	if err != nil {
		return withFailedNamesake(ctx, service, request, err)
	}
	return finishAllocation(ctx, f, service, format, created, wait)
}

// finishAllocation waits for the result of a new node allocation if wanted, and prints it.
func finishAllocation(ctx context.Context, f *frame.Frame, service *baremetal.Client, format string, created baremetal.Allocation, wait waitOptions) (err error) {
	if *wait.enabled {
		// By UUID, because another client may give the name to another node allocation.
		if created, err = waitForAllocation(ctx, f, service, wait, created.UUID.String()); err != nil {
			return err
		}
	}
	return printAllocations(ctx, f, service, format, created, created)
}

// withFailedNamesake returns the error of a create whose name or UUID belongs to a failed node allocation, with the remedy.
func withFailedNamesake(ctx context.Context, service *baremetal.Client, request baremetal.NewAllocation, err error) error {
	var failed *client.Error
	if !errors.As(err, &failed) || failed.Status != http.StatusConflict {
		return err
	}
	ident := request.Name
	if ident == "" && request.UUID != nil {
		ident = request.UUID.String()
	}
	if ident == "" {
		return err
	}
	other, unread := service.NodeAllocationShow(ctx, ident)
	if unread != nil || other.State != baremetal.Failed {
		return err
	}
	return fmt.Errorf("node allocation %s exists and has failed: %s; %s", ident, strings.TrimSuffix(valueOr(other.LastError, ""), "."), retryOrDelete(ident))
}

// retryOrDelete is the remedy for a failed node allocation, which keeps its name.
func retryOrDelete(ident string) string {
	return fmt.Sprintf("try again with 'berth baremetal allocation retry %[1]s', or release the name with 'berth baremetal allocation delete %[1]s'", ident)
}
