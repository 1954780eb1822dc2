package client

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	api "github.com/berthd/berth/gen/client"
)

// TestClient_CapacityFit_CountsMembers asks for instances of 2 VCPU; each NUMA node has 6 of 8 free, and the members can be on
// both.
func TestClient_CapacityFit_CountsMembers(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	question := CapacityFitQuery{Query: CandidateQuery{Resources: "VCPU:2", Limit: 1}, Count: 50}
	found := must(c.client.CapacityFit(t.Context(), question))(t)
	vcpu := found.Resources["VCPU"]
	if found.Fit != 6 || !found.Exact || found.Stopped != "all" || *found.EndsFirst != "VCPU" || *found.AtMost != 6 || found.Before != nil ||
		found.Trees != (api.CapacityFitTrees{LookedAt: 2, WithRoom: 1, MostInOne: 6}) || vcpu.Amount != 2 || *vcpu.Free != 12 || *vcpu.Stranded != 0 {
		t.Errorf("found = %+v", found)
	}
	question.Changes = []CapacityChange{{Like: new(numa1), Count: 2}, {Class: "VCPU", AllocationRatio: new(2.0), InTree: new(cn)}}
	question.Apart = "root"
	if changed := must(c.client.CapacityFit(t.Context(), question))(t); changed.Fit != 3 || changed.Before == nil || changed.Before.Fit != 1 {
		t.Errorf("found with changes = %+v", changed)
	}
	question = CapacityFitQuery{Query: CandidateQuery{Resources: "VCPU:2"}, Count: 1}
	if first := must(c.client.CapacityFit(t.Context(), question))(t); first.Fit != 1 || first.Stopped != "count" || first.AtMost != nil || first.EndsFirst != nil {
		t.Errorf("found with a count of 1 = %+v", first)
	}
}

func TestClient_CapacityFitOfOlderService_ReturnsErrExtensions(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.wire.Before = func(request *http.Request) (*http.Response, error) {
		placement, _, _ := strings.Cut(request.Header.Get(versionHeader), ",")
		request.Header.Set(versionHeader, placement)
		return nil, nil
	}
	if _, err := c.client.CapacityFit(t.Context(), CapacityFitQuery{Query: CandidateQuery{Resources: "VCPU:2"}}); !errors.Is(err, ErrExtensions) {
		t.Errorf("error = %v, want ErrExtensions", err)
	}
	if _, err := c.client.CapacityList(t.Context(), CapacityQuery{}); !errors.Is(err, ErrExtensions) {
		t.Errorf("error = %v, want ErrExtensions", err)
	}
}

func TestClient_CapacityFitInvalidSuffix_NotSent(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	c.requests()
	query := CandidateQuery{Groups: []GroupQuery{{Suffix: "not a suffix", Resources: "VCPU:2"}}}
	_, err := c.client.CapacityFit(t.Context(), CapacityFitQuery{Query: query})
	if err == nil || len(c.requests()) != 0 {
		t.Errorf("error = %v, want one before the request", err)
	}
}

func TestClient_CapacityTrees_FollowsLinks(t *testing.T) {
	t.Parallel()
	c := extendedCloud(t)
	var found []uuid.UUID
	for sum, err := range c.client.CapacityTrees(t.Context(), CapacityQuery{Classes: []string{"VCPU", "DISK_GB"}}, 1) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, sum.Tree.UUID)
	}
	if !slices.Equal(found, []uuid.UUID{cn, storage}) {
		t.Errorf("trees = %v", found)
	}
}
