package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/berthd/berth/gen/db"
)

// ProviderFilter says which providers to list. The zero value takes all.
type ProviderFilter struct {
	UUID   *uuid.UUID
	Name   *string
	InTree *uuid.UUID
	// Resources are what the provider itself must have room for.
	Resources []Amount
	// MemberOf and Required are sets: any of the inner, all of the outer.
	MemberOf [][]uuid.UUID
	Required [][]string
	// NotMemberOf and Forbidden exclude.
	NotMemberOf []uuid.UUID
	Forbidden   []string
}

// Amount is so much of a resource class.
type Amount struct {
	Class  string
	Amount int64
}

// ProviderRows are listed providers on their way from the database. The zero
// value is an empty list.
type ProviderRows struct {
	// Newest is when any of them was last written; zero if there is none.
	Newest time.Time

	ctx   context.Context
	rows  pgx.Rows
	first *Provider
	close func() error
}

// All yields the providers in id order, each as it arrives. An error ends it.
func (r *ProviderRows) All() iter.Seq2[Provider, error] {
	return func(yield func(Provider, error) bool) {
		for provider := r.first; provider != nil; {
			if !yield(*provider, nil) {
				return
			}
			var err error
			if provider, err = r.next(); err != nil {
				yield(Provider{}, broken(r.ctx, err))
				return
			}
		}
	}
}

// Close frees the connection, also before the last row.
func (r *ProviderRows) Close() error {
	if r.rows == nil {
		return nil
	}
	r.rows.Close()
	return r.close()
}

func (r *ProviderRows) next() (*Provider, error) {
	if !r.rows.Next() {
		return nil, r.rows.Err()
	}
	row, err := pgx.RowToStructByPos[db.ProviderListRow](r.rows)
	if err != nil {
		return nil, err
	}
	r.Newest = row.Newest
	return &Provider{
		UUID: row.Uuid, Name: row.Name, Generation: row.Generation, Parent: one(row.ParentUuid), Root: row.RootUuid,
	}, nil
}

// ProviderList starts to list providers. It has read the first row when it
// returns, so that an error can still be told; the caller closes the rows.
// A filter by names takes a transaction, to resolve them in the same snapshot.
func (s *Store) ProviderList(ctx context.Context, filter ProviderFilter) (*ProviderRows, error) {
	if filter.UUID != nil || filter.Name != nil || filter.InTree != nil { // few, by a key
		return reading(ctx, s, func() (*ProviderRows, error) {
			conn, err := s.pool.Acquire(ctx)
			if err != nil {
				return nil, err
			}
			return s.providerList(ctx, conn, filter)
		})
	}
	return anywhere(ctx, s, func(conn *pgxpool.Conn) (*ProviderRows, error) { return s.providerList(ctx, conn, filter) })
}

// providerList lists on a connection that it gives back.
func (s *Store) providerList(ctx context.Context, conn *pgxpool.Conn, filter ProviderFilter) (listed *ProviderRows, err error) {
	end := func() error {
		conn.Release()
		return nil
	}
	if !filter.hasNames() {
		if listed, err = s.providerRows(ctx, conn, filter.params(), end); err != nil {
			_ = end() // the error that matters is err
		}
		return listed, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		_ = end()
		return nil, err
	}
	end = func() error {
		defer conn.Release()
		return tx.Rollback(context.WithoutCancel(ctx))
	}
	params, empty, err := s.resolve(ctx, tx, filter)
	if err == nil && empty {
		return &ProviderRows{}, end()
	}
	if err == nil {
		if listed, err = s.providerRows(ctx, tx, params, end); err == nil {
			return listed, nil
		}
	}
	_ = end() // the error that matters is err
	return nil, err
}

func (f *ProviderFilter) hasNames() bool {
	return len(f.Resources)+len(f.MemberOf)+len(f.Required)+len(f.NotMemberOf)+len(f.Forbidden) > 0
}

// params are the query's for a filter without names, with the filter whose index
// leads: the one that leaves the fewest providers as a rule.
func (f *ProviderFilter) params() db.ProviderListParams {
	params := db.ProviderListParams{
		Driver: "none", Uuid: f.UUID, Name: f.Name, InTree: f.InTree, ClassIds: []int32{}, Amounts: []int64{},
		MemberOf: json.RawMessage("[]"), Required: json.RawMessage("[]"), NotMemberOf: []int32{}, Forbidden: []int32{},
	}
	switch {
	case f.UUID != nil:
		params.Driver = "uuid"
	case f.Name != nil:
		params.Driver = "name"
	case f.InTree != nil:
		params.Driver = "in_tree"
	case len(f.MemberOf) > 0:
		params.Driver = "member_of"
	case len(f.Required) > 0:
		params.Driver = "required"
	case len(f.Resources) > 0:
		params.Driver = "resources"
	}
	return params
}

func (s *Store) providerRows(
	ctx context.Context, source db.DBTX, params db.ProviderListParams, end func() error,
) (*ProviderRows, error) {
	query := &opener{DBTX: source}
	if _, err := s.queries.ProviderList(ctx, query, params); !errors.Is(err, errOpened) {
		return nil, err
	}
	rows := query.rows
	var err error
	listed := &ProviderRows{ctx: ctx, rows: rows, close: end}
	if listed.first, err = listed.next(); err != nil {
		rows.Close()
		return nil, err
	}
	return listed, nil
}

// opener runs a query that the generated code would collect, and keeps its rows
// to be streamed. The arguments stay the generated code's business.
type opener struct {
	db.DBTX
	rows pgx.Rows
}

var errOpened = errors.New("the rows are open")

func (o *opener) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := o.DBTX.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	o.rows = rows
	return nil, errOpened
}

// resolve turns names into ids. It tells an empty result where the reference
// stops looking: at an unknown in_tree, at required traits that nobody has, and at
// aggregates in which nobody is; names after that may be unknown without an error.
func (s *Store) resolve(ctx context.Context, tx pgx.Tx, filter ProviderFilter) (db.ProviderListParams, bool, error) {
	params := filter.params()
	names := db.ProviderListNamesParams{
		Traits:     slices.Concat(slices.Concat(filter.Required...), filter.Forbidden),
		Aggregates: slices.Concat(slices.Concat(filter.MemberOf...), filter.NotMemberOf),
		Classes:    []string{}, InTree: filter.InTree,
	}
	for _, wanted := range filter.Resources {
		names.Classes = append(names.Classes, wanted.Class)
		params.Amounts = append(params.Amounts, wanted.Amount)
	}
	found, err := s.queries.ProviderListNames(ctx, tx, names)
	if err != nil {
		return params, false, err
	}
	if filter.InTree != nil && !found.InTreeExists {
		return params, true, nil
	}

	required := len(names.Traits) - len(filter.Forbidden)
	if unknown := unknownNames(names.Traits[:required], found.TraitIds[:required]); unknown != nil {
		return params, false, &Refused{Rule: TraitUnknown, Values: Values{Traits: strings.Join(unknown, ", ")}}
	}
	params.Required = sets(filter.Required, found.TraitIds)
	params.Forbidden = found.TraitIds[required:]
	late := unknownNames(names.Traits[required:], params.Forbidden)
	lateClass := unknownNames(names.Classes, found.ClassIds)
	if required > 0 && (late != nil || lateClass != nil) {
		if any, err := s.queries.ProviderListAnyHasTraits(ctx, tx, params.Required); err != nil || !any {
			return params, true, err
		}
	}
	if late != nil {
		return params, false, &Refused{Rule: TraitUnknown, Values: Values{Traits: strings.Join(late, ", ")}}
	}
	params.MemberOf = sets(filter.MemberOf, found.AggregateIds)
	if lateClass != nil && len(filter.MemberOf) > 0 {
		if somebody, err := s.anyMember(ctx, tx, params.MemberOf); err != nil || !somebody {
			return params, true, err
		}
	}
	if lateClass != nil {
		return params, false, &Refused{Rule: ClassUnknown, Values: Values{Class: lateClass[0]}}
	}
	params.ClassIds = found.ClassIds
	params.NotMemberOf = found.AggregateIds[len(found.AggregateIds)-len(filter.NotMemberOf):]
	return params, false, nil
}

// anyMember tells whether some provider is in one aggregate of each set.
func (s *Store) anyMember(ctx context.Context, tx pgx.Tx, memberOf json.RawMessage) (bool, error) {
	params := (&ProviderFilter{}).params()
	params.Driver, params.MemberOf = "member_of", memberOf
	members, err := s.providerRows(ctx, tx, params, func() error { return nil })
	if err != nil {
		return false, err
	}
	return members.first != nil, members.Close()
}

// unknownNames are those whose id is missing, each once.
func unknownNames(names []string, ids []int32) []string {
	var unknown []string
	named := map[string]bool{}
	for i, id := range ids {
		if id < 0 && !named[names[i]] {
			named[names[i]] = true
			unknown = append(unknown, names[i])
		}
	}
	return unknown
}

// sets writes ids in the grouping of their names, as the query takes them.
func sets[T any](names [][]T, ids []int32) json.RawMessage {
	grouped := make([][]int32, 0, len(names))
	for _, set := range names {
		grouped = append(grouped, ids[:len(set)])
		ids = ids[len(set):]
	}
	encoded, err := json.Marshal(grouped)
	if err != nil {
		panic(fmt.Sprintf("integers cannot fail to encode: %v", err))
	}
	return encoded
}
