package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

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
	// GroupPolicy is "isolate" or "none". Services without berth 1.1 require it with several groups.
	GroupPolicy string
	// Required and MemberOf are conditions that must all hold: "TRAIT,TRAIT",
	// "!TRAIT", "in:TRAIT,TRAIT"; "uuid", "in:uuid,uuid", "!uuid", "!in:uuid,uuid".
	Required, MemberOf []string
	// SameSubtree are lists of suffixes, such as "_CPU,_NIC". With berth 1.1, "_CPU,!_NIC" keeps a group outside of the
	// subtree.
	SameSubtree []string
	// RootMemberOf are conditions for the aggregates of the root, in the syntax of MemberOf. It needs berth 1.1.
	RootMemberOf []string
	// NotInTree are providers whose trees are excluded. It needs berth 1.3.
	NotInTree []string
	// Isolate are sets of suffixes: the groups of a set have different providers. It needs berth 1.1.
	Isolate [][]string
	// CanSplit are classes of Resources that several providers may serve together, in trees without other candidates. It
	// needs berth 1.1.
	CanSplit []string
	// Order is the order of the trees: "id", "pack:CLASS", "spread:CLASS" or "random"; "": the settings of the service.
	// It needs berth 1.1.
	Order string
	// LimitPerTree is the maximum number of candidates of each tree; 0: no limit. It needs berth 1.1.
	LimitPerTree int
	// Limit is the maximum number of candidates; 0: no limit.
	Limit int
	// Groups are request groups, each served by one provider. With berth 1.1, a group without resources that SameSubtree
	// does not name is a condition that some provider meets.
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

// param is one parameter of a query string.
type param struct{ name, value string }

// params returns the query parameters: the groups in their order, then the others. The generated type has the groups as
// an object, which cannot repeat a member.
func (q CandidateQuery) params() ([]param, error) {
	var all []param
	add := func(name string, values ...string) {
		for _, value := range values {
			all = append(all, param{name, value})
		}
	}
	set := func(name, value string) {
		if value != "" {
			add(name, value)
		}
	}
	groups, err := q.groups()
	if err != nil {
		return nil, err
	}
	for _, of := range groups {
		set("resources"+of.Suffix, of.Resources)
		add("required"+of.Suffix, of.Required...)
		add("member_of"+of.Suffix, of.MemberOf...)
		set("in_tree"+of.Suffix, of.InTree)
	}
	set("root_required", q.RootRequired)
	add("root_member_of", q.RootMemberOf...)
	set("not_in_tree", strings.Join(q.NotInTree, ","))
	for _, suffixes := range q.Isolate {
		set("isolate", strings.Join(suffixes, ","))
	}
	add("same_subtree", q.SameSubtree...)
	set("can_split", strings.Join(q.CanSplit, ","))
	set("group_policy", q.GroupPolicy)
	set("order", q.Order)
	if q.Limit > 0 {
		add("limit", strconv.Itoa(q.Limit))
	}
	if q.LimitPerTree > 0 {
		add("limit_per_tree", strconv.Itoa(q.LimitPerTree))
	}
	return all, nil
}

// withoutLimits returns the query for all candidates.
func (q CandidateQuery) withoutLimits() CandidateQuery {
	q.Limit, q.LimitPerTree = 0, 0
	return q
}

// groups returns the group without a suffix, which may be empty, and the others.
func (q CandidateQuery) groups() ([]GroupQuery, error) {
	all := []GroupQuery{{"", q.Resources, q.InTree, q.Required, q.MemberOf}}
	seen := map[string]bool{}
	for _, of := range q.Groups {
		if !suffix.MatchString(of.Suffix) {
			return nil, fmt.Errorf("the group's suffix %q must be up to 64 letters, digits, _ and -", of.Suffix)
		}
		if seen[of.Suffix] {
			return nil, fmt.Errorf("two groups have the suffix %q", of.Suffix)
		}
		seen[of.Suffix] = true
		all = append(all, of)
	}
	return all, nil
}

// encode returns a query string in the order of the parameters.
func encode(params []param) string {
	var query strings.Builder
	for i, param := range params {
		if i > 0 {
			query.WriteByte('&')
		}
		query.WriteString(url.QueryEscape(param.name) + "=" + url.QueryEscape(param.value))
	}
	return query.String()
}

// maxCandidateURL is the length of a URL in bytes above which a query is sent as a body. Proxies reject longer URLs.
const maxCandidateURL = 8 << 10

// isTooLong reports whether the URL of a query is too long.
func isTooLong(address, query string) bool {
	return len(address)+len("/allocation_candidates?")+len(query) > maxCandidateURL
}

// CandidateList returns the allocation candidates of a query: each is a set of allocations to claim, with its mappings.
// No candidate is no error. The summaries contain all providers of the trees of the candidates.
//
// The error of a query that needs berth 1.1 or 1.3, from a service without it, is an *ExtensionError. A query whose URL would
// be longer than 8 KiB is sent as a body if the service has berth 1.1.
func (c *Client) CandidateList(ctx context.Context, query CandidateQuery) (api.Candidates, error) {
	var answer api.Candidates
	params, err := query.params()
	if err != nil {
		return answer, err
	}
	address, err := c.endpoint(ctx)
	if err != nil {
		return answer, err
	}
	needs, text, sent := query.needsExtensions(), encode(params), ctx
	if needs != "" {
		sent = withAtLeast(ctx, fieldVersion(needs))
	}
	if body := query.body(""); body != nil && isTooLong(address, text) {
		err = c.do(ctx, &answer, request{method: http.MethodPost, path: "allocation_candidates", body: body, needs: fieldVersion(needs)})
		if needs != "" || !errors.Is(err, ErrExtensions) {
			return answer, needsError(needs, err)
		}
	}
	err = c.send(sent, &answer, func(ctx context.Context, wire *api.Client) (*http.Response, error) {
		return wire.CandidateList(ctx, &api.CandidateListParams{OpenStackAPIVersion: newest}, func(_ context.Context, request *http.Request) error {
			request.URL.RawQuery = text
			return nil
		})
	})
	return answer, needsError(needs, err)
}
