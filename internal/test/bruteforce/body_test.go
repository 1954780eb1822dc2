package bruteforce_test

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/bruteforce"
)

var (
	// suffixedParam matches the parameters of groups.
	suffixedParam = regexp.MustCompile(`^(resources|required|member_of|in_tree)(.*)$`)
	positive      = regexp.MustCompile(`^[1-9][0-9]{0,8}$`)
)

// bodyOf returns the body that is equivalent to a query. It returns false for queries that no body is equivalent to,
// because a number is invalid, or a parameter is repeated of which the first or the last value counts.
func bodyOf(query string) (string, bool) {
	values, suffixes := map[string][]string{}, []string(nil)
	for param := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(param, "=")
		value, err := url.QueryUnescape(value)
		if err != nil {
			return "", false
		}
		values[name] = append(values[name], value)
		if match := suffixedParam.FindStringSubmatch(name); match != nil && !slices.Contains(suffixes, match[2]) {
			suffixes = append(suffixes, match[2])
		}
	}
	body := &object{}
	groups := &object{}
	for _, suffix := range suffixes {
		group, ok := groupBody(values, suffix)
		if !ok {
			return "", false
		}
		groups.add(suffix, group)
	}
	body.add("groups", groups.raw())
	for _, name := range []string{"root_required", "group_policy", "order", "limit", "limit_per_tree"} {
		isNumber := strings.HasPrefix(name, "limit")
		if len(values[name]) > 1 || isNumber && len(values[name]) == 1 && !positive.MatchString(values[name][0]) {
			return "", false
		}
	}
	for name, member := range map[string]func([]string) any{
		"root_required":  func(given []string) any { return strings.Split(given[0], ",") },
		"root_member_of": func(given []string) any { return given },
		"not_in_tree":    func(given []string) any { return strings.Split(strings.Join(given, ","), ",") },
		"isolate":        lists, "same_subtree": lists,
		"can_split":    func(given []string) any { return strings.Split(strings.Join(given, ","), ",") },
		"group_policy": text, "order": text, "limit": number, "limit_per_tree": number,
	} {
		if given := values[name]; len(given) > 0 {
			body.add(name, member(given))
		}
	}
	return string(body.raw()), true
}

func lists(given []string) any {
	var all [][]string
	for _, value := range given {
		all = append(all, strings.Split(value, ","))
	}
	return all
}

func text(given []string) any { return given[0] }

func number(given []string) any { return json.RawMessage(given[0]) }

// groupBody returns the member of a group, or false if a value has no equivalent.
func groupBody(values map[string][]string, suffix string) (json.RawMessage, bool) {
	group := &object{}
	if given := values["resources"+suffix]; len(given) == 1 {
		amounts := &object{}
		for element := range strings.SplitSeq(given[0], ",") {
			class, amount, _ := strings.Cut(element, ":")
			parsed, err := strconv.ParseInt(amount, 10, 64)
			if err != nil || parsed < 1 || amounts.has(class) {
				return nil, false
			}
			amounts.add(class, parsed)
		}
		group.add("resources", amounts.raw())
	}
	if len(values["resources"+suffix]) > 1 || len(values["in_tree"+suffix]) > 1 {
		return nil, false
	}
	for _, name := range []string{"required", "member_of"} {
		if given := values[name+suffix]; given != nil {
			group.add(name, given)
		}
	}
	if given := values["in_tree"+suffix]; given != nil {
		group.add("in_tree", given[0])
	}
	return group.raw(), true
}

// object is a JSON object whose members keep their order.
type object struct{ keys, members []string }

func (o *object) add(key string, value any) {
	name, err := json.Marshal(key)
	if err != nil {
		panic(err)
	}
	member, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	o.keys, o.members = append(o.keys, key), append(o.members, string(name)+": "+string(member))
}

func (o *object) has(key string) bool { return slices.Contains(o.keys, key) }

func (o *object) raw() json.RawMessage {
	return json.RawMessage("{" + strings.Join(o.members, ", ") + "}")
}

func TestCandidates_BruteforceBody_BecomesQuery(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"limit_per_tree": 2, "limit": 3, "order": "pack:VCPU", "group_policy": "none", "can_split": ["B", "A"],
		"same_subtree": [["_Z", "!_A"], ["_A"]], "isolate": [["_Z", "_A"]], "root_member_of": ["a", "!in:b,c"], "root_required": ["T", "!U"],
		"groups": {"_Z": {"in_tree": "00000000-0000-0000-0000-000000000001", "member_of": ["in:a,b", "!c"], "required": ["T,!U", "in:V,W"], "resources": {"B": 2, "A": 1}},
		"": {"resources": {"VCPU": 1}}, "_A": {"required": ["!T"]}}}`: "resources_Z=B:2,A:1&required_Z=T,!U&required_Z=in:V,W&" +
			"member_of_Z=in:a,b&member_of_Z=!c&in_tree_Z=00000000-0000-0000-0000-000000000001&resources=VCPU:1&required_A=!T&root_required=T,!U&root_member_of=a&" +
			"root_member_of=!in:b,c&isolate=_Z,_A&same_subtree=_Z,!_A&same_subtree=_A&can_split=B,A&group_policy=none&order=pack:VCPU&" +
			"limit=3&limit_per_tree=2",
		`{"groups": {"": {"required": ["a&b=c"]}}, "isolate": []}`: "required=a&b=c",
	} {
		query, refusal := bruteforce.QueryOf(body)
		if refusal != nil {
			t.Fatal(refusal)
		}
		unescaped, err := url.QueryUnescape(query)
		if err != nil || unescaped != want {
			t.Errorf("query = %s, want %s", unescaped, want)
		}
	}
}

func TestCandidates_BruteforceBodyInvalid_IsRefused(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`:                                  "'groups' is a required property",
		`{"groups": {}}`:                      "{} does not have enough properties",
		`{"groups": {"": {}}, "limit": 0}`:    "0 is less than the minimum of 1",
		`{"groups": {"": {"resources": {}}}}`: "{} does not have enough properties",
		`{"groups": {"": {"resources": {"VCPU": 0}}}}`:   "0 is less than the minimum of 1",
		`{"groups": {"": {}}, "group_policy": "one"}`:    "'one' is not one of ['none', 'isolate']",
		`{"groups": {"": {"in_tree": "gold"}}}`:          "'gold' is not a 'uuid'",
		`{"groups": {"": {"limit": 0}}}`:                 "Additional properties are not allowed ('limit' was unexpected)",
		`{"groups": {"": {}}, "resources": {"VCPU": 1}}`: "Additional properties are not allowed ('resources' was unexpected)",
	} {
		if _, refusal := bruteforce.QueryOf(body); refusal == nil || refusal.Detail != "JSON does not validate: "+want {
			t.Errorf("%s: %+v, want %s", body, refusal, want)
		}
	}
}
