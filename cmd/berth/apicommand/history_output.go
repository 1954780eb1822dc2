package apicommand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/historytext"
	"github.com/berthd/berth/internal/terminal"
)

// listHistory prints the first events of a list.
func listHistory(ctx context.Context, f *frame.Frame, service *client.Client, flags *historyFlags) error {
	list, hasMore, err := readHistory(ctx, service, flags.filter, flags.limit)
	if err != nil {
		return err
	}
	if frame.IsDocument(*flags.format) {
		err = frame.WriteDocument(f.Stdout, *flags.format, list)
	} else {
		err = printHistory(ctx, f, service, flags, list.Events)
	}
	if err != nil {
		return err
	}
	if list.CompleteSince != nil {
		if _, err := fmt.Fprintf(f.Stderr, "berth: the record is complete from %s on\n", secondsOf(*list.CompleteSince)); err != nil {
			return err
		}
	}
	if left := flags.left(&list); hasMore && left > 0 {
		_, err := fmt.Fprintf(f.Stderr, "berth: there are %d more events; list all with --limit 0\n", left)
		return err
	}
	return noteEnd(f, "events", len(list.Events), hasMore)
}

// readHistory returns the first events of a list in one page, and whether there are more; limit 0: all.
func readHistory(ctx context.Context, service *client.Client, filter client.HistoryFilter, limit int) (list client.HistoryPage, hasMore bool, err error) {
	for marker := ""; ; {
		page, err := service.HistoryPage(ctx, filter, marker)
		if err != nil {
			return list, false, err
		}
		page.Events = append(append([]client.HistoryEvent{}, list.Events...), page.Events...)
		if list.CompleteSince != nil {
			page.CompleteSince = list.CompleteSince
		}
		list = page
		switch {
		case limit > 0 && len(list.Events) > limit:
			list.Events = list.Events[:limit]
			return list, true, nil
		case page.Marker == "":
			return list, false, nil
		case page.Marker == marker:
			return list, false, errors.New("the service returned a page whose link leads to itself")
		}
		marker = page.Marker
	}
}

// left returns how many events are behind the end of a list; 0: that is unknown, because the list has filters.
func (h *historyFlags) left(list *client.HistoryPage) int64 {
	filter := h.filter
	filter.PageSize, filter.OldestFirst = 0, false
	if !reflect.DeepEqual(filter, client.HistoryFilter{}) || len(list.Events) == 0 {
		return 0
	}
	last := list.Events[len(list.Events)-1].Index
	if h.filter.OldestFirst {
		return list.Newest - last
	}
	return last - list.Oldest
}

// printHistory prints events as a table, or with --full all their values.
func printHistory(ctx context.Context, f *frame.Frame, service *client.Client, flags *historyFlags, events []client.HistoryEvent) error {
	texts, err := historyTexts(ctx, f, service, events)
	if err != nil {
		return err
	}
	if flags.full {
		return printHistoryValues(f.Stdout, texts, events)
	}
	table := [][]string{{"INDEX", "TIME", "WHO", "REQUEST", "WHAT"}}
	for i := range events {
		table = append(table, historyRows(texts, &events[i])...)
	}
	return frame.PrintAs(f.Stdout, *flags.format, nil, table)
}

// historyRows returns a row for each object that an event changed.
func historyRows(texts *historytext.Texts, event *client.HistoryEvent) (rows [][]string) {
	index := "-"
	if event.Kind != client.HistoryRefused {
		index = fmt.Sprint(event.Index)
	}
	for _, line := range texts.Lines(event) {
		rows = append(rows, []string{
			index, secondsOf(event.At), frame.OrDash(texts.Caller(&event.By)), frame.OrDash(texts.Request(&event.By)), line,
		})
	}
	return rows
}

// printHistoryValues prints all values of events.
func printHistoryValues(out io.Writer, texts *historytext.Texts, events []client.HistoryEvent) error {
	_, columns := terminal.Of(out)
	for i := range events {
		event := &events[i]
		text := terminal.Safe(historytext.Heading(event)) + "\n"
		if event.Kind == client.HistoryRefused {
			for _, line := range texts.Lines(event) {
				text += terminal.Safe(line) + "\n"
			}
		} else {
			values, err := texts.Values(event)
			if err != nil {
				return fmt.Errorf("event %d: %w", event.Index, err)
			}
			table := [][]string{{"OBJECT", "MEMBER", "BEFORE", "AFTER"}}
			before := ""
			for _, value := range values {
				row := []string{value.Object, value.Member, value.Before, value.After}
				if value.Object == before {
					row[0] = ""
				}
				before = value.Object
				table = append(table, row)
			}
			text += frame.LayOut(frame.Fit(table, columns))
		}
		if i < len(events)-1 {
			text += "\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	return nil
}

// writeHistoryLine writes an event as one line of JSON.
func writeHistoryLine(out io.Writer, event *client.HistoryEvent) error {
	var safe, line bytes.Buffer
	if err := terminal.WriteJSON(&safe, event); err != nil {
		return err
	}
	if err := json.Compact(&line, safe.Bytes()); err != nil {
		return err
	}
	line.WriteByte('\n')
	_, err := out.Write(line.Bytes())
	return err
}

// historyLine returns a row of an event without the width of columns, which is unknown while events are still to come.
func historyLine(row []string) string { return terminal.Safe(strings.Join(row, "  ")) + "\n" }
