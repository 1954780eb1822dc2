package console

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/querytext"
)

// refreshEvery is the number of seconds between refreshes of the overview: the age that sums of the API can have.
const refreshEvery = 15

// planPage is the data of the overview and of the pages of capacity: the form, and the cards.
type planPage struct {
	Choices []Input
	Shapes  []Shape
	Cards   []*Card
}

func (v *visit) planPage(choices ...Input) planPage {
	return planPage{choices, v.c.names.Load().shapes, v.cards}
}

// shapeField is the field of the shape; classField that of the class, with the classes of sums to choose from.
func (v *visit) shapeField() Input {
	return v.input(Input{Name: "shape", Label: "Shape", Type: "search", List: "shapes", Placeholder: "VCPU:4,MEMORY_MB:8192"})
}

func (v *visit) classField(class string, sums []api.ClassCapacity) Input {
	field := Input{ID: "class", Name: "class", Label: "Class", Type: "search", Value: class}
	if len(sums) == 0 || len(sums) > maxRows {
		return field // a text
	}
	field.Options = []Link{{Text: class, Href: class, Current: true}}
	for _, sum := range sums {
		field.Options = append(field.Options, Link{Text: sum.ResourceClass, Href: sum.ResourceClass, Current: sum.ResourceClass == class})
	}
	if slices.ContainsFunc(field.Options[1:], func(l Link) bool { return l.Current }) {
		field.Options = field.Options[1:]
	}
	return field
}

// overview builds the first page: what is left, and what failed. A service without providers has the first steps instead.
func (v *visit) overview() error {
	shape, class := v.shape(), cmp.Or(v.query("class"), "VCPU")
	found, of := v.sums(shape)
	v.fitCard(shape)
	v.card("left", "What is left", of(func(all []api.ClassCapacity) *content { return v.classSums(all, shape) })).Kind = "w8"
	v.card("unplaced", "Could not be placed", v.unplaced).Kind = "w4"
	v.card("where", "Where "+class+" is used", func(ctx context.Context) (*content, error) {
		if v.only == "fits" { // without scripts, with which this card would need more calls than a page may make
			return nil, context.DeadlineExceeded
		}
		view, err := v.mapOf(ctx, class, 1)
		view.Larger = Link{Text: "The map alone", Href: v.href("/providers", "view", "map", "class", class)}
		return &content{Map: &view}, err
	}).Kind = "w8"
	v.card("pieces", "Free "+class+" in pieces", of(func(all []api.ClassCapacity) *content { return pieces(all, class) })).Kind = "w4"
	v.card("look", "Worth a look", of(v.worthALook)).Kind = "w8"
	v.card("metal", "Bare metal", v.nodeStates).Kind = "w4"
	for _, card := range v.cards {
		card.Every = refreshEvery
	}
	if err := v.wait(); err != nil {
		return err
	}
	if len(found.Capacity) == 0 && v.only == "" && v.isEmpty() {
		return v.redirect(v.href("/start"))
	}
	v.head("Overview", "", v.planPage(v.classField(class, found.Capacity), v.shapeField()))
	v.frame.AsOf, v.frame.Every = found.AsOf, refreshEvery
	for _, sum := range found.Capacity {
		if sum.ResourceClass == class {
			v.frame.Facts = []Fact{{Link: Link{Text: counted(sum.ResourceProviders, "provider") + " with " + class}}}
		}
	}
	return nil
}

// sums returns a function that makes cards of the sums of all classes, which make one call of the API, and its result,
// which is there after wait.
func (v *visit) sums(shape asked) (*api.CapacityList, func(show func([]api.ClassCapacity) *content) func(context.Context) (*content, error)) {
	var once sync.Once
	var found api.CapacityList
	var failed error
	return &found, func(show func([]api.ClassCapacity) *content) func(context.Context) (*content, error) {
		return func(ctx context.Context) (*content, error) {
			once.Do(func() { found, failed = v.c.api.CapacityList(ctx, client.CapacityQuery{Units: shape.Units}) })
			return show(found.Capacity), failed
		}
	}
}

// isEmpty reports whether the service has no providers. Sums can be of an earlier time.
func (v *visit) isEmpty() bool {
	for range v.c.api.Providers(v.ctx(), client.ProviderQuery{PageSize: 1}) {
		return false // a provider, or an error
	}
	return true
}

// fitCard adds the card of how often a shape fits, if there is one. The search has a request of its own.
func (v *visit) fitCard(shape asked) {
	if shape.Text == "" {
		return
	}
	v.card("fits", "How often "+shape.Text+" fits", func(ctx context.Context) (*content, error) {
		if v.only != "fits" {
			return nil, context.DeadlineExceeded
		}
		view, err := v.fit(ctx, shape, nil)
		if v.r.URL.Path == "/" {
			view.Table.Rows = nil // in short
		}
		view.Change = v.href("/capacity/what-if", "shape", shape.Text)
		return &content{Fit: &view}, err
	})
}

// unanswered returns the queries and claims since a time that found nothing, the most frequent first. The service records
// equal requests of each five minutes; here they are one, with the newest reason, whatever their limit was.
func (v *visit) unanswered(ctx context.Context, since string) (found []api.ListedExplanation, err error) {
	all, err := v.c.api.ExplanationList(ctx, client.ExplanationFilter{Since: since, Sort: "-requests", Limit: 1000})
	places := map[[2]string]int{}
	for _, explanation := range all {
		key := [2]string{explanation.Kind, querytext.Encode(querytext.Parse(explanation.Question, "limit"))}
		at, known := places[key]
		if !known {
			places[key], found = len(found), append(found, explanation)
			continue
		}
		explanation.Requests += found[at].Requests
		if newest := &found[at]; explanation.LastAskedAt.After(newest.LastAskedAt) {
			*newest = explanation
		} else {
			newest.Requests = explanation.Requests
		}
	}
	slices.SortStableFunc(found, func(a, b api.ListedExplanation) int { return cmp.Compare(b.Requests, a.Requests) })
	return found, err
}

// unplaced returns the queries of the last two hours that found nothing.
func (v *visit) unplaced(ctx context.Context) (*content, error) {
	found, err := v.unanswered(ctx, "2h")
	shown := &content{Empty: "Each query of the last 2 hours found candidates.", Foot: []Link{
		{Text: "of the last 2 hours, by count"}, {Text: "All of them", Href: v.href("/explanations")},
	}}
	for _, explanation := range found[:min(len(found), 5)] {
		reason := v.reason(explanation)
		if reason.Text, reason.Code = askedFor(explanation.Question); explanation.Summary != nil {
			reason.Sub, _, _ = strings.Cut(*explanation.Summary, ". ")
		}
		shown.Reasons = append(shown.Reasons, reason)
	}
	return shown, err
}

// reason returns an entry of a list of what found nothing.
func (v *visit) reason(explanation api.ListedExplanation) Reason {
	reason := Reason{Link: Link{Text: explanation.Reason}, At: clock(explanation.LastAskedAt), Times: "×" + number(explanation.Requests)}
	if explanation.Summary != nil {
		reason.Text = *explanation.Summary
	}
	if len(explanation.RequestIDs) > 0 {
		reason.More = Link{Text: "explain", Href: v.href("/explanations/" + explanation.RequestIDs[0])}
	}
	return reason
}

// askedFor returns the amounts and the conditions of a query as texts.
func askedFor(query string) (amounts, conditions string) {
	of := querytext.New(querytext.Parse(query, "limit"))
	if of.Check() != nil {
		return "a claim", ""
	}
	var all, with []string
	for _, unit := range of.Units() {
		all = append(all, amount(unit.Class, unit.Amount)+" "+unit.Class)
	}
	for _, parameter := range of.Ordered() {
		switch {
		case strings.HasPrefix(parameter.Name, "required"):
			with = append(with, parameter.Value)
		case !strings.HasPrefix(parameter.Name, "resources"):
			with = append(with, parameter.String())
		}
	}
	return strings.Join(all, ", "), strings.Join(with, " ")
}

// maxLooks is the number of classes that are worth a look on a page.
const maxLooks = 20

// worthALook returns the classes that are over capacity or used up.
func (v *visit) worthALook(sums []api.ClassCapacity) *content {
	var found []Reason
	for _, sum := range sums {
		reason := Reason{Dot: "r", More: Link{Text: "where", Href: v.href("/providers", "view", "map", "class", sum.ResourceClass)}}
		switch {
		case sum.OverCapacity > 0:
			reason.Text = amount(sum.ResourceClass, whole(sum.OverCapacity)) + " of " + sum.ResourceClass + " is allocated over capacity"
		case sum.Free == 0 && sum.Capacity > 0:
			reason.Dot, reason.Text = "a", "No free "+sum.ResourceClass
		default:
			continue
		}
		found = append(found, reason)
	}
	if more := len(found) - maxLooks; more > 0 {
		found = append(found[:maxLooks], Reason{Dot: "s", Link: Link{Text: number(int64(more)) + " more classes"}})
	}
	return &content{Reasons: found, Empty: "No class is over capacity or used up."}
}

// nodeStates are the states of the nodes of one page, the most frequent first.
func (v *visit) nodeStates(ctx context.Context) (*content, error) {
	nodes, err := v.c.machines.NodeList(ctx, baremetal.NodeFilter{Most: maxNodes + 1})
	if errors.Is(err, client.ErrNotFound) {
		return nil, client.ErrExtensions // the service has no Bare Metal API
	}
	shown := &content{Empty: "The service has no nodes."}
	if len(nodes) > maxNodes {
		nodes, shown.Foot = nodes[:maxNodes], []Link{{Text: "Of the oldest " + number(maxNodes) + " nodes; there are more."}}
	} else if len(nodes) > 0 {
		shown.Foot = []Link{{Text: counted(int64(len(nodes)), "node") + "."}}
	}
	shown.Bar, shown.Shares = stateShares(nodes, 408, "")
	for i, state := range shown.Shares {
		shown.Shares[i].Href = v.nodesIn(state.Text)
	}
	return shown, err
}
