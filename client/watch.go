package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// WatchFilter selects events, as HistoryFilter does. The zero value selects all. All filters must hold for one and the same change of an
// event; then the event is sent whole.
type WatchFilter struct {
	// Providers, Consumers and Nodes have at most 500 values each. Providers also selects changes of the consumers on them, Nodes
	// those of their allocations and of the providers with their UUIDs.
	Providers, Consumers, Nodes []uuid.UUID
	// InTree is the UUID of any provider of a tree. The tree is that in which it is when a stream begins.
	InTree string
	// ProjectID is the project of a consumer before or after the write.
	ProjectID string
	// Topics are such as "allocation", "inventory" and "provider".
	Topics []string
}

// EventPosition is a position in the record of changes, behind the event with the index. It has the JSON {"log": …, "index": …}.
type EventPosition struct {
	// Log is the series of the index; uuid.Nil: it is not compared with that of the service.
	Log   uuid.UUID `json:"log"`
	Index int64     `json:"index"`
}

// Watched is what a watch has received.
type Watched struct {
	// Event is nil if only the position has moved: nothing up to it passes the filter.
	Event *HistoryEvent
	// Position is where a later watch goes on, once the caller is done with the event.
	Position EventPosition
}

const (
	// heartbeat is the time between two bookmarks that a watch asks for; maxSilence is the time without a line after which it takes
	// the connection for lost.
	heartbeat  = 15 * time.Second
	maxSilence = 3 * heartbeat
	// maxLine is the maximum size of a line, in bytes.
	maxLine = 64 << 20
)

// Watch yields events as they happen, each committed write once and in the order of their indexes: those behind a position, nil for
// the newest event. The first element has no event, and the position at which the watch begins. The service ends a stream now and then,
// and connections break: Watch goes on behind the last event, with pauses, as long as the service can be expected to come back. While the
// caller handles an event, the service waits.
//
// The sequence ends with an error: that of ctx; an ErrHistoryOff if the record is off; an ErrHistoryGone if the next events are deleted or
// the record has begun a new log, so that the caller must read the state again; an ErrExtensions if the service does not have berth 1.7;
// and that of a request which the service refuses.
func (c *Client) Watch(ctx context.Context, filter WatchFilter, after *EventPosition) iter.Seq2[Watched, error] {
	return func(yield func(Watched, error) bool) {
		w := &watch{client: c, filter: &filter, yield: yield}
		if after != nil {
			w.position = new(*after)
		}
		for {
			err := w.stream(ctx)
			switch {
			case errors.Is(err, errEnough):
				return
			case ctx.Err() != nil:
				err = ctx.Err()
			case errors.Is(err, errEnded) || errors.Is(err, ErrUnavailable) && !isPermanent(err):
				w.failed++
				c.log.LogAttrs(ctx, slog.LevelWarn, "the stream of events has ended; it goes on", slog.Int("attempt", w.failed), slog.Any("reason", err))
				err = c.pause(ctx, w.failed)
			}
			if err != nil {
				yield(Watched{}, err)
				return
			}
		}
	}
}

var (
	// errEnough: the caller has left the loop.
	errEnough = errors.New("enough")
	// errEnded: the stream has ended, and another one can go on.
	errEnded = errors.New("the stream has ended")
)

// watch is a watch in progress.
type watch struct {
	client *Client
	filter *WatchFilter
	yield  func(Watched, error) bool
	// position is nil before the first line.
	position *EventPosition
	// failed is the number of streams that ended since one had a line behind its first.
	failed int
}

// stream reads one stream. Its error is never nil.
func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := w.client.open(ctx, request{method: http.MethodGet, path: "events", query: w.params(), needs: berth17})
	if err != nil {
		return err
	}
	defer body.Close()
	silence := time.AfterFunc(maxSilence, cancel)
	defer silence.Stop()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		silence.Stop()
		if err := w.take(lines.Bytes()); err != nil {
			return err
		}
		silence.Reset(maxSilence)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("GET events: a line has more than %d bytes", maxLine)
	case err != nil:
		return fmt.Errorf("%w: %w", errEnded, err)
	}
	return fmt.Errorf("%w: %w", errEnded, io.ErrUnexpectedEOF)
}

func (w *watch) params() []param {
	after, log := "", ""
	if w.position != nil {
		after = strconv.FormatInt(w.position.Index, 10)
		if w.position.Log != uuid.Nil {
			log = w.position.Log.String()
		}
	}
	return slices.DeleteFunc([]param{
		{"after", after}, {"log", log}, {"heartbeat", strconv.Itoa(int(heartbeat.Seconds()))},
		{"resource_provider", inList(uuidTexts(w.filter.Providers))}, {"in_tree", w.filter.InTree}, {"consumer", inList(uuidTexts(w.filter.Consumers))},
		{"node", inList(uuidTexts(w.filter.Nodes))}, {"project_id", w.filter.ProjectID}, {"topic", inList(w.filter.Topics)},
	}, func(p param) bool { return p.value == "" })
}

// take handles a line.
func (w *watch) take(line []byte) error {
	var read struct {
		Type          string
		Log           uuid.UUID
		Newest, Index int64
		Code, Detail  string
	}
	if err := json.Unmarshal(line, &read); err != nil {
		return fmt.Errorf("%w: a line is not what the API promises: %w", errEnded, err)
	}
	if w.position == nil && read.Type != "begin" {
		return fmt.Errorf("GET events: the first line has the type %q", read.Type)
	}
	switch read.Type {
	case "begin":
		return w.begin(EventPosition{Log: read.Log, Index: read.Newest})
	case "event":
		w.failed = 0
		if read.Index <= w.position.Index {
			return nil
		}
		event := &HistoryEvent{}
		if err := json.Unmarshal(line, event); err != nil {
			return fmt.Errorf("GET events: event %d is not what the API promises: %w", read.Index, err)
		}
		event.Kind = HistoryWrite
		return w.move(event, read.Index)
	case "bookmark":
		w.failed = 0
		return w.move(nil, read.Index)
	case "end":
		return w.end(read.Code, read.Detail, read.Index)
	}
	return nil // a later version can have other types
}

// begin handles the first line of a stream. The caller gets the position at which a watch begins.
func (w *watch) begin(newest EventPosition) error {
	isFirst := w.position == nil || w.position.Log == uuid.Nil
	if w.position == nil {
		w.position = &newest
	}
	w.position.Log = newest.Log
	if isFirst && !w.yield(Watched{Position: *w.position}, nil) {
		return errEnough
	}
	return nil
}

// move gives the caller an event, or a position without one that is new.
func (w *watch) move(event *HistoryEvent, index int64) error {
	if event == nil && index <= w.position.Index {
		return nil
	}
	w.position.Index = index
	if !w.yield(Watched{Event: event, Position: *w.position}, nil) {
		return errEnough
	}
	return nil
}

// end handles the last line of a stream.
func (w *watch) end(code, detail string, index int64) error {
	if err := w.move(nil, index); err != nil {
		return err
	}
	if sentinel, ok := codes[code]; ok {
		return fmt.Errorf("GET events: %w: %s", sentinel, detail)
	}
	return fmt.Errorf("%w: %s", errEnded, detail)
}
