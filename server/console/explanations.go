package console

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/explaintext"
	"github.com/berthd/berth/internal/querytext"
)

// reasons are those of the API: of queries, then of claims.
var reasons = []string{"in_tree", "root", "amount", "trait", "aggregate", "no_tree", "together", "inventory", "units", "capacity"}

// explanations lists the queries and claims that found nothing.
func (v *visit) explanations() error {
	filter := client.ExplanationFilter{Kind: v.query("kind"), Reason: v.query("reason"), Since: v.query("since"), Sort: v.query("sort")}
	listed, next, err := v.c.api.ExplanationPage(v.ctx(), filter, 100, v.query("marker"))
	if err != nil {
		return err
	}
	page := &listPage{Title: "What could not be placed, and why", Pager: Pager{Text: fmt.Sprintf("%d queries and claims", len(listed))}}
	page.Filters = []Input{v.choices("reason", "Reason", "any", reasons...), v.choices("since", "Since", "any time", "1h", "2h", "24h"), v.choices("sort", "Order", "newest first", "-requests")}
	page.Filters[2].Options[1].Text = "most frequent first"
	page.Pager.Next = map[bool]string{true: v.with("marker", next)}[next != ""]
	page.Pager.First = map[bool]string{true: v.with("marker", "")}[v.query("marker") != ""]
	page.Empty = Message{Text: "Nothing is recorded: each query found candidates, and each claim fitted. This command explains a query now.", Command: "berth explain 'resources=VCPU:4'"}
	for _, explanation := range listed {
		row := v.reason(explanation)
		row.At, row.Chips, row.Sub, row.Href, row.More = moment(explanation.LastAskedAt), []Link{{Text: explanation.Reason}}, explanation.Question, row.More.Href, Link{}
		if row.Text, _, _ = strings.Cut(row.Text, ". "); explanation.Summary == nil {
			row.Text = "Not explained yet"
		}
		if explanation.Kind == "candidates" {
			row.More = Link{Text: "ask again", Href: v.explorerAt(explanation.Question)}
		}
		page.Reasons = append(page.Reasons, row)
	}
	v.head("Explanations", "explanations", page)
	return nil
}

// again returns the query that asks a recorded request again; of a claim, its amounts.
func again(of *client.RecordedExplanation) string {
	switch {
	case of.Explanation == nil || of.Explanation.Kind != "claim":
		return of.Question
	case of.Explanation.Elsewhere != nil:
		return of.Explanation.Elsewhere.Query
	}
	return ""
}

// explanation shows the recorded requests with an id, and why they found nothing.
func (v *visit) explanation() error {
	id := v.r.PathValue("request")
	recorded, err := v.c.api.ExplanationShow(client.WithExtensions(v.ctx(), freedExtensions), id)
	if err != nil {
		return err
	}
	pages := []explanationPage{}
	for i := range recorded {
		of := &recorded[i]
		page := explanationPage{Fields: []Field{
			field("Asked", moment(of.AskedAt)), field("Version", of.API+" "+of.Microversion),
			field("Equal requests", number(of.SameQuestion.Requests)+" since "+moment(of.SameQuestion.FirstAskedAt)),
		}}
		if of.MadeAt != nil {
			page.Fields = append(page.Fields, field("Explained", age(of.AskedAt, *of.MadeAt)+" later"))
		}
		for j, parameter := range querytext.Parse(of.Question) {
			page.Question = append(page.Question, QueryPart{Text: map[bool]string{false: "&"}[j == 0]}, QueryPart{parameter.Name, parameter.Value})
		}
		if of.Explanation != nil {
			page.Title, page.Explained = "Nothing fits: "+of.Explanation.Reason, v.explain(of.Explanation)
		}
		if query := again(of); query != "" {
			v.frame.Actions = []Link{{Text: "Ask again now", Href: v.explorerAt(query)}}
		}
		pages = append(pages, page)
	}
	v.head("Explanation", "explanations", pages, Link{Text: "Explanations", Href: v.href("/explanations")}, Link{Text: id})
	v.frame.Facts = []Fact{{Link: Link{Text: id}, Copy: true}}
	return nil
}

// explanationPage is a recorded request.
type explanationPage struct {
	Title     string
	Fields    []Field
	Question  []QueryPart
	Explained *explained
}

// explained is an explanation, as the part of this name shows it.
type explained struct {
	*client.Explanation
	Sample            string
	Funnel            Hist
	Parts             []explainedPart
	Summary           string // without the sentences that tables have
	Near, Help, Items Table
	Freed             Table  // the consumers that must go so that the query fits, by tree
	Fits              string // when it fits because consumers end
}

// explainedPart is what one provider must meet.
type explainedPart struct {
	Name  string
	Steps Hist
}

// freedExtensions is the version of the extensions whose explanations name the consumers that must go.
const freedExtensions = "1.6"

// funnel shows how many trees each step of a query leaves, in a request of its own, since it takes up to a second.
func (v *visit) funnel() error {
	asked := querytext.Encode(v.asked())
	v.only = "funnel" // the page has no other card
	v.card("funnel", "Where trees are lost", func(ctx context.Context) (*content, error) {
		found, err := v.c.api.QuestionExplain(client.WithExtensions(ctx, freedExtensions), asked)
		if err != nil || found.Explanation == nil {
			return &content{Empty: "The service has no explanation."}, err
		}
		return &content{Explained: v.explain(found.Explanation)}, nil
	})
	v.head("Explanation", "candidates", record{Cards: v.cards}, Link{Text: "Candidates", Href: v.explorerAt(asked)}, Link{Text: "Explanation"})
	return v.wait()
}

// explain prepares an explanation.
func (v *visit) explain(of *client.Explanation) *explained {
	result := &explained{
		Explanation: of, Funnel: Hist{Label: "Trees that are left after each step", Funnel: true},
		Near: Table{Caption: "Nearest trees", Heads: heads("Nearest trees", "What they lack")}, Help: Table{Caption: "What would help", Heads: heads("What would help", "#Candidates")},
		Freed: Table{Caption: "Consumers that must go", Heads: heads("Would fit on", "Without all of", "What they hold")},
		Items: Table{Caption: "Allocations", Heads: heads("Provider", "Class", "Verdict", "#Claimed", "#Free", "#Used", "#Capacity")},
	}
	if sample := of.Sample; sample != nil && !sample.Exact {
		result.Sample = fmt.Sprintf("Numbers of trees are estimates from %s of %s trees, ± %g %%.", number(sample.LookedAt), number(sample.Trees), sample.Margin)
	}
	result.Summary, _, _ = strings.Cut(of.Summary, " Nearest: ")
	result.funnel(of)
	for i := range of.Parts {
		result.part(&of.Parts[i])
	}
	nearest := of.Nearest
	if of.Reason == "fits" { // the query needs no other tree
		nearest, result.Summary = nil, beforeChanges(of.Summary)
	}
	for _, near := range nearest {
		texts := []string{}
		for i := range near.Missing {
			texts = append(texts, explaintext.Missing(&near.Missing[i]))
		}
		text := cmp.Or(strings.Join(texts, " and "), explaintext.FailedStage(near.Stage))
		if near.FreedBy.IsNull() {
			text += ", and would not fit even when empty"
		}
		result.Near.Rows = append(result.Near.Rows, []Cell{v.providerCell(near.Tree), plain(text)})
		result.freed(v, &near)
	}
	if len(nearest) > 0 {
		result.Fits = explaintext.FitsAt(of, time.Now())
	}
	for i := range of.Relaxations {
		result.help(v, explaintext.Change(&of.Relaxations[i]), api.ExplanationElsewhere{
			Candidates: of.Relaxations[i].Candidates, More: of.Relaxations[i].More, Query: of.Relaxations[i].Query,
		})
	}
	if of.Elsewhere != nil {
		result.help(v, "the same amounts elsewhere", *of.Elsewhere)
	}
	for _, item := range of.Items {
		row := []Cell{v.providerCell(item.Provider), plain(item.Class), plain(item.Verdict)}
		for _, n := range []int64{item.Amount, item.Free, item.Used, item.Capacity} {
			row = append(row, figure(amount(item.Class, n)))
		}
		result.Items.Rows = append(result.Items.Rows, row)
	}
	return result
}

// freed adds the consumers without which the query fits in a tree.
func (e *explained) freed(v *visit, of *api.ExplanationTree) {
	set, err := of.FreedBy.Get()
	if err != nil {
		return // null or missing
	}
	for i := range set.Consumers {
		consumer := &set.Consumers[i]
		e.Freed.Rows = append(e.Freed.Rows, []Cell{
			v.providerCell(of.Tree), linked(short(consumer.Consumer.String()), v.href("/consumers/"+consumer.Consumer.String())), plain(explaintext.Held(consumer)),
		})
	}
}

// beforeChanges returns a summary up to the sentences about changes of the query.
func beforeChanges(summary string) string {
	before, _, _ := strings.Cut(summary, " With") // or Without
	return before
}

func (v *visit) providerCell(of api.ExplanationProvider) Cell {
	return linked(of.Name, v.href("/providers/"+of.UUID.String()))
}

// help adds a change of the query, as a link to the changed query.
func (e *explained) help(v *visit, text string, of api.ExplanationElsewhere) {
	found := number(of.Candidates)
	if of.More {
		found += " or more"
	}
	e.Help.Rows = append(e.Help.Rows, []Cell{linked(strings.ToUpper(text[:1])+text[1:], v.explorerAt(of.Query)), figure(found)})
}

// funnel draws the steps of the whole query up to the first one without trees, and marks the one that loses most.
func (e *explained) funnel(of *client.Explanation) {
	worst, lost := -1, int64(0)
	for i := 1; i < len(of.Funnel); i++ {
		if n := of.Funnel[i-1].Trees - of.Funnel[i].Trees; n > lost {
			worst, lost = i, n
		}
	}
	for i := range of.Funnel {
		text, note, kind := explaintext.Stage(of, &of.Funnel[i]), "", draw.Used
		if i == worst {
			note, kind = counted(lost, "tree")+" lost here", draw.Amber
		}
		e.Funnel.step(text, note, of.Funnel[i].Trees, of.Funnel[max(i-1, 0)].Trees, of.Funnel[0].Trees, kind)
	}
}

// part draws the steps of a part that loses trees: those that remove a provider.
func (e *explained) part(of *api.ExplanationPart) {
	result, last := explainedPart{explaintext.Part(of), Hist{Label: "Providers that are left after each step", Funnel: true}}, len(of.Steps)-1
	for i, step := range of.Steps {
		if before := of.Steps[max(i-1, 0)].Providers; i == 0 || step.Providers < before {
			result.Steps.step(explaintext.Step(&step), "in "+counted(step.Trees, "tree"), step.Providers, before, of.Steps[0].Providers, draw.Used)
		}
	}
	if last >= 0 && of.Steps[last].Trees < of.Steps[0].Trees {
		e.Parts = append(e.Parts, result)
	}
}

// step adds a row to a funnel, and to its sentence.
func (h *Hist) step(text, sub string, value, previous, whole int64, kind string) {
	h.Rows = append(h.Rows, HistRow{Text: text, Sub: sub, Count: number(value), Bar: histBar(448, 10, float64(value), float64(previous), float64(whole), kind)})
	h.Label += map[bool]string{true: ": ", false: ", "}[len(h.Rows) == 1] + number(value) + " " + text
}
