package bruteforce

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/berthd/berth/server/search/explain"
)

// The steps of a part.
const (
	stepReached     = "reached"
	stepInventory   = "inventory"
	stepInTree      = "in_tree"
	stepMemberOf    = "member_of"
	stepNotMemberOf = "not_member_of"
	stepRequired    = "required"
	stepForbidden   = "forbidden"
	stepUnits       = "units"
	stepSize        = "size"
	stepReserved    = "reserved"
	stepUsed        = "used"
	// stepSplit fails if the parts of a class do not add up. It is none of the counted steps.
	stepSplit = "split"
)

// explainedPart is what one provider must meet: equal suffixed groups, or one class of the unsuffixed group.
type explainedPart struct {
	groups   []*group
	classes  []string
	canSplit bool
	steps    []partStep
}

// partStep is a condition of a provider that serves a part at an anchor.
type partStep struct {
	kind, class, value string
	isMet              func(anchor, provider *Provider) bool
}

func (p *explainedPart) suffixes() []string {
	var all []string
	for _, g := range p.groups {
		all = append(all, g.suffix)
	}
	return all
}

func (p *explainedPart) amount(class string) int64 { return p.groups[0].resources[class] }

// needed is the amount for which an inventory must have room: of a split class the least part.
func (p *explainedPart) needed(class string, inventory Inventory) int64 {
	if p.canSplit {
		return (inventory.MinUnit + inventory.StepSize - 1) / inventory.StepSize * inventory.StepSize
	}
	return p.amount(class)
}

func (e *explainer) partsOfRequest() []*explainedPart {
	var parts []*explainedPart
	for _, g := range e.request.groups {
		if g.suffix == "" {
			for _, class := range g.classes {
				canSplit := slices.Contains(e.request.canSplit, class)
				parts = append(parts, &explainedPart{groups: []*group{g}, classes: []string{class}, canSplit: canSplit})
			}
			continue
		}
		isEqual := func(p *explainedPart) bool { return p.groups[0].suffix != "" && p.groups[0].content() == g.content() }
		if at := slices.IndexFunc(parts, isEqual); at >= 0 {
			parts[at].groups = append(parts[at].groups, g)
		} else {
			parts = append(parts, &explainedPart{groups: []*group{g}, classes: g.classes})
		}
	}
	for _, part := range parts {
		part.steps = e.stepsOf(part)
	}
	return parts
}

// content returns a text that is the same for groups with the same constraints.
func (g *group) content() string {
	texts := func(sets [][]string) []string {
		var all []string
		for _, set := range sets {
			all = append(all, strings.Join(sorted(set), "|"))
		}
		return sorted(all)
	}
	var amounts []string
	for _, class := range slices.Sorted(maps.Keys(g.resources)) {
		amounts = append(amounts, fmt.Sprintf("%s:%d", class, g.resources[class]))
	}
	return fmt.Sprint(amounts, texts(g.required), sorted(g.forbidden), texts(g.memberOf), sorted(g.notMemberOf), g.inTree)
}

// sorted returns the different elements of a list in order.
func sorted(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }

// unique returns the different elements of a list in their order.
func unique(list []string) []string {
	var kept []string
	for _, element := range list {
		if !slices.Contains(kept, element) {
			kept = append(kept, element)
		}
	}
	return kept
}

func (e *explainer) stepsOf(part *explainedPart) []partStep {
	steps := []partStep{{kind: stepReached, isMet: func(_, _ *Provider) bool { return true }}}
	for _, class := range part.classes {
		steps = append(steps, partStep{kind: stepInventory, class: class, isMet: func(_, p *Provider) bool {
			_, exists := p.Inventories[class]
			return exists
		}})
	}
	steps = append(steps, e.qualitySteps(part.groups[0])...)
	for _, class := range part.classes {
		steps = append(steps, part.roomSteps(class)...)
	}
	return steps
}

// qualitySteps returns the steps of a group other than those of inventories.
func (e *explainer) qualitySteps(g *group) []partStep {
	var steps []partStep
	isSuffixed := g.suffix != ""
	add := func(kind, value string, isMet func(anchor, p *Provider) bool) {
		steps = append(steps, partStep{kind: kind, value: value, isMet: isMet})
	}
	if g.inTree != "" {
		add(stepInTree, g.inTree, func(anchor, p *Provider) bool {
			return e.isInTreeOf(p, g.inTree) && (isSuffixed || !e.isForeign(anchor, p))
		})
	}
	if g.memberOf != nil {
		add(stepMemberOf, memberOfValue(g), func(anchor, p *Provider) bool {
			return isMember(p, g) || !isSuffixed && !e.isForeign(anchor, p) && isMember(anchor, g)
		})
	}
	if g.notMemberOf != nil {
		add(stepNotMemberOf, "!in:"+strings.Join(g.notMemberOf, ","), func(anchor, p *Provider) bool {
			return !p.isInAnyOf(g.notMemberOf) && (isSuffixed || !anchor.isInAnyOf(g.notMemberOf))
		})
	}
	if isSuffixed || !e.needsTraitsTogether(g) {
		for _, anyOf := range g.required {
			add(stepRequired, strings.Join(anyOf, ","), func(_, p *Provider) bool { return slices.ContainsFunc(anyOf, p.hasTrait) })
		}
	}
	for _, trait := range g.forbidden {
		add(stepForbidden, trait, func(_, p *Provider) bool { return !p.hasTrait(trait) })
	}
	return steps
}

// needsTraitsTogether reports whether several providers may have the traits of the unsuffixed group together.
func (e *explainer) needsTraitsTogether(g *group) bool {
	return len(g.classes) > 1 || slices.Contains(e.request.canSplit, g.classes[0])
}

func memberOfValue(g *group) string {
	var values []string
	for _, set := range g.memberOf {
		values = append(values, "in:"+strings.Join(set, ","))
	}
	return strings.Join(values, ";")
}

// roomSteps returns the steps of the inventory of a class.
func (p *explainedPart) roomSteps(class string) []partStep {
	step := func(kind string, isMet func(i Inventory, used, needed int64) bool) partStep {
		return partStep{kind: kind, class: class, isMet: func(_, provider *Provider) bool {
			inventory, exists := provider.Inventories[class]
			return exists && isMet(inventory, provider.Used[class], p.needed(class, inventory))
		}}
	}
	n := p.amount(class)
	return []partStep{
		step(stepUnits, func(i Inventory, _, needed int64) bool {
			return n%i.StepSize == 0 && i.MinUnit <= n && needed <= i.MaxUnit
		}),
		step(stepSize, func(i Inventory, _, needed int64) bool { return float64(needed) <= float64(i.Total)*i.Ratio }),
		step(stepReserved, func(i Inventory, _, needed int64) bool { return float64(needed) <= i.capacity() }),
		step(stepUsed, func(i Inventory, used, needed int64) bool { return float64(used+needed) <= i.capacity() }),
	}
}

// passed returns the number of steps that a provider passes before the first that it fails.
func (p *explainedPart) passed(anchor, provider *Provider) int {
	failed := slices.IndexFunc(p.steps, func(s partStep) bool { return !s.isMet(anchor, provider) })
	if failed < 0 {
		return len(p.steps)
	}
	return failed
}

// servers returns the providers that pass all steps of a part at an anchor.
func (e *explainer) servers(p *explainedPart, anchor *Provider) []*Provider {
	return slices.DeleteFunc(slices.Clone(e.Providers), func(provider *Provider) bool {
		return !e.reaches(anchor, provider) || p.passed(anchor, provider) < len(p.steps)
	})
}

// isMetAt reports whether a part is met at an anchor.
func (e *explainer) isMetAt(p *explainedPart, anchor *Provider) bool {
	return len(e.servers(p, anchor)) > 0 && (!p.canSplit || e.splitSum(p, anchor) >= p.amount(p.classes[0]))
}

// splitSum returns the most of a split class that the providers of an anchor with one step_size can give together.
func (e *explainer) splitSum(p *explainedPart, anchor *Provider) int64 {
	class, sums := p.classes[0], map[int64]int64{0: 0}
	for _, provider := range e.servers(p, anchor) {
		sums[provider.Inventories[class].StepSize] += provider.gives(class, p.amount(class))
	}
	return slices.Max(slices.Collect(maps.Values(sums)))
}

// gives returns the greatest amount up to a limit that one claim can allocate.
func (p *Provider) gives(class string, limit int64) int64 {
	inventory, exists := p.Inventories[class]
	if !exists {
		return 0
	}
	amount := min(p.free(class), limit)
	if amount -= amount % inventory.StepSize; amount < max(inventory.MinUnit, 1) {
		return 0
	}
	return amount
}

// shownParts counts the providers and the anchors of each step of each part.
func (e *explainer) shownParts() []explain.Part {
	shown := []explain.Part{}
	for _, part := range e.parts {
		made := explain.Part{Groups: part.suffixes(), Resources: map[string]int64{}, CanSplit: part.canSplit}
		for _, class := range part.classes {
			made.Resources[class] = part.amount(class)
		}
		for k, step := range part.steps {
			providers, trees := map[*Provider]bool{}, map[*Provider]bool{}
			for _, anchor := range e.anchors {
				for _, provider := range e.Providers {
					if e.reaches(anchor, provider) && part.passed(anchor, provider) > k {
						providers[provider], trees[anchor] = true, true
					}
				}
			}
			made.Steps = append(made.Steps, explain.Step{
				Step: step.kind, Class: step.class, Value: step.value, Providers: int64(len(providers)), Trees: int64(len(trees)),
			})
		}
		if part.canSplit {
			trees := countOf(e.anchors, func(anchor *Provider) bool { return e.isMetAt(part, anchor) })
			made.SplitTrees = &trees
		}
		shown = append(shown, made)
	}
	return shown
}
