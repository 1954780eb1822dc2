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

// CandidateRequest is what is asked for, as the flags say it.
type CandidateRequest struct {
	Asked  client.CandidateQuery
	inTree string
	groups []string
}

// groupHelp explains the value of --group wherever the flags are.
const groupHelp = `A group asks for things of one provider. --group 'SUFFIX:FIELD=VALUE;FIELD=VALUE' has a
suffix, by which the answer tells the groups apart, and the fields resources, required,
member-of and in-tree, which mean what the flags of that name mean. Required and
member-of may be repeated. Two groups or more with resources need a --group-policy.`

// candidateFlags gives a command the flags that say what shall fit.
func candidateFlags(f *frame.Frame, c *cobra.Command) *CandidateRequest {
	w := &CandidateRequest{}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&w.Asked.Resources, "resources", "", "`CLASS:AMOUNT,…` from any providers of a tree")
	flags.StringArrayVar(&w.Asked.Required, "required", nil, "`TRAIT,!FORBIDDEN,…` of the tree, or one of in:TRAIT,TRAIT; may be repeated")
	flags.StringArrayVar(&w.Asked.MemberOf, "member-of", nil, "in `aggregate`, in one of in:A,B, or not in !A; may be repeated")
	flags.StringVar(&w.inTree, "in-tree", "", "only from the tree that this `provider` is in")
	flags.StringArrayVar(&w.groups, "group", nil, "`SUFFIX:FIELD=VALUE;…` from one provider; may be repeated")
	flags.StringVar(&w.Asked.GroupPolicy, "group-policy", "", "none: `groups` may share a provider; isolate: they may not")
	flags.StringArrayVar(&w.Asked.SameSubtree, "same-subtree", nil, "the groups with these `SUFFIX,SUFFIX,…` below one of their providers; may be repeated")
	flags.StringVar(&w.Asked.RootRequired, "root-required", "", "`TRAIT,!FORBIDDEN,…` of the root of the tree")
	flags.IntVar(&w.Asked.Limit, "limit", 10, "most candidates; 0 means all, which are very many in a big cloud")
	completeListFlags(f, c)
	completeProviderFlags(f, c, "in-tree")
	frame.CompleteChoices(c, "group-policy", "none", "isolate")
	return w
}

// query is the request with the names of providers replaced by their uuids.
func (w *CandidateRequest) query(ctx context.Context, service *client.Client) (client.CandidateQuery, error) {
	query := w.Asked
	if query.Resources == "" && len(w.groups) == 0 {
		return query, frame.WrongFlag("resources", "", "asks for nothing", "say what shall fit with --resources or --group")
	}
	if query.Limit < 0 {
		return query, frame.WrongFlag("limit", fmt.Sprint(query.Limit), "is no number of candidates", "write one from 1, or 0 for all")
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
			return query, frame.WrongFlag("group", text, fmt.Sprintf("has the suffix %q of another group", group.Suffix), "give each group a suffix of its own")
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

// parseGroup reads one value of --group.
func parseGroup(text string) (client.GroupQuery, error) {
	suffix, rest, hasFields := strings.Cut(text, ":")
	group := client.GroupQuery{Suffix: suffix}
	if !hasFields || !groupSuffix.MatchString(suffix) || strings.Contains(suffix, "=") {
		return group, frame.WrongFlag("group", text, "has no suffix of letters, digits, underscores and hyphens before a colon", groupRemedy)
	}
	for field := range strings.SplitSeq(rest, ";") {
		name, value, hasValue := strings.Cut(field, "=")
		if !hasValue || value == "" {
			return group, frame.WrongFlag("group", text, fmt.Sprintf("has the field %q, which has no value", field), groupRemedy)
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
			return group, frame.WrongFlag("group", text, fmt.Sprintf("has the field %q, which groups do not have", name), "use resources, required, member-of or in-tree")
		}
	}
	return group, nil
}
