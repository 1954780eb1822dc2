package bruteforce

import (
	"fmt"
	"slices"
	"strings"
)

// checkResources requires a group with resources, and resources of the unsuffixed group.
func (e *extended) checkResources() *Refusal {
	hasResources := func(g *group) bool { return g.resources != nil }
	if !slices.ContainsFunc(e.groups, hasResources) {
		return &Refusal{oldMissing, "There must be at least one resources or resources[$S] parameter."}
	}
	if e.hasGroup("") && e.group("").resources == nil {
		return &Refusal{badValue, "The group without a suffix asks for no resources. Give it a suffix, or use root_required and " +
			"root_member_of for what the root must have."}
	}
	return nil
}

// checkSuffixes requires a group for each suffix of same_subtree and isolate.
func (e *extended) checkSuffixes() *Refusal {
	var inSubtrees []string
	for _, value := range e.values("same_subtree") {
		for _, element := range trimmedList(value) {
			inSubtrees = append(inSubtrees, strings.TrimSpace(strings.TrimPrefix(element, "!")))
		}
	}
	const phrase = "Real suffixes should be specified in `%s`: %s not found in %s."
	if unknown := e.unknownSuffixes(inSubtrees); unknown != nil {
		return &Refusal{oldBadValue, fmt.Sprintf(phrase, "same_subtree", pythonList(unknown), e.suffixList())}
	}
	if unknown := e.unknownSuffixes(slices.Concat(e.isolated...)); unknown != nil {
		return &Refusal{"berth.query.unknown_group", fmt.Sprintf(phrase, "isolate", pythonList(unknown), e.suffixList())}
	}
	return nil
}

func (e *extended) unknownSuffixes(named []string) []string {
	var unknown []string
	for _, suffix := range named {
		if !e.hasGroup(suffix) && !slices.Contains(unknown, suffix) {
			unknown = append(unknown, suffix)
		}
	}
	return unknown
}

func (e *extended) suffixList() string {
	var all []string
	for _, g := range e.groups {
		all = append(all, g.suffix)
	}
	return pythonList(all)
}

func pythonList(elements []string) string { return "['" + strings.Join(elements, "', '") + "']" }

// checkClasses requires that a group requests each class of can_split and order.
func (e *extended) checkClasses() *Refusal {
	var unsplit []string
	for _, class := range e.canSplit {
		isRequested := e.hasGroup("") && e.group("").resources[class] > 0
		if !isRequested && !slices.Contains(unsplit, class) {
			unsplit = append(unsplit, class)
		}
	}
	if unsplit != nil {
		return &Refusal{badValue, "`can_split` names classes that the group without a suffix does not ask for: " +
			strings.Join(unsplit, ", ") + "."}
	}
	if class := e.order.class; class != "" && !e.wants(class) {
		return &Refusal{badValue, "`order` names a class that no group asks for: " + class + "."}
	}
	return nil
}

// checkConflicts returns an error for groups that forbid every trait of a required set.
func (e *extended) checkConflicts() *Refusal {
	var conflicts []string
	for _, g := range e.groups {
		for _, anyOf := range g.required {
			if isSubset(anyOf, g.forbidden) {
				names := slices.Compact(slices.Sorted(slices.Values(anyOf)))
				conflicts = append(conflicts, fmt.Sprintf("required%s: (%s)", g.suffix, strings.Join(names, ", ")))
			}
		}
	}
	if conflicts == nil {
		return nil
	}
	slices.Sort(conflicts)
	return &Refusal{Detail: "Conflicting required and forbidden traits found in the following traits keys: " +
		strings.Join(conflicts, ", ")}
}

// checkUnknownNames reports the first unknown name: traits of the root, then the classes and the traits of each group.
func (e *extended) checkUnknownNames() *Refusal {
	if refusal := unknownTraits(slices.Concat(e.rootRequired, e.rootForbidden)); refusal != nil {
		return refusal
	}
	for _, g := range e.groups {
		for _, class := range g.classes {
			if strings.HasPrefix(class, UnknownName) {
				return &Refusal{Detail: "Invalid resource class in resources parameter: No such resource class " + class + "."}
			}
		}
		if refusal := unknownTraits(slices.Concat(g.required...)); refusal != nil {
			return refusal
		}
		if refusal := unknownTraits(g.forbidden); refusal != nil {
			return refusal
		}
	}
	return nil
}

func unknownTraits(names []string) *Refusal {
	var unknown []string
	for _, name := range names {
		if strings.HasPrefix(name, UnknownName) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if unknown == nil {
		return nil
	}
	return &Refusal{Detail: "No such trait(s): " + strings.Join(unknown, ", ") + "."}
}
