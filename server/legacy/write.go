package legacy

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// writeAll writes the judged copy into our tables and returns the names that it added.
// Sequences are moved twice, so that rows made for what is missing follow those that
// were there, and all to come follow these. Unlike the rest, sequences are not rolled
// back; a gap in ids is no harm.
func (i *importing) writeAll(ctx context.Context, tx pgx.Tx) (traits, classes []string, err error) {
	moment := i.books.BeganAt
	counted := func(query func(context.Context, db.DBTX, time.Time) (int64, error)) func() error {
		return func() error { _, err := query(ctx, tx, moment); return err }
	}
	steps := []func() error{
		func() (err error) { classes, err = queries.LegacyWriteClasses(ctx, tx, moment); return err },
		func() (err error) { traits, err = queries.LegacyWriteTraits(ctx, tx, moment); return err },
		func() error { return queries.LegacyMapTraits(ctx, tx) },
		counted(queries.LegacyWriteAggregates),
		counted(queries.LegacyWriteProjects),
		counted(queries.LegacyWriteUsers),
		counted(queries.LegacyWriteConsumerTypes),
		counted(queries.LegacyWriteProviders),
		func() error { return queries.LegacyWriteGenerations(ctx, tx) },
		func() error { _, err := queries.LegacyWriteProviderTraits(ctx, tx); return err },
		func() error { _, err := queries.LegacyWriteProviderAggregates(ctx, tx); return err },
		counted(queries.LegacyWriteInventories),
		func() error { return queries.LegacySequences(ctx, tx) },
		func() error { return queries.LegacyWriteIncomplete(ctx, tx, i.Owners.User, moment, i.Owners.Project) },
		func() error {
			_, err := queries.LegacyWriteConsumers(ctx, tx, i.Owners.Project, i.Owners.User, moment)
			return err
		},
		func() error { return queries.LegacySequences(ctx, tx) },
		func() error {
			_, err := queries.LegacyWriteMissingConsumers(ctx, tx, i.Owners.Project, i.Owners.User, moment)
			return err
		},
		counted(queries.LegacyWriteAllocations),
		func() error { return queries.LegacySequences(ctx, tx) },
	}
	for n, step := range steps {
		i.Progress("writing", int64(n), int64(len(steps)))
		if err := step(); err != nil {
			return nil, nil, fmt.Errorf("write: %w", err)
		}
	}
	i.Progress("writing", int64(len(steps)), int64(len(steps)))
	return traits, classes, nil
}
