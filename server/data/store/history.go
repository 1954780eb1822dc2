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
	return historySettingsOf(db.HistorySettingsUpdateRow(row)), err
}

func historySettingsOf(row db.HistorySettingsUpdateRow) HistorySettings {
	return HistorySettings{
		State: row.State, KeepDays: int(row.KeepDays), Since: row.Since, Log: row.Log, Oldest: row.Oldest, Newest: row.Newest,
		Waiting: row.Waiting, Bytes: row.Bytes, Generation: row.Generation,
	}
}

// HistorySettingsUpdate turns the record on or off and sets how many days are kept, and returns the settings and the state afterwards. It
// returns a RuleViolation if generation is not that of the settings.
//
// It then enables or disables the triggers of the record and, if the record is off and no day is kept, deletes all events, as far as it gets
// the locks. Package work/history does the rest, so a failure there is no error: the settings are stored. In a dry run, Oldest, Waiting and
// Bytes are those before the write.
func (s *Store) HistorySettingsUpdate(ctx context.Context, state string, keepDays int, generation int64) (HistorySettings, error) {
	_, isRehearsal := ctx.Value(rehearsalKey{}).(*Rehearsal)
	if state == HistoryOn && !isRehearsal {
		s.recording.on.Store(true) // the record begins with an event about its settings, which has its caller
	}
	var row db.HistorySettingsUpdateRow
	err := s.write(ctx, writeTargets{}, func(to db.DBTX) (err error) {
		row, err = s.queries.HistorySettingsUpdate(ctx, to, state, int32(keepDays), generation)
		return err
	})
	settings := historySettingsOf(row)
	if err != nil || isRehearsal {
		return settings, err
	}
	s.recording.on.Store(state == HistoryOn)
	s.applyHistorySettings(ctx, settings)
	if shown, err := s.HistorySettingsShow(ctx); err == nil && shown.Generation == settings.Generation {
		return shown, nil
	}
	return settings, nil
}

// Attempts to delete days that readers hold, when all events are to be deleted.
const (
	maxPruneAttempts = 20
	pruneRetryDelay  = 50 * time.Millisecond
)

// applyHistorySettings does what new settings want without a delay, as far as it gets the locks.
func (s *Store) applyHistorySettings(ctx context.Context, settings HistorySettings) {
	if s.HistorySwitch(ctx) != nil || settings.State != HistoryOff || settings.KeepDays > 0 {
		return
	}
	if _, err := s.HistoryStep(ctx, true); err != nil { // notes of transactions that were under way
		return
	}
	for range maxPruneAttempts {
		if isDone, err := s.HistoryPrune(ctx); isDone || err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pruneRetryDelay):
		}
	}
}

// HistoryProgress is the state of the record, and what is left to do for it.
type HistoryProgress struct {
	State string
	// Newest is the index of the newest event.
	Newest int64
	// IsSwitched reports that the triggers are as the state wants them: HistorySwitch has nothing to do.
	IsSwitched bool
	// Waiting is the number of notes that are not in order yet, and LagSeconds the age of the oldest one. While the record is off they are of
	// transactions that were under way when it was turned off: HistoryStep deletes them.
	Waiting    int64
	LagSeconds float64
	// HasOldDays reports that HistoryPrune has something to do.
	HasOldDays bool
}

// HistoryState returns the state of the record. Writes of this process send who asks from then on, or no longer.
func (s *Store) HistoryState(ctx context.Context) (HistoryProgress, error) {
	row, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) (db.HistoryStateRow, error) { return s.queries.HistoryState(ctx, from) })
	if err == nil {
		s.recording.on.Store(row.State != HistoryOff)
	}
	return HistoryProgress(row), err
}

// HistoryStep puts committed writes in order and returns the newest index. It waits for a step of another process that is under way,
// or leaves the work to it.
func (s *Store) HistoryStep(ctx context.Context, wait bool) (newest int64, err error) {
	stepped, err := s.historyStep(ctx, wait)
	return stepped.Newest, err
}

func (s *Store) historyStep(ctx context.Context, wait bool) (stepped db.HistoryStepRow, err error) {
	err = s.background(ctx, func(to *postgres.Primary) error {
		stepped, err = s.queries.HistoryStep(ctx, to, wait)
		return err
	})
	return stepped, err
}

// HistorySwitch enables or disables the triggers of the record, one table after the other. It ends without an error at a table whose
// lock it does not get: call it again.
func (s *Store) HistorySwitch(ctx context.Context) error {
	_, err := s.repeatUnlocked(ctx, s.queries.HistorySwitch)
	return err
}

// HistorySettle ends the state starting some time after the last trigger was enabled, and returns the state.
func (s *Store) HistorySettle(ctx context.Context, delay time.Duration) (state string, err error) {
	err = s.background(ctx, func(to *postgres.Primary) error {
		state, err = s.queries.HistorySettle(ctx, to, delay.Seconds())
		return err
	})
	return state, err
}

// HistoryPrune deletes the days of the record that are no longer kept, each in a transaction of its own, and reports whether all are
// deleted. If readers hold a day it ends without an error: call it again.
func (s *Store) HistoryPrune(ctx context.Context) (isDone bool, err error) {
	return s.repeatUnlocked(ctx, s.queries.HistoryPrune)
}

// repeatUnlocked calls a function of the record until it returns false, and returns true then; or false if it does not get a lock.
func (s *Store) repeatUnlocked(ctx context.Context, call func(context.Context, db.DBTX) (bool, error)) (isDone bool, err error) {
	for more := true; more; {
		err := s.background(ctx, func(to *postgres.Primary) (err error) {
			more, err = call(ctx, to)
			return err
		})
		if postgres.LockTimedOut(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// background is write for work without a request, which records nothing itself.
func (s *Store) background(ctx context.Context, run func(*postgres.Primary) error) error {
	return s.pool.Write(ctx, postgres.WriteKind{RetryStates: retryableStates, Background: true}, run)
}
