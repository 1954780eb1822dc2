package placement

import (
	"context"
	"strconv"
	"time"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/microversion"
	"github.com/berthd/berth/server/wire/querystring"
)

// atParam is the moment of an answer of how it was: a time or an index.
const atParam = "at"

// HistoryMoment is the moment of an answer of how it was.
type HistoryMoment struct {
	Time  Moment `json:"time" format:"date-time" doc:"Time of the event; if the event is not kept, the time at which the record begins." example:"2026-11-22T14:11:00.123456Z"`
	Index int64  `json:"index" doc:"Index of the newest event that the response takes into account." example:"41822"`
}

var (
	historyAtParam = route.Param{
		Name: atParam, Since: berth17, Example: "41822",
		Doc: "Time (RFC 3339) or index of an event: the response shows how it was then. It needs the policy rule `berth:history:list`.",
	}

	invalidAt = route.Fails(fault.Invalid, "invalid-at", "`at` is neither a time nor an index.",
		"'%s' is neither a time nor an index: %s.", atParam, "yesterday").WithCode(fault.CodeWriteBadValue).From(berth17)
	atInFuture = route.Fails(fault.Invalid, "at-in-future", "`at` is a time that has not come by the clock of the database.",
		"'at' is in the future: %s.", "2027-01-01T00:00:00Z").WithCode(fault.CodeWriteBadValue).From(berth17)
	atAboveNewest = route.Fails(fault.Invalid, "at-above-newest", "`at` is an index above the newest one.",
		"'at' is index %d, the newest is %d.", 50000, 41822).WithCode(fault.CodeWriteBadValue).From(berth17)
	atGone = route.Fails(fault.Gone, "at-gone", "`at` is before the beginning of the record.",
		"The record begins at %s, index %d.", "2026-11-01T09:00:00Z", 12004).WithCode(fault.CodeHistoryGone).From(berth17)
	atOff = route.Fails(fault.Conflict, "at-off", "With `at`: the record of changes is off, so it does not have the last changes.",
		"No history is kept. Turn it on with PUT /history/settings.").WithCode(fault.CodeHistoryOff).From(berth17)
	atStarting = route.Fails(fault.Conflict, "at-starting", "With `at`: the record of changes begins, and is not complete yet.",
		"The record is not complete yet: its state is starting.").WithCode(fault.CodeHistoryOff).From(berth17)
	providerMissingThen = route.Fails(fault.NotFound, "provider-missing-then", "With `at`: the provider did not exist at that moment.",
		"No resource provider with uuid %s existed at %s", unknownUUID, "2026-11-20T10:00:00Z").From(berth17)
	consumerMissingThen = route.Fails(fault.NotFound, "consumer-missing-then", "With `at`: the consumer did not exist at that moment.",
		"No consumer with uuid %s existed at %s", unknownUUID, "2026-11-20T10:00:00Z").From(berth17)

	atFailures = []route.Failure{invalidAt, atInFuture, atAboveNewest, atGone, atOff, atStarting}
)

// hasAt reports whether operations have the parameter at in the version of a request.
func hasAt(ctx context.Context) bool { return microversion.From(ctx) >= berth17 }

// atOf returns the value of the parameter at; nil: it is missing.
func atOf(values querystring.Values) (*store.HistoryTime, error) {
	text, ok := values.First(atParam)
	if !ok {
		return nil, nil //nolint:nilnil // the answer is of now
	}
	at, index, err := momentOf(values, atParam)
	if err != nil {
		return nil, invalidAt.Of(atParam, text)
	}
	if at != nil {
		// momentOf rounds up. An event counts if its time is not later than at.
		exact, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, invalidAt.Of(atParam, text)
		}
		at = new(exact.Truncate(time.Microsecond))
	}
	return &store.HistoryTime{Time: at, Index: index}, nil
}

// checkMoment returns an error if the record does not tell how it was at a moment.
func checkMoment(at *store.HistoryTime, moment *store.HistoryMoment) error {
	switch {
	case moment.IsKnown():
		return nil
	case moment.State == store.HistoryOff:
		return atOff.Of()
	case moment.State != store.HistoryOn:
		return atStarting.Of()
	case moment.IsFuture:
		return atInFuture.Of(momentText(at))
	case moment.IsGone:
		return atGone.Of(moment.BeganAt.UTC().Format(time.RFC3339Nano), moment.First)
	default:
		return atAboveNewest.Of(moment.Index, moment.Newest)
	}
}

// momentText returns a moment as sentences have it.
func momentText(at *store.HistoryTime) string {
	if at.Time != nil {
		return at.Time.UTC().Format(time.RFC3339Nano)
	}
	return "index " + strconv.FormatInt(*at.Index, 10)
}

// momentShown returns the member at of a response.
func momentShown(moment *store.HistoryMoment) *HistoryMoment {
	return &HistoryMoment{Time: Moment{moment.At}, Index: moment.Index}
}

// generationShown returns a generation as responses have it; null if the record has none.
func generationShown(generation int64) *int64 {
	if generation == store.UnknownGeneration {
		return nil
	}
	return &generation
}

// timeShown returns a time as responses have it; null if the record does not have it.
func timeShown(at time.Time) *Moment {
	if at.IsZero() {
		return nil
	}
	return &Moment{at}
}
