package client

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestClient_CandidateQuery_AllParametersSent(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	client := newClient(t, WithTransport(through))
	// What the server makes of a query for nothing that exists: it accepts it.
	found, err := client.CandidateList(t.Context(), CandidateQuery{
		Resources: "VCPU:2,MEMORY_MB:512", InTree: id(1).String(), RootRequired: "HW_NUMA_ROOT,!HW_CPU_X86_AVX2", GroupPolicy: "isolate",
		Required: []string{"HW_CPU_X86_AVX2", "in:STORAGE_DISK_SSD,STORAGE_DISK_HDD"}, MemberOf: []string{"!" + id(5).String(), "in:" + id(6).String() + "," + id(7).String()},
		SameSubtree: []string{"_A,_B", "_A"}, Limit: 3,
		Groups: []GroupQuery{
			{Suffix: "_A", Resources: "DISK_GB:1", InTree: id(2).String(), Required: []string{"STORAGE_DISK_SSD", "!STORAGE_DISK_HDD"}, MemberOf: []string{id(8).String(), id(9).String()}},
			{Suffix: "_B", Required: []string{"HW_NUMA_ROOT"}},
		},
	})
	if err != nil || len(found.AllocationRequests) != 0 {
		t.Fatalf("%v, %v", found, err)
	}
	want := []string{
		"resources=VCPU%3A2%2CMEMORY_MB%3A512", "required=HW_CPU_X86_AVX2", "required=in%3ASTORAGE_DISK_SSD%2CSTORAGE_DISK_HDD",
		"member_of=%21" + id(5).String(), "member_of=in%3A" + id(6).String() + "%2C" + id(7).String(), "in_tree=" + id(1).String(),
		"resources_A=DISK_GB%3A1", "required_A=STORAGE_DISK_SSD", "required_A=%21STORAGE_DISK_HDD",
		"member_of_A=" + id(8).String(), "member_of_A=" + id(9).String(), "in_tree_A=" + id(2).String(), "required_B=HW_NUMA_ROOT",
		"root_required=HW_NUMA_ROOT%2C%21HW_CPU_X86_AVX2", "same_subtree=_A%2C_B", "same_subtree=_A", "group_policy=isolate", "limit=3",
	}
	if version := through.Headers()[0].Get("OpenStack-API-Version"); version != "placement 1.39" {
		t.Errorf("the version is %q", version)
	}
	_, query, _ := strings.Cut(through.Requests()[0], "?")
	if got := strings.Split(query, "&"); !slices.Equal(got, want) {
		t.Errorf("the query is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestClient_RepeatedGroupConditions_AllApply(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newHost(t)
	must(client.ProviderCreate(ctx, "other", id(2), uuid.Nil))(t)
	if _, _, err := client.InventoryReplace(ctx, id(2), 0, Inventories{"VCPU": {Total: 8}}); err != nil {
		t.Fatal(err)
	}
	for number, traits := range [][]string{{"HW_CPU_X86_AVX2"}, {"HW_CPU_X86_AVX2", "STORAGE_DISK_SSD"}} {
		if _, _, err := client.ProviderTraitReplace(ctx, id(number+1), 1, traits); err != nil {
			t.Fatal(err)
		}
	}
	found := must(client.CandidateList(ctx, CandidateQuery{Groups: []GroupQuery{
		{Suffix: "1", Resources: "VCPU:1", Required: []string{"in:HW_CPU_X86_AVX2,HW_CPU_X86_SSE", "STORAGE_DISK_SSD"}},
	}}))(t)
	if len(found.AllocationRequests) != 1 {
		t.Fatalf("%d candidates, want the one with both traits", len(found.AllocationRequests))
	}
	request := must(ClaimOf(found.AllocationRequests[0], "project", "user", "INSTANCE"))(t)
	if request.Allocations[id(2)]["VCPU"] != 1 || !slices.Equal(request.Mappings["1"], []uuid.UUID{id(2)}) {
		t.Errorf("the candidate is %+v", request)
	}
}

func TestClient_InvalidOrDuplicateSuffix_ReturnsError(t *testing.T) {
	t.Parallel()
	client := newClient(t)
	for says, groups := range map[string][]GroupQuery{
		`the group's suffix "" must be`:   {{Resources: "VCPU:1"}},
		`the group's suffix "a b" must`:   {{Suffix: "a b", Resources: "VCPU:1"}},
		`two groups have the suffix "_1"`: {{Suffix: "_1", Resources: "VCPU:1"}, {Suffix: "_1", Resources: "VCPU:2"}},
	} {
		if _, err := client.CandidateList(t.Context(), CandidateQuery{Groups: groups}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want one that says %q", err, says)
		}
	}
}
