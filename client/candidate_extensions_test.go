package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// withoutExtensions is a transport to a service that does not know berth 1.1, like OpenStack Placement.
func withoutExtensions() *faultyTransport {
	return &faultyTransport{Before: func(request *http.Request) (*http.Response, error) {
		request.Header.Set(versionHeader, "placement 1.39")
		return nil, nil
	}}
}

// extendedQuery has all fields that need the extensions.
func extendedQuery() CandidateQuery {
	return CandidateQuery{
		Resources: "VCPU:2", RootMemberOf: []string{"in:" + id(5).String() + "," + id(6).String(), "!" + id(7).String()},
		Isolate: [][]string{{"_B", "_A"}, {}}, CanSplit: []string{"VCPU"}, Order: "pack:VCPU", LimitPerTree: 1, Limit: 2,
		SameSubtree: []string{"_A,!_B"}, RootRequired: "HW_NUMA_ROOT,!STORAGE_DISK_SSD",
		Groups: []GroupQuery{
			{Suffix: "_B", Resources: "DISK_GB:1,VGPU:2", InTree: id(2).String()}, {Suffix: "_A", Required: []string{"HW_NUMA_ROOT"}, MemberOf: []string{id(5).String()}},
		},
	}
}

const extendedParams = "resources=VCPU:2&resources_B=DISK_GB:1,VGPU:2&in_tree_B=%s&required_A=HW_NUMA_ROOT&member_of_A=%s" +
	"&root_required=HW_NUMA_ROOT,!STORAGE_DISK_SSD&root_member_of=in:%s,%s&root_member_of=!%s&isolate=_B,_A&same_subtree=_A,!_B" +
	"&can_split=VCPU&order=pack:VCPU&limit=2&limit_per_tree=1"

func TestClient_ExtendedCandidateQuery_SelectsExtensions(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	if _, err := client.CandidateList(t.Context(), extendedQuery()); err != nil {
		t.Fatal(err)
	}
	want := "GET /allocation_candidates?" + fmt.Sprintf(extendedParams, id(2), id(5), id(5), id(6), id(7))
	unescape := strings.NewReplacer("%3A", ":", "%2C", ",", "%21", "!")
	if version := wire.Headers()[0].Get(versionHeader); version != "placement 1.39, berth 1.1" {
		t.Errorf("version = %q", version)
	}
	if got := unescape.Replace(strings.Join(wire.Requests(), " ")); got != want {
		t.Errorf("request = %s\nwant      %s", got, want)
	}
	if _, err := client.CandidateList(WithExtensions(t.Context(), "latest"), extendedQuery()); err != nil {
		t.Fatal(err)
	}
	if version := wire.Headers()[0].Get(versionHeader); version != "placement 1.39, berth latest" {
		t.Errorf("version = %q", version)
	}
}

func TestClient_ServiceWithoutExtensions_ErrorNamesField(t *testing.T) {
	t.Parallel()
	client := newClient(t, WithTransport(withoutExtensions()))
	gpu := func(suffix string) GroupQuery { return GroupQuery{Suffix: suffix, Resources: "VGPU:1"} }
	node := GroupQuery{Suffix: "_X", Required: []string{"HW_NUMA_ROOT"}}
	for field, query := range map[string]CandidateQuery{
		"RootMemberOf": {RootMemberOf: []string{id(1).String()}},
		"Isolate":      {Isolate: [][]string{{"_A", "_B"}}, Groups: []GroupQuery{gpu("_A"), gpu("_B")}},
		"SameSubtree":  {SameSubtree: []string{"_A", "_A, !_B"}, Groups: []GroupQuery{gpu("_A"), gpu("_B")}},
		"CanSplit":     {CanSplit: []string{"VCPU"}},
		"Order":        {Order: "id"},
		"LimitPerTree": {LimitPerTree: 1},
		"Groups":       {Groups: []GroupQuery{node}},
		"GroupPolicy":  {Groups: []GroupQuery{gpu("_A"), gpu("_B")}},
		"":             {Groups: []GroupQuery{gpu("_A"), node, {Suffix: "_Y"}}, SameSubtree: []string{"_A, _X"}, GroupPolicy: "none"},
	} {
		query.Resources = "VCPU:1"
		for _, members := range []int{0, 300} { // with a URL, and with a body
			query.MemberOf = longMemberOf(members)
			_, err := client.CandidateList(t.Context(), query)
			var missing *ExtensionError
			if field == "" {
				if err != nil {
					t.Error(err)
				}
				continue
			}
			if !errors.As(err, &missing) || missing.Field != field || !errors.Is(err, ErrExtensions) || errors.Is(err, ErrOutcomeUnknown) ||
				!strings.HasPrefix(err.Error(), "CandidateQuery."+field) || !strings.Contains(err.Error(), " needs berth 1.1, which the service does not have: ") {
				t.Errorf("%s with %d aggregates: %v", field, members, err)
			}
		}
	}
}

// longMemberOf returns a condition with so many aggregates.
func longMemberOf(members int) []string {
	if members == 0 {
		return nil
	}
	all := make([]string, members)
	for i := range all {
		all[i] = id(i).String()
	}
	return []string{"in:" + strings.Join(all, ",")}
}

func TestClient_LongCandidateQuery_SentAsBody(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newClient(t, WithTransport(wire))
	query := extendedQuery()
	query.Groups[0].MemberOf = longMemberOf(300)
	if _, err := client.CandidateList(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	body := wire.Bodies()[0]
	if requests := wire.Requests(); !slices.Equal(requests, []string{"POST /allocation_candidates"}) {
		t.Fatalf("requests = %.100q", requests)
	}
	groups, rest, _ := strings.Cut(body, `},"root_required"`)
	if !strings.HasPrefix(groups, `{"groups":{"":{"resources":{"VCPU":2}},"_B":{"resources":{"DISK_GB":1,"VGPU":2},"member_of":["in:`) ||
		!strings.Contains(groups, `,"_A":{"required":["HW_NUMA_ROOT"],"member_of":[`) {
		t.Errorf("groups = %s", groups)
	}
	want := fmt.Sprintf(`:["HW_NUMA_ROOT","!STORAGE_DISK_SSD"],"root_member_of":["in:%s,%s","!%s"],"isolate":[["_B","_A"]],`+
		`"same_subtree":[["_A","!_B"]],"can_split":["VCPU"],"order":"pack:VCPU","limit":2,"limit_per_tree":1}`, id(5), id(6), id(7))
	if rest != want || !json.Valid([]byte(body)) {
		t.Errorf("rest = %s\nwant   %s", rest, want)
	}
	wantGet := func(query CandidateQuery) {
		t.Helper()
		_, err := client.CandidateList(t.Context(), query)
		if requests := wire.Requests(); err != nil || len(requests) != 1 || !strings.HasPrefix(requests[0], "GET ") {
			t.Errorf("requests = %.100q, %v", requests, err)
		}
	}
	wantGet(CandidateQuery{Resources: "VCPU:1"})
	// A body cannot repeat a class; the service decides.
	query.Resources = "VCPU:1,VCPU:2"
	wantGet(query)
}

func TestClient_LongQueryToServiceWithoutExtensions_SentAsURL(t *testing.T) {
	t.Parallel()
	wire := withoutExtensions()
	client := newClient(t, WithTransport(wire))
	if _, err := client.CandidateList(t.Context(), CandidateQuery{Resources: "VCPU:1", MemberOf: longMemberOf(300)}); err != nil {
		t.Fatal(err)
	}
	requests := wire.Requests()
	if len(requests) != 2 || requests[0] != "POST /allocation_candidates" || !strings.HasPrefix(requests[1], "GET /allocation_candidates?resources=VCPU%3A1&member_of=in") {
		t.Errorf("requests = %.200q", requests)
	}
}

func TestClient_SearchFailsOnce_Retried(t *testing.T) {
	t.Parallel()
	failures := 1
	wire := &faultyTransport{Before: func(*http.Request) (*http.Response, error) {
		if failures--; failures >= 0 {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, nil
	}}
	client := newClient(t, WithTransport(wire))
	query := CandidateQuery{Resources: "VCPU:1", MemberOf: longMemberOf(300)}
	_, err := client.CandidateList(t.Context(), query)
	if requests := wire.Requests(); err != nil || len(requests) != 2 {
		t.Errorf("%d requests, %v", len(requests), err)
	}
	failures = 100
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := client.CandidateList(ctx, query); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("error = %v", err)
	}
}
