// Command bench measures Berth on a private PostgreSQL: single requests, the search
// for allocation candidates, node allocations, and whether anything grows in hours of
// load. Each subcommand is a package below this one; rig is what they share.
//
// It is not a test: only 'bench soak' has a bound that fails, and it says so.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/bench/baremetal"
	"github.com/berthd/berth/cmd/bench/candidates"
	"github.com/berthd/berth/cmd/bench/requests"
	"github.com/berthd/berth/cmd/bench/rig"
	"github.com/berthd/berth/cmd/bench/soak"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := command().ExecuteContext(ctx)
	stop()
	var failure rig.Failure
	switch {
	case errors.As(err, &failure):
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "bench",
		Short: "Measure Berth on a private PostgreSQL",
		Long: `Measure Berth on a private PostgreSQL, which the command starts and removes.

Exit codes: 0 the measurements are complete; 1 they are complete and at least one
failed, or 'bench soak' found growth; 2 the command line is wrong or the run failed.

  go -C cmd/bench run . requests --only writes
  go -C cmd/bench run . candidates --sizes 1000`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(requests.Command(), candidates.Command(), baremetal.Command(), soak.Command())
	return root
}
