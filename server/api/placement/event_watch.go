package placement

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/identity/policy"
	"github.com/berthd/berth/server/wire/fault"
	"github.com/berthd/berth/server/wire/querystring"
	"github.com/berthd/berth/server/wire/request"
	"github.com/berthd/berth/server/work/events"
)

// EventBegin is the first line of a stream.
type EventBegin struct {
	Type   string    `json:"type" enum:"begin" doc:"Always begin." example:"begin"`
	Log    uuid.UUID `json:"log" format:"uuid" doc:"Series of the indexes." example:"7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10"`
	Oldest int64     `json:"oldest" doc:"Index of the oldest event that is kept; 0: there is none." example:"12004"`
	Newest int64     `json:"newest" doc:"Index of the newest event. Without after, events behind it follow." example:"41822"`
}

// EventWrite is the line of an event.
type EventWrite struct {
	Type    string         `json:"type" enum:"event" doc:"Always event." example:"event"`
	Index   int64          `json:"index" doc:"Place of the event in the order of all events." example:"41822"`
	At      Moment         `json:"at" format:"date-time" doc:"Time at which the write had changed everything." example:"2026-11-22T14:11:00.123456Z"`
	By      HistoryCaller  `json:"by" doc:"Who asked for the write."`
	Changes HistoryChanges `json:"changes" doc:"What the write changed: only kinds, objects and members that differ. Values are absolute."`
}

// EventBookmark is a line without an event.
type EventBookmark struct {
	Type  string  `json:"type" enum:"bookmark" doc:"Always bookmark." example:"bookmark"`
	Index int64   `json:"index" doc:"Everything up to this index was sent, or does not match." example:"41822"`
	At    *Moment `json:"at,omitempty" nullable:"false" format:"date-time" doc:"Every write that was answered before this time of the database has an index up to this one. Missing while the stream is behind." example:"2026-11-22T14:11:15.000000Z"`
}

// EventEnd is the last line of a stream.
type EventEnd struct {
	Type   string `json:"type" enum:"end" doc:"Always end." example:"end"`
	Code   string `json:"code" enum:"berth.events.age,berth.events.failed,berth.events.stopping,berth.events.token,berth.history.gone,berth.history.off" doc:"Why the stream ends." example:"berth.events.age"`
	Detail string `json:"detail" doc:"A sentence for people."`
	Index  int64  `json:"index" doc:"Index up to which everything was sent, or does not match: the next after." example:"41822"`
}

// EventLine is a line of a stream.
type EventLine struct{}

// Schema implements huma.SchemaProvider.
func (EventLine) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{schemaOf[EventBegin](r), schemaOf[EventWrite](r), schemaOf[EventBookmark](r), schemaOf[EventEnd](r)}}
}

// EncodeEvent returns the line of an event without its end.
func EncodeEvent(from *store.HistoryEvent) ([]byte, error) {
	event, err := historyEventOf(from)
	if err != nil {
		return nil, err
	}
	return encodeLine(EventWrite{Type: "event", Index: event.Index, At: event.At, By: event.By, Changes: event.Changes})
}

// eventWatchInput is the input of GET /events in addition to its query string.
type eventWatchInput struct {
	LastEventID string `header:"Last-Event-ID" doc:"Index of the last event that the client has. It replaces after: clients of server-sent events send it when they connect again." example:"41822"`
}

// Parameters of GET /events in addition to filters of GET /history.
const (
	afterParam     = "after"
	logParam       = "log"
	heartbeatParam = "heartbeat"
	lastEventID    = "Last-Event-ID"

	defaultHeartbeat, maxHeartbeat = 15, 60
)

var (
	eventParams = append(route.Params{
		{Name: afterParam, Doc: "Index of the last event that the client has: those behind it follow. Default: the newest one.", Type: huma.TypeInteger, Example: 41822},
		{Name: logParam, Check: querystring.Param{UUID: true}, Doc: "The log of that index. If the record has another one, the response is 410.", Example: exampleHistoryLog.String()},
		{Name: heartbeatParam, Doc: "Seconds between two bookmarks, 1 to 60. Default: 15.", Type: huma.TypeInteger, Example: 15},
	}, slices.DeleteFunc(slices.Clone(historyParams), func(param route.Param) bool {
		return !slices.Contains([]string{providerParam, inTreeParam, consumerParam, nodeParam, projectParam, topicParam}, param.Name)
	})...)
	eventSchema = eventParams.Schema(berth17)

	invalidIndex = route.Fails(fault.Invalid, "invalid-index", "`after` or the header `Last-Event-ID` is not an index.",
		"'%s' is not an index: %s.", afterParam, "yesterday").WithCode(fault.CodeWriteBadValue)
	invalidHeartbeat = route.Fails(fault.Invalid, "invalid-heartbeat", "`heartbeat` is not a number of seconds from 1 to 60.",
		"'heartbeat' is not a number of seconds from 1 to %d: %s.", maxHeartbeat, "0").WithCode(fault.CodeWriteBadValue)
	eventsOff = route.Fails(fault.Conflict, "record-off", "The record is off.",
		"No history is kept. Turn it on with PUT /history/settings.").WithCode(fault.CodeHistoryOff)
	indexGone = route.Fails(fault.Gone, "index-gone", "The event behind `after` is deleted.",
		"Index %d is gone: the record begins at %d. Read the state, and watch without 'after'.", 11000, 12004).WithCode(fault.CodeHistoryGone)
	logGone = route.Fails(fault.Gone, "log-gone", "The record has another log than `log`.",
		"The log is %s, not %s: indexes start over. Read the state, and watch without 'after'.",
		exampleHistoryLog, "0b54fa7c-51c3-4a2e-9d0e-2a6d1c9b7f11").WithCode(fault.CodeHistoryGone)
	indexUnknown = route.Fails(fault.Gone, "index-unknown", "`after` is above the newest index: the database was restored.",
		"Index %d is not known: the newest is %d. Read the state, and watch without 'after'.", 50000, 41822).WithCode(fault.CodeHistoryGone)

	// The documents have the 503 of all operations.
	tooManyWatchers = route.Fails(fault.Unavailable, "too-many-watchers", "The server has as many streams as it may have.",
		"There are %d watchers on this server already.", 200).WithCode(fault.CodeEventsTooMany)
	noWatchers = route.Fails(fault.Unavailable, "no-watchers", "The server has no streams.",
		"This server has no streams of events: its setting max-watchers is 0.").WithCode(fault.CodeEventsTooMany)
)

// eventWatchOperation returns the row of the table.
func (o *operations) eventWatchOperation() *route.Operation {
	watch := rulesOfQuery{rule: policy.EventsWatch, once: eventParams.Once(), project: projectParam}
	return &route.Operation{
		ID: "event-watch", Method: http.MethodGet, Path: "/events", Tag: tagHistory, Rule: policy.EventsWatch, Authorize: watch.authorize,
		ReadsQuery: true, Summary: "Watch events", Checks: []route.Check{route.AcceptStream},
		Description: "Sends events as they happen, until the client disconnects: each committed write once, in the order of the indexes. A line is a JSON " +
			"object with a `type`: `begin` is the first one, `event` is a write, `bookmark` says up to which index everything was sent, and `end` why the " +
			"stream ends. Clients go on with `after` and the last index that they have read. An event is sent whole if one of its changes meets all " +
			"filters. The tree of `in_tree` is that in which the provider is at the beginning of the stream. " +
			"The policy rule has the target `project_id`.",
		Fails: []route.Failure{
			queryRepeated, invalidQuery, tooManyValues, invalidIndex, invalidHeartbeat, unknownTopic, eventsOff, indexGone, logGone, indexUnknown,
		},
		Variants: []route.Variant{route.From(berth17, o.eventWatch, route.QueryOf(eventParams), route.ReturnsStream[EventLine](
			"The lines of the stream.", "Server-sent events: `event` has the type of a line, `id` its index, `data` the JSON object. `id` of `begin` is "+
				"the index behind which the stream begins."))},
	}
}

// streamResponse is a response whose body is sent after the operation.
type streamResponse struct {
	Body func(huma.Context)
}

func (o *operations) eventWatch(ctx context.Context, in *eventWatchInput) (*streamResponse, error) {
	values, err := query(ctx, eventSchema)
	if err != nil {
		return nil, err
	}
	asked, err := parseEventWatch(values, in.LastEventID)
	if err != nil {
		return nil, err
	}
	asked.Expires = auth.From(ctx).Expires
	watcher, err := o.events.Watch(ctx, asked)
	if err != nil {
		return nil, watchFault(asked, err)
	}
	format := request.From(ctx).Format
	return &streamResponse{Body: func(to huma.Context) {
		to.SetHeader("Content-Type", format)
		to.SetHeader("Cache-Control", "no-store")
		to.SetHeader("X-Accel-Buffering", "no")
		route.Stream(to, func(ctx context.Context, to route.Live) {
			watcher.Run(ctx, &lineWriter{to: to, isSSE: format == route.EventStream, position: asked.After})
		})
	}}, nil
}

// parseEventWatch parses the parameters, which the schema has validated. Their order here is the order of errors.
func parseEventWatch(values querystring.Values, last string) (*events.Request, error) {
	if err := checkOnce(values, eventParams.Once()...); err != nil {
		return nil, err
	}
	asked := &events.Request{Heartbeat: defaultHeartbeat * time.Second}
	for _, given := range []struct{ name, text string }{{afterParam, textOf(values, afterParam)}, {lastEventID, last}} {
		if given.text == "" {
			continue
		}
		index, err := strconv.ParseUint(given.text, 10, 63)
		if err != nil {
			return nil, invalidIndex.Of(given.name, given.text)
		}
		asked.After = new(int64(index))
	}
	var err error
	if asked.Log, err = uuidOf(values, logParam); err != nil {
		return nil, err
	}
	if text, ok := values.First(heartbeatParam); ok {
		seconds, err := strconv.ParseUint(text, 10, 31)
		if err != nil || seconds < 1 || seconds > maxHeartbeat {
			return nil, invalidHeartbeat.Of(maxHeartbeat, text)
		}
		asked.Heartbeat = time.Duration(seconds) * time.Second
	}
	asked.Filter, err = parseEventFilter(values)
	return asked, err
}

// textOf returns the value of a parameter; empty if it is missing.
func textOf(values querystring.Values, name string) string {
	text, _ := values.First(name)
	return text
}

// watchFault returns the fault for an error of a stream that does not begin.
func watchFault(asked *events.Request, err error) error {
	var (
		tooMany *events.TooManyError
		off     *events.OffError
		gone    *events.GoneError
	)
	switch {
	case errors.As(err, &tooMany) && tooMany.Max == 0:
		return noWatchers.Of().WithRetryAfter(time.Minute)
	case errors.As(err, &tooMany):
		return tooManyWatchers.Of(tooMany.Max).WithRetryAfter(time.Duration(1+rand.IntN(5)) * time.Second)
	case errors.As(err, &off):
		return eventsOff.Of()
	case errors.As(err, &gone) && gone.Log != nil:
		return logGone.Of(*gone.Log, *asked.Log)
	case errors.As(err, &gone) && *asked.After > gone.Newest:
		return indexUnknown.Of(*asked.After, gone.Newest)
	case errors.As(err, &gone):
		return indexGone.Of(*asked.After, gone.KeptFrom)
	}
	return err
}
