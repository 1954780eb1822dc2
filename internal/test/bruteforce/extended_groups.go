package bruteforce

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (e *extended) readIsolated() *Refusal {
	values := e.values("isolate")
	for _, value := range values {
		suffixes := trimmedList(value)
		if slices.Contains(suffixes, "") {
			return &Refusal{badValue, "Empty string (unsuffixed group) can not be specified in `isolate`"}
		}
		e.isolated = append(e.isolated, suffixes)
	}
	for i, suffixes := range e.isolated {
		if len(slices.Compact(slices.Sorted(slices.Values(suffixes)))) < 2 {
			return &Refusal{badValue, "`isolate` must name at least two groups. Got: " + values[i]}
		}
	}
	if len(values) > 0 && e.policy == "isolate" {
		return &Refusal{"berth.query.conflict", "`isolate` cannot be combined with group_policy=isolate, which isolates all groups " +
			"with a suffix already."}
	}
	return nil
}

func (e *extended) readSplit() *Refusal {
	for _, value := range e.values("can_split") {
		classes := trimmedList(value)
		if slices.Contains(classes, "") {
			return &Refusal{badValue, "`can_split` has an empty class name. Got: " + value}
		}
		e.canSplit = append(e.canSplit, classes...)
	}
	return nil
}

func (e *extended) readOrder() *Refusal {
	values := e.values("order")
	if len(values) > 1 {
		return &Refusal{"berth.query.duplicate_key", "Query parameter 'order' may be specified only once."}
	}
	for _, value := range values {
		by, class, hasClass := strings.Cut(value, ":")
		isKnown := map[bool][]string{false: {"id", "random"}, true: {"pack", "spread"}}[hasClass]
		if !slices.Contains(isKnown, by) || hasClass && class == "" {
			return &Refusal{badValue, "Expected 'order' parameter to be one of: id, pack:CLASS, spread:CLASS, random. Got: " + value}
		}
		e.order = order{by, class}
	}
	return nil
}

// readGroups reads the parameters of groups other than in_tree. Groups are in the order of their first parameter.
func (e *extended) readGroups() *Refusal {
	read := map[string]bool{}
	for _, each := range e.given {
		match := groupedName.FindStringSubmatch(each.name)
		if match == nil {
			continue
		}
		g := e.group(match[2])
		if read[each.name] {
			continue
		}
		read[each.name] = true
		var refusal *Refusal
		switch values := e.values(each.name); match[1] {
		case "resources":
			refusal = g.readAmounts(values[len(values)-1])
		case "required":
			refusal = g.readTraits(values)
		case "member_of":
			refusal = g.readMembers(values)
		}
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

func (g *group) readAmounts(value string) *Refusal {
	const form = "Badly formed resources parameter. Expected resources query string parameter in form: " +
		"?resources=VCPU:2,MEMORY_MB:1024. Got: %s."
	if strings.TrimSpace(value) == "" {
		return &Refusal{Detail: fmt.Sprintf(form, "empty string")}
	}
	g.resources = map[string]int64{}
	for element := range strings.SplitSeq(value, ",") {
		class, text, ok := strings.Cut(element, ":")
		if !ok || strings.Contains(text, ":") {
			return &Refusal{Detail: fmt.Sprintf(form, element)}
		}
		amount, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return &Refusal{Detail: fmt.Sprintf("Requested resource %s expected positive integer amount. Got: %s.", class, text)}
		}
		if amount < 1 {
			return &Refusal{Detail: fmt.Sprintf("Requested resource %s requires amount >= 1. Got: %d.", class, amount)}
		}
		if g.resources[class] == 0 {
			g.classes = append(g.classes, class)
		}
		g.resources[class] = amount
	}
	return nil
}

func (g *group) readTraits(values []string) *Refusal {
	for _, value := range values {
		list, isAnyOf := strings.CutPrefix(value, "in:")
		names := trimmedList(list)
		switch form := "HW_CPU_X86_VMX,!CUSTOM_MAGIC"; {
		case slices.Contains(names, "") && isAnyOf:
			return emptyTrait("in:HW_CPU_X86_VMX,CUSTOM_MAGIC", value)
		case slices.Contains(names, "") || slices.Contains(names, "!"):
			return emptyTrait(form, value)
		case isAnyOf && strings.Contains(list, "!"):
			return &Refusal{Detail: invalidStrings + "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' does not support forbidden traits. " +
				"Got: " + value}
		case isAnyOf:
			g.required = append(g.required, names)
			continue
		}
		for _, name := range names {
			if strings.HasPrefix(name, "!") {
				g.forbidden = append(g.forbidden, strings.TrimLeft(name, "!"))
			} else {
				g.required = append(g.required, []string{name})
			}
		}
	}
	return nil
}

func (g *group) readMembers(values []string) *Refusal {
	for _, value := range values {
		list, isForbidden := strings.CutPrefix(value, "!")
		list, isAnyOf := strings.CutPrefix(list, "in:")
		if !isAnyOf && strings.Contains(list, ",") {
			return &Refusal{Detail: "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword using the valid " +
				"microversion. Got: " + value}
		}
		var set []string
		for element := range strings.SplitSeq(list, ",") {
			uuid, ok := uuidOf(element)
			if !ok {
				return &Refusal{Detail: invalidStrings + "Expected 'member_of' parameter to contain valid UUID(s). Got: " + element}
			}
			set = append(set, uuid)
		}
		if isForbidden {
			g.notMemberOf = append(g.notMemberOf, set...)
		} else {
			g.memberOf = append(g.memberOf, set)
		}
	}
	return nil
}

func (e *extended) readInTree() *Refusal {
	for _, each := range e.given {
		match := groupedName.FindStringSubmatch(each.name)
		if match == nil || match[1] != "in_tree" {
			continue
		}
		values := e.values(each.name)
		last := values[len(values)-1]
		uuid, ok := uuidOf(strings.TrimSpace(last))
		if !ok {
			return &Refusal{Detail: invalidStrings + "Expected 'in_tree' parameter to be a format of uuid. Got: " + last}
		}
		e.group(match[2]).inTree = uuid
	}
	return nil
}
