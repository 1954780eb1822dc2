package placement

import (
	"context"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/jsonbody"
)

// HistorySettingsUpdate are the new settings of the record of changes.
type HistorySettingsUpdate struct {
	State      string        `json:"state" enum:"on,off" doc:"Whether changes are recorded." example:"on"`
	KeepDays   *jsonbody.Int `json:"keep_days,omitempty" nullable:"false" minimum:"0" maximum:"3650" doc:"Days that are kept, besides the current one. 0, only with off: delete all events now. Default: 30." example:"30"`
	Generation jsonbody.Int  `json:"generation" minimum:"0" doc:"The generation of the settings that the client read." example:"0"`
}

// defaultKeepDays is keep_days of a request without it.
const defaultKeepDays = 30

var (
	historyKeepsNothing = route.Fails(fault.Invalid, "history-keeps-nothing", "`keep_days` is 0 and `state` is on.",
		"'keep_days' is %d and 'state' is %s. 0 deletes the record and needs 'state' off; a record that is on keeps 1 to 3650 days.",
		0, store.HistoryOn).WithCode(fault.CodeWriteBadValue)
	staleHistory = route.Fails(fault.Conflict, "stale-history-generation",
		"The request contains an outdated generation of the settings. Read them again and retry.",
		"history generation conflict - expected %d but got %d", 3, 2).WithCode(fault.CodeConcurrentUpdate)

	historySettingsUpdateFailures = []route.Failure{historyKeepsNothing, staleHistory}
)

// historyFaults are the errors of writes of the settings.
var historyFaults = route.RuleFaults{
	store.HistoryGenerationConflict: func(values store.Values) *fault.Error { return staleHistory.Of(*values.Actual, *values.Given) },
}

func (o *operations) historySettingsUpdate(ctx context.Context, _ *none, body *HistorySettingsUpdate) (*cached[HistorySettings], error) {
	keepDays := defaultKeepDays
	if body.KeepDays != nil {
		keepDays = int(*body.KeepDays) // the schema has bounded it
	}
	if keepDays == 0 && body.State == store.HistoryOn {
		return nil, historyKeepsNothing.Of(keepDays, body.State)
	}
	settings, err := o.store.HistorySettingsUpdate(ctx, body.State, keepDays, int64(body.Generation))
	if err != nil {
		return nil, historyFaults.Translate(err)
	}
	return answer(ctx, historySettingsOf(&settings), now()), nil
}
