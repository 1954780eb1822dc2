package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/draw"
)

func (c *Console) compareRoutes() {
	c.page("GET /providers/{uuid}/compare", "compare", (*visit).compare)
	c.page("POST /compare", "compare", (*visit).previewReshape)
}

// comparePage is the difference of two trees, or what a reshape would change.
type comparePage struct {
	// Provider and With are what the user compares; Body is the body of a reshape.
	Provider, With, Body, Method string
	Others                       []Link
	Rows                         []changeRow
	Moves                        []moveRow
	// Summary counts the changes. Rejected is why the reshape would fail; Preview reports a reshape.
	Summary, Rejected string
	Compared, Preview bool
}

// changeRow is a provider with its changes.
type changeRow struct {
	Mark, Name, Href string
	Details          []string
}

// moveRow is an amount that a consumer would hold elsewhere.
type moveRow struct {
	Consumer, Href, Class, From, To string
	Amount                          int64
}

// compare shows in what the trees around two providers differ. Providers are paired by their names without the name of
// their root, so that a host can be compared with its neighbor.
func (v *visit) compare() error {
	id, err := uuid.Parse(v.r.PathValue("uuid"))
	if err != nil {
		return invalid("%q is not a UUID", v.r.PathValue("uuid"))
	}
	page := comparePage{Provider: id.String(), With: v.query("with")}
	mine, err := v.treeOf(id)
	if err != nil {
		return err
	}
	root := mine.Providers[0]
	v.frame.Title, v.frame.Nav = "Compare "+root.Name, "providers"
	v.frame.Crumbs = []Link{{Text: "Providers", Href: v.href("/providers")}, {Text: root.Name, Href: v.href("/providers/" + root.UUID.String())}}
	if page.With != "" {
		other, err := v.findTree(page.With)
		if err != nil {
			return err
		}
		page.fill(draw.Compare(pairable(mine, mine), pairable(other, mine)), namesOf(other, mine), v.base)
		v.frame.Title = root.Name + " compared with " + other.Providers[0].Name
		page.Compared, page.Summary = true, strings.Replace(page.Summary, " changed", " differ", 1)
	}
	v.frame.Body = page
	return nil
}

// findTree returns the tree of a provider by its UUID or name.
func (v *visit) findTree(text string) (*client.ShownTree, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		found, err := v.c.api.ProviderList(v.ctx(), client.ProviderFilter{Name: text})
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, invalid("No provider has the name %q.", text)
		}
		id = found[0].UUID
	}
	return v.treeOf(id)
}

// errNoRoot is the error of a response that no service of the API sends.
var errNoRoot = errors.New("the service returned a tree without providers")

// treeOf returns the tree of a provider, whose root is the first provider.
func (v *visit) treeOf(id uuid.UUID) (*client.ShownTree, error) {
	tree, err := v.c.api.TreeShow(v.ctx(), id)
	if err == nil && len(tree.Providers) == 0 {
		err = errNoRoot
	}
	return tree, err
}

// pairable returns the providers of a tree with the UUIDs of those of another tree that have the same place and name. The
// names are without that of the root, so that equal hosts have equal names.
func pairable(tree, like *client.ShownTree) draw.Forest {
	ids := map[string]uuid.UUID{}
	for _, provider := range like.Providers {
		ids[placeName(like, provider)] = provider.UUID
	}
	paired := map[uuid.UUID]uuid.UUID{}
	var forest draw.Forest
	for _, provider := range tree.Providers {
		name := placeName(tree, provider)
		node := provider.Node
		if id, ok := ids[name]; ok {
			node.UUID = id
		}
		paired[provider.UUID] = node.UUID
		if parent, ok := paired[provider.Parent]; ok {
			node.Parent = parent
		}
		node.Name = name
		forest.Nodes = append(forest.Nodes, node)
	}
	return forest
}

// placeName is the name of a provider with an ellipsis in place of the name of its root.
func placeName(tree *client.ShownTree, provider client.ShownProvider) string {
	return strings.ReplaceAll(provider.Name, tree.Providers[0].Name, "…")
}

func namesOf(trees ...*client.ShownTree) map[uuid.UUID]string {
	names := map[uuid.UUID]string{}
	for _, tree := range trees {
		for _, provider := range slices.Concat(tree.Providers, tree.Sharing) {
			names[provider.UUID] = provider.Name
		}
	}
	return names
}

// marks are the signs of kinds of change.
var marks = map[string]string{draw.Added: "+", draw.Removed: "-", draw.Changed: "~"}

// details returns the changes of a provider, one text each.
func details(change draw.ProviderChange) []string {
	var found []string
	if change.Was != nil && change.Was.Name != change.Name {
		found = append(found, "was named "+change.Was.Name)
	}
	for _, inventory := range change.Inventories {
		text := marks[inventory.Change] + " " + inventory.Class
		for _, field := range inventory.Fields {
			switch {
			case field.From != nil && field.To != nil:
				text += fmt.Sprintf(", %s %v → %v", field.Field, *field.From, *field.To)
			case field.Field == "total" && field.To != nil:
				text += fmt.Sprintf(" %v", *field.To)
			case field.Field == "total" && field.From != nil:
				text += fmt.Sprintf(" %v", *field.From)
			}
		}
		found = append(found, text)
	}
	for _, set := range []struct {
		mark  string
		names []string
	}{{"+", change.Traits.Added}, {"-", change.Traits.Removed}} {
		for _, name := range set.names {
			found = append(found, set.mark+" "+name)
		}
	}
	if added, removed := len(change.Aggregates.Added), len(change.Aggregates.Removed); added+removed > 0 {
		found = append(found, fmt.Sprintf("aggregates: %d added, %d removed", added, removed))
	}
	return found
}

// fill translates changes to rows.
func (p *comparePage) fill(changes *draw.Changes, names map[uuid.UUID]string, base string) {
	for _, change := range changes.Providers {
		row := changeRow{Mark: marks[change.Change], Name: cmp.Or(names[change.UUID], change.Name), Details: details(change)}
		if change.Change != draw.Added || !p.Preview {
			row.Href = base + "/providers/" + change.UUID.String()
		}
		p.Rows = append(p.Rows, row)
	}
	name := func(id *uuid.UUID) string {
		if id == nil {
			return none
		}
		if known, ok := names[*id]; ok {
			return known
		}
		return id.String()
	}
	for _, move := range changes.Moves {
		p.Moves = append(p.Moves, moveRow{
			Consumer: move.Consumer.String(), Href: base + "/consumers/" + move.Consumer.String(), Class: move.Class, Amount: move.Amount,
			From: name(move.From), To: name(move.To),
		})
	}
	p.Summary = changes.Summary()
}

// previewReshape shows what the body of a reshape would change. The service executes it as a dry run, and writes nothing.
func (v *visit) previewReshape() error {
	form, err := v.posted()
	if err != nil {
		return err
	}
	page := comparePage{Body: form.Get("body"), Method: form.Get("method"), Preview: true}
	v.frame.Title, v.frame.Nav = "Preview of a reshape", "providers"
	if page.Method != http.MethodPatch {
		page.Method = http.MethodPost
	}
	if !json.Valid([]byte(page.Body)) {
		return invalid("The body is not JSON: paste that of %s /reshaper.", page.Method)
	}
	ctx, runs := client.WithDryRun(v.ctx())
	err = v.c.api.Exchange(ctx, nil, nil, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, page.Method, address+"reshaper", strings.NewReader(page.Body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("OpenStack-API-Version", "placement 1.39")
		return over.Do(request)
	})
	var failed *client.Error
	results := runs.Results()
	switch {
	case err != nil && (len(results) == 0 || !errors.As(err, &failed)):
		return err
	case err != nil:
		page.Rejected = failed.Detail
	}
	for _, result := range results {
		known := v.known(result.Changes.Providers)
		page.fill(draw.CompareDryRun(&result.Changes, known, nil), nil, v.base)
	}
	v.frame.Body = page
	return nil
}

// known returns the providers of the tree of the first changed provider, for their names.
func (v *visit) known(changed map[uuid.UUID]client.ProviderChange) map[uuid.UUID]client.Node {
	known := map[uuid.UUID]client.Node{}
	for id, change := range changed {
		if change.Before == nil {
			continue
		}
		tree, err := v.c.api.TreeShow(v.ctx(), id)
		if err != nil {
			return known // the names are missing then
		}
		for _, provider := range slices.Concat(tree.Providers, tree.Sharing) {
			known[provider.UUID] = provider.Node
		}
		return known
	}
	return known
}
