package console

import (
	"context"
	"errors"
	"iter"
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

// findHelp is what find takes.
const findHelp = "Find takes the beginning of the name or UUID of a provider, of the UUID of a consumer, or of the name of a class or trait; " +
	"a whole UUID of a node or aggregate; the name of a node or project; and a request ID (req-…)."

// find leads to the page of a text, or lists what it may mean.
func (v *visit) find() error {
	text := strings.TrimSpace(v.query("q"))
	if requestIDForm.MatchString(text) {
		return v.redirect(v.base + "/explanations/" + text)
	}
	page := &listPage{Title: "Found", Table: &Table{Caption: "What was found", Heads: heads("Name", "Kind")}}
	page.Empty.Text = "Nothing has this name. " + findHelp
	v.head("Find", "find", page)
	v.frame.Find = text
	if text == "" {
		page.Title, page.Empty.Text = "What to enter", findHelp
		return nil
	}
	hits, err := v.hits(text)
	exact := slices.DeleteFunc(slices.Clone(hits), func(hit Link) bool { return hit.Text != text })
	switch {
	case len(exact) == 1 || len(hits) == 1:
		return v.redirect(append(exact, hits...)[0].Href)
	case len(hits) == 0:
		return err
	case !slices.ContainsFunc(hits, func(hit Link) bool { return hit.Count != "provider" }):
		return v.redirect(v.href("/providers", "q", text))
	}
	for _, hit := range hits {
		page.Table.Rows = append(page.Table.Rows, []Cell{{Link: hit}, plain(hit.Count)})
	}
	return nil
}

// ask is a call of find. Its links have the rest of the address after the path.
type ask struct {
	kind, path string
	call       func(context.Context) ([]Link, error)
}

// hits sends up to four requests at once, and returns their hits by kind. It returns the first error besides "not found".
func (v *visit) hits(text string) (hits []Link, err error) {
	asks := v.asks(text)
	found, failed := make([]any, len(asks)), make([]error, len(asks))
	var asking sync.WaitGroup
	for i, ask := range asks {
		asking.Go(func() {
			found[i], failed[i] = recovered(v.ctx(), func(ctx context.Context) (any, error) { return ask.call(ctx) })
		})
	}
	asking.Wait()
	for i, ask := range asks {
		if failed[i] != nil {
			if err == nil && !errors.Is(failed[i], client.ErrNotFound) {
				err = failed[i]
			}
			continue
		}
		for _, hit := range found[i].([]Link) {
			hits = append(hits, Link{Text: hit.Text, Href: v.base + ask.path + hit.Href, Count: ask.kind})
		}
	}
	return hits, err
}

// asks returns the calls for the form of a text.
func (v *visit) asks(text string) []ask {
	api, one := v.c.api, func(name, id string) []Link { return []Link{{Text: name, Href: id}} }
	providers := ask{"provider", "/providers/", func(ctx context.Context) ([]Link, error) {
		return collect(api.Providers(ctx, client.ProviderQuery{Prefix: text, PageSize: maxFound}), func(p client.ListedProvider) Link { return Link{Text: p.Name, Href: p.UUID.String()} })
	}}
	node := ask{"node", "/baremetal/nodes/", func(ctx context.Context) ([]Link, error) {
		node, err := v.c.machines.NodeShow(ctx, text)
		return one(text, node.UUID.String()), err
	}}
	if id, err := uuid.Parse(text); err == nil {
		text = id.String()
		return []ask{node, {"provider", "/providers/", func(ctx context.Context) ([]Link, error) {
			p, err := api.ProviderShow(ctx, id)
			return one(p.Name, text), err
		}}, {"consumer", "/consumers/", func(ctx context.Context) ([]Link, error) {
			_, err := api.ConsumerShow(ctx, id)
			return one(text, text), err
		}}, {"aggregate", "/aggregates/", func(ctx context.Context) ([]Link, error) {
			return collect(api.Aggregates(ctx, client.AggregateQuery{UUIDs: []uuid.UUID{id}}), func(client.ListedAggregate) Link { return Link{Text: text, Href: text} })
		}}}
	}
	if capitalForm.MatchString(text) {
		return []ask{providers, {"resource class", "/classes/", func(ctx context.Context) ([]Link, error) {
			names, err := api.ResourceClassList(ctx)
			return beginning(names, text), err
		}}, {"trait", "/traits/", func(ctx context.Context) ([]Link, error) {
			names, err := api.TraitList(ctx, client.TraitFilter{Name: "startswith:" + text})
			return beginning(names, text), err
		}}}
	}
	consumers := ask{"project", "/consumers", func(ctx context.Context) ([]Link, error) {
		return collect(api.Consumers(ctx, client.ConsumerFilter{ProjectID: text, PageSize: maxFound}), func(client.ListedConsumer) Link { return Link{Text: text, Href: href("", "project", text)} })
	}}
	if hexForm.MatchString(text) {
		consumers = ask{"consumer", "/consumers/", func(ctx context.Context) ([]Link, error) {
			return collect(api.Consumers(ctx, client.ConsumerFilter{Search: text, PageSize: maxFound}), func(c client.ListedConsumer) Link { return Link{Text: c.UUID.String(), Href: c.UUID.String()} })
		}}
	}
	return []ask{providers, consumers, node}
}

// collect returns the links of the first items of a list, without repetition.
func collect[T any](items iter.Seq2[T, error], link func(T) Link) (links []Link, err error) {
	for item, err := range items {
		if err != nil || len(links) == maxFound {
			return slices.Compact(links), err
		}
		links = append(links, link(item))
	}
	return slices.Compact(links), nil
}

// beginning returns links of the names that begin with a text.
func beginning(names []string, text string) (links []Link) {
	for _, name := range names {
		if strings.HasPrefix(name, text) && len(links) < maxFound {
			links = append(links, Link{Text: name, Href: name})
		}
	}
	return links
}
