package apicommand

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

func consumerRenewCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "renew CONSUMER...",
		Short: "Renew the leases of consumers",
		Long: `Renew the leases of consumers: each ends at now plus its length, but not after its until. With
--lease each gets that length. A renewal changes no generation and no allocation. The
command needs a service with berth 1.6.

The column RESULT is renewed, gone or without. A consumer that is gone does not exist (any
more), so what it ran must stop. One without a lease that can be renewed gets none.

The JSON is the response of the API: the members renewed (by consumer: seconds and
expires_at), gone and without.

Exit codes: 0 succeeded, 1 failed or a consumer is gone, 2 a flag or an argument is invalid.`,
		Example: `  berth consumer renew 1d5ecafe-0000-4000-8000-0000000000b1
  berth consumer renew 1d5ecafe-0000-4000-8000-0000000000b1 --lease 10m`,
		Args: cobra.MinimumNArgs(1),
	}
	format := frame.OutputFlag(command)
	lease := command.Flags().String("lease", "", "`duration` of each lease, such as 10m (default: each keeps its own)")
	frame.CompleteChoices(command, "lease")
	command.ValidArgsFunction = cobra.NoFileCompletions
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, arguments []string) error {
		var consumers []uuid.UUID
		for _, text := range arguments {
			id, err := parseConsumer(text)
			if err != nil {
				return err
			}
			if !slices.Contains(consumers, id) {
				consumers = append(consumers, id)
			}
		}
		seconds := 0
		if *lease != "" {
			var err error
			if seconds, err = leaseSeconds(*lease, ""); err != nil {
				return err
			}
		}
		return renewLeases(ctx, f, service, *format, seconds, consumers)
	})
	return command
}

// renewLeases renews the leases and prints what became of each. Its error is an exit code if a consumer is gone.
func renewLeases(ctx context.Context, f *frame.Frame, service *client.Client, format string, seconds int, consumers []uuid.UUID) error {
	if _, has, err := selectLeases(ctx, service); err != nil {
		return err
	} else if !has {
		return needsExtensions(ctx, service, "berth consumer renew", berth16)
	}
	renewed, err := service.LeaseRenew(ctx, seconds, consumers...)
	if err != nil {
		return readError(err, "renews no leases", berth16, "renewals to this user; the rule is berth:leases:renew")
	}
	renewed.Gone, renewed.Without = append([]uuid.UUID{}, renewed.Gone...), append([]uuid.UUID{}, renewed.Without...)
	table := [][]string{{"CONSUMER", "RESULT", "SECONDS", "EXPIRES"}}
	for _, id := range consumers {
		row := []string{id.String(), "renewed", "-", "-"}
		lease, isRenewed := renewed.Renewed[id]
		switch {
		case isRenewed:
			row[2], row[3] = fmt.Sprint(lease.Seconds), secondsOf(lease.ExpiresAt)
		case slices.Contains(renewed.Gone, id):
			row[1] = "gone"
		default:
			row[1] = "without"
		}
		table = append(table, row)
	}
	if err := frame.PrintAs(f.Stdout, format, renewed, table); err != nil {
		return err
	}
	if len(renewed.Gone) > 0 {
		return &frame.CodedError{Code: frame.ExitFailed}
	}
	return nil
}
