package connect

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// WithClient returns the RunE function of a command that needs a client. Errors about unknown names name the flag or the
// argument that has them.
func WithClient(f *frame.Frame, do func(ctx context.Context, service *client.Client, arguments []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, arguments []string) error {
		service, err := Client(f, c)
		if err != nil {
			return err
		}
		return inOwnWords(c, service, do(c.Context(), service, arguments), arguments)
	}
}
