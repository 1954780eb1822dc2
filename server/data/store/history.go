package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// States of the record of changes.
const (
	HistoryOff      = "off"
	HistoryStarting = "starting"
	HistoryOn       = "on"
)

// HistorySettings are the settings and the state of the record.
type HistorySettings struct {
	State    string
	KeepDays int
	// Since is the time from which the record is complete; nil while it is not.
	Since *time.Time
	// Log identifies the series of indexes.
	Log uuid.UUID
	// Oldest and Newest are the indexes of the first and of the last event; 0: there is none.
	Oldest, Newest int64
	// Waiting is the number of notes that are not in order yet.
	Waiting int64
	// Bytes is the size on disk.
	Bytes      int64
	Generation int64
}

// HistorySettingsShow returns the settings and the state of the record.
func (s *Store) HistorySettingsShow(ctx context.Context) (HistorySettings, error) {
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.HistorySettingsShowRow, error) {
		return s.queries.HistorySettingsShow(ctx, from)
	})
	return HistorySettings{
		State: row.State, KeepDays: int(row.KeepDays), Since: row.Since, Log: row.Log, Oldest: row.Oldest, Newest: row.Newest,
		Waiting: row.Waiting, Bytes: row.Bytes, Generation: row.Generation,
	}, err
}

// HistorySettingsUpdate turns the record on or off and sets how many days are kept. It returns a RuleViolation if generation is not that
// of the settings. It enables or disables the triggers of the record as far as it gets their locks; HistorySwitch goes on.
func (s *Store) HistorySettingsUpdate(ctx context.Context, state string, keepDays int, generation int64) error {
	err := s.write(ctx, writeTargets{}, func(to db.DBTX) error {
		return s.queries.HistorySettingsUpdate(ctx, to, state, int32(keepDays), generation)
	})
	if err != nil {
		return err
	}
	s.recording.on.Store(state == HistoryOn)
	return s.HistorySwitch(ctx)
}

// HistoryState returns the state of the record. Writes of this process send who asks from then on, or no longer.
func (s *Store) HistoryState(ctx context.Context) (string, error) {
	state, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (string, error) { return s.queries.HistoryState(ctx, from) })
	if err == nil {
		s.recording.on.Store(state != HistoryOff)
	}
	return state, err
}

// HistoryStep puts committed writes in order and returns the newest index. It waits for a step of another process that is under way,
// or leaves the work to it.
func (s *Store) HistoryStep(ctx context.Context, wait bool) (newest int64, err error) {
	err = s.background(ctx, func(to *postgres.Primary) error {
		newest, err = s.queries.HistoryStep(ctx, to, wait)
		return err
	})
	return newest, err
}

// HistorySwitch enables or disables the triggers of the record, one table after the other. It ends without an error at a table whose
// lock it does not get: call it again.
func (s *Store) HistorySwitch(ctx context.Context) error {
	return s.repeatUnlocked(ctx, s.queries.HistorySwitch)
}

// HistorySettle ends the state starting some time after the last trigger was enabled, and returns the state.
func (s *Store) HistorySettle(ctx context.Context, delay time.Duration) (state string, err error) {
	err = s.background(ctx, func(to *postgres.Primary) error {
		state, err = s.queries.HistorySettle(ctx, to, delay.Seconds())
		return err
	})
	return state, err
}

// HistoryPrune deletes the days of the record that are no longer kept, each in a transaction of its own. It ends without an error if readers
// hold a day: call it again.
func (s *Store) HistoryPrune(ctx context.Context) error {
	return s.repeatUnlocked(ctx, s.queries.HistoryPrune)
}

// repeatUnlocked calls a function of the record until it returns false, or does not get a lock.
func (s *Store) repeatUnlocked(ctx context.Context, call func(context.Context, db.DBTX) (bool, error)) error {
	for more := true; more; {
		err := s.background(ctx, func(to *postgres.Primary) (err error) {
			more, err = call(ctx, to)
			return err
		})
		if postgres.LockTimedOut(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// background is write for work without a request, which records nothing itself.
func (s *Store) background(ctx context.Context, run func(*postgres.Primary) error) error {
	return s.pool.Write(ctx, postgres.WriteKind{RetryStates: retryableStates, Background: true}, run)
}
