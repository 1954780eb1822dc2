package console

import (
	"context"
	"errors"
	"regexp"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// maxListed is the number of rows of a list.
const maxListed = 100

// className shows a resource class: what is left of it, and the trees that have it.
func (v *visit) className() error {
	name := v.r.PathValue("name")
	if _, err := v.c.api.ResourceClassShow(v.ctx(), name); err != nil {
		return err
	}
	return v.namePage(name, "", client.CapacityQuery{Classes: []string{name}})
}

// traitName shows a trait: the capacity of the trees that have it, and those trees.
func (v *visit) traitName() error {
	name := v.r.PathValue("name")
	if err := v.c.api.TraitShow(v.ctx(), name); err != nil {
		return err
	}
	return v.namePage(name, "In trees whose root has the trait, or on providers that have it.", client.CapacityQuery{Required: []string{name}})
}

// aggregate shows an aggregate by its UUID.
func (v *visit) aggregate() error {
	id, err := parseID(v.r.PathValue("uuid"))
	if err != nil {
		return err
	}
	note := "No provider is in this aggregate"
	for found, err := range v.c.api.Aggregates(v.ctx(), client.AggregateQuery{UUIDs: []uuid.UUID{id}}) {
		if err != nil {
			return err
		}
		note = counted(found.ResourceProviderCount, "provider") + ", " + counted(found.SharingProviderCount, "sharing provider")
	}
	err = v.namePage(id.String(), note+". "+v.nameOrigin(id), client.CapacityQuery{MemberOf: []string{id.String()}})
	v.frame.Title, v.frame.Facts = "Aggregate "+v.aggregateName(id), uuidFact(id)
	v.frame.Actions = []Link{{Text: "Its trees", Href: v.href("/providers", "aggregate", id.String())}, {Text: "Its consumers", Href: v.href("/consumers", "aggregate", id.String())}}
	return err
}

// namePage builds the page of a class, a trait or an aggregate: sums, trees, and the queries with this name that found
// nothing.
func (v *visit) namePage(name, note string, query client.CapacityQuery) error {
	v.card("left", "What is left", func(ctx context.Context) (*content, error) {
		found, err := v.c.api.CapacityList(ctx, query)
		return v.classSums(found.Capacity, asked{}), err
	})
	v.card("places", "Where", func(ctx context.Context) (*content, error) { return v.placesOf(ctx, query) })
	v.card("unanswered", "Asked for in vain", func(ctx context.Context) (*content, error) { return v.unansweredWith(ctx, name) })
	v.head(name, "providers", record{Note: note, Cards: v.cards})
	return v.wait()
}

// sumTable is the table of sums of classes, of the whole cloud or of trees.
func (v *visit) sumTable(sums []api.ClassCapacity) Table {
	table := Table{Caption: "Sums of inventories", Kind: "sums", Heads: heads("Class", "Used, reserved, free", "#Used", "#Free", "#Largest piece")}
	for _, sum := range sums {
		first := linked(sum.ResourceClass, v.href("/classes/"+sum.ResourceClass))
		if sum.Tree != nil {
			first.Sub = &first.Link
			first = Cell{Link: Link{Text: sum.Tree.Name, Href: v.href("/providers/" + sum.Tree.UUID.String())}, Sub: &Link{Text: sum.ResourceClass}}
		}
		largest := figure(amount(sum.ResourceClass, sum.Largest))
		if sum.LargestAt != nil {
			largest.Sub = &Link{Text: sum.LargestAt.Name, Href: v.href("/providers/" + sum.LargestAt.UUID.String())}
		}
		free := Cell{Link: Link{Text: amount(sum.ResourceClass, whole(sum.Free))}, Number: true, Strong: true,
			Sub: &Link{Text: "of " + amount(sum.ResourceClass, whole(sum.Capacity))}}
		table.Rows = append(table.Rows, []Cell{first, {Bar: bar(sumBar(sum))}, figure(share(sum.Used, sum.Capacity)), free, largest})
	}
	return table
}

// sumBar is the bar of a sum in a list.
func sumBar(sum api.ClassCapacity) Bar {
	return Bar{Width: 236, Height: 10, Capacity: sum.Capacity, Pieces: []draw.Piece{{Amount: sum.Used, Kind: draw.Used}}}
}

// placesOf returns the sums in the first trees that have something.
func (v *visit) placesOf(ctx context.Context, query client.CapacityQuery) (*content, error) {
	found := &content{Empty: "No tree has it. A query that requires it finds nothing."}
	trees := map[uuid.UUID]bool{}
	var sums []api.ClassCapacity
	for sum, err := range v.c.api.CapacityTrees(ctx, query, 0) {
		if err != nil && !errors.Is(err, errTooManyCalls) {
			return nil, err
		}
		// Of thousands of trees, few may have it: the calls end before the rows.
		if err != nil || len(trees) == maxListed && !trees[sum.Tree.UUID] || len(sums) == 2*maxListed {
			found.Foot = []Link{{Text: "There are more trees; these are the oldest. The command 'berth capacity --by-tree' lists all."}}
			break
		}
		trees[sum.Tree.UUID], sums = true, append(sums, sum)
	}
	found.Table = v.sumTable(sums)
	for _, row := range found.Table.Rows {
		if len(query.Classes) == 1 { // the page names it
			row[0].Sub = nil
		}
	}
	found.Table.Caption, found.Table.Heads[0].Text = "Trees", "Tree"
	return found, nil
}

// unansweredWith returns the queries of the last day that name something and found nothing.
func (v *visit) unansweredWith(ctx context.Context, name string) (*content, error) {
	all, err := v.unanswered(ctx, "24h")
	found := &content{Empty: "No query of the last 24 hours with this name found nothing."}
	whole := regexp.MustCompile(`(^|[^A-Z0-9_])` + regexp.QuoteMeta(name) + `($|[^A-Z0-9_])`)
	for _, explanation := range all {
		if whole.MatchString(explanation.Question) && len(found.Reasons) < 10 && len(explanation.RequestIDs) > 0 {
			reason := v.reason(explanation)
			reason.Code = explanation.Question
			found.Reasons = append(found.Reasons, reason)
		}
	}
	return found, err
}

// counted returns a number with a noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}
