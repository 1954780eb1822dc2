package bruteforce_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// Names that exist and that no provider has. Some are similar to names in random deployments.
var (
	unusedTraits  = []string{"CUSTOM_FATS", "CUSTOM_SDD", "CUSTOM_HW_NUMA_ROOT", "CUSTOM_ELSEWHERE"}
	unusedClasses = []string{"CUSTOM_GLOD", "CUSTOM_NOWHERE"}
)

// explainable draws queries for explanations: most have more constraints than a deployment can satisfy.
func explainable(w world, minors []int) *rapid.Generator[question] {
	return rapid.Custom(func(t *rapid.T) question {
		q := questions(w, minors).Draw(t, "question")
		q.setting, q.query = 0, withoutParams(q.query, "limit")
		if len(w.names(isSharing)) > 0 { // which candidates of a tree count depends on its order
			q.query = withoutParams(q.query, "limit_per_tree")
		}
		d := generator{t}
		for range pick(d, 1, 2, 1, 0) {
			q.query = harder(d, w, q)
		}
		return q
	})
}

// harder returns a query with one more constraint, or with a larger amount.
func harder(d generator, w world, q question) string {
	amounts := strings.Split(q.query, "&")
	at := d.below(len(amounts))
	name, value, _ := strings.Cut(amounts[at], "=")
	if suffix, isResources := strings.CutPrefix(name, "resources"); isResources || d.chance(50) {
		if isResources && d.chance(60) {
			class, amount, _ := strings.Cut(value, ":")
			amount, others, _ := strings.Cut(amount, ",")
			more := pick(d, amount+"0", "1"+amount, "16", amount+"000", "9")
			amounts[at] = strings.TrimSuffix(fmt.Sprintf("%s=%s:%s,%s", name, class, more, others), ",")
			return strings.Join(amounts, "&")
		}
		return q.query + "&" + newConstraint(d, w, q, suffix, isResources)
	}
	if q.minor < 35 {
		return q.query
	}
	if strings.Contains(q.query, "root_required") || q.minor < bruteforce.Berth || d.chance(30) {
		if !strings.Contains(q.query, "root_required") {
			return q.query + "&root_required=" + pick(d, "", "!") + pick(d, append(unusedTraits, allTraits...)...)
		}
		return q.query
	}
	return q.query + "&root_member_of=" + pick(d, "", "!") + braced([]string{pick(d, append(allAggregates, "Z")...)})
}

// newConstraint returns a constraint of a group with resources.
func newConstraint(d generator, w world, q question, suffix string, hasGroup bool) string {
	if !hasGroup && q.minor >= 33 && !strings.Contains(q.query, "same_subtree") && q.minor == bruteforce.Berth {
		return "resources_NEW=" + pick(d, append(unusedClasses, "VCPU", "DISK_GB")...) + ":1"
	}
	if !hasGroup {
		return "limit=1000"
	}
	provider := pick(d, w.Providers...).Name
	switch kind := pick(d, "required", "member_of", "required", "in_tree"); {
	case kind == "required" && q.minor >= 39:
		return kind + suffix + "=" + pick(d, "", "!", "in:CUSTOM_FAST,") + pick(d, append(unusedTraits, allTraits...)...)
	case kind == "member_of" && q.minor >= 32:
		return kind + suffix + "=" + pick(d, "", "!") + braced([]string{pick(d, append(allAggregates, "Z")...)})
	case kind == "in_tree" && q.minor >= 31:
		return kind + suffix + "={" + pick(d, provider, provider, "missing") + "}"
	}
	return "limit=1000"
}
