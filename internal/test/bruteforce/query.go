package bruteforce

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// request is a parsed query.
type request struct {
	// groups are in the order of first appearance.
	groups []*group
	// policy is "none", "isolate", or empty if not set.
	policy   string
	subtrees []subtree
	// rootRequired and rootForbidden are traits of the anchor.
	rootRequired, rootForbidden []string
	// limit is 0 without a limit.
	limit int

	// The fields below are set at Berth only. isExtended is set there always.
	isExtended bool
	// The anchor is in an aggregate of each set of rootMemberOf, and in none of rootNotMemberOf.
	rootMemberOf    [][]string
	rootNotMemberOf []string
	// notInTree are UUIDs of providers; the anchor's tree has none of them.
	notInTree []string
	// isolated are sets of suffixes.
	isolated [][]string
	canSplit []string
	order    order
	// limitPerTree is 0 without a limit.
	limitPerTree int
}

// subtree is a value of same_subtree: the suffixes without "!", and those with it.
type subtree struct{ inside, outside []string }

// order is a value of order: id, random, or pack and spread with a class. It is empty if not set.
type order struct{ by, class string }

// group is one request group; the suffix of the unsuffixed group is empty.
type group struct {
	suffix    string
	resources map[string]int64
	// classes are those of resources in the order of the query.
	classes []string
	// required are sets of traits, of each of which any one is required.
	required  [][]string
	forbidden []string
	// memberOf are sets of aggregates, of each of which any one is required.
	memberOf    [][]string
	notMemberOf []string
	// inTree is the UUID of a provider; empty if not set.
	inTree string
}

// grouped are the parameters that may have a suffix, with the minor version that adds each.
var grouped = []struct {
	name  string
	since int
}{{"resources", 10}, {"required", 17}, {"member_of", 21}, {"in_tree", 31}}

var (
	numbers  = regexp.MustCompile(`^[1-9][0-9]*$`)
	suffixes = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// parse parses a query and rejects the combinations that the contract rejects
// (docs/contract/allocation-candidates.md#order-of-validation).
func parse(rawQuery string, minor int) (*request, error) {
	parsed := &request{}
	given := map[string]int{}
	for piece := range strings.SplitSeq(rawQuery, "&") {
		name, value, _ := strings.Cut(piece, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, err
		}
		given[name]++
		if err := parsed.read(name, value, given[name] == 1, minor); err != nil {
			return nil, err
		}
	}
	return parsed, parsed.check(minor)
}

// read parses one parameter.
func (r *request) read(name, value string, isFirst bool, minor int) error {
	switch {
	case name == "limit" && minor >= 16:
		if !numbers.MatchString(value) {
			return errors.New("limit is not a positive number")
		}
		if isFirst { // of several, the first is used
			limit, err := strconv.Atoi(value)
			r.limit = limit
			return err
		}
		return nil
	case name == "group_policy" && minor >= 25:
		if value != "none" && value != "isolate" {
			return errors.New("group_policy is neither none nor isolate")
		}
		if isFirst {
			r.policy = value
		}
		return nil
	case name == "root_required" && minor >= 35:
		if !isFirst {
			return errors.New("root_required twice")
		}
		for trait := range strings.SplitSeq(value, ",") {
			if forbidden, isForbidden := strings.CutPrefix(strings.TrimSpace(trait), "!"); isForbidden {
				r.rootForbidden = append(r.rootForbidden, forbidden)
			} else {
				r.rootRequired = append(r.rootRequired, strings.TrimSpace(trait))
			}
		}
		r.rootRequired, r.rootForbidden = unique(r.rootRequired), unique(r.rootForbidden)
		return nil
	case name == "same_subtree" && minor >= 36:
		r.subtrees = append(r.subtrees, subtree{inside: trimmedList(value)})
		return nil
	}
	return r.readGrouped(name, value, minor)
}

// readGrouped parses a parameter of a group.
func (r *request) readGrouped(name, value string, minor int) error {
	for _, parameter := range grouped {
		suffix, isIt := strings.CutPrefix(name, parameter.name)
		if !isIt || minor < parameter.since {
			continue
		}
		allowed := suffix == "" || minor >= 33 && suffixes.MatchString(suffix) ||
			minor >= 25 && numbers.MatchString(suffix)
		if !allowed {
			continue
		}
		switch g := r.group(suffix); parameter.name {
		case "resources":
			return g.readResources(value)
		case "required":
			return g.readRequired(value, minor)
		case "member_of":
			return g.readMemberOf(value, minor)
		default:
			g.inTree = strings.TrimSpace(value) // the last one, if repeated
		}
		return nil
	}
	return fmt.Errorf("unknown parameter %s", name)
}

// group returns the group of a suffix, and creates it if necessary.
func (r *request) group(suffix string) *group {
	for _, g := range r.groups {
		if g.suffix == suffix {
			return g
		}
	}
	made := &group{suffix: suffix}
	r.groups = append(r.groups, made)
	return made
}

// readResources parses resources. The last of several parameters counts, and the last of several
// amounts of a class.
func (g *group) readResources(value string) error {
	g.resources, g.classes = map[string]int64{}, nil
	for element := range strings.SplitSeq(value, ",") {
		class, amount, _ := strings.Cut(element, ":")
		n, err := strconv.ParseInt(amount, 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("no amount: %s", element)
		}
		if g.resources[class] == 0 {
			g.classes = append(g.classes, class)
		}
		g.resources[class] = n
	}
	return nil
}

// readRequired parses required. Several parameters add up; before 1.39 the last one counts.
func (g *group) readRequired(value string, minor int) error {
	if minor < 39 {
		g.required, g.forbidden = nil, nil
	}
	list, isAnyOf := strings.CutPrefix(value, "in:")
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	if isAnyOf {
		if minor < 39 {
			return errors.New("in: before 1.39")
		}
		g.required = append(g.required, names)
		return nil
	}
	for _, name := range names {
		forbidden, isForbidden := strings.CutPrefix(name, "!")
		switch {
		case isForbidden && minor < 22:
			return errors.New("a forbidden trait before 1.22")
		case isForbidden:
			g.forbidden = append(g.forbidden, forbidden)
		default:
			g.required = append(g.required, []string{name})
		}
	}
	return nil
}

func (g *group) readMemberOf(value string, minor int) error {
	if minor < 24 && g.memberOf != nil {
		return errors.New("member_of repeated before 1.24")
	}
	text, isForbidden := strings.CutPrefix(value, "!")
	aggregates := strings.Split(strings.TrimPrefix(text, "in:"), ",")
	switch {
	case isForbidden && minor < 32:
		return errors.New("a forbidden aggregate before 1.32")
	case isForbidden:
		g.notMemberOf = append(g.notMemberOf, aggregates...)
	default:
		g.memberOf = append(g.memberOf, aggregates)
	}
	return nil
}

// check rejects queries that are invalid as a whole.
func (r *request) check(minor int) error {
	for _, trait := range r.rootRequired {
		if slices.Contains(r.rootForbidden, trait) {
			return fmt.Errorf("root_required both wants and forbids %s", trait)
		}
	}
	if err := r.checkResourceless(minor); err != nil {
		return err
	}
	suffixed := 0
	for _, g := range r.groups {
		if g.suffix != "" {
			suffixed++
		}
		for _, anyOf := range g.required {
			if isSubset(anyOf, g.forbidden) {
				return fmt.Errorf("group %q wants and forbids %v", g.suffix, anyOf)
			}
		}
	}
	if suffixed > 1 && r.policy == "" {
		return errors.New("several suffixed groups without group_policy")
	}
	return nil
}

// checkResourceless checks groups without resources. Before 1.36 they are invalid; later a
// same_subtree must name them.
func (r *request) checkResourceless(minor int) error {
	some, mentioned := false, map[string]bool{}
	for _, named := range r.subtrees {
		for _, suffix := range named.inside {
			if suffix == "" || !r.hasGroup(suffix) {
				return fmt.Errorf("same_subtree names %q, which is no suffixed group", suffix)
			}
			mentioned[suffix] = true
		}
	}
	for _, g := range r.groups {
		some = some || g.resources != nil
		if g.resources == nil && (minor < 36 || !mentioned[g.suffix]) {
			return fmt.Errorf("group %q wants no resources", g.suffix)
		}
	}
	if !some {
		return errors.New("no group wants resources")
	}
	return nil
}

func (r *request) hasGroup(suffix string) bool {
	return slices.ContainsFunc(r.groups, func(g *group) bool { return g.suffix == suffix })
}

// trimmedList returns the elements of a list with commas.
func trimmedList(value string) []string {
	var elements []string
	for element := range strings.SplitSeq(value, ",") {
		elements = append(elements, strings.TrimSpace(element))
	}
	return elements
}

// isSubset reports whether all elements of a set are in another.
func isSubset(set, of []string) bool {
	return !slices.ContainsFunc(set, func(element string) bool { return !slices.Contains(of, element) })
}
