package apicommand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
)

const (
	// maxKeepDays is the maximum of --keep.
	maxKeepDays = 3650
	// settlePoll is the time between two requests for the state of a record that begins.
	settlePoll = 500 * time.Millisecond
)

func historyStatusCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Show whether writes are recorded, since when, and the size of the record",
		Long: `Show the settings of the record of changes and its state: off, starting or on. It is complete
from the time in since on; while it is starting, changes can be missing.

The JSON is the response of the API.`,
		Example: `  berth history status
  berth history status --output json | jq -r .state`,
		Args: cobra.NoArgs,
	}
	format := frame.OutputFlag(command)
	command.RunE = withHistorySettings(f, "berth history status", func(_ context.Context, _ *client.Client, settings *api.HistorySettings) error {
		return frame.PrintAs(f.Stdout, *format, settings, historySettingsTable(settings))
	})
	return command
}

func historyEnableCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "enable",
		Short: "Record what writes change from now on",
		Long: `Record what committed writes change, and who asked for them. If the record is on, only the
number of days changes that it is kept. A shorter one deletes the days before within a minute.

The command waits until the record is complete: about three seconds after the transactions
have ended that had changed something before. The record continues if the wait ends first.

The JSON is the settings, as 'berth history status' shows them. Policy permits the command to
administrators: berth:history:update.

Exit codes: 0 the record is on, 1 failed or the record is not complete yet, 2 a flag is invalid.`,
		Example: `  berth history enable
  berth history enable --keep 90`,
		Args: cobra.NoArgs,
	}
	format := frame.ReportFlag(command)
	keep := command.Flags().Int("keep", 0, "whole `days` that events are kept, from 1 to 3650 (default: unchanged, or 30)")
	timeout := command.Flags().Duration("wait-timeout", time.Minute, "maximum `time` until the record is complete, such as 10m; 0 means no wait")
	command.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("keep") && (*keep < 1 || *keep > maxKeepDays) {
			return frame.WrongFlag("keep", fmt.Sprint(*keep), "is not a number of days from 1 to 3650", "write such as 30")
		}
		if *timeout < 0 {
			return frame.WrongFlag("wait-timeout", timeout.String(), "is negative", "write a duration such as 10m")
		}
		return nil
	}
	command.RunE = withHistorySettings(f, "berth history enable", func(ctx context.Context, service *client.Client, settings *api.HistorySettings) error {
		wanted := api.HistorySettingsUpdate{State: api.HistorySettingsUpdateStateOn, Generation: settings.Generation}
		isOff := settings.State == api.HistorySettingsStateOff
		if *keep > 0 {
			wanted.KeepDays = new(int64(*keep))
		} else if !isOff {
			wanted.KeepDays = new(int64(settings.KeepDays))
		}
		if isOff || *wanted.KeepDays != int64(settings.KeepDays) {
			if err := updateHistory(ctx, service, wanted, settings); err != nil {
				return err
			}
		}
		if *timeout > 0 {
			if err := waitForHistory(ctx, f, service, *timeout, settings); err != nil {
				return err
			}
		}
		return printHistorySettings(f, *format, settings)
	})
	return command
}

func historyDisableCommand(f *frame.Frame) *cobra.Command {
	command := &cobra.Command{
		Use:   "disable",
		Short: "Stop recording what writes change",
		Long: `Stop recording what writes change. What was recorded can still be listed until it is as many
days old as it is kept. With --remove all events are deleted at once, which cannot be reversed.

The JSON is the settings, as 'berth history status' shows them. Policy permits the command to
administrators: berth:history:update.`,
		Example: `  berth history disable
  berth history disable --remove`,
		Args: cobra.NoArgs,
	}
	format := frame.ReportFlag(command)
	remove := command.Flags().Bool("remove", false, "whether all events are deleted")
	command.RunE = withHistorySettings(f, "berth history disable", func(ctx context.Context, service *client.Client, settings *api.HistorySettings) error {
		wanted := api.HistorySettingsUpdate{State: api.HistorySettingsUpdateStateOff, Generation: settings.Generation, KeepDays: new(int64(settings.KeepDays))}
		if *remove {
			wanted.KeepDays = new(int64)
		}
		if settings.State != api.HistorySettingsStateOff || *wanted.KeepDays != int64(settings.KeepDays) {
			if err := updateHistory(ctx, service, wanted, settings); err != nil {
				return err
			}
		}
		return printHistorySettings(f, *format, settings)
	})
	return command
}

// withHistorySettings is connect.WithClient for commands that read the settings of the record first.
func withHistorySettings(f *frame.Frame, name string,
	do func(ctx context.Context, service *client.Client, settings *api.HistorySettings) error,
) func(*cobra.Command, []string) error {
	return connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		if err := requireHistory(ctx, service, name); err != nil {
			return err
		}
		settings, err := service.HistorySettingsShow(ctx)
		if err != nil {
			return historyError(err)
		}
		return do(ctx, service, &settings)
	})
}

// updateHistory replaces the settings, and writes those of the response into settings.
func updateHistory(ctx context.Context, service *client.Client, wanted api.HistorySettingsUpdate, settings *api.HistorySettings) error {
	updated, err := service.HistorySettingsUpdate(ctx, wanted)
	switch {
	case errors.Is(err, client.ErrConcurrentUpdate):
		return errors.New("another client has changed the settings of the history at the same time; see 'berth history status', and repeat the command if it is still wanted")
	case err != nil:
		return readError(notFoundText(err), "keeps no history", berth17, "this change of the history to this user; the rule is berth:history:update")
	}
	*settings = updated
	return nil
}

// waitForHistory waits until the record is complete, and writes the settings at that time into settings.
func waitForHistory(ctx context.Context, f *frame.Frame, service *client.Client, timeout time.Duration, settings *api.HistorySettings) error {
	line := newWaitLine(f)
	defer line.end()
	deadline := time.Now().Add(timeout)
	for settings.State == api.HistorySettingsStateStarting {
		line.show("the record is starting: waiting until the transactions have ended that had written before")
		if time.Now().Add(settlePoll).After(deadline) {
			return fmt.Errorf("the record is not complete after %s: a transaction that had written before has not ended; changes are recorded, and 'berth history status' shows when the state is on", timeout)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(settlePoll):
		}
		shown, err := service.HistorySettingsShow(ctx)
		if err != nil {
			return historyError(err)
		}
		*settings = shown
	}
	if settings.State == api.HistorySettingsStateOff {
		return errors.New("another client has turned the history off while it was starting; see 'berth history status'")
	}
	return nil
}

// printHistorySettings prints the settings after a write as a sentence or a document.
func printHistorySettings(f *frame.Frame, format string, settings *api.HistorySettings) error {
	if frame.IsDocument(format) {
		return frame.WriteDocument(f.Stdout, format, settings)
	}
	switch {
	case settings.State == api.HistorySettingsStateOn && settings.Since != nil:
		return f.Printf("History is on since %s, kept for %s, log %s.", secondsOf(*settings.Since), dayCount(settings.KeepDays), settings.Log)
	case settings.State != api.HistorySettingsStateOff:
		return f.Printf("History is starting, kept for %s, log %s. 'berth history status' shows when it is on.", dayCount(settings.KeepDays), settings.Log)
	case settings.KeepDays > 0 && settings.Oldest > 0:
		return f.Printf("History is off. What was recorded is kept for %s.", dayCount(settings.KeepDays))
	case settings.Oldest > 0:
		return f.Printf("History is off. A server deletes the remaining events within a minute after the transactions that read them have ended.")
	}
	return f.Printf("History is off, and there are no events.")
}

func dayCount(days int32) string {
	if days == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", days)
}

// historySettingsTable returns a row for each member.
func historySettingsTable(of *api.HistorySettings) [][]string {
	since := "-"
	if of.Since != nil {
		since = secondsOf(*of.Since)
	}
	return [][]string{
		{"MEMBER", "VALUE"}, {"state", string(of.State)}, {"keep_days", fmt.Sprint(of.KeepDays)}, {"since", since}, {"log", of.Log.String()},
		{"oldest", fmt.Sprint(of.Oldest)}, {"newest", fmt.Sprint(of.Newest)}, {"waiting", fmt.Sprint(of.Waiting)}, {"bytes", fmt.Sprint(of.Bytes)},
	}
}
