package apicommand

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/frame"
)

// CandidateRequest holds the flags of a candidate query. Asked is without the flags --in-tree and
// --group.
type CandidateRequest struct {
	Asked  client.CandidateQuery
	inTree string
	groups []string
}

// groupHelp is the part about --group in the help of the commands with the flag.
const groupHelp = `A request group has constraints that one provider must satisfy. --group
'SUFFIX:FIELD=VALUE;FIELD=VALUE' defines a group with its suffix and the fields
resources, required, member-of and in-tree, which have the syntax of the flags with
these names. The fields required and member-of are repeatable. Two or more groups with
resources require --group-policy.`

// candidateFlags adds the flags of a candidate query to a command.
func candidateFlags(f *frame.Frame, c *cobra.Command) *CandidateRequest {
	w := &CandidateRequest{}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&w.Asked.Resources, "resources", "", "amounts `CLASS:AMOUNT,…` from any providers of a tree")
	flags.StringArrayVar(&w.Asked.Required, "required", nil, "`TRAIT,!FORBIDDEN,…` of the providers, or in:TRAIT,TRAIT for any of several; repeatable")
	flags.StringArrayVar(&w.Asked.MemberOf, "member-of", nil, "`aggregate` of the providers, in:A,B for any of several, or !A to exclude one; repeatable")
	flags.StringVar(&w.inTree, "in-tree", "", "name or UUID of a `provider` of the tree")
	flags.StringArrayVar(&w.groups, "group", nil, "request group `SUFFIX:FIELD=VALUE;…`; repeatable")
	flags.StringVar(&w.Asked.GroupPolicy, "group-policy", "", "`policy` for request groups: none permits a shared provider, isolate requires different ones")
	flags.StringArrayVar(&w.Asked.SameSubtree, "same-subtree", nil, "`SUFFIX,SUFFIX,…` of request groups whose providers have one of them as common ancestor; repeatable")
	flags.StringVar(&w.Asked.RootRequired, "root-required", "", "`TRAIT,!FORBIDDEN,…` of the root provider")
	flags.IntVar(&w.Asked.Limit, "limit", 10, "maximum `number` of candidates; 0 means no limit")
	completeListFlags(f, c)
	completeProviderFlags(f, c, "in-tree")
	frame.CompleteChoices(c, "group-policy", "none", "isolate")
	return w
}

// query returns the query with the UUIDs of the providers and the parsed groups.
func (w *CandidateRequest) query(ctx context.Context, service *client.Client) (client.CandidateQuery, error) {
	query := w.Asked
	if query.Resources == "" && len(w.groups) == 0 {
		return query, frame.WrongFlag("resources", "", "is empty", "write --resources or --group")
	}
	if query.Limit < 0 {
		return query, frame.WrongFlag("limit", fmt.Sprint(query.Limit), "is negative", "write the maximum number of candidates, or 0 for no limit")
	}
	var err error
	if query.InTree, err = treeOf(ctx, service, w.inTree); err != nil {
		return query, err
	}
	for _, text := range w.groups {
		group, err := parseGroup(text)
		if err != nil {
			return query, err
		}
		if slices.ContainsFunc(query.Groups, func(earlier client.GroupQuery) bool { return earlier.Suffix == group.Suffix }) {
			return query, frame.WrongFlag("group", text, fmt.Sprintf("repeats the suffix %q", group.Suffix), "write a unique suffix for each group")
		}
		if group.InTree, err = treeOf(ctx, service, group.InTree); err != nil {
			return query, err
		}
		query.Groups = append(query.Groups, group)
	}
	return query, nil
}

const groupRemedy = "write SUFFIX:FIELD=VALUE;FIELD=VALUE such as _NET:resources=SRIOV_NET_VF:1;required=CUSTOM_PHYSNET_A"

var groupSuffix = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parseGroup parses one value of --group.
func parseGroup(text string) (client.GroupQuery, error) {
	suffix, rest, hasFields := strings.Cut(text, ":")
	group := client.GroupQuery{Suffix: suffix}
	if !hasFields || !groupSuffix.MatchString(suffix) || strings.Contains(suffix, "=") {
		return group, frame.WrongFlag("group", text, "does not begin with a suffix of letters, digits, underscores and hyphens, and a colon", groupRemedy)
	}
	for field := range strings.SplitSeq(rest, ";") {
		name, value, hasValue := strings.Cut(field, "=")
		if !hasValue || value == "" {
			return group, frame.WrongFlag("group", text, fmt.Sprintf("has the field %q without a value", field), groupRemedy)
		}
		switch strings.ReplaceAll(name, "_", "-") {
		case "resources":
			group.Resources = value
		case "required":
			group.Required = append(group.Required, value)
		case "member-of":
			group.MemberOf = append(group.MemberOf, value)
		case "in-tree":
			group.InTree = value
		default:
			return group, frame.WrongFlag("group", text, fmt.Sprintf("has the unknown field %q", name), "use resources, required, member-of or in-tree")
		}
	}
	return group, nil
}
