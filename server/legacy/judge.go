package legacy

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

// errRehearsed rolls a dry run back.
var errRehearsed = errors.New("this was a dry run")

// rehearse copies and judges in a transaction that is rolled back.
func (i *importing) rehearse(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, i.conn, func(tx pgx.Tx) error {
		if _, err := i.mayReplace(ctx, tx); err != nil {
			return err
		}
		if err := queries.LegacyStagingClear(ctx, tx); err != nil {
			return err
		}
		if err := i.source.stage(ctx, tx, nil, i.Progress); err != nil {
			return err
		}
		if err := queries.LegacyStagingAnalyze(ctx, tx); err != nil {
			return err
		}
		if err := i.judge(ctx, tx); err != nil {
			return err
		}
		i.tables(nil)
		i.report.Outcome = DryRun
		return errRehearsed
	})
	if errors.Is(err, errRehearsed) {
		return nil
	}
	return err
}

// judge finds what is odd and brings the copy in order, then refuses what must be.
func (i *importing) judge(ctx context.Context, tx pgx.Tx) (err error) {
	steps := []func(context.Context, db.DBTX) error{
		queries.LegacyOddityClear,
		queries.LegacyJudgeClasses, queries.LegacyJudgeTraits, queries.LegacyJudgeAggregates,
		queries.LegacyParents, queries.LegacyCircles, queries.LegacyRoots, queries.LegacyJudgeProviders,
		queries.LegacyJudgeInventories, queries.LegacyJudgeAllocations, queries.LegacyJudgeDuplicates,
		queries.LegacyJudgeOvercommitted, queries.LegacyJudgeConsumers, queries.LegacyJudgeOwners, queries.LegacyJudgeTimes,
	}
	for n, step := range steps {
		i.Progress("judging", int64(n), int64(len(steps)))
		if err := step(ctx, tx); err != nil {
			return fmt.Errorf("judge the source: %w", err)
		}
	}
	unreadable := slices.Sorted(maps.Keys(i.source.unreadable))
	if err := queries.LegacyJudgeReadings(ctx, tx, unreadable); err != nil {
		return fmt.Errorf("judge the source: %w", err)
	}
	if i.report.Oddities, err = readOddities(ctx, tx, i.Oddities); err != nil {
		return err
	}
	var lost []string
	for _, one := range i.report.Oddities {
		if one.Refused {
			return refuse("%s (%s, %d times): %s", one.What, one.Kind, one.Count, one.Done)
		}
		if one.Loses {
			lost = append(lost, fmt.Sprintf("%s (%d)", one.Kind, one.Count))
		}
	}
	if i.Strict && len(lost) > 0 {
		return refuse("these would lose data: %s; see the report for each, mend them in the source, or import without --strict", strings.Join(lost, ", "))
	}
	return nil
}
