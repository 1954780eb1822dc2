package console

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

// maxListed is the number of rows of a list.
const maxListed = 100

// namePage is what the pages of a class, a trait and an aggregate have in common.
type namePage struct {
	Kind, Name, Note             string
	Capacity, Places, Unanswered *Card
}

// className shows a resource class: what is left of it, and the trees that have it.
func (v *visit) className() error {
	name := v.r.PathValue("name")
	if _, err := v.c.api.ResourceClassShow(v.ctx(), name); err != nil {
		return err
	}
	return v.namePage(namePage{Kind: "class", Name: name}, client.CapacityQuery{Classes: []string{name}})
}

// traitName shows a trait: the capacity of the trees that have it, and those trees.
func (v *visit) traitName() error {
	name := v.r.PathValue("name")
	if err := v.c.api.TraitShow(v.ctx(), name); err != nil {
		return err
	}
	return v.namePage(namePage{Kind: "trait", Name: name, Note: "In trees whose root has the trait, or on providers that have it."},
		client.CapacityQuery{Required: []string{name}})
}

// aggregate shows an aggregate by its UUID.
func (v *visit) aggregate() error {
	id, err := uuid.Parse(v.r.PathValue("uuid"))
	if err != nil {
		return invalid("%q is not a UUID", v.r.PathValue("uuid"))
	}
	page := namePage{Kind: "aggregate", Name: id.String()}
	for found, err := range v.c.api.Aggregates(v.ctx(), client.AggregateQuery{UUIDs: []uuid.UUID{id}}) {
		if err != nil {
			return err
		}
		page.Note = counted(found.Providers, "provider") + ", " + counted(found.SharingProviders, "sharing provider")
	}
	if page.Note == "" {
		page.Note = "No provider is in this aggregate."
	}
	return v.namePage(page, client.CapacityQuery{MemberOf: []string{id.String()}})
}

// namePage builds the page: sums, trees, and the queries with this name that found nothing.
func (v *visit) namePage(page namePage, query client.CapacityQuery) error {
	page.Capacity = v.card("left", "What is left", func(ctx context.Context) (any, error) {
		found, err := v.c.api.CapacityList(ctx, query)
		return v.classSums(found.Sums, asked{}), err
	})
	page.Places = v.card("places", "Where", func(ctx context.Context) (any, error) { return v.placesOf(ctx, query) })
	page.Unanswered = v.card("unanswered", "Asked for in vain", func(ctx context.Context) (any, error) {
		return v.unansweredWith(ctx, page.Name)
	})
	v.frame.Title, v.frame.Nav, v.frame.Body = page.Name, "providers", page
	return v.wait()
}

// sumTable is the table of sums of classes, of the whole cloud or of trees.
func (v *visit) sumTable(sums []client.CapacitySum) Table {
	table := Table{Caption: "Sums of inventories", Heads: heads("Class", "Used, reserved, free", "#Used", "#Free", "#Largest piece")}
	for _, sum := range sums {
		first := linked(sum.Class, v.href("/classes/"+sum.Class))
		if sum.Tree != nil {
			first.Sub = &first.Link
			first = Cell{Link: Link{Text: sum.Tree.Name, Href: v.href("/providers/" + sum.Tree.UUID.String())}, Sub: &Link{Text: sum.Class}}
		}
		largest := figure(amount(sum.Class, sum.Largest))
		if sum.LargestAt != nil {
			largest.Sub = &Link{Text: sum.LargestAt.Name, Href: v.href("/providers/" + sum.LargestAt.UUID.String())}
		}
		free := Cell{Link: Link{Text: amount(sum.Class, whole(sum.Free))}, Number: true, Strong: true,
			Sub: &Link{Text: "of " + amount(sum.Class, whole(sum.Capacity))}}
		table.Rows = append(table.Rows, []Cell{first, {Bar: bar(sumBar(sum))}, figure(share(sum.Used, sum.Capacity)), free, largest})
	}
	return table
}

// sumBar is the bar of a sum in a list.
func sumBar(sum client.CapacitySum) Bar {
	return Bar{
		Width: 236, Height: 10, Capacity: sum.Capacity, Pieces: []draw.Piece{{Amount: sum.Used, Kind: draw.Used}},
	}
}

// places are the sums in the first trees that have something.
type places struct {
	Table
	More bool
}

func (v *visit) placesOf(ctx context.Context, query client.CapacityQuery) (places, error) {
	trees, more := map[uuid.UUID]bool{}, false
	var sums []client.CapacitySum
	for sum, err := range v.c.api.CapacityTrees(ctx, query, 0) {
		if errors.Is(err, errTooManyCalls) {
			more = true // of thousands of trees, few have it
			break
		}
		if err != nil {
			return places{}, err
		}
		if trees[sum.Tree.UUID] = true; len(trees) > maxListed || len(sums) == 2*maxListed {
			more = true
			break
		}
		sums = append(sums, sum)
	}
	found := places{v.sumTable(sums), more}
	found.Caption, found.Heads[0].Text = "Trees", "Tree"
	return found, nil
}

// unansweredWith returns the queries of the last day that name something and found nothing, the most frequent first.
func (v *visit) unansweredWith(ctx context.Context, name string) ([]Reason, error) {
	all, err := v.unanswered(ctx, "24h")
	var found []Reason
	for _, one := range all {
		if !namesIn(one.Question, name) || len(found) == 10 || len(one.RequestIDs) == 0 {
			continue
		}
		reason := Reason{
			Link: Link{Text: one.Reason}, At: clock(one.LastAskedAt), Times: "×" + number(one.Requests), Code: one.Question,
			More: Link{Text: "explain", Href: v.href("/explanations/" + one.RequestIDs[0])},
		}
		if one.Summary != nil {
			reason.Text = *one.Summary
		}
		found = append(found, reason)
	}
	return found, err
}

// namesIn reports whether a query contains a name as a whole word.
func namesIn(question, name string) bool {
	for rest := question; ; {
		at := strings.Index(rest, name)
		if at < 0 {
			return false
		}
		before, after := rest[:at], rest[at+len(name):]
		if !isNameEnd(before, len(before)-1) && !isNameEnd(after, 0) {
			return true
		}
		rest = after
	}
}

// isNameEnd reports whether the character at a position continues a name.
func isNameEnd(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
}

// counted returns a number with a noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}
