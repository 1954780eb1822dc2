package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// CapacityFilter selects inventories, and the groups that have sums of their own. The zero value selects all, in one group.
type CapacityFilter struct {
	// Classes are the resource classes; empty: all.
	Classes []string
	InTree  *uuid.UUID
	// MemberOf and Required are sets: any of the inner, all of the outer, of the provider or of the root of its tree.
	MemberOf [][]uuid.UUID
	Required [][]string
	// NotMemberOf and Forbidden exclude providers that have one, or whose root has one.
	NotMemberOf []uuid.UUID
	Forbidden   []string
	// Aggregates are groups; each is named once.
	Aggregates []uuid.UUID
	// Trees is the maximum number of trees of a page, each of which is a group; 0: trees are no groups.
	Trees int
	// AfterRoot is the last root of the page before.
	AfterRoot int64
	// Units are amounts of classes to count.
	Units []Amount
}

// CapacitySums are sums of inventories.
type CapacitySums struct {
	// AsOf is the time of the snapshot.
	AsOf time.Time
	// LastRoot is the last root of the page if there are more trees; nil: there are none.
	LastRoot *int64
	// Classes are in the order of groups, then of classes.
	Classes []ClassCapacity
}

// ClassCapacity is the sums of one class in a group. Ratios permit amounts above int64; sums are exact to 2^53.
type ClassCapacity struct {
	// Aggregate or Tree is the group; nil: there are no groups.
	Aggregate *uuid.UUID
	Tree      *ProviderName
	Class     string
	// Providers is the number of providers, and Full that of providers with less free than min_unit.
	Providers, Full                    int64
	Total, Reserved                    int64
	Capacity, Used, Free, OverCapacity float64
	// Largest is the largest amount of one claim, and LargestAt the oldest provider with it; nil if Largest is 0.
	Largest   int64
	LargestAt *ProviderName
	Sizes     []CapacitySize
	// Unit is the amount to count, nil without one, and Units how many of it are free.
	Unit  *int64
	Units float64
}

// ProviderName is the UUID and the name of a provider.
type ProviderName struct {
	UUID uuid.UUID
	Name string
}

// CapacitySize is the providers whose free capacity has a number of binary digits, and the sum of it.
type CapacitySize struct {
	Digits    int
	Providers int64
	Free      float64
}

// CapacityShow sums inventories. Unknown classes are ClassNotFound and unknown traits TraitNotFound; unknown providers and
// aggregates have no sums. A filter with names takes a transaction, to resolve them in the same snapshot.
func (s *Store) CapacityShow(ctx context.Context, filter CapacityFilter) (CapacitySums, error) {
	return postgres.OnReplicaOrPrimary(ctx, s.pool, func(conn *postgres.Conn) (CapacitySums, error) {
		if !filter.hasNames() {
			defer conn.Release()
			return s.capacity(ctx, conn, filter, capacityIDs{})
		}
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		names, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) (db.ProviderListNamesRow, error) {
			return s.queries.ProviderListNames(ctx, from, filter.names())
		})
		if err != nil {
			return CapacitySums{}, err
		}
		ids, err := filter.resolve(names)
		if err != nil {
			return CapacitySums{}, err
		}
		return postgres.QueryOnce(ctx, in, func(ctx context.Context, from db.DBTX) (CapacitySums, error) {
			return s.capacity(ctx, from, filter, ids)
		})
	})
}

func (f *CapacityFilter) hasNames() bool {
	return len(f.Classes)+len(f.MemberOf)+len(f.Required)+len(f.NotMemberOf)+len(f.Forbidden)+len(f.Aggregates)+len(f.Units) > 0
}

// names returns the names of the filter, in the order in which resolve takes their ids.
func (f *CapacityFilter) names() db.ProviderListNamesParams {
	names := db.ProviderListNamesParams{
		Traits:     slices.Concat(slices.Concat(f.Required...), f.Forbidden),
		Aggregates: slices.Concat(slices.Concat(f.MemberOf...), f.NotMemberOf, f.Aggregates),
		Classes:    slices.Concat([]string{}, f.Classes),
	}
	for _, unit := range f.Units {
		names.Classes = append(names.Classes, unit.Class)
	}
	return names
}

// capacityIDs are the ids of the names of a filter.
type capacityIDs struct {
	classes, units, forbidden, notMemberOf, aggregates []int32
	// required and memberOf are texts such as "{1,2}".
	required, memberOf []string
}

// resolve replaces names by ids. It returns an error if a trait or a class is unknown.
func (f *CapacityFilter) resolve(found db.ProviderListNamesRow) (ids capacityIDs, err error) {
	names := f.names()
	if unknown := UnknownTraits(names.Traits, found.TraitIds); unknown != nil {
		return ids, unknown
	}
	if unknown := unknownNames(names.Classes, found.ClassIds); unknown != nil {
		return ids, &RuleViolation{Rule: ClassNotFound, Values: Values{Class: unknown[0]}}
	}
	ids.required, ids.forbidden = idSets(f.Required, found.TraitIds)
	ids.memberOf, ids.notMemberOf = idSets(f.MemberOf, found.AggregateIds)
	ids.notMemberOf, ids.aggregates = ids.notMemberOf[:len(f.NotMemberOf)], ids.notMemberOf[len(f.NotMemberOf):]
	ids.classes, ids.units = found.ClassIds[:len(f.Classes)], found.ClassIds[len(f.Classes):]
	return ids, nil
}

// idSets returns ids in the grouping of their names, as texts for the query, and the remaining ids.
func idSets[T any](names [][]T, ids []int32) (sets []string, rest []int32) {
	for _, set := range names {
		sets = append(sets, "{"+strings.Trim(strings.ReplaceAll(fmt.Sprint(ids[:len(set)]), " ", ","), "[]")+"}")
		ids = ids[len(set):]
	}
	return sets, ids
}

// lead names the range that finds the providers; empty: all are to be read.
func (f *CapacityFilter) lead() string {
	switch {
	case len(f.Aggregates) > 0:
		return "aggregates"
	case f.InTree != nil:
		return "in_tree"
	case f.Trees > 0:
		return "trees"
	case len(f.MemberOf) > 0:
		return "member_of"
	case len(f.Required) > 0:
		return "required"
	default:
		return ""
	}
}

// capacity runs the query for the filter.
func (s *Store) capacity(ctx context.Context, from db.DBTX, filter CapacityFilter, ids capacityIDs) (sums CapacitySums, err error) {
	amounts := make([]int64, 0, len(filter.Units))
	for _, unit := range filter.Units {
		amounts = append(amounts, unit.Amount)
	}
	rows, err := s.queries.CapacityShow(ctx, from, db.CapacityShowParams{
		Lead: filter.lead(), AfterRoot: filter.AfterRoot, MaxRoots: int32(filter.Trees), InTree: filter.InTree, ByTree: filter.Trees > 0,
		Aggregates: present(ids.aggregates), MemberOf: present(ids.memberOf), Required: present(ids.required), Forbidden: present(ids.forbidden),
		NotMemberOf: present(ids.notMemberOf), ClassIds: present(ids.classes), UnitAmounts: amounts, UnitClasses: present(ids.units),
	})
	if err != nil {
		return sums, err
	}
	if len(rows) == 0 {
		return sums, pgx.ErrNoRows
	}
	sums = CapacitySums{AsOf: rows[0].AsOf, LastRoot: one(rows[0].LastRootID)}
	for i := range rows[1:] {
		sums.Classes = append(sums.Classes, classCapacity(&rows[1+i], filter.Aggregates))
	}
	return sums, nil
}

// present returns an empty list for nil, which PostgreSQL would receive as null.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// classCapacity translates a row with sums, whose columns are not null except those of providers and units.
func classCapacity(row *db.CapacityShowRow, aggregates []uuid.UUID) ClassCapacity {
	capacity := ClassCapacity{
		Tree: providerName(row.RootUuid, row.RootName), Class: *row.Class, Providers: *row.Providers, Full: *row.FullProviders,
		Total: *row.Total, Reserved: *row.Reserved, Capacity: *row.Capacity, Used: *row.Used, Free: *row.Free,
		OverCapacity: *row.OverCapacity, Largest: *row.Largest, LargestAt: providerName(row.LargestUuid, row.LargestName),
		Unit: row.Unit, Units: *row.Units,
	}
	if len(aggregates) > 0 {
		capacity.Aggregate = &aggregates[*row.GroupID-1]
	}
	for i, digits := range row.Sizes {
		capacity.Sizes = append(capacity.Sizes, CapacitySize{Digits: int(digits), Providers: row.SizeProviders[i], Free: row.SizeFree[i]})
	}
	return capacity
}

func providerName(id *uuid.UUID, name *string) *ProviderName {
	if id == nil || name == nil {
		return nil
	}
	return &ProviderName{UUID: *id, Name: *name}
}
