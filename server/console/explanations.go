package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/question"
)

// explanationList is the page of what found nothing.
type explanationList struct {
	Base    string
	Filters []Input
	Rows    []Reason
	Pager   Pager
}

// reasons are those of the API: of queries, then of claims.
var reasons = []string{"in_tree", "root", "amount", "trait", "aggregate", "no_tree", "together", "inventory", "units", "capacity"}

// explanations lists the queries and claims that found nothing.
func (v *visit) explanations() error {
	v.frame.Title, v.frame.Nav, v.frame.Facts = "Explanations", "explanations", []Fact{{Link: Link{Text: "What could not be placed, and why"}}}
	filter := client.ExplanationFilter{Kind: v.query("kind"), Reason: v.query("reason"), Since: v.query("since"), Sort: v.query("sort")}
	listed, next, err := v.c.api.ExplanationPage(v.ctx(), filter, 100, v.query("marker"))
	if err != nil {
		return err
	}
	v.frame.AsOf = time.Now()
	page := &explanationList{Base: v.base, Pager: Pager{Text: fmt.Sprintf("%d queries and claims", len(listed))}}
	page.Filters = []Input{v.choices("reason", "Reason", "any", reasons...), v.choices("since", "Since", "any time", "1h", "2h", "24h"), v.choices("sort", "Order", "newest first", "-requests")}
	page.Filters[2].Options[1].Text = "most frequent first"
	page.Pager.Next = map[bool]string{true: v.with("marker", next)}[next != ""]
	page.Pager.First = map[bool]string{true: v.with("marker", "")}[v.query("marker") != ""]
	for _, one := range listed {
		row := Reason{Link: Link{Text: "Not explained yet"}, At: moment(one.LastAskedAt), Times: "×" + number(one.Requests), Chips: []Link{{Text: one.Reason}}, Sub: one.Question}
		if one.Summary != nil {
			row.Text, _, _ = strings.Cut(*one.Summary, ". ")
		}
		if len(one.RequestIDs) > 0 {
			row.Href = v.href("/explanations/" + one.RequestIDs[0])
		}
		if one.Kind == "candidates" {
			row.More = Link{Text: "ask again", Href: v.explorerAt(one.Question)}
		}
		page.Rows = append(page.Rows, row)
	}
	v.frame.Body = page
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
	recorded, err := v.c.api.ExplanationShow(v.ctx(), id)
	if err != nil {
		return err
	}
	pages := []explanationPage{}
	for i := range recorded {
		of := &recorded[i]
		field := func(name, text string) Field { return Field{Name: name, Values: []Link{{Text: text}}} }
		page := explanationPage{Fields: []Field{
			field("Asked", moment(of.AskedAt)), field("Version", of.API+" "+of.Microversion),
			field("Equal requests", number(of.SameQuestion.Requests)+" since "+moment(of.SameQuestion.FirstAskedAt)),
		}}
		if of.MadeAt != nil {
			page.Fields = append(page.Fields, field("Explained", age(of.AskedAt, *of.MadeAt)+" later"))
		}
		for j, one := range question.Parse(of.Question) {
			page.Question = append(page.Question, QueryPart{Text: map[bool]string{false: "&"}[j == 0]}, QueryPart{one.Name, one.Value})
		}
		if of.Explanation != nil {
			page.Title, page.Explained = "Nothing fits: "+of.Explanation.Reason, v.explain(of.Explanation)
		}
		if query := again(of); query != "" {
			v.frame.Actions = []Link{{Text: "Ask again now", Href: v.explorerAt(query)}}
		}
		pages = append(pages, page)
	}
	v.frame.Title, v.frame.Nav, v.frame.Body = "Explanation", "explanations", pages
	v.frame.Crumbs, v.frame.Facts = []Link{{Text: "Explanations", Href: v.href("/explanations")}, {Text: id}}, []Fact{{Link: Link{Text: id}, Copy: true}}
	return nil
}

// explanationPage is a recorded request.
type explanationPage struct {
	Title     string
	Fields    []Field
	Question  []QueryPart
	Explained *explained
}
