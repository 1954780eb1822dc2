package placementdb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// writeAll writes the validated copy to Berth's tables and returns the names that it added. It sets the
// sequences twice, so that rows for missing references get ids after those of the source, and later rows
// get ids after these. A rollback does not reset sequences; gaps in ids are harmless.
func (i *importRun) writeAll(ctx context.Context, tx pgx.Tx) (traits, classes []string, err error) {
	moment := i.books.BeganAt
	counted := func(query func(context.Context, db.DBTX, time.Time) (int64, error)) func() error {
		return func() error { _, err := query(ctx, tx, moment); return err }
	}
	steps := []func() error{
		func() (err error) { classes, err = queries.ImportWriteClasses(ctx, tx, moment); return err },
		func() (err error) { traits, err = queries.ImportWriteTraits(ctx, tx, moment); return err },
		func() error { return queries.ImportMapTraits(ctx, tx) },
		counted(queries.ImportWriteAggregates),
		counted(queries.ImportWriteProjects),
		counted(queries.ImportWriteUsers),
		counted(queries.ImportWriteConsumerTypes),
		counted(queries.ImportWriteProviders),
		func() error { return queries.ImportWriteGenerations(ctx, tx) },
		func() error { _, err := queries.ImportWriteProviderTraits(ctx, tx); return err },
		func() error { _, err := queries.ImportWriteProviderAggregates(ctx, tx); return err },
		counted(queries.ImportWriteInventories),
		func() error { return queries.ImportAdvanceSequences(ctx, tx) },
		func() error { return queries.ImportWriteIncomplete(ctx, tx, i.Owners.User, moment, i.Owners.Project) },
		func() error {
			_, err := queries.ImportWriteConsumers(ctx, tx, i.Owners.Project, i.Owners.User, moment)
			return err
		},
		func() error { return queries.ImportAdvanceSequences(ctx, tx) },
		func() error {
			_, err := queries.ImportWriteMissingConsumers(ctx, tx, i.Owners.Project, i.Owners.User, moment)
			return err
		},
		counted(queries.ImportWriteAllocations),
		func() error { return queries.ImportAdvanceSequences(ctx, tx) },
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
