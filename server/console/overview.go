package console

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/question"
)

// refreshEvery is the number of seconds between refreshes of the overview: the age that sums of the API can have.
const refreshEvery = 15

// planPage is the data of the overview and of the pages of capacity: the cards by their name, and the form.
type planPage struct {
	Cards   map[string]*Card
	Choices []Input
	Shapes  []Shape
}

// planPage returns the page with the cards of the visit.
func (v *visit) planPage(choices ...Input) planPage {
	page := planPage{map[string]*Card{}, choices, v.c.names.Load().shapes}
	for _, card := range v.cards {
		page.Cards[card.Name] = card
	}
	return page
}

// shapeField is the field of the shape; classField that of the class, with the classes of sums to choose from.
func (v *visit) shapeField() Input {
	return v.input(Input{Name: "shape", Label: "Shape", Type: "search", List: "shapes", Placeholder: "VCPU:4,MEMORY_MB:8192"})
}

func (v *visit) classField(class string, sums []client.CapacitySum) Input {
	field := Input{ID: "class", Name: "class", Label: "Class", Type: "search", Value: class} // a text without sums
	if len(sums) > maxRows {
		return field
	}
	for _, sum := range sums {
		field.Options = append(field.Options, Link{Text: sum.Class, Href: sum.Class, Current: sum.Class == class})
	}
	if at := slices.IndexFunc(field.Options, func(l Link) bool { return l.Current }); at < 0 && len(sums) > 0 {
		field.Options = append(field.Options, Link{Text: class, Href: class, Current: true})
	}
	return field
}

// overview builds the first page: what is left, and what failed. A service without providers has the first steps instead.
func (v *visit) overview() error {
	shape, class := v.shape(), cmp.Or(v.query("class"), "VCPU")
	found, sums := v.sums(shape)
	v.card("left", "What is left", func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return v.classSums(all, shape), err
	})
	v.card("unplaced", "Could not be placed", v.unplaced)
	v.card("where", "Where "+class+" is used", func(ctx context.Context) (any, error) {
		view, err := v.mapOf(ctx, class, 1)
		view.Larger = Link{Text: "The map alone", Href: v.href("/providers", "view", "map", "class", class)}
		return view, err
	})
	v.card("pieces", "Free "+class+" in pieces", func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return pieces(all, class), err
	})
	v.card("look", "Worth a look", func(ctx context.Context) (any, error) {
		all, err := sums(ctx)
		return v.worthALook(all), err
	})
	v.card("metal", "Bare metal", v.nodeStates)
	if shape.Text != "" {
		v.fitCard(shape)
	}
	for _, card := range v.cards {
		card.Every = refreshEvery
	}
	if err := v.wait(); err != nil {
		return err
	}
	if len(found.Sums) == 0 && v.only == "" && v.isEmpty() {
		return v.redirect(v.href("/start"))
	}
	v.frame.Title, v.frame.AsOf, v.frame.Every, v.frame.Body = "Overview", found.AsOf, refreshEvery, v.planPage(v.classField(class, found.Sums), v.shapeField())
	for _, sum := range found.Sums {
		if sum.Class == class {
			v.frame.Facts = []Fact{{Link: Link{Text: counted(sum.Providers, "provider") + " with " + class}}}
		}
	}
	return nil
}

// sums returns a function that several cards call for the sums of all classes, which makes one call of the API, and its
// result, which is there after wait.
func (v *visit) sums(shape asked) (*client.Capacity, func(ctx context.Context) ([]client.CapacitySum, error)) {
	var once sync.Once
	var found client.Capacity
	var failed error
	return &found, func(ctx context.Context) ([]client.CapacitySum, error) {
		once.Do(func() { found, failed = v.c.api.CapacityList(ctx, client.CapacityQuery{Units: shape.Units}) })
		return found.Sums, failed
	}
}

// isEmpty reports whether the service has no providers. Sums can be of an earlier time.
func (v *visit) isEmpty() bool {
	for range v.c.api.Providers(v.ctx(), client.ProviderQuery{PageSize: 1}) {
		return false // a provider, or an error
	}
	return true
}

// fitCard adds the card of how often a shape fits. The search has a request of its own.
func (v *visit) fitCard(shape asked) {
	v.card("fits", "How often "+shape.Text+" fits", func(ctx context.Context) (any, error) {
		if v.only != "fits" {
			return nil, context.DeadlineExceeded
		}
		view, err := v.fit(ctx, shape, nil)
		if v.r.URL.Path == "/" {
			view.Table.Rows = nil // in short
		}
		view.Change = v.href("/capacity/what-if", "shape", shape.Text)
		return view, err
	})
}

// unanswered returns the queries and claims since a time that found nothing, the most frequent first. The service records
// equal requests of each five minutes; here they are one, with the newest reason, whatever their limit was.
func (v *visit) unanswered(ctx context.Context, since string) (found []client.ListedExplanation, err error) {
	all, err := v.c.api.ExplanationList(ctx, client.ExplanationFilter{Since: since, Sort: "-requests", Limit: 1000})
	places := map[[2]string]int{}
	for _, one := range all {
		key := [2]string{one.Kind, question.Encode(question.Parse(one.Question, "limit"))}
		at, known := places[key]
		if !known {
			places[key], found = len(found), append(found, one)
			continue
		}
		one.Requests += found[at].Requests
		if newest := &found[at]; one.LastAskedAt.After(newest.LastAskedAt) {
			*newest = one
		} else {
			newest.Requests = one.Requests
		}
	}
	slices.SortStableFunc(found, func(a, b client.ListedExplanation) int { return cmp.Compare(b.Requests, a.Requests) })
	return found, err
}

// unplaced returns the queries of the last two hours that found nothing.
func (v *visit) unplaced(ctx context.Context) (any, error) {
	found, err := v.unanswered(ctx, "2h")
	reasons := make([]Reason, min(len(found), 5))
	for i := range reasons {
		one := found[i]
		reasons[i] = Reason{At: clock(one.LastAskedAt), Times: "×" + number(one.Requests)}
		reasons[i].Text, reasons[i].Code = askedFor(one.Question)
		if one.Summary != nil {
			reasons[i].Sub, _, _ = strings.Cut(*one.Summary, ". ")
		}
		if len(one.RequestIDs) > 0 {
			reasons[i].More = Link{Text: "explain", Href: v.href("/explanations/" + url.PathEscape(one.RequestIDs[0]))}
		}
	}
	return reasons, err
}

// askedFor returns the amounts and the conditions of a query as texts.
func askedFor(query string) (amounts, conditions string) {
	of := question.New(question.Parse(query, "limit"))
	if of.Check() != nil {
		return "a claim", ""
	}
	var all, with []string
	for _, unit := range of.Units() {
		all = append(all, amount(unit.Class, unit.Amount)+" "+unit.Class)
	}
	for _, one := range of.Ordered() {
		switch {
		case strings.HasPrefix(one.Name, "required"):
			with = append(with, one.Value)
		case !strings.HasPrefix(one.Name, "resources"):
			with = append(with, one.String())
		}
	}
	return strings.Join(all, ", "), strings.Join(with, " ")
}

// maxLooks is the number of classes that are worth a look on a page.
const maxLooks = 20

// worthALook returns the classes that are over capacity or used up.
func (v *visit) worthALook(sums []client.CapacitySum) []Reason {
	var found []Reason
	for _, sum := range sums {
		one := Reason{Dot: "r", More: Link{Text: "where", Href: v.href("/providers", "view", "map", "class", sum.Class)}}
		switch {
		case sum.OverCapacity > 0:
			one.Text = amount(sum.Class, whole(sum.OverCapacity)) + " of " + sum.Class + " is allocated over capacity"
		case sum.Free == 0 && sum.Capacity > 0:
			one.Dot, one.Text = "a", "No free "+sum.Class
		default:
			continue
		}
		found = append(found, one)
	}
	if more := len(found) - maxLooks; more > 0 {
		found = append(found[:maxLooks], Reason{Dot: "s", Link: Link{Text: number(int64(more)) + " more classes"}})
	}
	return found
}

// nodeStates are the states of the nodes of one page, the most frequent first. More is true if the service has more nodes.
type nodeStates struct {
	Nodes  int
	More   bool
	Bar    template.HTML
	States []Link // Kind is the color
}

func (v *visit) nodeStates(ctx context.Context) (any, error) {
	nodes, err := v.c.machines.NodeList(ctx, baremetal.NodeFilter{Most: maxNodes + 1})
	if errors.Is(err, client.ErrNotFound) {
		return nil, client.ErrExtensions // the service has no Bare Metal API
	}
	found := nodeStates{Nodes: min(len(nodes), maxNodes), More: len(nodes) > maxNodes}
	found.Bar, found.States = stateShares(nodes[:found.Nodes], 408, "")
	for i, state := range found.States {
		found.States[i].Href = v.href("/baremetal", "state", state.Text)
	}
	return found, err
}
