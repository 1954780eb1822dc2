package bruteforce_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/bruteforce"
)

// question is a query and the server to which it is sent.
type question struct {
	// query contains providers and aggregates as {name}.
	query string
	minor int
	// setting is the index of the server.
	setting int
	// hasBody reports whether the query is sent as the body of a POST.
	hasBody bool
}

// GoString returns the text for messages of rapid.
func (q question) GoString() string {
	method := map[bool]string{true: "POST", false: "GET"}[q.hasBody]
	return fmt.Sprintf("%s /allocation_candidates?%s @1.%d, %s", method, q.query, q.minor, settings[q.setting].name)
}

// body returns the body of a POST; empty for a GET, and for queries without an equivalent body.
func (q question) body() string {
	if !q.hasBody {
		return ""
	}
	body, _ := bodyOf(bruteforce.Expand(q.query))
	return body
}

// answer returns the answer of the brute force. The order of parameters, which determines the first error, is that of
// the body.
func (q question) answer(w world) *bruteforce.Response {
	query := bruteforce.Expand(q.query)
	if body := q.body(); body != "" {
		converted, refusal := bruteforce.QueryOf(body)
		if refusal != nil {
			return &bruteforce.Response{Refused: refusal.Detail, Code: refusal.Code}
		}
		query = converted
	}
	return w.Ask(query, q.minor)
}

// questions draws queries for a deployment. Queries that ignore the deployment would rarely have
// candidates.
func questions(w world, minors []int) *rapid.Generator[question] {
	return rapid.Custom(func(t *rapid.T) question {
		a := &queryGenerator{generator: generator{t}, world: w}
		a.minor = pick(a.generator, minors...)
		a.anchor = pick(a.generator, w.Roots()...)
		for _, provider := range w.Providers {
			if slices.Contains(w.Anchors(provider), a.anchor) {
				a.reach = append(a.reach, provider)
			}
		}
		if a.minor == bruteforce.Berth {
			a.askExtended()
		} else {
			a.ask()
		}
		asked := question{query: strings.Join(a.shuffled(), "&"), minor: a.minor, setting: a.below(len(settings))}
		if settings[asked.setting].isCutting() && a.minor < 29 {
			asked.setting = 0 // the limit applies before the filter, so the number of candidates is undefined
		}
		asked.hasBody = a.minor == bruteforce.Berth && a.chance(35)
		return asked
	})
}

// queryGenerator draws one query. It selects a root, and for each group a provider that satisfies
// it.
type queryGenerator struct {
	generator
	world
	minor int
	// anchor is the root, reach the providers that may serve it.
	anchor *bruteforce.Provider
	reach  []*bruteforce.Provider
	params []string
	// suffixes are the suffixes of the groups so far; resourceless is a subset.
	suffixes, resourceless []string
}

func (a *queryGenerator) add(name, value string) { a.params = append(a.params, name+"="+value) }

// shuffled returns the parameters in random order. The order changes the meaning of repeated
// parameters of which the last one counts, which is intended.
func (a *queryGenerator) shuffled() []string {
	left, order := slices.Clone(a.params), []string(nil)
	for len(left) > 0 {
		next := a.below(len(left))
		order = append(order, left[next])
		left = slices.Delete(left, next, next+1)
	}
	return order
}

// ask draws the groups, then the constraints between them.
func (a *queryGenerator) ask() {
	suffixed := 0
	if a.minor >= 25 {
		suffixed = pick(a.generator, 0, 1, 2, 0, 1, 2, 3)
	}
	if suffixed == 0 || a.chance(45) {
		a.unsuffixed()
	}
	below := a.reach
	isTied := a.minor >= 36 && suffixed > 0 && a.chance(40)
	if isTied {
		below = a.subtree()
	}
	a.suffixedGroups(suffixed, below)
	if a.minor >= 36 && len(a.suffixes) < 3 && a.chance(35) {
		a.withoutResources(pick(a.generator, below...))
	}
	a.bind(isTied)
	if a.minor >= 16 && a.chance(15) {
		a.add("limit", fmt.Sprint(pick(a.generator, 1, 2, 3, 5, 50)))
		if a.chance(10) {
			a.add("limit", "7")
		}
	}
}

func (a *queryGenerator) suffixedGroups(count int, from []*bruteforce.Provider) {
	for i := range count {
		if i > 0 && a.chance(20) {
			a.repeatGroup()
		} else {
			a.suffixed(a.roomy(from))
		}
	}
}

// subtree returns a provider of the tree of the anchor, preferably one with children, and its
// descendants. The provider itself is the most frequent element.
func (a *queryGenerator) subtree() []*bruteforce.Provider {
	inTree := func(p *bruteforce.Provider) bool { return a.Root(p) == a.anchor }
	top := a.Named(pick(a.generator, a.names(inTree)...))
	if top.Parent != "" && a.chance(60) {
		top = a.Named(top.Parent)
	}
	found := []*bruteforce.Provider{top, top}
	for _, provider := range a.Providers {
		for p := provider; p.Parent != ""; p = a.Named(p.Parent) {
			if p.Parent == top.Name {
				found = append(found, provider)
			}
		}
	}
	return found
}

// newSuffix draws an unused suffix. From 1.33 on suffixes may be words.
func (a *queryGenerator) newSuffix() string {
	all := []string{"1", "2", "3", "11"}
	if a.minor >= 33 {
		all = append(all, "_A", "_a", "_NUMA-0", "x1")
	}
	suffix := pick(a.generator, without(all, a.suffixes)...)
	a.suffixes = append(a.suffixes, suffix)
	return suffix
}

// unsuffixed draws a group that several providers may serve.
func (a *queryGenerator) unsuffixed() {
	from := a.reach
	if a.minor >= 31 && a.chance(15) {
		from = a.inTree("", pick(a.generator, from...))
	}
	wanted, chosen := map[string]int64{}, []*bruteforce.Provider(nil)
	for range pick(a.generator, 1, 2, 2, 3) {
		provider := a.roomy(from)
		class := a.class(provider)
		if _, again := wanted[class]; !again {
			wanted[class] = a.amount(provider, class)
			chosen = append(chosen, provider)
		}
	}
	a.resources("", wanted)
	a.qualities("", chosen, 35)
}

// suffixed draws a group for a selected provider.
func (a *queryGenerator) suffixed(provider *bruteforce.Provider) {
	suffix, wanted := a.newSuffix(), map[string]int64{}
	for range pick(a.generator, 1, 1, 2) {
		class := a.class(provider)
		wanted[class] = a.amount(provider, class)
	}
	a.resources(suffix, wanted)
	a.qualities(suffix, []*bruteforce.Provider{provider}, 22)
	if a.minor >= 31 && a.chance(12) {
		a.inTree(suffix, provider)
	}
}

// withoutResources draws a group with constraints other than resources.
func (a *queryGenerator) withoutResources(provider *bruteforce.Provider) {
	suffix, before := a.newSuffix(), len(a.params)
	a.resourceless = append(a.resourceless, suffix)
	a.qualities(suffix, []*bruteforce.Provider{provider}, 45)
	if a.chance(25) {
		a.inTree(suffix, provider)
	}
	if len(a.params) == before {
		a.add("required"+suffix, "!"+pick(a.generator, append(without(allTraits, provider.Traits), allTraits[0])...))
	}
}

// repeatGroup repeats the constraints of another group with a new suffix.
func (a *queryGenerator) repeatGroup() {
	from, suffix := pick(a.generator, a.suffixes...), a.newSuffix()
	for _, param := range slices.Clone(a.params) {
		name, value, _ := strings.Cut(param, "=")
		for _, kind := range []string{"resources", "required", "member_of", "in_tree"} {
			if name == kind+from {
				a.add(kind+suffix, value)
			}
		}
	}
}

// inTree restricts the query to the tree of a provider by any of its members, rarely by a missing one, and returns the
// members.
func (a *queryGenerator) inTree(suffix string, provider *bruteforce.Provider) []*bruteforce.Provider {
	var members []*bruteforce.Provider
	for _, member := range a.Providers {
		if a.Root(member) == a.Root(provider) {
			members = append(members, member)
		}
	}
	name := pick(a.generator, members...).Name
	if a.chance(6) {
		name = "missing"
	}
	if a.chance(8) {
		a.add("in_tree"+suffix, "{missing}") // replaced by the next one, in this order
	}
	a.add("in_tree"+suffix, "{"+name+"}")
	return members
}

func (a *queryGenerator) resources(suffix string, wanted map[string]int64) {
	var list []string
	for _, class := range slices.Sorted(maps.Keys(wanted)) {
		list = append(list, fmt.Sprintf("%s:%d", class, wanted[class]))
	}
	a.add("resources"+suffix, strings.Join(list, ","))
}

// roomy returns a provider with free capacity, or rarely any provider.
func (a *queryGenerator) roomy(from []*bruteforce.Provider) *bruteforce.Provider {
	roomy := slices.DeleteFunc(slices.Clone(from), func(p *bruteforce.Provider) bool { return len(served(p)) == 0 })
	if len(roomy) == 0 || a.chance(4) {
		return pick(a.generator, from...)
	}
	return pick(a.generator, roomy...)
}

// served returns the classes of which a provider has free capacity.
func served(provider *bruteforce.Provider) []string {
	var classes []string
	for _, class := range slices.Sorted(maps.Keys(provider.Inventories)) {
		if len(fitting(provider, class)) > 0 {
			classes = append(classes, class)
		}
	}
	return classes
}

// fitting returns amounts that fit the free capacity of a provider.
func fitting(provider *bruteforce.Provider, class string) []int64 {
	return slices.DeleteFunc([]int64{1, 2, 3, 4, 6, 8, 12, 28, 29}, func(amount int64) bool {
		return !provider.HasRoomFor(class, amount)
	})
}

// class returns a class that a provider can serve, or rarely any class.
func (a *queryGenerator) class(provider *bruteforce.Provider) string {
	if classes := served(provider); len(classes) > 0 && !a.chance(4) {
		return pick(a.generator, classes...)
	}
	return pick(a.generator, hostOdds...).class
}

// amount returns an amount that a provider can serve, or rarely any amount. Small amounts permit
// more candidates; large amounts test the checks of sums.
func (a *queryGenerator) amount(provider *bruteforce.Provider, class string) int64 {
	amounts := fitting(provider, class)
	switch {
	case len(amounts) == 0 || a.chance(5):
		return pick[int64](a.generator, 1, 2, 3, 5, 9, 17)
	case a.chance(60):
		return amounts[0]
	}
	return pick(a.generator, amounts...)
}
