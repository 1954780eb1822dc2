package candidates_test

import (
	"testing"
	"time"

	"github.com/berthd/berth/server/search/candidates"
	"github.com/google/uuid"
)

// TestCandidates_EmptyCause_TellsWhatMustChange has two hosts with 100 units, one of them with a trait and in an aggregate.
func TestCandidates_EmptyCause_TellsWhatMustChange(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, 2)
	known, unused := uuid.New(), uuid.New()
	cloud.exec("INSERT INTO traits (id, name) VALUES (20000, 'CUSTOM_FAST'), (20001, 'CUSTOM_FSAT'), (20002, 'CUSTOM_SLOW')")
	cloud.exec("INSERT INTO resource_classes (id, name) VALUES (20001, 'CUSTOM_NONE'), (20002, 'CUSTOM_CARD')")
	cloud.exec("INSERT INTO aggregates (id, uuid) VALUES (1, $1), (2, $2)", known, unused)
	cloud.exec("INSERT INTO provider_traits (provider_id, trait_id) VALUES (1, 20000), (2, 20002)")
	cloud.exec("INSERT INTO provider_aggregates (provider_id, aggregate_id) VALUES (1, 1)")
	cloud.exec("INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio) VALUES (2, 20002, 2, 8, 0, 1, 4, 1, 1)")
	cloud.fill(100, 1, 1)
	cloud.fill(95, 2, 2)
	slots := func(amount int, change func(*candidates.Group)) candidates.Query {
		made := candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "CUSTOM_SLOT", amount)}}
		if change != nil {
			change(&made.Groups[0])
		}
		return made
	}
	trait := func(names ...string) func(*candidates.Group) {
		return func(g *candidates.Group) { g.Required = [][]string{names} }
	}
	member := func(of uuid.UUID) func(*candidates.Group) {
		return func(g *candidates.Group) { g.MemberOf = [][]uuid.UUID{{of}} }
	}
	card := func(amount int) candidates.Query {
		return candidates.Query{Limit: 10, Groups: []candidates.Group{wants("_A", "CUSTOM_SLOT", 1), wants("_B", "CUSTOM_CARD", amount)}}
	}
	isolated := card(1)
	isolated.Groups, isolated.Isolate = append(isolated.Groups, wants("_C", "CUSTOM_CARD", 1)), true
	cardOfFast := card(1)
	cardOfFast.Groups[1].Required = [][]string{{"CUSTOM_FAST"}}
	cardOfMember := card(1)
	cardOfMember.Groups[1].MemberOf = [][]uuid.UUID{{known}}
	rootOfFast := card(1)
	rootOfFast.RootRequired = []string{"CUSTOM_FAST"}
	inTree := slots(1, func(g *candidates.Group) { g.InTree = &unused })
	for name, test := range map[string]struct {
		query  candidates.Query
		reason candidates.EmptyReason
		cause  candidates.EmptyCause
	}{
		"class that is not offered":         {candidates.Query{Limit: 10, Groups: []candidates.Group{wants("", "CUSTOM_NONE", 1)}}, candidates.EmptyAmount, candidates.CauseTypo},
		"trait that is not used":            {slots(1, trait("CUSTOM_FSAT")), candidates.EmptyTrait, candidates.CauseTypo},
		"aggregate without members":         {slots(1, member(unused)), candidates.EmptyAggregate, candidates.CauseTypo},
		"larger than any total":             {slots(101, nil), candidates.EmptyAmount, candidates.CauseNever},
		"larger than any max_unit":          {card(5), candidates.EmptyAmount, candidates.CauseNever},
		"used":                              {slots(6, nil), candidates.EmptyAmount, candidates.CauseFull},
		"used where the trait is":           {slots(1, trait("CUSTOM_FAST")), candidates.EmptyNoTree, candidates.CauseFull},
		"used in the aggregate":             {slots(1, member(known)), candidates.EmptyNoTree, candidates.CauseFull},
		"used together":                     {candidates.Query{Limit: 10, Groups: []candidates.Group{wants("_A", "CUSTOM_SLOT", 3), wants("_B", "CUSTOM_SLOT", 3)}}, candidates.EmptyTogether, candidates.CauseFull},
		"trait of another tree":             {cardOfFast, candidates.EmptyNoTree, candidates.CauseTrait},
		"trait of another root":             {rootOfFast, candidates.EmptyNoTree, candidates.CauseTrait},
		"aggregate of another tree":         {cardOfMember, candidates.EmptyNoTree, candidates.CauseAggregate},
		"more providers than a tree has":    {isolated, candidates.EmptyTogether, candidates.CauseTree},
		"tree of a provider that is gone":   {inTree, candidates.EmptyInTree, candidates.CauseTree},
		"any of two traits, both elsewhere": {slots(200, trait("CUSTOM_FAST", "CUSTOM_SLOW")), candidates.EmptyAmount, candidates.CauseNever},
	} {
		t.Run(name, func(t *testing.T) {
			search := cloud.open()
			search.SetReasonTime(time.Minute)
			found, err := search.List(t.Context(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			for one, err := range found.All() {
				t.Fatalf("candidate = %+v, %v, want none", one, err)
			}
			if err := found.Close(); err != nil {
				t.Fatal(err)
			}
			got := search.EmptyReason(t.Context(), found)
			if got.Reason != test.reason || got.Cause != test.cause {
				t.Errorf("reason = %+v, want %s and %s", got, test.reason, test.cause)
			}
			if again := search.EmptyReason(t.Context(), found); again != got {
				t.Errorf("again = %+v, want %+v", again, got)
			}
		})
	}
}
