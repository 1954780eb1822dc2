package store_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/store"
)

// madeChange is a row of history that a test inserts.
type madeChange struct {
	Day                                    time.Time
	Index                                  int64
	Place                                  int
	At                                     time.Time
	Topic                                  string
	Provider, Root, Consumer, Node         *uuid.UUID
	Name, PreviousName                     *string
	Project, PreviousProject               *string
	RequestID, GlobalRequestID, CallerUser *string
}

// The values of made changes.
var (
	madeIDs   = []uuid.UUID{uuid.MustParse("c0ffee00-0000-4000-8000-000000000001"), uuid.MustParse("c0ffee00-0000-4000-8000-000000000002"), uuid.MustParse("c0ffee00-0000-4000-8000-000000000003")}
	madeNames = []string{"one", "two", "three"}
	madeDay   = time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
)

// drawRecord returns the rows of a record of three days. A change is up to a minute older than the step that has put it in order, which
// is at the hour of its index.
func drawRecord(t *rapid.T) []madeChange {
	var made []madeChange
	maybe := func(label string) *uuid.UUID { return rapid.Ptr(rapid.SampledFrom(madeIDs), true).Draw(t, label) }
	name := func(label string) *string { return rapid.Ptr(rapid.SampledFrom(madeNames), true).Draw(t, label) }
	for index := int64(1); index <= 60; index++ {
		stepped := madeDay.Add(time.Duration(index) * time.Hour)
		at := stepped.Add(-time.Duration(rapid.IntRange(1, 7200).Draw(t, "delay")) * time.Second)
		request, global, user := name("request"), name("global"), name("user")
		for place := range rapid.SampledFrom([]int{1, 1, 1, 2, 3, 30}).Draw(t, "changes") {
			made = append(made, madeChange{
				Day: stepped.Truncate(24 * time.Hour), Index: index, Place: place + 1, At: at,
				Topic:    rapid.SampledFrom([]string{"provider", "allocation", "node"}).Draw(t, "topic"),
				Provider: maybe("provider"), Root: maybe("root"), Consumer: maybe("consumer"), Node: maybe("node"),
				Name: name("name"), PreviousName: name("previous name"), Project: name("project"), PreviousProject: name("previous project"),
				RequestID: request, GlobalRequestID: global, CallerUser: user,
			})
		}
	}
	return made
}

// record replaces the record of a database.
func (b *bundle) record(made []madeChange) error {
	if _, err := b.db.Pool.Exec(b.t.Context(), `TRUNCATE history, history_marks`); err != nil {
		return err
	}
	columns := map[string]any{}
	for i := range reflect.TypeFor[madeChange]().NumField() {
		var values []any
		for j := range made {
			values = append(values, reflect.ValueOf(made[j]).Field(i).Interface())
		}
		columns[reflect.TypeFor[madeChange]().Field(i).Name] = values
	}
	_, err := b.db.Pool.Exec(b.t.Context(), `
		INSERT INTO history (day, index, place, at, topic, provider, root, consumer, node, name, previous_name, project, previous_project,
			request_id, global_request_id, caller)
		SELECT "Day"::timestamptz AT TIME ZONE 'UTC', "Index", "Place", "At", "Topic", "Provider", "Root", "Consumer", "Node", "Name", "PreviousName",
			"Project", "PreviousProject", "RequestID", "GlobalRequestID", jsonb_build_object('user_id', "CallerUser")
		FROM jsonb_to_recordset($1) AS made ("Day" timestamptz, "Index" bigint, "Place" int, "At" timestamptz, "Topic" text, "Provider" uuid,
			"Root" uuid, "Consumer" uuid, "Node" uuid, "Name" text, "PreviousName" text, "Project" text, "PreviousProject" text, "RequestID" text,
			"GlobalRequestID" text, "CallerUser" text)`, made)
	if err != nil {
		return err
	}
	// A mark for each fifth step.
	_, err = b.db.Pool.Exec(b.t.Context(), `
		INSERT INTO history_marks (first, at, earliest)
		SELECT mark.first, '2026-11-20 00:00+00'::timestamptz + mark.first * interval '1 hour',
			(SELECT min(one.at) FROM history AS one WHERE one.index BETWEEN mark.first AND mark.first + 4)
		FROM generate_series(1, 60, 5) AS mark (first)`)
	return err
}

// drawHistoryFilter draws the parameters of a page.
func drawHistoryFilter(t *rapid.T) db.HistoryListParams {
	ids := func(label string) []uuid.UUID {
		if rapid.IntRange(0, 3).Draw(t, label+"?") > 0 {
			return nil
		}
		return rapid.SliceOfN(rapid.SampledFrom(madeIDs), 1, 3).Draw(t, label)
	}
	text := func(label string) *string {
		if rapid.IntRange(0, 3).Draw(t, label+"?") > 0 {
			return nil
		}
		return new(rapid.SampledFrom(madeNames).Draw(t, label))
	}
	params := db.HistoryListParams{
		Descending: rapid.Bool().Draw(t, "descending"), Consumers: ids("consumers"), Providers: ids("providers"), Nodes: ids("nodes"),
		Request: text("request"), Name: text("name"), CallerUser: text("user"), Project: text("project"),
		MaxEvents: int32(rapid.IntRange(1, 20).Draw(t, "limit")), Bound: int32(rapid.IntRange(1, 80).Draw(t, "bound")),
		MaxChanges: int32(rapid.IntRange(1, 60).Draw(t, "rows")),
	}
	if tree := ids("tree"); tree != nil {
		params.Tree = &tree[0]
	}
	if rapid.IntRange(0, 3).Draw(t, "topics?") == 0 {
		params.Topics = []string{"provider", "node"}
	}
	moment := func(label string) *time.Time {
		if rapid.IntRange(0, 2).Draw(t, label+"?") > 0 {
			return nil
		}
		return new(madeDay.Add(time.Duration(rapid.IntRange(-5, 65).Draw(t, label)) * time.Hour))
	}
	index := func(label string) *int64 {
		if rapid.IntRange(0, 3).Draw(t, label+"?") > 0 {
			return nil
		}
		return new(rapid.Int64Range(0, 70).Draw(t, label))
	}
	params.Since, params.Until, params.Low, params.High = moment("since"), moment("until"), index("low"), index("high")
	return params
}

// passes reports whether a change passes all filters. named are the objects that have or had the name.
func passes(p *db.HistoryListParams, change *madeChange, named []uuid.UUID) bool {
	isOneOf := func(list []uuid.UUID, ids ...*uuid.UUID) bool {
		return slices.ContainsFunc(ids, func(id *uuid.UUID) bool { return id != nil && slices.Contains(list, *id) })
	}
	equals := func(want *string, texts ...*string) bool {
		return want == nil || slices.ContainsFunc(texts, func(text *string) bool { return text != nil && *text == *want })
	}
	return (p.Consumers == nil || isOneOf(p.Consumers, change.Consumer)) &&
		(p.Providers == nil || isOneOf(p.Providers, change.Provider)) &&
		(p.Nodes == nil || isOneOf(p.Nodes, change.Provider, change.Node)) &&
		(p.Tree == nil || isOneOf([]uuid.UUID{*p.Tree}, change.Provider, change.Root)) &&
		(p.Name == nil || isOneOf(named, change.Provider, change.Node)) &&
		equals(p.Request, change.RequestID, change.GlobalRequestID) && equals(p.CallerUser, change.CallerUser) &&
		equals(p.Project, change.Project, change.PreviousProject) &&
		(p.Topics == nil || slices.Contains(p.Topics, change.Topic)) &&
		(p.Since == nil || !change.At.Before(*p.Since)) && (p.Until == nil || change.At.Before(*p.Until)) &&
		(p.Low == nil || change.Index >= *p.Low) && (p.High == nil || change.Index < *p.High)
}

// expected returns the indexes of the events that pass, in the order of the list.
func expected(p *db.HistoryListParams, made []madeChange) []int64 {
	var named []uuid.UUID
	for i := range made {
		change := &made[i]
		has := p.Name != nil && (change.Name != nil && *change.Name == *p.Name || change.PreviousName != nil && *change.PreviousName == *p.Name)
		if id := cmp.Or(change.Node, change.Provider); has && id != nil {
			named = append(named, *id)
		}
	}
	var indexes []int64
	for i := range made {
		if passes(p, &made[i], named) {
			indexes = append(indexes, made[i].Index)
		}
	}
	slices.Sort(indexes)
	indexes = slices.Compact(indexes)
	if p.Descending {
		slices.Reverse(indexes)
	}
	return indexes
}

// TestHistory_RandomLists_MatchFilters follows the pages of random lists of a random record.
func TestHistory_RandomLists_MatchFilters(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.texts("SELECT 'made' FROM (SELECT history_day('2026-11-20', 1), history_day('2026-11-21', 24), history_day('2026-11-22', 48)) AS days")
	queries := db.New()
	rapid.Check(t, func(t *rapid.T) {
		made := drawRecord(t)
		if err := b.record(made); err != nil {
			t.Fatal(err)
		}
		sizes := map[int64]int{}
		for i := range made {
			sizes[made[i].Index]++
		}
		for range 20 {
			params := drawHistoryFilter(t)
			var listed []int64
			for pages := 0; ; pages++ {
				rows, err := queries.HistoryList(b.t.Context(), b.db.Pool, params)
				if err != nil {
					t.Fatal(err)
				}
				events, next := eventsOf(rows, sizes)
				listed = append(listed, events...)
				if next == nil {
					break
				}
				if params.FromIndex != nil && *params.FromIndex == *next || pages > 100 {
					t.Fatalf("page %d of %+v begins at %d again", pages, params, *next)
				}
				params.FromIndex = next
			}
			params.FromIndex = nil
			if want := expected(&params, made); !slices.Equal(listed, want) {
				t.Fatalf("%+v: events %d, want %d", params, listed, want)
			}
		}
	})
}

// eventsOf returns the indexes of a page, and where the next one begins. It panics if an event is not whole.
func eventsOf(rows []db.HistoryListRow, sizes map[int64]int) (indexes []int64, next *int64) {
	seen := map[int64]int{}
	for i := range rows {
		switch row := &rows[i]; {
		case row.IsNext:
			next = &row.EventIndex
		case row.EventIndex != 0:
			if seen[row.EventIndex]++; seen[row.EventIndex] == 1 {
				indexes = append(indexes, row.EventIndex)
			}
		}
	}
	for index, changes := range seen {
		if changes != sizes[index] {
			panic(fmt.Sprintf("event %d has %d changes in the list, %d in the record", index, changes, sizes[index]))
		}
	}
	return indexes, next
}

// TestHistory_List_HasOwnWrites reads what has just been written.
func TestHistory_List_HasOwnWrites(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	dbtest.TurnRecordOn(t, b.db)
	host := b.provider("a host", nil, map[string]int32{"VCPU": 4})
	list, err := b.HistoryList(t.Context(), &store.HistoryFilter{Providers: []uuid.UUID{host}}, store.HistoryPage{Limit: 1, Descending: true})
	b.must(err)
	if len(list.Events) != 1 || list.Events[0].Index != 3 || list.Events[0].Changes[0].Topic != "inventory" || list.Next == nil || *list.Next != 2 ||
		list.Oldest != 1 || list.Newest != 3 || list.State != store.HistoryOn || list.CompleteSince == nil {
		t.Errorf("list = %+v", list)
	}
	if marks := b.texts("SELECT first::text FROM history_marks"); len(marks) != 1 || marks[0] != "1" {
		t.Errorf("marks begin at %q, want 1", marks)
	}
}
