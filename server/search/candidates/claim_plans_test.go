package candidates_test

import (
	"testing"

	"github.com/berthd/berth/server/search/candidates"
)

// TestCandidates_ForClaimStatements_NoSequentialScan is TestCandidates_Statements_NoSequentialScan for claims.
func TestCandidates_ForClaimStatements_NoSequentialScan(t *testing.T) {
	t.Parallel()
	made, search, sent := explained(t)
	conn, err := made.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	var class int32
	if err := conn.QueryRow(t.Context(), "SELECT id FROM resource_classes WHERE name = 'DISK_GB'").Scan(&class); err != nil {
		t.Fatal(err)
	}
	freed := []candidates.FreedAmount{{ProviderID: 21000, ClassID: class, Amount: 5}, {ProviderID: 40001, ClassID: class, Amount: 5}}
	seen := map[string]bool{}
	for _, analyze := range []bool{false, true} {
		if analyze {
			if _, err := conn.Exec(t.Context(), "ANALYZE"); err != nil {
				t.Fatal(err)
			}
		}
		for _, by := range []candidates.OrderBy{candidates.OrderDefault, candidates.OrderPack} {
			for name, options := range map[string]candidates.ClaimOptions{"freed": {Limit: 64, Freed: freed}, "a claim": {Limit: 64}} {
				query := candidates.Query{Extended: true, Groups: []candidates.Group{wants("", "DISK_GB", 10)}}
				query.Order = candidates.Order{By: by, Class: "DISK_GB"}
				sent.Reset()
				if found := mustFind(t, search, options, query); len(found.Candidates) != 64 {
					t.Errorf("%s, order %d: %d candidates, want 64", name, by, len(found.Candidates))
				}
				explainSent(t, conn.Conn(), sent, name, seen)
			}
		}
	}
	if !seen["CandidateRootsOf"] || !seen["CandidatePageGeneral"] {
		t.Errorf("statements = %v, want CandidateRootsOf and CandidatePageGeneral", seen)
	}
}
