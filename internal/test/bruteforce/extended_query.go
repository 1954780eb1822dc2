package bruteforce

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Berth is the version "placement 1.39, berth 1.1", which follows 1.39.
const Berth = 40

// UnknownName begins the names of classes and traits that do not exist. Every other name exists.
const UnknownName = "CUSTOM_UNKNOWN"

// Refusal is an error response of status 400.
type Refusal struct {
	// Code is "" for placement.undefined_code.
	Code, Detail string
}

func (r *Refusal) codeOrDefault() string {
	if r.Code == "" {
		return "placement.undefined_code"
	}
	return r.Code
}

// The codes of the extensions, and those of 1.39 that they use.
const (
	badValue       = "berth.query.bad_value"
	oldBadValue    = "placement.query.bad_value"
	oldDuplicate   = "placement.query.duplicate_key"
	oldMissing     = "placement.query.missing_value"
	invalidStrings = "Invalid query string parameters: "
)

// parameter is one name and value of a query string.
type parameter struct{ name, value string }

// extended parses a query at Berth. Its steps are the checks of docs/contract/berth/search.md#order-of-validation, each
// of which looks at all parameters.
type extended struct {
	request
	given []parameter
}

var extendedSteps = []func(*extended) *Refusal{
	(*extended).checkNames, (*extended).readLimits, (*extended).readRootTraits, (*extended).readRootMembers,
	(*extended).readExcludedTrees, (*extended).readSubtrees, (*extended).readIsolated, (*extended).readSplit, (*extended).readOrder,
	(*extended).readGroups, (*extended).readInTree, (*extended).checkResources, (*extended).checkSuffixes,
	(*extended).checkClasses, (*extended).checkConflicts, (*extended).checkUnknownNames,
}

func parseExtended(rawQuery string) (*request, *Refusal) {
	e := &extended{request: request{isExtended: true}}
	for piece := range strings.SplitSeq(rawQuery, "&") {
		name, value, _ := strings.Cut(piece, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			return nil, &Refusal{Detail: invalidStrings + err.Error()}
		}
		if piece != "" {
			e.given = append(e.given, parameter{name, value})
		}
	}
	for _, step := range extendedSteps {
		if refusal := step(e); refusal != nil {
			return nil, refusal
		}
	}
	return &e.request, nil
}

// values returns all values of a parameter.
func (e *extended) values(name string) []string {
	var found []string
	for _, each := range e.given {
		if each.name == name {
			found = append(found, each.value)
		}
	}
	return found
}

// ungrouped are the parameters without a suffix.
var ungrouped = []string{
	"limit", "group_policy", "root_required", "same_subtree", "root_member_of", "not_in_tree", "isolate", "can_split", "order",
	"limit_per_tree",
}

var groupedName = regexp.MustCompile(`^(resources|required|member_of|in_tree)([a-zA-Z0-9_-]{1,64})?$`)

func (e *extended) checkNames() *Refusal {
	unknown := map[string]bool{}
	for _, each := range e.given {
		if !slices.Contains(ungrouped, each.name) && !groupedName.MatchString(each.name) {
			unknown[each.name] = true
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	const suffix = `([a-zA-Z0-9_-]{1,64})?$`
	verb := map[bool]string{true: "does", false: "do"}[len(unknown) == 1]
	return &Refusal{Detail: invalidStrings + "'" + strings.Join(slices.Sorted(maps.Keys(unknown)), "', '") + "' " + verb +
		" not match any of the regexes: '^in_tree" + suffix + "', '^member_of" + suffix + "', '^required" + suffix + "', '^resources" + suffix + "'"}
}

// readLimits reads group_policy, limit and limit_per_tree, of which the first value counts. The schema reports the last
// value before others.
func (e *extended) readLimits() *Refusal {
	policies := e.values("group_policy")
	if len(policies) > 0 {
		e.policy = policies[0]
		if last := policies[len(policies)-1]; last != "none" && last != "isolate" {
			return &Refusal{Detail: invalidStrings + "'" + last + "' is not one of ['none', 'isolate']"}
		}
	}
	for _, limit := range []struct {
		name string
		into *int
	}{{"limit", &e.limit}, {"limit_per_tree", &e.limitPerTree}} {
		values := e.values(limit.name)
		for _, value := range slices.Concat(values[max(0, len(values)-1):], values) {
			if !numbers.MatchString(value) {
				return &Refusal{Detail: invalidStrings + "'" + value + "' does not match '^[1-9][0-9]*$'"}
			}
		}
		if len(values) > 0 {
			*limit.into, _ = strconv.Atoi(values[0]) // the greatest integer, if the number is too large
		}
	}
	return nil
}

func (e *extended) readRootTraits() *Refusal {
	values := e.values("root_required")
	if len(values) > 1 {
		return &Refusal{oldDuplicate, "Query parameter 'root_required' may be specified only once."}
	}
	for _, value := range values {
		if slices.Contains(trimmedList(value), "") {
			return emptyTrait("HW_CPU_X86_VMX,!CUSTOM_MAGIC", value)
		}
		if strings.HasPrefix(value, "in:") {
			return &Refusal{Detail: invalidStrings + "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since " +
				"microversion 1.39. Got: " + value}
		}
		for _, name := range trimmedList(value) {
			if forbidden, isForbidden := strings.CutPrefix(name, "!"); isForbidden {
				e.rootForbidden = append(e.rootForbidden, forbidden)
			} else {
				e.rootRequired = append(e.rootRequired, name)
			}
		}
	}
	e.rootRequired, e.rootForbidden = unique(e.rootRequired), unique(e.rootForbidden)
	var both []string
	for _, name := range sorted(e.rootRequired) {
		if slices.Contains(e.rootForbidden, name) {
			both = append(both, name)
		}
	}
	if both != nil {
		return &Refusal{oldBadValue, "Conflicting required and forbidden traits found in root_required: " + strings.Join(both, ", ")}
	}
	return nil
}

func emptyTrait(form, value string) *Refusal {
	return &Refusal{Detail: invalidStrings + "Expected 'required' parameter value of the form: " + form +
		". Got an empty trait in: " + value}
}

func (e *extended) readRootMembers() *Refusal {
	for _, value := range e.values("root_member_of") {
		if text := strings.TrimPrefix(value, "!"); !strings.HasPrefix(text, "in:") && strings.Contains(text, ",") {
			return &Refusal{badValue, "Several values of 'root_member_of' must be prefixed with 'in:' or '!in:'. Got: " + value}
		}
	}
	for _, value := range e.values("root_member_of") {
		list, isForbidden := strings.CutPrefix(value, "!")
		var set []string
		for element := range strings.SplitSeq(strings.TrimPrefix(list, "in:"), ",") {
			uuid, ok := uuidOf(element)
			if !ok {
				return &Refusal{badValue, "Expected 'root_member_of' parameter to contain valid UUID(s). Got: " + element}
			}
			set = append(set, uuid)
		}
		if isForbidden {
			e.rootNotMemberOf = append(e.rootNotMemberOf, set...)
		} else {
			e.rootMemberOf = append(e.rootMemberOf, set)
		}
	}
	return nil
}

func (e *extended) readExcludedTrees() *Refusal {
	for _, value := range e.values("not_in_tree") {
		for _, element := range trimmedList(value) {
			uuid, ok := uuidOf(element)
			if !ok {
				return &Refusal{badValue, "Expected 'not_in_tree' parameter to contain valid UUID(s). Got: " + element}
			}
			e.notInTree = append(e.notInTree, uuid)
		}
	}
	return nil
}

var hexadecimal = regexp.MustCompile(`^[0-9a-f]{32}$`)

// uuidOf returns the usual form of a text that is like a UUID (docs/contract/http.md#uuids).
func uuidOf(text string) (string, bool) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "urn:", ""), "uuid:", "")
	text = strings.ReplaceAll(strings.ToLower(strings.Trim(text, "{}")), "-", "")
	if !hexadecimal.MatchString(text) {
		return "", false
	}
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-"), true
}

func (e *extended) readSubtrees() *Refusal {
	values := e.values("same_subtree")
	for _, value := range values {
		read := subtree{}
		for _, element := range trimmedList(value) {
			suffix, isOutside := strings.CutPrefix(element, "!")
			if suffix = strings.TrimSpace(suffix); suffix == "" {
				return &Refusal{oldBadValue, "Empty string (unsuffixed group) can not be specified in `same_subtree` "}
			}
			if isOutside {
				read.outside = append(read.outside, suffix)
			} else {
				read.inside = append(read.inside, suffix)
			}
		}
		e.subtrees = append(e.subtrees, read)
	}
	for i, read := range e.subtrees {
		for _, suffix := range read.inside {
			if slices.Contains(read.outside, suffix) {
				return &Refusal{badValue, "`same_subtree` names group '" + suffix + "' both with and without '!'. Got: " + values[i]}
			}
		}
	}
	for i, read := range e.subtrees {
		if read.inside == nil {
			return &Refusal{badValue, "`same_subtree` must name at least one group without '!'. Got: " + values[i]}
		}
	}
	return nil
}
