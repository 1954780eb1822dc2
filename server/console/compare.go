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
	api "github.com/berthd/berth/gen/client"
	"github.com/berthd/berth/internal/draw"
)

// comparePage is the difference of two trees, or what a reshape would change. Summary counts the changes; Rejected is why
// the reshape would fail.
type comparePage struct {
	With, Reshape                  []Input
	Changes, Moves                 Table
	Summary, Note, Empty, Rejected string
}

// compare shows in what the trees around two providers differ. Providers are paired by their names without the name of
// their root, so that a host can be compared with its neighbor.
func (v *visit) compare() error {
	id, err := parseID(v.r.PathValue("uuid"))
	if err != nil {
		return err
	}
	mine, err := v.showTree(v.ctx(), id)
	if err != nil {
		return err
	}
	root := mine.Providers[0]
	page := &comparePage{Empty: "The trees have the same providers, inventories, traits and aggregates."}
	v.head("Compare "+root.Name, "providers", page, Link{Text: "Providers", Href: v.href("/providers")}, v.provider(root.UUID, func(uuid.UUID) string { return root.Name }))
	with, err := v.providerNamed("with")
	if err == nil && with != uuid.Nil {
		var other *client.ShownTree
		if other, err = v.showTree(v.ctx(), with); errors.Is(err, client.ErrNotFound) {
			v.fault("with", "No provider has the UUID %s.", with)
			err = nil
		} else if err == nil {
			v.fill(page, draw.Compare(pairable(mine, mine), pairable(other, mine)), namesOf(other, mine))
			v.frame.Title = root.Name + " compared with " + other.Providers[0].Name
			page.Summary = strings.Replace(page.Summary, " changed", " differ", 1)
		}
	}
	page.With = []Input{v.input(Input{Name: "with", Label: "Against", Type: "search", Placeholder: "name or UUID of a provider"})}
	page.Reshape = v.reshapeFields("", "")
	return err
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
	for _, name := range change.Traits.Added {
		found = append(found, "+ "+name)
	}
	for _, name := range change.Traits.Removed {
		found = append(found, "- "+name)
	}
	if added, removed := len(change.Aggregates.Added), len(change.Aggregates.Removed); added+removed > 0 {
		found = append(found, fmt.Sprintf("aggregates: %d added, %d removed", added, removed))
	}
	return found
}

// fill translates changes to the rows of a page.
func (v *visit) fill(page *comparePage, changes *draw.Changes, names map[uuid.UUID]string) {
	page.Changes = Table{Caption: "Changed providers", Heads: heads("Provider", "Difference")}
	page.Moves = Table{Caption: "Moved allocations", Heads: heads("Consumer", "#Amount", "Class", "From", "To")}
	for _, change := range changes.Providers {
		first := linked(cmp.Or(names[change.UUID], change.Name), v.href("/providers/"+change.UUID.String()))
		if first.Sub = (&Link{Text: change.Change}); change.Change == draw.Added && v.r.Method == http.MethodPost {
			first.Href = "" // it does not exist
		}
		page.Changes.Rows = append(page.Changes.Rows, []Cell{first, {Lines: details(change)}})
	}
	name := func(id *uuid.UUID) Cell {
		if id == nil {
			return plain(none)
		}
		return plain(cmp.Or(names[*id], id.String()))
	}
	for _, move := range changes.Moves {
		page.Moves.Rows = append(page.Moves.Rows, []Cell{
			linked(short(move.Consumer.String()), v.href("/consumers/"+move.Consumer.String())), figure(number(move.Amount)), plain(move.Class),
			name(move.From), name(move.To),
		})
	}
	page.Summary = changes.Summary()
}

// reshapeFields are the fields of the form that previews a reshape.
func (v *visit) reshapeFields(method, body string) []Input {
	return []Input{
		{ID: "method", Name: "method", Label: "Method", Options: []Link{
			{Text: "POST /reshaper: whole inventories and allocations", Href: http.MethodPost},
			{Text: "PATCH /reshaper: only what changes", Href: http.MethodPatch, Current: method == http.MethodPatch},
		}},
		{ID: "body", Name: "body", Label: "Body", Rows: 10, Required: true, Value: body, Placeholder: `{"inventories": {…}, "allocations": {…}}`, Hint: v.faults["body"], Invalid: v.faults["body"] != ""},
	}
}

// previewReshape shows what the body of a reshape would change. The service executes it as a dry run, and writes nothing.
func (v *visit) previewReshape() error {
	form, err := v.posted()
	if err != nil {
		return err
	}
	method, body := http.MethodPost, form.Get("body")
	if form.Get("method") == http.MethodPatch {
		method = http.MethodPatch
	}
	page := &comparePage{Empty: "The reshape changes no provider.", Note: "a dry run: nothing was changed"}
	v.head("Preview of a reshape", "providers", page)
	if !json.Valid([]byte(body)) {
		v.fault("body", "The body is not JSON: paste that of %s /reshaper.", method)
	} else if err = v.dryReshape(page, method, body); err != nil {
		return err
	}
	page.Reshape = v.reshapeFields(method, body)
	return nil
}

// dryReshape sends a reshape as a dry run, and fills a page with its result.
func (v *visit) dryReshape(page *comparePage, method, body string) error {
	ctx, runs := client.WithDryRun(v.ctx())
	err := v.c.api.Exchange(ctx, nil, nil, func(ctx context.Context, address string, over *http.Client) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, method, address+"reshaper", strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("OpenStack-API-Version", "placement 1.39")
		return over.Do(request)
	})
	var failed *client.Error
	for _, result := range runs.Results() {
		known := v.known(result.Changes.ResourceProviders)
		v.fill(page, draw.CompareDryRun(&result.Changes, known, nil), nil)
		if errors.As(err, &failed) {
			page.Summary, page.Rejected, err = "Would be rejected", failed.Detail, nil
		}
	}
	return err
}

// known returns the providers of the tree of the first changed provider, for their names.
func (v *visit) known(changed map[uuid.UUID]api.ProviderChange) map[uuid.UUID]client.Node {
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
