package apicommand

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/terminal"
)

// atFlag is the flag for a moment of the record of changes.
const atFlag = "at"

// addAtFlag adds --at to the flags of a command.
func addAtFlag(flags *pflag.FlagSet, value *string) {
	flags.StringVar(value, atFlag, "", "`time`, duration before now, or index of an event, such as 18:00, '2 hours ago' or 41822, of which the state is shown (default: now)")
}

// atHelp is the part about --at in the help of the commands that have it.
const atHelp = `--at shows how it was at a time, at a duration before now, or after the event of an index;
'berth history' lists the events and has the forms of times. It needs berth 1.7 and a record
of changes that was on at that moment. Generations and times that the record does not have
are missing, or null in JSON.`

// parseAt returns the moment of --at; nil: the flag is not set.
func parseAt(text string, now time.Time) (*client.HistoryTime, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // the state of now is shown
	}
	bound, err := parseHistoryBound(atFlag, text, now)
	return &client.HistoryTime{Time: bound.at, Index: bound.index}, err
}

// atError returns the error of a request for how it was.
func atError(err error) error {
	var failed *client.Error
	switch {
	case errors.Is(err, client.ErrHistoryGone) && errors.As(err, &failed):
		return fmt.Errorf("the record of changes does not have this moment: %s", terminal.Safe(failed.Detail))
	case errors.Is(err, client.ErrHistoryOff):
		return errors.New("the record of changes is off or not complete yet, so it does not tell how it was; 'berth history status' shows its state, " +
			"and an administrator turns it on with 'berth history enable'")
	}
	return historyError(err)
}

// momentPhrase returns a moment as sentences have it.
func momentPhrase(at *api.HistoryMoment) string {
	return fmt.Sprintf("as of %s (index %d)", secondsOf(at.Time), at.Index)
}

// drawTreeAt prints the tree of a provider as it was.
func drawTreeAt(ctx context.Context, f *frame.Frame, service *client.Client, options *TreeOptions, host string) error {
	if err := requireHistory(ctx, service, "--at"); err != nil {
		return err
	}
	reference, err := treeOrRecorded(ctx, service, host)
	if err != nil {
		return historyError(err)
	}
	id, err := uuid.Parse(reference)
	if err != nil {
		return err
	}
	parts := []client.TreePart{client.TreeInventories, client.TreeTraits, client.TreeAggregates}
	if !options.withoutUsages {
		parts = append(parts, client.TreeUsages)
	}
	if options.consumers {
		parts = append(parts, client.TreeConsumers)
	}
	found, err := service.TreeShowAt(ctx, id, *options.moment, parts...)
	if err != nil {
		return atError(err)
	}
	output := newTreeOutput(f, options)
	if options.output == "text" {
		if err := f.Printf("%s\n", momentPhrase(found.At)); err != nil {
			return err
		}
	}
	output.forest.At = &draw.Moment{Time: found.At.Time, Index: found.At.Index}
	if err := output.add(forestOf(found, options)); err != nil {
		return err
	}
	return output.finish()
}

// forestOf returns a shown tree for drawing.
func forestOf(found *client.ShownTree, options *TreeOptions) draw.Forest {
	tree := draw.Forest{Usages: map[uuid.UUID]client.Resources{}}
	for i := range found.Providers {
		provider := &found.Providers[i]
		tree.Nodes = append(tree.Nodes, provider.Node)
		if !options.withoutUsages {
			tree.Usages[provider.UUID] = provider.Usages
		}
	}
	if options.consumers {
		tree.Consumers = map[uuid.UUID][]draw.Consumer{found.Root: consumersOfShown(found)}
	}
	return tree
}
