package apicommand

import (
	"errors"
	"fmt"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/terminal"
)

// failure returns the error of a claim. If nothing fits, it prints the reason on standard error.
func (c *claimCall) failure(err error) error {
	var failed *client.Error
	switch {
	case errors.Is(err, client.ErrNothingFits) && errors.As(err, &failed):
		if len(c.queries) > 0 && len(c.consumers) == 1 {
			fmt.Fprint(c.f.Stderr, NothingFitsText(failed))
			return &frame.CodedError{Code: frame.ExitFailed}
		}
		return errors.New(refusalText(failed))
	case errors.Is(err, client.ErrConsumerGeneration) && c.flags.existing() == client.ExistingRefuse:
		which := "a consumer"
		if len(c.consumers) == 1 {
			which = "consumer " + c.consumers[0].String()
		}
		return fmt.Errorf("%s has allocations already; add --replace or --hand-over: %w", which, err)
	}
	return err
}

// refusalText returns why nothing fits: the summary of the service, and the reason of each candidate of a file.
func refusalText(failed *client.Error) string {
	text := terminal.Safe(failed.Detail)
	for _, refused := range failed.Refused {
		text += fmt.Sprintf("\n  candidate %d: %s", refused.Candidate+1, terminal.Safe(refused.Detail))
	}
	return text
}

// NothingFitsText returns why a claim of one consumer found no place, and the consumers without which it would fit. It ends with
// a line break.
func NothingFitsText(failed *client.Error) string {
	return terminal.Safe(failed.Detail) + "\n" + freedText(failed.Explanation)
}
