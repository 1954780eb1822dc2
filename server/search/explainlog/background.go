package explainlog

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/explain"
)

// task is a query that this server was the first to write.
type task struct {
	stored store.StoredQuery
	query  Query
	since  time.Time
}

const (
	// maxTasks bounds the queries that wait for an explanation. A look-up explains the others.
	maxTasks = 100
	// maxTaskWait is how long a query waits while requests use all connections: a later explanation would show another
	// state of the cloud.
	maxTaskWait = time.Minute
	// claimFactor is how many claims are explained for each query for candidates: their explanations are short.
	claimFactor = 10
	// cleanTimeout bounds a cleaning.
	cleanTimeout = time.Minute
)

// explain explains new queries, one at a time, until the context ends.
func (l *Log) explain(ctx context.Context) {
	rates := map[string]*rate{Candidates: {max: int(l.Rate)}, Claim: {max: claimFactor * int(l.Rate)}}
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-l.work:
			if !l.awaitTurn(ctx, &next) || !rates[next.query.Kind].allow(time.Now()) {
				continue
			}
			explanation, err := l.maker.Make(ctx, Background, func(ctx context.Context) (*explain.Explanation, error) {
				return l.Explain(ctx, next.query)
			})
			if err == nil {
				err = l.setContent(ctx, next.stored, explanation)
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, ErrBusy) {
				l.logFailure("cannot explain a recorded request", err)
			}
		}
	}
}

// awaitTurn waits while requests wait for a connection. It reports whether the query should still be explained.
func (l *Log) awaitTurn(ctx context.Context, next *task) bool {
	for l.Store.Pool().OldestWait() > 0 {
		if time.Since(next.since) > maxTaskWait {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(l.interval):
		}
	}
	return ctx.Err() == nil
}

// setContent stores an explanation.
func (l *Log) setContent(ctx context.Context, of store.StoredQuery, explanation *explain.Explanation) error {
	content, err := json.Marshal(explanation)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	return l.Store.ExplanationSetContent(bounded, of, content, *explanation.MadeAt)
}

// rate permits max events in each minute.
type rate struct {
	max   int
	times []time.Time
}

func (r *rate) allow(now time.Time) bool {
	for len(r.times) > 0 && now.Sub(r.times[0]) >= time.Minute {
		r.times = r.times[1:]
	}
	if len(r.times) >= r.max {
		return false
	}
	r.times = append(r.times, now)
	return true
}

// clean deletes what exceeds the bounds, once in each interval. Without a time to keep, it deletes everything, and ends.
func (l *Log) clean(ctx context.Context) {
	rows := l.Rows
	if l.Keep == 0 {
		rows = 0
	}
	for {
		bounded, cancel := context.WithTimeout(ctx, cleanTimeout)
		isDone, err := l.Store.ExplanationClean(bounded, l.Keep, rows)
		cancel()
		if err != nil && ctx.Err() == nil {
			l.logFailure("cannot delete old explanations", err)
		} else if l.Keep == 0 && isDone {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.cleanInterval):
		}
	}
}
