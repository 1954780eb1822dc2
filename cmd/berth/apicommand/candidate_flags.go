package apicommand

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/explaintext"
	"github.com/berthd/berth/internal/querytext"
	"github.com/berthd/berth/internal/terminal"
)

// CandidateRequest holds the flags of a candidate query. Providers and aggregates in Asked can have names, and its Groups and
// Isolate are empty: query parses them.
type CandidateRequest struct {
	Asked    client.CandidateQuery
	groups   []string
	isolated []string
	names    aggregateNames
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

// candidateFlags adds the flags of a candidate query to a command; excluding adds those that exclude trees.
func candidateFlags(f *frame.Frame, c *cobra.Command, excluding bool) *CandidateRequest {
	w := &CandidateRequest{Asked: client.CandidateQuery{Limit: 10}, names: aggregateNames{f}}
	flags := c.Flags()
	flags.SortFlags = false
	for _, d := range querytext.Definitions {
		if d.Name == "group_policy" {
			flags.StringArrayVar(&w.groups, "group", nil, "request group `SUFFIX:FIELD=VALUE;…`; repeatable")
		}
		if d.Excludes && !excluding {
			continue
		}
		switch field := d.Field(&w.Asked).(type) {
		case *string:
			flags.StringVar(field, d.Flag(), "", d.Usage)
		case *int:
			flags.IntVar(field, d.Flag(), *field, d.Usage)
		case *[]string:
			if d.Values == querytext.Classes {
				flags.StringSliceVar(field, d.Flag(), nil, d.Usage)
			} else {
				flags.StringArrayVar(field, d.Flag(), nil, d.Usage)
			}
		case *[][]string:
			flags.StringArrayVar(&w.isolated, d.Flag(), nil, d.Usage)
		}
		switch d.Values {
		case querytext.Providers:
			completeFlag(f, c, d.Flag(), completeProviderNames)
		case querytext.Suffixes:
			completeSuffixFlag(c, d.Flag(), w)
		}
	}
	completeListFlags(f, c)
	frame.CompleteChoices(c, "group-policy", "none", "isolate")
	return w
}

// limits returns a query with the limits alone.
func (w *CandidateRequest) limits() (query client.CandidateQuery) {
	for _, d := range querytext.Definitions {
		if limit, isNumber := d.Field(&w.Asked).(*int); isNumber {
			*d.Field(&query).(*int) = *limit
		}
	}
	return query
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
	fmt.Fprint(f.Stderr, text+"\n"+freedText(why))
}

// freedText returns a line for each consumer without which a query fits in the nearest tree, and one that says when it fits because
// consumers end, if the explanation has them.
func freedText(why *client.Explanation) (text string) {
	if why == nil || len(why.Nearest) == 0 {
		return ""
	}
	if set, err := why.Nearest[0].FreedBy.Get(); err == nil { // neither null nor missing
		for i := range set.Consumers {
			text += fmt.Sprintf("  %s  %s\n", set.Consumers[i].Consumer, terminal.Safe(explaintext.Held(&set.Consumers[i])))
		}
	}
	if sentence := explaintext.FitsAt(why, time.Now()); sentence != "" {
		text += terminal.Safe(sentence) + "\n"
	}
	return text
}

// noteSingleTree states on standard error that the candidates of one tree have filled the page, and which flag lists those of
// others. It is silent if the service may not support the flag.
func (w *CandidateRequest) noteSingleTree(ctx context.Context, f *frame.Frame, service *client.Client, found *foundCandidates) {
	limit := w.Asked.Limit
	if limit < 2 || len(found.AllocationRequests) != limit || w.Asked.LimitPerTree > 0 || w.Asked.InTree != "" || !found.hasExplanations {
		return
	}
	root, isSingle := draw.SingleRoot(found.Candidates)
	if !isSingle {
		return
	}
	name := root.String()
	if shown, err := service.ProviderShow(ctx, root); err == nil {
		name = terminal.Safe(shown.Name)
	}
	fmt.Fprintf(f.Stderr, "berth: all %d candidates are of the tree %s; --limit-per-tree 1 lists one candidate of each tree\n", limit, name)
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
	if err := w.convert(&query); err != nil {
		return query, err
	}
	if query.Resources == "" && len(w.groups) == 0 {
		return query, frame.WrongFlag("resources", "", "is empty", "write --resources or --group")
	}
	for _, d := range querytext.Definitions {
		limit, isNumber := d.Field(&query).(*int)
		if isNumber && *limit < 0 {
			return query, frame.WrongFlag(d.Flag(), fmt.Sprint(*limit), "is negative", "write the maximum number of candidates, or 0 for no limit")
		}
	}
	for _, suffixes := range w.isolated {
		query.Isolate = append(query.Isolate, strings.Split(suffixes, ","))
	}
	if err := findTrees(ctx, service, &query); err != nil {
		return query, err
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

// convert replaces what flags permit beside the syntax of the API: units of amounts, names of aggregates, and names of classes
// and traits in lower case.
func (w *CandidateRequest) convert(query *client.CandidateQuery) (err error) {
	for _, d := range querytext.Definitions {
		switch field := d.Field(query).(type) {
		case *string:
			switch d.Values {
			case querytext.Amounts:
				*field, err = queryAmounts(d.Flag(), *field)
			case querytext.Traits:
				*field = upperTraits(*field)
			case querytext.Order:
				*field = orderOf(*field)
			}
		case *[]string:
			switch d.Values {
			case querytext.Aggregates:
				*field, err = w.names.uuids(d.Flag(), *field)
			case querytext.Traits:
				*field = upperTraitLists(*field)
			case querytext.Classes:
				*field = upperClasses(*field)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// findTrees replaces the names of the providers of trees by UUIDs.
func findTrees(ctx context.Context, service *client.Client, query *client.CandidateQuery) (err error) {
	for _, d := range querytext.Definitions {
		if d.Values != querytext.Providers {
			continue
		}
		switch field := d.Field(query).(type) {
		case *string:
			if *field, err = treeOf(ctx, service, *field); err != nil {
				return err
			}
		case *[]string:
			*field = slices.Clone(*field)
			for i, reference := range *field {
				if (*field)[i], err = treeOf(ctx, service, reference); err != nil {
					return err
				}
			}
		}
	}
	return nil
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
