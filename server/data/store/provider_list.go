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

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// ProviderFilter selects providers. The zero value selects all.
type ProviderFilter struct {
	UUID   *uuid.UUID
	Name   *string
	InTree *uuid.UUID
	// Resources are amounts for which the provider itself must have free capacity.
	Resources []Amount
	// MemberOf and Required are sets: any of the inner, all of the outer.
	MemberOf [][]uuid.UUID
	Required [][]string
	// NotMemberOf and Forbidden exclude.
	NotMemberOf []uuid.UUID
	Forbidden   []string
}

// Amount is an amount of a resource class.
type Amount struct {
	Class  string
	Amount int64
}

// ProviderRows streams listed providers from the database. The zero value is an empty list.
type ProviderRows struct {
	// Newest is when any of them was last written; zero if the list is empty.
	Newest time.Time

	ctx   context.Context
	rows  pgx.Rows
	first *Provider
	close func() error
}

// All yields the providers in id order, each as it arrives. An error ends the sequence.
func (r *ProviderRows) All() iter.Seq2[Provider, error] {
	return func(yield func(Provider, error) bool) {
		for provider := r.first; provider != nil; {
			if !yield(*provider, nil) {
				return
			}
			var err error
			if provider, err = r.next(); err != nil {
				yield(Provider{}, postgres.StreamError(r.ctx, err))
				return
			}
		}
	}
}

// Close releases the connection, also before the last row.
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

// ProviderList starts to list providers. It has read the first row when it returns, so that the response can still have
// an error status; the caller closes the rows. A filter by names takes a transaction, to resolve them in the same
// snapshot.
func (s *Store) ProviderList(ctx context.Context, filter ProviderFilter) (*ProviderRows, error) {
	list := func(conn *postgres.Conn) (*ProviderRows, error) { return s.providerList(ctx, conn, filter) }
	if filter.UUID != nil || filter.Name != nil || filter.InTree != nil { // a key selects few rows
		return postgres.OnPrimary(ctx, s.pool, list)
	}
	return postgres.OnReplicaOrPrimary(ctx, s.pool, list)
}

// providerList lists on a connection, and releases it.
func (s *Store) providerList(ctx context.Context, conn *postgres.Conn, filter ProviderFilter) (listed *ProviderRows, err error) {
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

// params returns the query's parameters for a filter without names, including the filter whose index leads: the one
// that usually selects the fewest providers.
func (f *ProviderFilter) params() db.ProviderListParams {
	params := db.ProviderListParams{
		LeadingFilter: "none", Uuid: f.UUID, Name: f.Name, InTree: f.InTree, ClassIds: []int32{}, Amounts: []int64{},
		MemberOf: json.RawMessage("[]"), Required: json.RawMessage("[]"), NotMemberOf: []int32{}, Forbidden: []int32{},
	}
	switch {
	case f.UUID != nil:
		params.LeadingFilter = "uuid"
	case f.Name != nil:
		params.LeadingFilter = "name"
	case f.InTree != nil:
		params.LeadingFilter = "in_tree"
	case len(f.MemberOf) > 0:
		params.LeadingFilter = "member_of"
	case len(f.Required) > 0:
		params.LeadingFilter = "required"
	case len(f.Resources) > 0:
		params.LeadingFilter = "resources"
	}
	return params
}

func (s *Store) providerRows(
	ctx context.Context, source db.DBTX, params db.ProviderListParams, end func() error,
) (*ProviderRows, error) {
	query := &rowStreamer{DBTX: source}
	if _, err := s.queries.ProviderList(ctx, query, params); !errors.Is(err, errStreaming) {
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

// rowStreamer runs a query whose rows the generated code would collect, and keeps the rows for streaming. So the
// knowledge of the arguments stays in the generated code.
type rowStreamer struct {
	db.DBTX
	rows pgx.Rows
}

var errStreaming = errors.New("the rows are being streamed")

func (o *rowStreamer) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := o.DBTX.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	o.rows = rows
	return nil, errStreaming
}

// resolve replaces names by ids. It reports an empty result at the points where OpenStack Placement stops: at an
// unknown in_tree, at required traits that no provider has, and at aggregates without a provider. Names after that
// point may be unknown without an error.
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
	if refused := UnknownTraits(names.Traits[:required], found.TraitIds[:required]); refused != nil {
		return params, false, refused
	}
	params.Required = sets(filter.Required, found.TraitIds)
	params.Forbidden = found.TraitIds[required:]
	late := UnknownTraits(names.Traits[required:], params.Forbidden)
	lateClass := unknownNames(names.Classes, found.ClassIds)
	if required > 0 && (late != nil || lateClass != nil) {
		if any, err := s.queries.ProviderListAnyHasTraits(ctx, tx, params.Required); err != nil || !any {
			return params, true, err
		}
	}
	if late != nil {
		return params, false, late
	}
	params.MemberOf = sets(filter.MemberOf, found.AggregateIds)
	if lateClass != nil && len(filter.MemberOf) > 0 {
		if exists, err := s.anyProviderInAll(ctx, tx, params.MemberOf); err != nil || !exists {
			return params, true, err
		}
	}
	if lateClass != nil {
		return params, false, &RuleViolation{Rule: ClassNotFound, Values: Values{Class: lateClass[0]}}
	}
	params.ClassIds = found.ClassIds
	params.NotMemberOf = found.AggregateIds[len(found.AggregateIds)-len(filter.NotMemberOf):]
	return params, false, nil
}

// anyProviderInAll reports whether some provider is in one aggregate of each set.
func (s *Store) anyProviderInAll(ctx context.Context, tx pgx.Tx, memberOf json.RawMessage) (bool, error) {
	params := (&ProviderFilter{}).params()
	params.LeadingFilter, params.MemberOf = "member_of", memberOf
	members, err := s.providerRows(ctx, tx, params, func() error { return nil })
	if err != nil {
		return false, err
	}
	return members.first != nil, members.Close()
}

// UnknownTraits returns TraitNotFound for the names whose id is negative; nil if there is none.
func UnknownTraits(names []string, ids []int32) *RuleViolation {
	unknown := unknownNames(names, ids)
	if unknown == nil {
		return nil
	}
	return &RuleViolation{Rule: TraitNotFound, Values: Values{Traits: strings.Join(unknown, ", ")}}
}

// unknownNames returns the names whose id is missing, each once.
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

// sets returns ids in the grouping of their names, as JSON for the query.
func sets[T any](names [][]T, ids []int32) json.RawMessage {
	grouped := make([][]int32, 0, len(names))
	for _, set := range names {
		grouped = append(grouped, ids[:len(set)])
		ids = ids[len(set):]
	}
	encoded, err := json.Marshal(grouped)
	if err != nil {
		panic(fmt.Sprintf("cannot marshal integers: %v", err))
	}
	return encoded
}
