package candidates

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/search/candidates/combine"
	"github.com/berthd/berth/server/wire/fairqueue"
)

// FitQuery is a query about capacity: how many members, which all ask the same query, can be placed together.
type FitQuery struct {
	// Query is what each member asks. Its order and its limits have no effect, except for the budget.
	Query Query
	// Count is the number of members at which the search ends, at least 1.
	Count    int
	Relation Relation
	// Changes are made to what the search reads, in their order.
	Changes []FitChange
	// Until is when the search ends with what it has found; zero: never.
	Until time.Time
}

// FitChange is a change of the hardware for which a query is asked: either more trees or other settings of a class.
type FitChange struct {
	// Like is a provider of a tree of which there are Copies more; nil for a change of inventories.
	Like   *uuid.UUID
	Copies int
	// Class is the class of the inventories that get another Ratio, another Reserved, or both; nil leaves a setting unchanged.
	Class    string
	Ratio    *float64
	Reserved *int64
	// InTree restricts the change to the tree of a provider; MemberOf to the providers that are in an aggregate, or whose root is.
	InTree, MemberOf *uuid.UUID
}

// FitResult is the answer to a query about capacity.
type FitResult struct {
	FitSearch
	// Before is the answer without the changes; nil for a query without any.
	Before *FitSearch
}

// FitSearch is how many members can be placed.
type FitSearch struct {
	// Fit is how many members were placed. AtMost is the number that no placement exceeds, for StoppedAtEnd.
	Fit, AtMost int64
	Stopped     FitStop
	// Looked is the number of searched trees, WithRoom that of those with a place for one member, MostInOne the largest number of
	// members of one tree.
	Looked, WithRoom, MostInOne int64
	// Classes are the classes of the query, in its order.
	Classes []FitClass
}

// FitClass is what the members use of a class, and what there is of it. Limit and Free are for StoppedAtEnd.
type FitClass struct {
	Class string
	// Amount is what one member uses. Limit is how many members could be placed if no other class mattered. Free is the
	// free capacity of all providers that can serve the members.
	Amount, Limit, Free int64
}

// FitStop is why a search ended.
type FitStop int

const (
	// StoppedAtEnd: it has searched every tree that has a place.
	StoppedAtEnd FitStop = iota
	// StoppedByCount: it has placed as many members as the query asks for.
	StoppedByCount
	// StoppedByBudget: it exceeded the budget of the query.
	StoppedByBudget
	// StoppedByTime: it lasted until the time of the query.
	StoppedByTime
)

// ChangeError is the error of a change of a query about capacity.
type ChangeError struct {
	// Change is the index of the change.
	Change int
	// Sharer is the name of the provider that shares, if that is the error; else it is empty, and Unknown does not exist.
	Sharer  string
	Unknown UnknownName
}

// UnknownName is what a change names that does not exist.
type UnknownName int

const (
	// UnknownClass is the class.
	UnknownClass UnknownName = iota
	// UnknownTree is the provider of Like or of InTree.
	UnknownTree
	// UnknownAggregate is the aggregate of MemberOf.
	UnknownAggregate
)

func (e *ChangeError) Error() string { return fmt.Sprintf("change %d cannot be made", e.Change) }

// CapacityFit counts how many members can be placed together, as things are or with other hardware. It reads pages of trees
// in one snapshot, makes the changes in memory and writes nothing. The error is a *ChangeError or one of List.
//
// For each tree it finds the largest number of members that fit, as FindPlacement does, and deducts what they use of sharing
// providers before the next tree. So the result is exact unless trees share.
func (s *Search) CapacityFit(ctx context.Context, query FitQuery) (*FitResult, error) {
	query.Query = query.Query.forFit(query.Count)
	return inTurn(ctx, s, fairqueue.Long, true, func(ctx context.Context, conn *postgres.Conn) (*FitResult, error) {
		in := postgres.NewSnapshot(conn)
		defer func() { _ = in.Close() }() // it has changed nothing
		return s.fitInSnapshot(ctx, in, &query)
	})
}

// forFit returns the query without an order. Its limit determines the size of pages.
func (q *Query) forFit(count int) Query {
	query := *q
	query.Limit, query.LimitPerTree, query.freed, query.Order = max(count, minFitPage), 0, nil, Order{}
	query.Randomize, query.BreadthFirst, query.isUnfiltered = false, false, true
	return query
}

// minFitPage is the minimum number of trees of the first page, unless the query names the trees.
const minFitPage = 16

// fitInSnapshot searches in a snapshot: with changes first without them.
func (s *Search) fitInSnapshot(ctx context.Context, in *postgres.Snapshot, query *FitQuery) (*FitResult, error) {
	if len(query.Changes) == 0 {
		found, err := s.newFit(ctx, in, query, query.Until).run(nil)
		if err != nil {
			return nil, err
		}
		return &FitResult{FitSearch: *found}, nil
	}
	changes := &fitChanges{asked: query.Changes}
	until := query.Until
	if !until.IsZero() {
		until = time.Now().Add(time.Until(until) / 2)
	}
	before, err := s.newFit(ctx, in, query, until).run(changes)
	if err != nil {
		return nil, err
	}
	after := s.newFit(ctx, in, query, query.Until)
	after.changes = changes
	found, err := after.run(nil)
	if err != nil {
		return nil, err
	}
	return &FitResult{FitSearch: *found, Before: before}, nil
}

// fit is a search for members of one query.
type fit struct {
	*placer
	query *FitQuery
	// changes are nil for a search of what there is.
	changes *fitChanges
	sums    fitSums
	// settings are those of the inventories of the page. isCopy is true while the page has a copy of a tree.
	settings map[usedClass]fitSettings
	isCopy   bool
	// isSimple is true if no requirement depends on the choice for another one.
	isSimple bool
	found    FitSearch
	// most is the sum of the upper bounds of the trees; for RelationTogether the largest one.
	most int64
	// hasProbed is true after the search may have left the order of ids.
	hasProbed bool
}

func (s *Search) newFit(ctx context.Context, in *postgres.Snapshot, asked *FitQuery, until time.Time) *fit {
	query := asked.Query
	search := s.newSearch(ctx, &query, nil)
	search.snapshot, search.isAside, search.until = in, true, until
	result := &fit{query: asked, placer: newPlacer(search, &PlacementOptions{Members: asked.Count, Relation: asked.Relation}, 0)}
	result.placer.most = math.MaxInt64
	if query.Budget > 0 {
		result.placer.most = max(1, query.Budget/combine.StopInterval)
	}
	return result
}

// run searches. Unless pending is nil, it resolves the names of these changes after those of the query, for a later search.
func (f *fit) run(pending *fitChanges) (*FitSearch, error) {
	s := f.search
	fits, err := s.resolve()
	if err == nil && pending != nil {
		err = pending.resolve(s)
	}
	if err != nil {
		return nil, err
	}
	f.countClasses()
	if fits {
		if err = s.restrictToTrees(); err == nil {
			err = f.searchAll()
		}
		if f.found.Stopped, err = f.stopOf(err); err != nil {
			return nil, err
		}
	}
	f.finish()
	return &f.found, nil
}

// errFitStopped ends a search for one of the reasons in made.Stopped.
var errFitStopped = errors.New("the search for capacity has ended")

// stopOf returns why a search ended, or its error.
func (f *fit) stopOf(err error) (FitStop, error) {
	switch {
	case err == nil || errors.Is(err, errFitStopped):
		return f.found.Stopped, nil
	case errors.Is(err, errOutOfTime):
		return StoppedByTime, nil
	}
	return 0, err
}

// searchAll searches the trees of the database and then the copies of the changes. To reach the count soon, it begins with
// trees that are likely to have a place, and continues with all others, because their free capacity counts too.
func (f *fit) searchAll() error {
	s := f.search
	defer s.closeSent()
	named := slices.Clone(s.leads.given)
	isNamed := s.leads.named
	f.prepare()
	if err := f.searchTrees(); err != nil {
		return err
	}
	if !isNamed && (s.chosen != nil || s.pair != nil) {
		s.chosen, s.pair = nil, nil
		all := treesFrom(0)
		all.known = s.leads.known
		s.leads.leave(all)
		s.leads.probed, s.leads.paired = true, true
		if err := f.searchTrees(); err != nil {
			return err
		}
	}
	if f.changes == nil {
		return nil
	}
	for place := range f.changes.asked {
		if err := f.searchCopies(place, isNamed, named); err != nil {
			return err
		}
	}
	return nil
}

// prepare decides how the search counts and finds trees.
func (f *fit) prepare() {
	s := f.search
	f.countNeeds()
	f.isSimple = s.isSeparable()
	f.sums.begin(s)
	if f.changes != nil {
		f.changes.prepare(s)
	}
	s.leads.probed = true
	if f.changes != nil && f.changes.hasSettings() {
		s.leads.paired, f.hasProbed = true, true // what is free now says nothing
	}
}

// minFitTrees is the number of trees after which a search may leave the order of ids.
const minFitTrees = 200

// searchTrees searches the trees of the leads.
func (f *fit) searchTrees() error {
	s := f.search
	for {
		if !f.hasProbed && s.tally.Roots >= minFitTrees && !s.leads.named {
			f.hasProbed, s.leads.probed = true, false
		}
		found, err := s.next(f.query.Count)
		if found == nil || err != nil {
			return err
		}
		if err = f.searchPage(found); err != nil {
			return err
		}
		found.release()
	}
}

// searchPage searches the trees of a page.
func (f *fit) searchPage(p *page) error {
	s := f.search
	if err := f.loadSettings(p, nil); err != nil {
		return err
	}
	for i := range p.leads {
		s.unused = len(p.leads) - i - 1
		f.builder.forget()
		if _, err := f.searchTree(p, p.leads[i].root, 1); err != nil {
			return err
		}
	}
	return nil
}
