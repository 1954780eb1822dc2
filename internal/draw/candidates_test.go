package draw

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

func TestCandidates_Drawing_MergesSharingProvidersAndNestsGroups(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return fmt.Sprintf("c0ffee00-0000-4000-8000-00000000000%d", n) }
	summary := func(root, parent int, resources, traits string) string {
		above := "null"
		if parent > 0 {
			above = `"` + id(parent) + `"`
		}
		return fmt.Sprintf(`{"root_provider_uuid": %q, "parent_provider_uuid": %s, "resources": {%s}, "traits": [%s]}`, id(root), above, resources, traits)
	}
	const has = `"VCPU": {"capacity": 16, "used": 2}`
	const shares = `"MISC_SHARES_VIA_AGGREGATE"`
	candidate := func(pool int) string {
		return fmt.Sprintf(`{"allocations": {%q: {"resources": {"VCPU": 5}}, %q: {"resources": {"DISK_GB": 1}}}, "mappings": {"": [%[1]q, %[2]q], "_A": [%[1]q]}}`, id(5), id(pool))
	}
	text := `{"allocation_requests": [` + candidate(3) + "," + candidate(9) + `], "provider_summaries": {` + strings.Join([]string{
		`"` + id(4) + `": ` + summary(4, 0, "", ""), `"` + id(5) + `": ` + summary(4, 4, has, ""),
		`"` + id(3) + `": ` + summary(3, 0, `"DISK_GB": {"capacity": 9, "used": 0}`, shares), `"` + id(9) + `": ` + summary(9, 0, `"DISK_GB": {"capacity": 9, "used": 0}`, shares),
	}, ",") + "}}"
	var found api.Candidates
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	if root, isSingle := SingleRoot(found); root != uuid.MustParse(id(4)) || !isSingle {
		t.Errorf("root = %s, %t, want that of both candidates", root, isSingle)
	}
	all := Candidates(found, "")
	if len(all) != 1 || len(all[0].Same) != 1 || all[0].Root != uuid.MustParse(id(4)) {
		t.Fatalf("candidates = %+v", all)
	}
	other := all[0].Same[0]
	if again := Candidates(found, other.Key); len(again) != 1 || again[0].Key != other.Key || len(again[0].Same) != 1 {
		t.Errorf("the open candidate is not first: %+v", again)
	}
	rows := all[0].Rows([]string{"", "_A"}, map[string]map[string]int64{"_A": {"VCPU": 2}}, uuid.UUID.String)
	var drawn []string
	for _, row := range rows {
		drawn = append(drawn, fmt.Sprint(row.UUID.String()[35:], row.Depth, row.Groups, row.Uses))
	}
	want := "40 [] map[] | 51 [ _A] map[VCPU:{2 16 5 [{_A 2} { 3}]}] | 30 [] map[DISK_GB:{0 9 1 [{ 1}]}]"
	if got := strings.Join(drawn, " | "); got != want {
		t.Errorf("rows = %s, want %s", got, want)
	}
	if GroupKind(1) != Violet || GroupKind(9) != Gray {
		t.Error("the kinds of groups differ from their colors")
	}
}

func TestCandidates_SingleRoot_IsRootOfAll(t *testing.T) {
	t.Parallel()
	const first, second = "c0ffee00-0000-4000-8000-000000000001", "c0ffee00-0000-4000-8000-000000000002"
	of := func(roots ...string) (found api.Candidates) {
		found.ProviderSummaries = map[string]api.ProviderSummary{}
		for _, root := range roots {
			found.AllocationRequests = append(found.AllocationRequests, api.Candidate{Allocations: map[string]api.CandidateUse{root: {}}})
			found.ProviderSummaries[root] = api.ProviderSummary{RootProviderUUID: uuid.MustParse(root)}
		}
		return found
	}
	for _, c := range []struct {
		roots []string
		want  uuid.UUID
	}{
		{nil, uuid.Nil}, {[]string{first}, uuid.MustParse(first)}, {[]string{first, first}, uuid.MustParse(first)},
		{[]string{first, second}, uuid.Nil}, {[]string{first, first, second}, uuid.Nil},
	} {
		if got, isSingle := SingleRoot(of(c.roots...)); got != c.want || isSingle != (c.want != uuid.Nil) {
			t.Errorf("%v: %s, %t, want %s", c.roots, got, isSingle, c.want)
		}
	}
}
