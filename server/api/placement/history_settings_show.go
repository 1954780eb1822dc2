package placement

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/microversion"
)

// berth17 is the version of Berth's extensions with the record of changes.
var berth17 = microversion.Berth(7)

// HistorySettings are the settings and the state of the record of changes.
type HistorySettings struct {
	State      string    `json:"state" enum:"off,starting,on" doc:"off: nothing is recorded. starting: changes are recorded, and the record is not complete yet. on: it is complete from the time in since on." example:"on"`
	KeepDays   int       `json:"keep_days" format:"int32" doc:"Days that are kept, besides the current one; 0: the record is off and nothing is kept." example:"30"`
	Since      *Moment   `json:"since" nullable:"true" format:"date-time" doc:"Time from which the record is complete; null while it is not." example:"2026-11-01T09:00:00.000000Z"`
	Log        uuid.UUID `json:"log" format:"uuid" doc:"Series of the indexes. Indexes of another log mean nothing in this one." example:"7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10"`
	Oldest     int64     `json:"oldest" doc:"Index of the oldest event that is kept; 0: there is none." example:"12004"`
	Newest     int64     `json:"newest" doc:"Index of the newest event that was recorded; 0: there was none." example:"41822"`
	Waiting    int64     `json:"waiting" doc:"Number of notes of writes that are not in order yet." example:"0"`
	Bytes      int64     `json:"bytes" doc:"Size of the record on disk." example:"91226112"`
	Generation int64     `json:"generation" doc:"Incremented by each change of the settings." example:"3"`
}

// The responses of the documents.
var (
	exampleHistoryLog      = uuid.MustParse("7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10")
	exampleHistorySettings = HistorySettings{
		State: store.HistoryOn, KeepDays: 30, Since: &Moment{exampleMoment}, Log: exampleHistoryLog,
		Oldest: 12004, Newest: 41822, Bytes: 91226112, Generation: 3,
	}
	exampleHistoryStarting = HistorySettings{State: store.HistoryStarting, KeepDays: 30, Log: exampleHistoryLog, Waiting: 1, Bytes: 32768, Generation: 1}
)

// historyOperations returns the rows of the table.
func (o *operations) historyOperations() []*route.Operation {
	const settings = "/history/settings"
	return []*route.Operation{o.historyListOperation(), o.eventWatchOperation(), {
		ID: "history-settings-show", Method: http.MethodGet, Path: settings, Tag: tagHistory, Rule: policy.HistoryList,
		Summary: "Show the settings of the record of changes", Checks: reads,
		Description: "Returns whether changes are recorded, since when the record is complete, and its size.",
		Variants:    []route.Variant{route.From(berth17, o.historySettingsShow, route.Example(showing(exampleHistorySettings)))},
	}, {
		ID: "history-settings-update", Method: http.MethodPut, Path: settings, Tag: tagHistory, Rule: policy.HistoryUpdate,
		Summary: "Turn the record of changes on or off", Checks: searches,
		Description: "Replaces the settings of the record. After `on` its state is `starting` for some seconds, until all writes are recorded. " +
			"Turning it on makes a new `log`. What was recorded before `off` is kept for `keep_days`. The `changes` of a dry run are empty; " +
			"its `body` has the settings after the write.",
		Fails: historySettingsUpdateFailures,
		Variants: []route.Variant{route.Write(berth17, route.Body[none]{Example: map[string]any{
			"state": store.HistoryOn, "keep_days": 30, "generation": 0,
		}}, o.historySettingsUpdate, route.Example(showing(exampleHistoryStarting)))},
	}}
}

func (o *operations) historySettingsShow(ctx context.Context, _ *none) (*cached[HistorySettings], error) {
	settings, err := o.store.HistorySettingsShow(ctx)
	if err != nil {
		return nil, err
	}
	return answer(ctx, historySettingsOf(&settings), now()), nil
}

func historySettingsOf(of *store.HistorySettings) HistorySettings {
	settings := HistorySettings{
		State: of.State, KeepDays: of.KeepDays, Log: of.Log, Oldest: of.Oldest, Newest: of.Newest, Waiting: of.Waiting, Bytes: of.Bytes,
		Generation: of.Generation,
	}
	if of.Since != nil {
		settings.Since = &Moment{*of.Since}
	}
	return settings
}
