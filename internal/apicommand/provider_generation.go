package apicommand

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/frame"
)

// generationChoice is the flag --generation: without it a command reads, changes,
// writes, and starts over when another client wrote in between; with it a command
// writes once, and only if the generation is still the one that is named.
type generationChoice struct {
	text *string
}

func generationFlag(c *cobra.Command) generationChoice {
	return generationChoice{c.Flags().String("generation", "", "write only if the generation is still this `number`; without it berth reads the newest and retries after a generation conflict")}
}

// wanted is the number that is insisted on, nil when there is none.
func (g generationChoice) wanted() (*int64, error) {
	if *g.text == "" {
		return nil, nil
	}
	number, err := strconv.ParseInt(*g.text, 10, 64)
	if err != nil || number < 0 {
		return nil, frame.WrongFlag("generation", *g.text, "is no generation", "write the number that 'berth provider show' tells")
	}
	return &number, nil
}

// writeAttempts is how often a command starts over: every attempt loses only
// against another client, and more would hide that two clients write to one provider.
const writeAttempts = 5

// rewrite reads a value with its generation, lets change edit it and writes it,
// as long as generation conflicts occur.
func rewrite[T any](ctx context.Context, wanted *int64,
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
		if wanted != nil {
			generation = *wanted
		}
		err = write(generation, value)
		if wanted != nil || attempt == writeAttempts || !errors.Is(err, client.ErrConcurrentUpdate) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(time.Duration(attempt) * 50 * time.Millisecond)):
		}
	}
}
