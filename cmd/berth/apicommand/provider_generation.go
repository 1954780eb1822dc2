package apicommand

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// generationChoice is the value of the flag --generation. Without the flag a command reads,
// changes and writes, and repeats this after a generation conflict. With the flag it writes once,
// with the generation of the flag.
type generationChoice struct {
	text *string
}

func generationFlag(c *cobra.Command) generationChoice {
	return generationChoice{c.Flags().String("generation", "",
		"expected current `generation`; the write fails if it differs. Default: the one read before the write, with retries after conflicts")}
}

// expected returns the generation of the flag; nil without the flag.
func (g generationChoice) expected() (*int64, error) {
	if *g.text == "" {
		return nil, nil
	}
	number, err := strconv.ParseInt(*g.text, 10, 64)
	if err != nil || number < 0 {
		return nil, frame.WrongFlag("generation", *g.text, "is not a generation", "write the number that the show command prints")
	}
	return &number, nil
}

// deletedGenerationFlag adds --generation to a command that deletes.
func deletedGenerationFlag(c *cobra.Command) generationChoice {
	return generationChoice{c.Flags().String("generation", "", "expected current `generation`; the deletion fails if it differs. Default: not compared")}
}

// ofOne is expected for a command that deletes the things of its arguments, of which each has its own generation. The
// service must have berth 1.3.
func (g generationChoice) ofOne(ctx context.Context, service *client.Client, arguments []string) (*int64, error) {
	expected, err := g.expected()
	if err != nil || expected == nil {
		return nil, err
	}
	if len(arguments) > 1 {
		return nil, frame.WrongFlag("generation", *g.text, "is for a single deletion", "write one argument, or omit the flag")
	}
	return expected, requireExtensions(ctx, service, "--generation")
}

// deleteAt calls one of two methods of the client: that for any generation, or that for the one expected.
func deleteAt(ctx context.Context, id uuid.UUID, expected *int64,
	anyGeneration func(context.Context, uuid.UUID) error, at func(context.Context, uuid.UUID, int64) error,
) error {
	if expected == nil {
		return anyGeneration(ctx, id)
	}
	return at(ctx, id, *expected)
}

// maxWriteAttempts is the number of attempts of a write with generation conflicts. More attempts
// would hide that two clients keep writing to one provider.
const maxWriteAttempts = 5

// rewrite reads a value with its generation, edits it with change and writes it. It repeats this
// after a generation conflict, unless the caller expects a generation.
func rewrite[T any](ctx context.Context, expected *int64,
	read func() (T, int64, error), change func(T) (T, error), write func(generation int64, value T) error,
) error {
	for attempt := 1; ; attempt++ {
		value, generation, err := read()
		if err != nil {
			return err
		}
		if value, err = change(value); err != nil {
			return err
		}
		if expected != nil {
			generation = *expected
		}
		err = write(generation, value)
		if expected != nil || attempt == maxWriteAttempts || !errors.Is(err, client.ErrConcurrentUpdate) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(attempt) * 50 * time.Millisecond)):
		}
	}
}
