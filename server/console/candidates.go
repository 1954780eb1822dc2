package console

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/querytext"
)

// Bounds of the explorer: the candidates of a query without a limit, and those on a page. Each tree is one call, for names.
const (
	candidateLimit = "100"
	maxCandidates  = 20
	maxNamedTrees  = maxCalls - 1
)

// explorerParameters are those of the explorer beside the query of the API.
var explorerParameters = []string{"show", "from", "add", "card", "start", "form"}

// asked returns the query in the address.
func (v *visit) asked() []querytext.Parameter {
	return querytext.Parse(v.r.URL.RawQuery, explorerParameters...)
}

func (v *visit) explorerAt(query string) string { return v.base + "/candidates?" + query }

// explorer is the page that asks for candidates. Reorders reports that the form writes the query in another order.
type explorer struct {
	Base, Text       string
	Start            string // the text to start from
	Amounts          []Link // of a query without amounts: the queries for one of a class
	NoAmounts        bool
	Groups           []formGroup
	Together, More   []Input
	IsOpen, Reorders bool
	Shapes           []Link
	Classes, Traits  []string
	Found            *foundCandidates
	Problem          *Problem
}

// formGroup is a request group in the form.
type formGroup struct {
	Chip             Link // the suffix in the color of the group
	Resources, Lists []Input
	Blank            Input  // a row to add
	Adds             []Link // the texts and parameters of rows to add
}

// candidates shows the form of the query in the address, and its candidates. It redirects fields of the form, and texts to
// start from, to the query that they mean.
func (v *visit) candidates() error {
	asked := v.asked()
	q := querytext.New(asked)
	page := v.questionForm(q, v.query("add"))
	v.head("Candidates", "candidates", page)
	v.frame.Facts = []Fact{{Link: Link{Text: "Where would this fit, and if nowhere, why?"}}}
	switch {
	case page.Start != "":
		return v.keepForm(page, v.startFrom(page.Start))
	case v.query("form") != "":
		return v.redirect(v.explorerAt(querytext.Encode(querytext.FromFields(querytext.Parse(v.r.URL.RawQuery, "form")))))
	case len(asked) == 0:
		page.Classes, _ = v.c.api.ResourceClassList(v.ctx()) // suggestions only
		page.Traits, _ = v.c.api.TraitList(v.ctx(), client.TraitFilter{Associated: new(true)})
		return nil
	case !slices.ContainsFunc(asked, func(parameter querytext.Parameter) bool { return strings.HasPrefix(parameter.Name, "resources") }):
		v.askAmounts(page, q, asked)
		return nil
	}
	page.Reorders = querytext.Encode(q.Ordered()) != querytext.Encode(asked)
	return v.keepForm(page, v.findCandidates(page, q, asked))
}

// maxAmounts is the number of classes that the form suggests for a query without amounts.
const maxAmounts = 12

// askAmounts completes the form of a query without amounts, such as that of a tree, which the API would reject: it suggests
// the classes of the tree, or those of the service. Without them it is the form alone.
func (v *visit) askAmounts(page *explorer, q *querytext.Question, asked []querytext.Parameter) {
	page.NoAmounts = true
	if id, err := parseID(cmp.Or(append(q.Values["in_tree"], "")...)); err == nil && id != uuid.Nil {
		shown, err := v.showTree(v.ctx(), id, client.TreeInventories, client.TreeTraits)
		if err != nil {
			return
		}
		for _, provider := range shown.Providers {
			page.Classes, page.Traits = append(page.Classes, slices.Collect(maps.Keys(provider.Inventories))...), append(page.Traits, provider.Traits...)
		}
		page.Classes, page.Traits = unique(page.Classes), unique(page.Traits)
		for _, class := range page.Classes[:min(len(page.Classes), maxAmounts)] {
			parameters := append([]querytext.Parameter{{Name: "resources", Value: class + ":1"}}, asked...)
			page.Amounts = append(page.Amounts, Link{Text: "1 " + class, Href: v.explorerAt(querytext.Encode(parameters)), Kind: "small"})
		}
		return
	}
	page.Classes, _ = v.c.api.ResourceClassList(v.ctx()) // suggestions only
	page.Traits, _ = v.c.api.TraitList(v.ctx(), client.TraitFilter{Associated: new(true)})
}

// keepForm sends the page with an error of its input, for a correction. It returns other errors.
func (v *visit) keepForm(page *explorer, err error) error {
	var failed *client.Error
	if errors.As(err, new(*inputError)) || errors.As(err, &failed) && failed.Status == http.StatusBadRequest {
		page.Problem, v.done, err = v.problem(err), true, nil
		v.render(http.StatusBadRequest, "candidates")
	}
	return err
}

// questionForm returns the form of a query, with an empty row of the parameter added.
func (v *visit) questionForm(q *querytext.Question, added string) *explorer {
	page := &explorer{Base: v.base, Text: querytext.Encode(q.Text), Start: strings.TrimSpace(v.query("start"))}
	if added == "group" {
		q.Suffixes = append(q.Suffixes, q.FreeSuffix())
	}
	for i, suffix := range q.Suffixes {
		name := "resources" + suffix
		of := formGroup{Chip: Link{Text: suffix, Kind: draw.GroupKind(i)}, Blank: Input{Name: name}, Adds: []Link{
			{Text: "resource", Href: name}, {Text: "trait", Href: "required" + suffix}, {Text: "aggregate", Href: "member_of" + suffix}, {Text: "tree", Href: "in_tree" + suffix},
		}}
		for _, item := range q.Amounts(suffix) {
			of.Resources = append(of.Resources, Input{Name: name, Class: item.Class, Value: item.Amount})
		}
		if added == name || of.Resources == nil {
			of.Resources = append(of.Resources, of.Blank)
		}
		for _, list := range querytext.GroupLists[1:] {
			if name = list + suffix; q.Values[name] != nil || added == name {
				of.Lists = append(of.Lists, fieldOf(q, name, list))
			}
		}
		page.Groups = append(page.Groups, of)
	}
	for _, name := range querytext.Together {
		switch name {
		case "same_subtree", "group_policy", "limit":
			page.Together = append(page.Together, fieldOf(q, name, name))
		default:
			page.More, page.IsOpen = append(page.More, fieldOf(q, name, name)), page.IsOpen || q.Values[name] != nil
		}
	}
	for _, shape := range v.c.names.Load().shapes {
		page.Shapes = append(page.Shapes, Link{Text: shape.Name, Href: v.explorerAt(shape.Query), Kind: "small"})
	}
	return page
}

// fieldOf returns the field of a parameter: a token for each value, or a text if a query has one at most.
func fieldOf(q *querytext.Question, name, label string) Input {
	values := q.Values[name]
	field := Input{ID: "field-" + name, Label: label, Name: name, Placeholder: map[string]string{"limit": candidateLimit}[name]}
	switch {
	case name == "group_policy":
		chosen := cmp.Or(append(values, "")...)
		for _, option := range slices.Compact([]string{"", "none", "isolate", cmp.Or(chosen, "isolate")}) {
			field.Options = append(field.Options, Link{Text: cmp.Or(option, "default: none"), Href: option, Current: option == chosen})
		}
	case querytext.IsSingle(label):
		field.Value = cmp.Or(append(values, "")...)
	default:
		field.Kind, field.List = "tokens", map[string]string{"required": "traits"}[label]
		for _, value := range values {
			for _, text := range querytext.Elements(name, value) {
				field.Tokens = append(field.Tokens, Token{Name: name, Text: text})
			}
		}
	}
	return field
}

// startFrom redirects to the query that a text means: the id of a request, a consumer, or what package question reads.
func (v *visit) startFrom(text string) error {
	query := ""
	if id, err := uuid.Parse(text); err == nil {
		consumer, err := v.c.api.ConsumerShow(v.ctx(), id)
		if err != nil {
			return err
		}
		var amounts []string
		for _, resource := range consumer.Resources {
			amounts = append(amounts, fmt.Sprint(resource.Class, ":", resource.Amount))
		}
		query = "resources=" + strings.Join(amounts, ",")
	} else if strings.HasPrefix(text, "req-") {
		recorded, err := v.c.api.ExplanationShow(v.ctx(), text)
		if err != nil || len(recorded) == 0 {
			return err
		}
		query = again(&recorded[len(recorded)-1])
	}
	if query = cmp.Or(query, querytext.FromText(text)); query == "" {
		return invalid("%q is none of these: the id of a request, the UUID of a consumer, an address or command line with a query, lines of a flavor such as resources:VCPU=4.", text)
	}
	return v.redirect(v.explorerAt(query))
}

// commands fills the request of the candidates as a URL, and as commands.
func (f *foundCandidates) commands(v *visit, asked []querytext.Parameter) {
	f.Query = []QueryPart{{Text: "GET /allocation_candidates"}}
	for i, parameter := range asked {
		name, value, _ := strings.Cut(parameter.String(), "=")
		f.Query = append(f.Query, QueryPart{Text: map[bool]string{true: "?", false: "&"}[i == 0]}, QueryPart{name, value})
	}
	query := strings.ReplaceAll(querytext.Encode(asked), "'", "%27")
	address := requestBase(v.r) + strings.TrimSuffix(v.base, "/console") + "/allocation_candidates?" + query
	f.Commands = []Link{
		{Text: "URL", Href: address},
		{Text: "curl", Href: `curl -H "X-Auth-Token: $TOKEN" -H "OpenStack-API-Version: placement 1.39, berth ` + minExtensions + `" '` + address + "'"},
		{Text: "berth", Href: "berth explain '" + query + "'"},
		{Text: "Go", Href: "service.QuestionList(client.WithExtensions(ctx, " + strconv.Quote(minExtensions) + "), " + strconv.Quote(query) + ")"},
	}
}
