package placementdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
)

// errDryRun rolls back a dry run.
var errDryRun = errors.New("dry run")

// runDry copies and validates in a transaction that it rolls back.
func (i *importRun) runDry(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if _, err := i.mayReplace(ctx, tx); err != nil {
			return err
		}
		if i.InsertNames != nil {
			if err := i.InsertNames(ctx, tx); err != nil {
				return err
			}
		}
		if err := createStaging(ctx, tx); err != nil {
			return err
		}
		if err := i.source.stage(ctx, tx, nil, i.stagingFingerprint(), i.Progress); err != nil {
			return err
		}
		if err := queries.ImportStagingAnalyze(ctx, tx); err != nil {
			return err
		}
		if err := i.validate(ctx, tx); err != nil {
			return err
		}
		i.tables(nil)
		i.report.Outcome = DryRun
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		return nil
	}
	return err
}

// validate records anomalies and corrects the copy, then rejects fatal anomalies.
func (i *importRun) validate(ctx context.Context, tx pgx.Tx) (err error) {
	steps := []func(context.Context, db.DBTX) error{
		queries.ImportAnomalyClear,
		queries.ImportValidateClasses, queries.ImportValidateTraits, queries.ImportValidateAggregates,
		queries.ImportSetParents, queries.ImportBreakParentCycles, queries.ImportSetRoots, queries.ImportValidateProviders,
		queries.ImportValidateInventories, queries.ImportValidateAllocations, queries.ImportValidateDuplicates,
		queries.ImportValidateOvercommitted, queries.ImportValidateConsumers, queries.ImportValidateOwners, queries.ImportValidateTimes,
	}
	for n, step := range steps {
		i.Progress("judging", int64(n), int64(len(steps)))
		if err := step(ctx, tx); err != nil {
			return fmt.Errorf("validate the source: %w", err)
		}
	}
	unreadable := slices.Sorted(maps.Keys(i.source.unreadable))
	if err := queries.ImportValidateReadings(ctx, tx, unreadable); err != nil {
		return fmt.Errorf("validate the source: %w", err)
	}
	if i.report.Anomalies, err = readAnomalies(ctx, tx, i.Anomalies); err != nil {
		return err
	}
	var lost []string
	for _, anomaly := range i.report.Anomalies {
		if anomaly.Refused {
			return refuse("%s (%s, %d times): %s", anomaly.Description, anomaly.Kind, anomaly.Count, anomaly.Action)
		}
		if anomaly.Loses {
			lost = append(lost, fmt.Sprintf("%s (%d)", anomaly.Kind, anomaly.Count))
		}
	}
	if i.Strict && len(lost) > 0 {
		return refuse("these would lose data: %s; see the report, correct the source, or import without --strict", strings.Join(lost, ", "))
	}
	return nil
}
