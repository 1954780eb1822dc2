package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// explanationConnections is one connection beside the pool: recording must not take a connection from requests.
const explanationConnections = 1

// cleanStep is the maximum number of rows that one statement deletes. In a test, 5,500 rows took 41 ms.
const cleanStep = 10_000

// RecordedQuery is a query that found nothing, with what equal queries of five minutes have in common.
type RecordedQuery struct {
	// Digest is the SHA-256 of the members from Kind to Options.
	Digest      Digest    `json:"digest"`
	WindowStart time.Time `json:"window_start"`
	Kind        string    `json:"kind"`
	API         string    `json:"api"`
	// Microversion and Extension are versions without the name of their service; nil: no version of the extensions.
	Microversion string  `json:"microversion"`
	Extension    *string `json:"berth"`
	// Text is the query string; of a claim its JSON.
	Text    string          `json:"question"`
	Options json.RawMessage `json:"options"`
	Reason  string          `json:"reason"`
	// Requests is how many requests were recorded.
	Requests     int64     `json:"requests"`
	FirstAskedAt time.Time `json:"first_asked_at"`
	LastAskedAt  time.Time `json:"last_asked_at"`
	// Content is the explanation; nil until it is computed at MadeAt.
	Content json.RawMessage `json:"content,omitempty"`
	MadeAt  *time.Time      `json:"made_at,omitempty"`
}

// Digest is a SHA-256. Its JSON is hexadecimal.
type Digest [32]byte

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// RecordedRequest is a request with an empty result.
type RecordedRequest struct {
	ID uuid.UUID `json:"request_id"`
	// GlobalID is the id that the client sent; nil without one.
	GlobalID *uuid.UUID `json:"global_request_id,omitempty"`
	AskedAt  time.Time  `json:"asked_at"`
	// Query is the place of the query among those recorded by the same statement.
	Query int `json:"place"`
}

// StoredQuery is the key of a query in the database.
type StoredQuery struct {
	ID     int64
	Digest Digest
}

// ExplanationRecord records requests and their queries. It returns the keys of the queries, and whether each is new: then
// it has no explanation, and no server computes one yet. It does not retry.
func (s *Store) ExplanationRecord(
	ctx context.Context, queries []RecordedQuery, requests []RecordedRequest,
) (stored []StoredQuery, isNew []bool, err error) {
	type placed struct {
		RecordedQuery
		Place int `json:"place"`
	}
	numbered := make([]placed, len(queries))
	for i := range queries {
		numbered[i] = placed{queries[i], i}
	}
	encoded, err := json.Marshal(numbered)
	if err != nil {
		return nil, nil, err
	}
	ids, err := json.Marshal(requests)
	if err != nil {
		return nil, nil, err
	}
	stored, isNew = make([]StoredQuery, len(queries)), make([]bool, len(queries))
	err = s.withExplanationConn(ctx, func(ctx context.Context, on *postgres.Conn) error {
		rows, err := s.queries.ExplanationRecord(ctx, on, encoded, ids)
		for _, row := range rows {
			stored[row.Place] = StoredQuery{row.ID, queries[row.Place].Digest}
			isNew[row.Place] = row.IsNew
		}
		return err
	})
	return stored, isNew, err
}

// withExplanationConn calls do with the connection for explanations, and releases it afterwards. After an error the
// connection is closed: it may lead to a server that has become a standby.
func (s *Store) withExplanationConn(ctx context.Context, do func(context.Context, *postgres.Conn) error) error {
	err := s.explanations.WithConn(ctx, do)
	if err != nil {
		s.explanations.Reset()
	}
	return err
}

// InSnapshot calls do with a snapshot of the primary, and again after a connection error.
func (s *Store) InSnapshot(ctx context.Context, do func(*postgres.Snapshot) error) error {
	_, err := postgres.OnPrimary(ctx, s.pool, func(conn *postgres.Conn) (struct{}, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		return struct{}{}, do(in)
	})
	return err
}

// InExplanationSnapshot calls do with a snapshot on the connection for explanations.
func (s *Store) InExplanationSnapshot(ctx context.Context, do func(context.Context, *postgres.Snapshot) error) error {
	return s.withExplanationConn(ctx, func(ctx context.Context, conn *postgres.Conn) error {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		return do(ctx, in)
	})
}

// ExplanationSetContent stores the explanation of a query, unless it has one.
func (s *Store) ExplanationSetContent(ctx context.Context, of StoredQuery, content json.RawMessage, madeAt time.Time) error {
	return s.withExplanationConn(ctx, func(ctx context.Context, on *postgres.Conn) error {
		return s.queries.ExplanationSetContent(ctx, on, db.ExplanationSetContentParams{
			ID: of.ID, Digest: of.Digest[:], Content: content, MadeAt: madeAt,
		})
	})
}

// ExplanationClean deletes what was requested more than keep ago, and what exceeds the newest maxRequests requests and a
// tenth as many queries of each kind. It deletes in steps. isDone is false if another server cleaned meanwhile: that
// server may keep more.
func (s *Store) ExplanationClean(ctx context.Context, keep time.Duration, maxRequests int64) (isDone bool, err error) {
	steps := []func(context.Context, db.DBTX) (int64, error){
		func(ctx context.Context, on db.DBTX) (int64, error) {
			return s.queries.ExplanationRequestClean(ctx, on, maxRequests, keep.Seconds(), cleanStep)
		},
		func(ctx context.Context, on db.DBTX) (int64, error) {
			return s.queries.ExplanationClean(ctx, on, (maxRequests+9)/10, keep.Seconds(), cleanStep)
		},
	}
	isDone = true
	for _, step := range steps {
		for deleted := int64(cleanStep); deleted == cleanStep; {
			err := s.withExplanationConn(ctx, func(ctx context.Context, on *postgres.Conn) (err error) {
				deleted, err = step(ctx, on)
				return err
			})
			if err != nil {
				return false, err
			}
			isDone = isDone && deleted != anotherCleans
		}
	}
	return isDone, nil
}

// anotherCleans is the number of deleted rows that a statement returns while another server cleans.
const anotherCleans = -1

// RecordedResult is a request with an empty result, and its query with the explanation.
type RecordedResult struct {
	RecordedRequest
	Stored StoredQuery
	RecordedQuery
}

// ExplanationShow returns the request with an id, or else those with it as their global request id, oldest first and at
// most 100.
func (s *Store) ExplanationShow(ctx context.Context, id uuid.UUID) ([]RecordedResult, error) {
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ExplanationShowRow, error) {
		return s.queries.ExplanationShow(ctx, from, id)
	})
	return each(rows, func(row db.ExplanationShowRow) RecordedResult {
		digest := Digest(row.Digest)
		return RecordedResult{
			RecordedRequest: RecordedRequest{ID: row.RequestID, GlobalID: row.GlobalRequestID, AskedAt: row.AskedAt},
			Stored:          StoredQuery{row.ID, digest},
			RecordedQuery: RecordedQuery{
				Digest: digest, Kind: row.Kind, API: row.Api, Microversion: row.Microversion, Extension: row.Berth,
				Text: row.Question, Options: row.Options, Reason: row.Reason, Requests: row.Requests,
				FirstAskedAt: row.FirstAskedAt, LastAskedAt: row.LastAskedAt, Content: row.Content, MadeAt: row.MadeAt,
			},
		}
	}), err
}

// ExplanationFilter selects explanations. A nil field selects all.
type ExplanationFilter struct {
	Kind, Reason *string
	// Since is the earliest time of the last request.
	Since *time.Time
	// ByRequests lists the most frequent queries first; otherwise the newest.
	ByRequests bool
	// After is the last element of the page before; nil: the first page.
	After *ExplanationPosition
	// Max is the maximum number of explanations.
	Max int
}

// ExplanationPosition is the position of an explanation in a list. Requests or Time is its place in the order, ID decides
// between equal ones.
type ExplanationPosition struct {
	ID       int64
	Requests int64
	Time     time.Time
}

// ListedExplanation is an explanation in a list.
type ListedExplanation struct {
	ID                              int64
	Kind, API, Microversion, Reason string
	// Summary is empty until the explanation is computed.
	Summary                   string
	Text                      string
	Requests                  int64
	FirstAskedAt, LastAskedAt time.Time
	// RequestIDs are the newest three.
	RequestIDs []uuid.UUID
}

// ExplanationList returns a page of explanations.
func (s *Store) ExplanationList(ctx context.Context, filter ExplanationFilter) ([]ListedExplanation, error) {
	params := db.ExplanationListParams{
		ByRequests: filter.ByRequests, Kind: filter.Kind, Reason: filter.Reason, Since: filter.Since, MaxRows: int32(filter.Max),
	}
	if after := filter.After; after != nil {
		params.LastID, params.LastRequests, params.LastTime = &after.ID, &after.Requests, &after.Time
	}
	rows, err := postgres.QueryPrimary(ctx, s.pool, func(from db.DBTX) ([]db.ExplanationListRow, error) {
		return s.queries.ExplanationList(ctx, from, params)
	})
	return each(rows, func(row db.ExplanationListRow) ListedExplanation {
		return ListedExplanation{
			ID: row.ID, Kind: row.Kind, API: row.Api, Microversion: row.Microversion, Reason: row.Reason, Summary: row.Summary,
			Text: row.Question, Requests: row.Requests, FirstAskedAt: row.FirstAskedAt, LastAskedAt: row.LastAskedAt,
			RequestIDs: row.RequestIds,
		}
	}), err
}
