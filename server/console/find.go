package console

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// maxFound is the number of hits of a kind that find lists.
const maxFound = 50

// The forms of a text that decide where find looks.
var (
	requestIDForm = regexp.MustCompile(`^req-[0-9a-f-]{36}$`)
	capitalForm   = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	hexForm       = regexp.MustCompile(`^[0-9a-f][0-9a-f-]{3,}$`)
)

// find leads to the page of a text, or lists what it may mean.
func (v *visit) find() error {
	text := strings.TrimSpace(v.query("q"))
	v.frame.Title, v.frame.Find = "Find", text
	page := &listPage{Title: "Found", Table: &Table{Caption: "What was found", Heads: []Cell{{Link: Link{Text: "Name"}}, {Link: Link{Text: "Kind"}}}}}
	page.Empty = Message{Text: "Nothing has this name. Find knows names and uuids of providers, consumers, nodes and aggregates, names of classes, traits and projects, and request ids (req-…)."}
	v.frame.Body = page
	if requestIDForm.MatchString(text) {
		return v.redirect(v.base + "/explanations/" + text)
	}
	if text == "" {
		return nil
	}
	hits, err := v.hits(text)
	exact := slices.DeleteFunc(slices.Clone(hits), func(hit Link) bool { return hit.Text != text })
	if len(exact) == 1 || len(hits) == 1 {
		return v.redirect(append(exact, hits...)[0].Href)
	}
	for _, hit := range hits {
		page.Table.Rows = append(page.Table.Rows, Row{First: Cell{Link: hit}, Cells: []Cell{{Link: Link{Text: hit.Count}}}})
	}
	page.Pager.Text = plural(len(hits), "hit")
	if len(hits) > 0 {
		return nil
	}
	return err
}

// hits asks up to four calls at once, and returns their hits by kind. The error is the first of those that matter.
func (v *visit) hits(text string) (hits []Link, err error) {
	asks := v.nameAsks(text)
	if id, notUUID := uuid.Parse(text); notUUID == nil {
		asks = v.uuidAsks(id)
	} else if capitalForm.MatchString(text) {
		asks = append(v.capitalAsks(text), asks[0])
	}
	found, failed := make([][]Link, len(asks)), make([]error, len(asks))
	var asking sync.WaitGroup
	for i, ask := range asks {
		asking.Go(func() {
			if found[i], failed[i] = ask(v.ctx()); failed[i] != nil {
				found[i] = nil
			}
		})
	}
	asking.Wait()
	for _, one := range failed {
		if err == nil && one != nil && !errors.Is(one, client.ErrNotFound) {
			err = one
		}
	}
	return slices.Concat(found...), err
}

// ask is one call of find; Count of its links is the kind.
type ask func(context.Context) ([]Link, error)

func (v *visit) hit(kind, text, path string) []Link {
	return []Link{{Text: text, Href: v.base + path, Count: kind}}
}

func (v *visit) uuidAsks(id uuid.UUID) []ask {
	text := id.String()
	return []ask{
		func(ctx context.Context) ([]Link, error) {
			p, err := v.c.api.ProviderShow(ctx, id)
			return v.hit("provider", p.Name, "/providers/"+text), err
		},
		func(ctx context.Context) ([]Link, error) {
			_, err := v.c.api.ConsumerShow(ctx, id)
			return v.hit("consumer", text, "/consumers/"+text), err
		},
		func(ctx context.Context) ([]Link, error) {
			_, err := v.c.machines.NodeShow(ctx, text)
			return v.hit("node", text, "/baremetal/nodes/"+text), err
		},
		func(ctx context.Context) (hits []Link, err error) {
			for _, err := range v.c.api.Aggregates(ctx, client.AggregateQuery{UUIDs: []uuid.UUID{id}}) {
				return v.hit("aggregate", text, "/aggregates/"+text), err
			}
			return nil, nil
		},
	}
}

// nameAsks look for names of providers and nodes, and for projects or the beginnings of uuids.
func (v *visit) nameAsks(text string) []ask {
	return []ask{
		func(ctx context.Context) (hits []Link, err error) {
			for p, err := range v.c.api.Providers(ctx, client.ProviderQuery{Prefix: text, PageSize: maxFound}) {
				if err != nil || len(hits) == maxFound {
					return hits, err
				}
				hits = append(hits, v.hit("provider", p.Name, "/providers/"+p.UUID.String())...)
			}
			return hits, nil
		},
		func(ctx context.Context) (hits []Link, err error) {
			filter := client.ConsumerFilter{ProjectID: text, PageSize: 1}
			if hexForm.MatchString(text) {
				filter = client.ConsumerFilter{Search: text, PageSize: maxFound}
			}
			for c, err := range v.c.api.Consumers(ctx, filter) {
				switch {
				case err != nil || len(hits) == maxFound:
					return hits, err
				case filter.ProjectID != "":
					return v.hit("project", text, href("/consumers", "project", text)), nil
				}
				hits = append(hits, v.hit("consumer", c.UUID.String(), "/consumers/"+c.UUID.String())...)
			}
			return hits, nil
		},
		func(ctx context.Context) ([]Link, error) {
			node, err := v.c.machines.NodeShow(ctx, text)
			return v.hit("node", text, "/baremetal/nodes/"+node.UUID.String()), err
		},
	}
}

// capitalAsks look for resource classes and traits.
func (v *visit) capitalAsks(text string) []ask {
	begin := func(kind, path string, names []string) (hits []Link) {
		for _, name := range names {
			if strings.HasPrefix(name, text) && len(hits) < maxFound {
				hits = append(hits, v.hit(kind, name, path+name)...)
			}
		}
		return hits
	}
	return []ask{
		func(ctx context.Context) ([]Link, error) {
			names, err := v.c.api.ResourceClassList(ctx)
			return begin("resource class", "/classes/", names), err
		},
		func(ctx context.Context) ([]Link, error) {
			names, err := v.c.api.TraitList(ctx, client.TraitFilter{Name: "startswith:" + text})
			return begin("trait", "/traits/", names), err
		},
	}
}
