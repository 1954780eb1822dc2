package apicommand

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

// eventsFlags are the flags of `berth events`.
type eventsFlags struct {
	// historyFlags has the filters and the format.
	historyFlags
	after     string
	stateFile string
	exec      string
	retries   int
	onFailure string
}

// The values of --on-failure.
const (
	onFailureStop = "stop"
	onFailureSkip = "skip"
)

func eventsCommand(f *frame.Frame) *cobra.Command {
	flags := &eventsFlags{}
	command := &cobra.Command{
		Use:   "events [PROVIDER | NODE | CONSUMER]",
		Short: "Print what writes change as it happens, or run a command for each write",
		Long: `Print what committed writes change, as they happen: each write once, in one order, a line for
each changed object. It begins behind the newest event, or with --after behind another one,
and goes on by itself when the connection breaks or a server stops.

--exec runs a command in a shell (sh -c) for each event, one at a time. Its standard input is
the event as JSON. BERTH_EVENT_INDEX, BERTH_EVENT_LOG, BERTH_EVENT_AT, BERTH_EVENT_OPERATION,
BERTH_EVENT_REQUEST_ID, BERTH_EVENT_KINDS, BERTH_EVENT_PROVIDERS and BERTH_EVENT_CONSUMERS are
in its environment; the last two have at most 1,000 UUIDs. A command that fails is run again
after 1s, 2s, 4s, … up to --retries times; then --on-failure decides.

--state is a file with the position. It is written after each event, so that a later run of
the command goes on there: each event is handled at least once, the last one perhaps again.
Without the file it begins as without the flag.

At the first SIGINT or SIGTERM the command ends when the program that it runs has ended; at
the second one it stops that program.

It ends with an error if the events behind its position are deleted, or belong to another log
after a failover or a restore: what happened in between is unknown then.

Exit codes: 0 interrupted, 1 failed, 2 a flag or an argument is invalid.`,
		Example: `  berth events --topic allocation --tree compute-1
  berth events --output json | jq -r .by.operation
  berth events --topic inventory --exec 'curl -fsS --data-binary @- https://hooks.example/berth' \\
    --state /var/lib/berth-hook/state.json`,
	}
	flags.add(f, command)
	command.Args = flags.check
	command.ValidArgsFunction = completing(f, completeHistoryObjects, 1)
	command.RunE = connect.WithClient(f, func(ctx context.Context, service *client.Client, _ []string) error {
		if err := requireHistory(ctx, service, "berth events"); err != nil {
			return err
		}
		if err := flags.resolve(ctx, service); err != nil {
			return historyError(err)
		}
		if flags.filter.Name != "" {
			return fmt.Errorf("nothing has the name %q now: 'berth history' lists what had it", flags.filter.Name)
		}
		return eventsError(watchEvents(ctx, f, service, flags))
	})
	return command
}

// add adds the flags to the command.
func (e *eventsFlags) add(f *frame.Frame, c *cobra.Command) {
	e.addFilters(f, c)
	flags := c.Flags()
	flags.StringVar(&e.after, "after", "", "`index` of the event behind which to begin; 0 is the oldest one (default: the newest)")
	flags.StringVar(&e.exec, "exec", "", "shell `command` to run for each event in place of printing it")
	flags.StringVar(&e.stateFile, "state", "", "`file` with the position, from which a later run goes on")
	flags.IntVar(&e.retries, "retries", 5, "`number` of times that a command is run again that fails")
	flags.StringVar(&e.onFailure, "on-failure", onFailureStop, "what to do when a command has failed each time: stop, or skip the event")
	e.format = frame.OutputFlag(c, frame.OutputTable, frame.OutputJSON)
	frame.CompleteChoices(c, "on-failure", onFailureStop, onFailureSkip)
}

// check is the Args function of the command. It validates the values that need no service.
func (e *eventsFlags) check(c *cobra.Command, arguments []string) error {
	if err := e.historyFlags.check(c, arguments); err != nil {
		return err
	}
	if index, err := strconv.ParseInt(e.after, 10, 64); e.after != "" && (err != nil || index < 0) {
		return frame.WrongFlag("after", e.after, "is not an index", "write a number such as 41822; 'berth history' shows them")
	}
	switch {
	case e.retries < 0:
		return frame.WrongFlag("retries", fmt.Sprint(e.retries), "is negative", "write a number such as 5, or 0")
	case e.onFailure != onFailureStop && e.onFailure != onFailureSkip:
		return frame.WrongFlag("on-failure", e.onFailure, "is neither stop nor skip", "write one of the two")
	case e.exec == "" && (c.Flags().Changed("on-failure") || c.Flags().Changed("retries")):
		return frame.WrongFlag("on-failure", e.onFailure, "is used without --exec, as --retries", "add --exec, or remove them")
	case e.exec != "" && c.Flags().Changed("output"):
		return frame.WrongFlag("output", *e.format, "is used with --exec, which prints no events", "remove one of the two")
	}
	return nil
}

// watchFilter returns the filter of the stream.
func (e *eventsFlags) watchFilter() client.WatchFilter {
	return client.WatchFilter{
		Providers: e.filter.Providers, Consumers: e.filter.Consumers, Nodes: e.filter.Nodes, InTree: e.filter.InTree, ProjectID: e.filter.ProjectID,
		Topics: e.filter.Topics,
	}
}

// begin returns the position of the state file, else that of --after; nil: the newest event.
func (e *eventsFlags) begin() (*client.EventPosition, error) {
	if e.stateFile != "" {
		position, err := readPosition(e.stateFile)
		if position != nil || err != nil {
			return position, err
		}
	}
	if e.after == "" {
		return nil, nil
	}
	index, err := strconv.ParseInt(e.after, 10, 64)
	return &client.EventPosition{Index: index}, err
}

// watchEvents handles events until a signal stops the process.
func watchEvents(ctx context.Context, f *frame.Frame, service *client.Client, flags *eventsFlags) error {
	after, err := flags.begin()
	if err != nil {
		return err
	}
	if flags.after == "0" && after != nil && after.Index == 0 {
		if after, err = oldestPosition(ctx, service); err != nil {
			return err
		}
	}
	stop := f.StopOnSignals(ctx)
	defer stop.Done()
	handler := &eventHandler{f: f, service: service, flags: flags, stop: stop}
	for watched, err := range service.Watch(stop.Asked, flags.watchFilter(), after) {
		if err == nil && watched.Event != nil {
			err = handler.handle(watched)
		}
		if err == nil && flags.stateFile != "" {
			err = writePosition(flags.stateFile, watched.Position)
		}
		if err != nil {
			if stop.Asked.Err() != nil && (errors.Is(err, context.Canceled) || stop.AtOnce.Err() != nil) {
				return nil
			}
			return err
		}
	}
	return nil
}

// oldestPosition returns the position before the oldest event.
func oldestPosition(ctx context.Context, service *client.Client) (*client.EventPosition, error) {
	settings, err := service.HistorySettingsShow(ctx)
	if err != nil {
		return nil, err
	}
	return &client.EventPosition{Index: max(0, settings.Oldest-1)}, nil
}

// eventsError returns the error of a stream.
func eventsError(err error) error {
	if errors.Is(err, client.ErrHistoryGone) {
		return fmt.Errorf("%w\nWhat happened in between is unknown. Read what you need again; without --after and --state, or with another state file, "+
			"'berth events' begins with the newest event", err)
	}
	if errors.Is(err, client.ErrHistoryOff) {
		return historyError(client.ErrHistoryOff)
	}
	return readError(err, "has no events", berth17, "events to this user; the rule is berth:events:watch")
}

// retryPause returns the time before a command is run again that has failed so many times.
func retryPause(failed int) time.Duration { return min(time.Second<<min(failed-1, 10), time.Minute) }
