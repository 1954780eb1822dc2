package store_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/store"
)

// TestHistory_FilterInMemory_EqualsDatabase compares what Passes selects of all events with pages that the database has selected.
func TestHistory_FilterInMemory_EqualsDatabase(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	b.texts("SELECT 'made' FROM (SELECT history_day('2026-11-20', 1), history_day('2026-11-21', 24), history_day('2026-11-22', 48)) AS days")
	b.texts("UPDATE history_state SET newest = 60 RETURNING log::text")
	rapid.Check(t, func(t *rapid.T) {
		made := drawRecord(t)
		if err := b.record(made); err != nil {
			t.Fatal(err)
		}
		var all []store.HistoryEvent
		for from := new(int64(1)); from != nil; {
			page, err := b.EventList(b.t.Context(), &store.HistoryFilter{}, *from, 25)
			if err != nil {
				t.Fatal(err)
			}
			all, from = append(all, page.Events...), page.Next
		}
		if len(all) != 60 {
			t.Fatalf("%d events, want 60", len(all))
		}
		for range 5 {
			drawn := drawHistoryFilter(t)
			filter := store.HistoryFilter{
				Providers: drawn.Providers, InTree: drawn.Tree, Consumers: drawn.Consumers, Nodes: drawn.Nodes, ProjectID: drawn.Project, Topics: drawn.Topics,
			}
			var inMemory, inDatabase []int64
			for i := range all {
				if filter.Passes(all[i].Changes) {
					inMemory = append(inMemory, all[i].Index)
				}
			}
			for from := new(int64(1)); from != nil; {
				page, err := b.EventList(b.t.Context(), &filter, *from, 20)
				if err != nil {
					t.Fatal(err)
				}
				for i := range page.Events {
					inDatabase = append(inDatabase, page.Events[i].Index)
				}
				from = page.Next
			}
			want := expected(&db.HistoryListParams{
				Providers: drawn.Providers, Tree: drawn.Tree, Consumers: drawn.Consumers, Nodes: drawn.Nodes, Project: drawn.Project, Topics: drawn.Topics,
			}, made)
			if !slices.Equal(inMemory, want) || !slices.Equal(inDatabase, want) {
				t.Fatalf("%+v: in memory %d, in the database %d, want %d", filter, inMemory, inDatabase, want)
			}
		}
	})
}

func TestHistory_EventTree_IsThatOfNow(t *testing.T) {
	t.Parallel()
	b := setup(t, 1)
	root := b.provider("root", nil, nil)
	child := b.provider("child", &root, nil)
	gone := uuid.New()
	for provider, want := range map[uuid.UUID]uuid.UUID{root: root, child: root, gone: gone} {
		if got, err := b.EventTree(t.Context(), provider); err != nil || got != want {
			t.Errorf("tree of %s = %s, %v, want %s", provider, got, err, want)
		}
	}
}
