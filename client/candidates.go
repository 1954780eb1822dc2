package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	api "github.com/berthd/berth/gen/client"
)

// CandidateQuery is a query for allocation candidates. All texts have the syntax of the API.
type CandidateQuery struct {
	// Resources are amounts such as "VCPU:2,MEMORY_MB:512". One provider serves each class; different providers of a
	// tree may serve different classes.
	Resources string
	// InTree is a provider of the tree that candidates must be from.
	InTree string
	// RootRequired are traits of the root, such as "HW_NUMA_ROOT,!CUSTOM_OLD".
	RootRequired string
	// GroupPolicy is "isolate" or "none"; it is required with several groups.
	GroupPolicy string
	// Required and MemberOf are conditions that must all hold: "TRAIT,TRAIT",
	// "!TRAIT", "in:TRAIT,TRAIT"; "uuid", "in:uuid,uuid", "!uuid", "!in:uuid,uuid".
	Required, MemberOf []string
	// SameSubtree are lists of suffixes, such as "_CPU,_NIC".
	SameSubtree []string
	// Limit is the maximum number of candidates; 0: no limit.
	Limit int
	// Groups are request groups, each served by one provider.
	Groups []GroupQuery
}

// GroupQuery is a request group, which one provider serves as a whole.
type GroupQuery struct {
	// Suffix names the group: up to 64 letters, digits, "_" and "-".
	Suffix string
	// The other fields are as in CandidateQuery, for the provider itself.
	Resources, InTree  string
	Required, MemberOf []string
}

var suffix = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// values returns the query parameters. The generated type has the groups as an object, which cannot repeat a member.
func (q CandidateQuery) values() (url.Values, error) {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	add := func(name string, all []string) {
		for _, value := range all {
			values.Add(name, value)
		}
	}
	set("root_required", q.RootRequired)
	set("group_policy", q.GroupPolicy)
	add("same_subtree", q.SameSubtree)
	if q.Limit > 0 {
		values.Set("limit", strconv.Itoa(q.Limit))
	}
	group := func(of GroupQuery) {
		set("resources"+of.Suffix, of.Resources)
		set("in_tree"+of.Suffix, of.InTree)
		add("required"+of.Suffix, of.Required)
		add("member_of"+of.Suffix, of.MemberOf)
	}
	group(GroupQuery{"", q.Resources, q.InTree, q.Required, q.MemberOf})
	seen := map[string]bool{}
	for _, of := range q.Groups {
		if !suffix.MatchString(of.Suffix) {
			return nil, fmt.Errorf("the group's suffix %q must be up to 64 letters, digits, _ and -", of.Suffix)
		}
		if seen[of.Suffix] {
			return nil, fmt.Errorf("two groups have the suffix %q", of.Suffix)
		}
		seen[of.Suffix] = true
		group(of)
	}
	return values, nil
}

// CandidateList returns the allocation candidates of a query: each is a set of allocations to claim, with its mappings.
// No candidate is no error. The summaries contain all providers of the trees of the candidates.
func (c *Client) CandidateList(ctx context.Context, query CandidateQuery) (api.Candidates, error) {
	var answer api.Candidates
	values, err := query.values()
	if err != nil {
		return answer, err
	}
	write := func(_ context.Context, request *http.Request) error {
		request.URL.RawQuery = values.Encode()
		return nil
	}
	err = c.send(ctx, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.CandidateList(ctx, &api.CandidateListParams{OpenStackAPIVersion: newest}, write)
	})
	return answer, err
}
