package open

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/cmd/berth/frame"
)

// OnDatabase calls a function with the database of the settings, and stops an embedded PostgreSQL
// afterwards. A signal cancels the context.
func OnDatabase(f *frame.Frame, reads bool, do func(context.Context, *Database, *slog.Logger) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) (err error) {
		settings, err := config.Load(f, c, config.ForDatabase)
		if err != nil {
			return err
		}
		log := Logger(settings, f.Stderr)
		stop := f.StopOnSignals(c.Context())
		defer stop.Done()
		timeout, giveUp := CloseContext(stop, SystemdStopTimeout)
		defer giveUp()
		database, err := Postgres(stop.Asked, settings, config.CommandApplication(c.CommandPath()), log, reads)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, database.Close(timeout)) }()
		database.Waits = settings.Waits()
		return do(stop.Asked, database, log)
	}
}
