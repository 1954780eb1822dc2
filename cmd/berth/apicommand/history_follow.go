package apicommand

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// followInterval is the time between two requests of --follow.
const followInterval = time.Second

// followHistory prints events, oldest first, from --since or from the newest one on, until a signal stops the process, or --limit events
// are printed.
func followHistory(ctx context.Context, f *frame.Frame, service *client.Client, flags *historyFlags) error {
	stop := f.StopOnSignals(ctx)
	defer stop.Done()
	ctx = stop.Asked
	follower := &historyFollower{f: f, service: service, historyFlags: flags}
	flags.filter.OldestFirst = true
	for {
		isDone, err := follower.poll(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case isDone:
			return nil
		case errors.Is(err, client.ErrUnavailable) && follower.log != uuid.Nil:
			unavailable := err
			if err = nil; !follower.isAway {
				err = follower.note("the service is not available; the command asks again every second (%v)", unavailable)
			}
			follower.isAway = true
		default:
			follower.isAway = false
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}
	}
}

// historyFollower is the state between two requests.
type historyFollower struct {
	*historyFlags
	f       *frame.Frame
	service *client.Client
	// log is that of the indexes; uuid.Nil before the first response.
	log     uuid.UUID
	printed int
	// isAway: the request before was not answered, and a line says so.
	isAway bool
}

// note prints a line on standard error.
func (h *historyFollower) note(format string, values ...any) error {
	_, err := fmt.Fprintf(h.f.Stderr, "berth: "+format+"\n", values...)
	return err
}

// poll prints the events since the request before. It reports whether --limit events are printed.
func (h *historyFollower) poll(ctx context.Context) (isDone bool, err error) {
	if h.log == uuid.Nil && h.since == "" {
		newest, err := h.service.HistoryPage(ctx, client.HistoryFilter{PageSize: 1}, "")
		if err == nil {
			h.log, h.filter.SinceIndex = newest.Log, newest.Newest+1
		}
		return false, err
	}
	filter := h.filter
	for marker := ""; ; {
		page, err := h.service.HistoryPage(ctx, filter, marker)
		if err != nil {
			return false, err
		}
		if h.log != uuid.Nil && page.Log != h.log {
			if err := h.note("the record has a new log, %s: it was turned on, or the database was restored; events between can be missing", page.Log); err != nil {
				return false, err
			}
		}
		h.log = page.Log
		if h.limit > 0 && h.printed+len(page.Events) >= h.limit {
			page.Events, isDone = page.Events[:h.limit-h.printed], true
		}
		if err := h.print(ctx, page.Events); err != nil {
			return false, err
		}
		if isDone {
			return true, nil
		}
		h.printed += len(page.Events)
		if count := len(page.Events); count > 0 { // the next request begins there if that for the next page fails
			h.filter.Since, h.filter.SinceIndex = time.Time{}, page.Events[count-1].Index+1
		}
		if page.Marker == "" || page.Marker == marker {
			h.filter.Since, h.filter.SinceIndex = time.Time{}, page.Newest+1
			return false, nil
		}
		marker = page.Marker
	}
}

// print prints new events.
func (h *historyFollower) print(ctx context.Context, events []client.HistoryEvent) error {
	if len(events) == 0 {
		return nil
	}
	if *h.format == frame.OutputJSON {
		for i := range events {
			if err := writeHistoryLine(h.f.Stdout, &events[i]); err != nil {
				return err
			}
		}
		return nil
	}
	texts, err := historyTexts(ctx, h.f, h.service, events)
	if err != nil {
		return err
	}
	if h.full {
		if h.printed > 0 {
			if err := h.f.Printf(""); err != nil {
				return err
			}
		}
		return printHistoryValues(h.f.Stdout, texts, events)
	}
	for i := range events {
		for _, row := range historyRows(texts, &events[i]) {
			if _, err := io.WriteString(h.f.Stdout, historyLine(row)); err != nil {
				return err
			}
		}
	}
	return nil
}
