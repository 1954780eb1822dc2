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

// CandidateQuery says what is wanted. All texts are in the words of the API.
type CandidateQuery struct {
	// Resources are such as "VCPU:2,MEMORY_MB:512". Each class comes from one
	// provider, different ones may come from different providers of a tree.
	Resources string
	// InTree is a provider whose tree it must be.
	InTree string
	// RootRequired are traits of the root, such as "HW_NUMA_ROOT,!CUSTOM_OLD".
	RootRequired string
	// GroupPolicy is "isolate" or "none"; it must be given with several groups.
	GroupPolicy string
	// Required and MemberOf are conditions that must all hold: "TRAIT,TRAIT",
	// "!TRAIT", "in:TRAIT,TRAIT"; "uuid", "in:uuid,uuid", "!uuid", "!in:uuid,uuid".
	Required, MemberOf []string
	// SameSubtree are lists of suffixes, such as "_CPU,_NIC".
	SameSubtree []string
	// Limit ends the list; 0: no limit.
	Limit int
	// Groups are each served by one provider.
	Groups []GroupQuery
}

// GroupQuery is a part of a query that one provider serves as a whole.
type GroupQuery struct {
	// Suffix names the group: up to 64 letters, digits, "_" and "-".
	Suffix string
	// The others are as in CandidateQuery, and hold for the provider itself.
	Resources, InTree  string
	Required, MemberOf []string
}

var suffix = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// values are the parameters. The generated ones show the groups as an object,
// which cannot repeat a member.
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

// CandidateList finds where something can be had: each candidate is a set of
// allocations to claim as it is, with its mappings. None is no error. The
// summaries tell of all providers of the trees that candidates are from.
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
