package candidates_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/search/candidates"
)

// extendedQuestions are queries of the forest in the language of berth 1.1.
func extendedQuestions() map[string]question {
	extended := func(query candidates.Query, groups ...candidates.Group) candidates.Query {
		query.Extended, query.Groups = true, groups
		if query.Limit == 0 {
			query.Limit = 10
		}
		return query
	}
	disk := wants("", "DISK_GB", 10)
	rare := wants("", "DISK_GB", 10)
	rare.Required = [][]string{{"CUSTOM_RARE"}}
	numa := candidates.Group{Suffix: "_NUMA", Required: [][]string{{"CUSTOM_NUMA"}}}
	member := candidates.Query{RootMemberOf: [][]uuid.UUID{{dbtest.NumberedUUID("a9", 7)}}}
	pack, spread := candidates.Order{By: candidates.OrderPack, Class: "DISK_GB"}, candidates.Order{By: candidates.OrderSpread, Class: "DISK_GB"}
	other := candidates.Query{NotInTree: []uuid.UUID{dbtest.NumberedUUID("aa", 8), dbtest.NumberedUUID("aa", 15)}}
	apart := []candidates.Subtree{{Inside: []int{0}, Outside: []int{1}}}
	return map[string]question{
		"roots in a small aggregate":          {query: extended(member, disk), candidates: 10, trees: 110},
		"roots outside of an aggregate":       {query: extended(candidates.Query{RootNotMemberOf: member.RootMemberOf[0]}, disk), candidates: 10, trees: 20},
		"not in two trees":                    {query: extended(other, disk), candidates: 10, trees: 20},
		"least free capacity first":           {query: extended(candidates.Query{Order: pack}, disk), candidates: 10, trees: 10},
		"most free capacity first":            {query: extended(candidates.Query{Order: spread}, disk), candidates: 10, trees: 10},
		"least free capacity of rare hosts":   {query: extended(candidates.Query{Order: pack}, rare), candidates: 10, trees: 100},
		"most free capacity, more than most":  {query: extended(candidates.Query{Order: spread}, wants("", "DISK_GB", 900)), candidates: 10, trees: 20},
		"a condition":                         {query: extended(candidates.Query{}, disk, numa), candidates: 10, trees: 10},
		"an amount of two providers":          {query: extended(candidates.Query{CanSplit: []string{"VCPU"}}, wants("", "VCPU", 40)), candidates: 10, trees: 20},
		"an amount that no tree has":          {query: extended(candidates.Query{CanSplit: []string{"VCPU"}}, wants("", "VCPU", 4000)), trees: 10},
		"an FPGA outside of a subtree":        {query: extended(candidates.Query{Subtrees: apart}, wants("1", "VCPU", 1), wants("2", "FPGA", 1)), candidates: 10, trees: 10},
		"one candidate of each tree":          {query: extended(candidates.Query{LimitPerTree: 1}, wants("", "VCPU", 1)), candidates: 10, trees: 10},
		"two FPGAs apart, a third one beside": {query: extended(candidates.Query{Isolated: [][]int{{0, 1}}}, wants("1", "FPGA", 1), wants("2", "FPGA", 1), wants("3", "FPGA", 1)), candidates: 10, trees: 10},
	}
}

// TestCandidates_SearchLanguageStatements_NoSequentialScan is TestCandidates_Statements_NoSequentialScan for berth 1.1.
func TestCandidates_SearchLanguageStatements_NoSequentialScan(t *testing.T) {
	t.Parallel()
	made, search, sent := explained(t)
	seen, asked := map[string]bool{}, extendedQuestions()
	explainAll(t, made, search, sent, asked, seen)
	if _, err := made.Pool.Exec(t.Context(), "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	explainAll(t, made, search, sent, asked, seen)
	if _, err := made.Pool.Exec(t.Context(), "DELETE FROM provider_aggregates WHERE sharing"); err != nil {
		t.Fatal(err)
	}
	explainAll(t, made, search, sent, asked, seen)
	if !seen["CandidateTreesByFree"] {
		t.Error("no query sends CandidateTreesByFree")
	}
}
