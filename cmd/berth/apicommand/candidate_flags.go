package apicommand

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/explaintext"
	"github.com/berthd/berth/internal/terminal"
)

// CandidateRequest holds the flags of a candidate query. Asked is without the flags --in-tree, --group,
// --isolate and --not-in-tree.
type CandidateRequest struct {
	Asked     client.CandidateQuery
	inTree    string
	groups    []string
	isolated  []string
	notInTree []string
	names     aggregateNames
}

// groupHelp is the part about --group in the help of the commands with the flag.
const groupHelp = `A request group has constraints that one provider must satisfy. --group
'SUFFIX:FIELD=VALUE;FIELD=VALUE' defines a group with its suffix and the fields
resources, required, member-of and in-tree, which have the syntax of the flags with
these names. The fields required and member-of are repeatable. A group without resources
that --same-subtree does not name is a condition that some provider meets.

These need a service with berth 1.1: --root-member-of, --isolate, --can-split, --order,
--limit-per-tree, '!' in --same-subtree, conditions, and several groups without
--group-policy.`

// candidateFlags adds the flags of a candidate query to a command.
func candidateFlags(f *frame.Frame, c *cobra.Command) *CandidateRequest {
	w := &CandidateRequest{names: aggregateNames{f}}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&w.Asked.Resources, "resources", "", "amounts `CLASS=AMOUNT,…` from any providers of a tree")
	flags.StringArrayVar(&w.Asked.Required, "required", nil, "`TRAIT,!FORBIDDEN,…` of the providers, or in:TRAIT,TRAIT for any of several; repeatable")
	flags.StringArrayVar(&w.Asked.MemberOf, "member-of", nil, "`aggregate` of the providers, in:A,B for any of several, or !A to exclude one; repeatable")
	flags.StringVar(&w.inTree, "in-tree", "", "name or UUID of a `provider` of the tree")
	flags.StringArrayVar(&w.groups, "group", nil, "request group `SUFFIX:FIELD=VALUE;…`; repeatable")
	flags.StringVar(&w.Asked.GroupPolicy, "group-policy", "", "`policy` for request groups: none permits a shared provider, isolate requires different ones")
	flags.StringArrayVar(&w.isolated, "isolate", nil, "`SUFFIX,SUFFIX,…` of request groups that require different providers; repeatable")
	flags.StringArrayVar(&w.Asked.SameSubtree, "same-subtree", nil, "`SUFFIX,!OUTSIDE,…` of request groups whose providers have one of them as common ancestor, or are outside of its subtree; repeatable")
	flags.StringVar(&w.Asked.RootRequired, "root-required", "", "`TRAIT,!FORBIDDEN,…` of the root provider")
	flags.StringArrayVar(&w.Asked.RootMemberOf, "root-member-of", nil, "`aggregate` of the root provider, in:A,B for any of several, or !A to exclude one; repeatable")
	flags.StringSliceVar(&w.Asked.CanSplit, "can-split", nil, "`CLASS,CLASS,…` of --resources that several providers may supply together, in trees without other candidates")
	flags.StringVar(&w.Asked.Order, "order", "", "`order` of the trees: id, pack:CLASS, spread:CLASS or random (default: the settings of the service)")
	flags.IntVar(&w.Asked.Limit, "limit", 10, "maximum `number` of candidates; 0 means no limit")
	flags.IntVar(&w.Asked.LimitPerTree, "limit-per-tree", 0, "maximum `number` of candidates of each tree; 0 means no limit")
	completeListFlags(f, c)
	completeSuffixFlags(c, w)
	completeProviderFlags(f, c, "in-tree")
	frame.CompleteChoices(c, "group-policy", "none", "isolate")
	return w
}

// foundCandidates is the result of a candidate query.
type foundCandidates struct {
	api.Candidates
	// explanation is why there are no candidates; nil if the service does not explain it.
	explanation *client.Explanation
	// hasExplanations is true if the service has berth 1.2 and policy permits explanations.
	hasExplanations bool
}

// list returns the candidates. The error of a flag that the service does not support names the flag.
//
// It requests an explanation without knowing whether the service has berth 1.6 or 1.2, and repeats the query without it if the
// service or its policy rejects that. So the usual case takes one request; reading the versions first would always take
// two.
func (w *CandidateRequest) list(ctx context.Context, service *client.Client) (foundCandidates, error) {
	query, err := w.query(ctx, service)
	if err != nil {
		return foundCandidates{}, err
	}
	explained, err := withFreed(ctx, func(ctx context.Context) (client.CandidateExplanation, error) {
		return service.CandidateExplain(ctx, query, client.ExplainEmpty)
	})
	if errors.Is(err, client.ErrExtensions) || errors.Is(err, client.ErrForbidden) {
		found, err := service.CandidateList(ctx, query)
		return foundCandidates{Candidates: found}, unsupportedFlag(err)
	}
	return foundCandidates{explained.Candidates, explained.Explanation, true}, err
}

// printNothingFits prints that a query or a claim has no result, with the summary of the explanation if there is one, and
// the consumers that the summary counts.
func printNothingFits(f *frame.Frame, why *client.Explanation) {
	text := "Nothing fits."
	if why != nil {
		text += " " + terminal.Safe(why.Summary)
	}
	fmt.Fprintln(f.Stderr, text)
	printFreed(f, why)
}

// printFreed prints the consumers without which a query fits in the nearest tree, if the explanation names them.
func printFreed(f *frame.Frame, why *client.Explanation) {
	if why == nil || len(why.Nearest) == 0 {
		return
	}
	set, err := why.Nearest[0].FreedBy.Get()
	if err != nil {
		return // null or missing
	}
	for i := range set.Consumers {
		fmt.Fprintf(f.Stderr, "  %s  %s\n", set.Consumers[i].Consumer, terminal.Safe(explaintext.Held(&set.Consumers[i])))
	}
}

// extensionFlags are the flags for the fields of a query that need berth 1.1.
var extensionFlags = map[string]string{
	"RootMemberOf": "--root-member-of", "Isolate": "--isolate", "SameSubtree": "--same-subtree with '!'", "CanSplit": "--can-split",
	"Order": "--order", "LimitPerTree": "--limit-per-tree", "Groups": "--group without resources and outside of --same-subtree",
	"GroupPolicy": "two or more --group without --group-policy",
}

// unsupportedFlag names the flag of a field that needs extensions.
func unsupportedFlag(err error) error {
	var missing *client.ExtensionError
	if !errors.As(err, &missing) {
		return err
	}
	return fmt.Errorf("%s: the service does not support this, because it does not have berth %s: %w",
		extensionFlags[missing.Field], missing.Version, missing.Cause)
}

// query returns the query with the UUIDs of the providers and the parsed groups.
func (w *CandidateRequest) query(ctx context.Context, service *client.Client) (client.CandidateQuery, error) {
	query := w.Asked
	var err error
	if query.Resources, err = queryAmounts("resources", query.Resources); err != nil {
		return query, err
	}
	var wrong [2]error
	query.MemberOf, wrong[0] = w.names.uuids("member-of", query.MemberOf)
	query.RootMemberOf, wrong[1] = w.names.uuids("root-member-of", query.RootMemberOf)
	if err := errors.Join(wrong[:]...); err != nil {
		return query, err
	}
	query.Required, query.RootRequired = upperTraitLists(query.Required), upperTraits(query.RootRequired)
	query.CanSplit, query.Order = upperClasses(query.CanSplit), orderOf(query.Order)
	if query.Resources == "" && len(w.groups) == 0 {
		return query, frame.WrongFlag("resources", "", "is empty", "write --resources or --group")
	}
	for _, limit := range []struct {
		flag  string
		value int
	}{{"limit", query.Limit}, {"limit-per-tree", query.LimitPerTree}} {
		if limit.value < 0 {
			return query, frame.WrongFlag(limit.flag, fmt.Sprint(limit.value), "is negative", "write the maximum number of candidates, or 0 for no limit")
		}
	}
	for _, suffixes := range w.isolated {
		query.Isolate = append(query.Isolate, strings.Split(suffixes, ","))
	}
	if query.InTree, err = treeOf(ctx, service, w.inTree); err != nil {
		return query, err
	}
	for _, reference := range w.notInTree {
		excluded, err := treeOf(ctx, service, reference)
		if err != nil {
			return query, err
		}
		query.NotInTree = append(query.NotInTree, excluded)
	}
	for _, text := range w.groups {
		group, err := parseGroup(text, w.names)
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

// orderOf returns a value of --order with its resource class in upper case.
func orderOf(text string) string {
	by, class, hasClass := strings.Cut(text, ":")
	if !hasClass {
		return text
	}
	return by + ":" + upperClass(class)
}

const groupRemedy = "write SUFFIX:FIELD=VALUE;FIELD=VALUE such as _NET:resources=SRIOV_NET_VF:1;required=CUSTOM_PHYSNET_A"

var groupSuffix = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parseGroup parses one value of --group.
func parseGroup(text string, names aggregateNames) (client.GroupQuery, error) {
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
			var err error
			if group.Resources, err = queryAmounts("group", value); err != nil {
				return group, err
			}
		case "required":
			group.Required = append(group.Required, upperTraits(value))
		case "member-of":
			values, err := names.uuids("group", []string{value})
			if err != nil {
				return group, err
			}
			group.MemberOf = append(group.MemberOf, values...)
		case "in-tree":
			group.InTree = value
		default:
			return group, frame.WrongFlag("group", text, fmt.Sprintf("has the unknown field %q", name), "use resources, required, member-of or in-tree")
		}
	}
	return group, nil
}
