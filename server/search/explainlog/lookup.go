package explainlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explain"
	"github.com/berthd/berth/server/wire/microversion"
)

// maxLookupTimeouts bounds the time for all explanations of one look-up, in timeouts of one explanation. The others have
// the short form.
const maxLookupTimeouts = 5

// Show returns the recorded requests with an id, or else with it as their global request id. It explains the queries that
// are not explained yet, and stores that. An explanation that cannot be computed has the short form, and no time.
func (l *Log) Show(ctx context.Context, id uuid.UUID) ([]store.RecordedResult, error) {
	found, err := l.Store.ExplanationShow(ctx, id)
	if err != nil {
		return nil, err
	}
	type explained struct {
		content json.RawMessage
		madeAt  *time.Time
	}
	known := map[int64]explained{}
	deadline := time.Now().Add(maxLookupTimeouts * l.Timeout)
	for i := range found {
		row := &found[i]
		if row.Content != nil {
			continue
		}
		explained, done := known[row.Stored.ID]
		if !done {
			explained.content, explained.madeAt = l.lookUp(ctx, row, time.Now().Before(deadline))
			known[row.Stored.ID] = explained
		}
		row.Content, row.MadeAt = explained.content, explained.madeAt
	}
	return found, nil
}

// lookUp explains a query now, or returns the short form.
func (l *Log) lookUp(ctx context.Context, row *store.RecordedResult, inTime bool) (json.RawMessage, *time.Time) {
	var explanation *explain.Explanation
	question, err := questionOf(&row.RecordedQuery)
	if err == nil && inTime && l.Explain != nil {
		explanation, err = l.maker.Make(ctx, OnLookup, func(ctx context.Context) (*explain.Explanation, error) {
			return l.Explain(ctx, question)
		})
	}
	if err != nil && !errors.Is(err, ErrBusy) && ctx.Err() == nil {
		l.logFailure("cannot explain a recorded request", err)
	}
	if explanation == nil {
		content, _ := json.Marshal(explain.Short(row.Kind, explain.Reason(row.Reason))) // it has strings only
		return content, nil
	}
	if err := l.setContent(ctx, row.Stored, explanation); err != nil && ctx.Err() == nil {
		l.logFailure("cannot store an explanation", err)
	}
	content, _ := json.Marshal(explanation) // it has strings and finite numbers only
	return content, explanation.MadeAt
}

// questionOf returns the question of a stored query.
func questionOf(row *store.RecordedQuery) (Query, error) {
	question := Query{Kind: row.Kind, API: row.API, Text: row.Text, Reason: explain.Reason(row.Reason)}
	if err := json.Unmarshal(row.Options, &question.Options); err != nil {
		return question, fmt.Errorf("invalid options of a stored query: %w", err)
	}
	versions := microversion.All()
	if row.Extension != nil {
		versions = microversion.Extended()
	}
	for _, version := range versions {
		if version.String() == row.Microversion && (row.Extension == nil || version.Extension().String() == *row.Extension) {
			question.Version = version
			return question, nil
		}
	}
	return question, fmt.Errorf("this server does not support version %s of a stored query", row.Microversion)
}
