package console

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// maxFound is the number of hits of a kind that find lists, and maxFind the length of a text, in bytes, that names can have.
const maxFound, maxFind = 50, 200

// The forms of a text that decide where find looks.
var (
	requestIDForm = regexp.MustCompile(`^req-[0-9a-f-]{36}$`)
	nodeNameForm  = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)
	hexForm       = regexp.MustCompile(`^[0-9a-f][0-9a-f-]{3,}$`)
)

// findHelp is what find takes.
const findHelp = "Find takes a part of the name of a class or trait, in any case; the beginning of the name or UUID of a provider, or of the UUID " +
	"of a consumer; a whole UUID of a node or aggregate; the name of a node, aggregate or project; and a request ID (req-…)."

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
	if text == "" || len(text) > maxFind {
		page.Title, page.Empty.Text = "What to enter", findHelp
		return nil
	}
	hits, err := v.hits(text)
	words := wordsOf(text)
	words = append(words, strings.Join(words, "_"), text)
	exact := slices.DeleteFunc(slices.Clone(hits), func(hit Link) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(hit.Text, word) })
	})
	switch {
	case len(exact) == 1 || len(hits) == 1:
		return v.redirect(append(exact, hits...)[0].Href)
	case len(hits) == 0:
		return err
	case !slices.ContainsFunc(hits, func(hit Link) bool { return hit.Count != "provider" }):
		return v.redirect(v.href("/providers", "q", text))
	}
	for _, hit := range hits {
		page.Table.Rows = append(page.Table.Rows, []Cell{linked(hit.Text, hit.Href), plain(hit.Count)})
	}
	if n := len(hits); n >= maxFound && hits[n-1].Count == "provider" && hits[n-maxFound].Count == "provider" {
		page.Table.Rows = append(page.Table.Rows, []Cell{linked("All that begin with "+text, v.href("/providers", "q", text)), plain("provider")})
	}
	return nil
}

// ask is a call of find. Its links have the rest of the address after the path.
type ask struct {
	kind, path string
	call       func(context.Context) ([]Link, error)
}

// hits sends the requests for a text, and returns their hits by kind. A text that is no name of a kind, which the API rejects, is
// not found. It returns the first other error.
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
			if err == nil && !isNoName(failed[i]) {
				err = failed[i]
			}
			continue
		}
		for _, hit := range found[i].([]Link) {
			hits = append(hits, Link{Text: hit.Text, Href: v.base + ask.path + hit.Href, Count: ask.kind, Kind: hit.Kind})
		}
	}
	if slices.ContainsFunc(hits, func(hit Link) bool { return hit.Kind != byWord }) {
		hits = slices.DeleteFunc(hits, func(hit Link) bool { return hit.Kind == byWord })
	}
	return hits, err
}

// isNoName reports whether nothing has the name of a request, or can have it.
func isNoName(err error) bool {
	var failed *client.Error
	return errors.Is(err, client.ErrNotFound) || errors.As(err, &failed) && failed.Status == http.StatusBadRequest
}

// asks returns the calls for the form of a text. Providers, which may be many, are the last.
func (v *visit) asks(text string) []ask {
	placement, item := v.c.api, func(name, id string) []Link { return []Link{{Text: name, Href: id}} }
	providers := ask{"provider", "/providers/", func(ctx context.Context) ([]Link, error) {
		return collect(placement.Providers(ctx, client.ProviderQuery{Prefix: text, PageSize: maxFound}), func(p api.ProviderWithParts) Link { return Link{Text: p.Name, Href: p.UUID.String()} })
	}}
	node := ask{"node", "/baremetal/nodes/", func(ctx context.Context) ([]Link, error) {
		node, err := v.c.machines.NodeShow(ctx, text)
		return item(text, node.UUID.String()), err
	}}
	if id, err := uuid.Parse(text); err == nil {
		text = id.String()
		return []ask{node, {"provider", "/providers/", func(ctx context.Context) ([]Link, error) {
			p, err := placement.ProviderShow(ctx, id)
			return item(p.Name, text), err
		}}, {"consumer", "/consumers/", func(ctx context.Context) ([]Link, error) {
			_, err := placement.ConsumerShow(ctx, id)
			return item(text, text), err
		}}, {"aggregate", "/aggregates/", func(ctx context.Context) ([]Link, error) {
			return collect(placement.Aggregates(ctx, client.AggregateQuery{UUIDs: []uuid.UUID{id}}), func(api.ListedAggregate) Link { return Link{Text: text, Href: text} })
		}}}
	}
	asks := []ask{{"resource class", "/classes/", func(ctx context.Context) ([]Link, error) {
		names, err := placement.ResourceClassList(ctx)
		return having(names, text), err
	}}, {"trait", "/traits/", func(ctx context.Context) ([]Link, error) {
		names, err := placement.TraitList(ctx, client.TraitFilter{})
		return having(names, text), err
	}}}
	if ids := v.aggregatesNamed(text); len(ids) > 0 {
		asks = append(asks, ask{"aggregate", "/aggregates/", func(ctx context.Context) ([]Link, error) {
			return collect(placement.Aggregates(ctx, client.AggregateQuery{UUIDs: ids}), func(a api.ListedAggregate) Link { return Link{Text: v.aggregateName(a.UUID), Href: a.UUID.String()} })
		}})
	}
	if hexForm.MatchString(text) {
		asks = append(asks, ask{"consumer", "/consumers/", func(ctx context.Context) ([]Link, error) {
			return collect(placement.Consumers(ctx, client.ConsumerFilter{Search: text, PageSize: maxFound}), func(c client.ListedConsumer) Link { return Link{Text: c.UUID.String(), Href: c.UUID.String()} })
		}})
	} else {
		asks = append(asks, ask{"project", "/consumers", func(ctx context.Context) ([]Link, error) {
			return collect(placement.Consumers(ctx, client.ConsumerFilter{ProjectID: text, PageSize: maxFound}), func(client.ListedConsumer) Link { return Link{Text: text, Href: href("", "project", text)} })
		}})
	}
	if nodeNameForm.MatchString(text) {
		asks = append(asks, node)
	}
	return append(asks, providers)
}

// aggregatesNamed returns the first aggregates whose name begins with a text, in any case.
func (v *visit) aggregatesNamed(text string) (ids []uuid.UUID) {
	for id, name := range v.c.names.Load().aggregates {
		if len(name) >= len(text) && strings.EqualFold(name[:len(text)], text) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return cmp.Compare(v.aggregateName(a), v.aggregateName(b)) })
	return ids[:min(len(ids), maxFound)]
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

// wordsOf returns the words of a text as classes and traits have them.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToUpper(text), func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') })
}

// byWord is the kind of hits that have only one word of a text.
const byWord = "word"

// having returns links of the names of classes or traits that have a text in them, in any case and with any separator: first
// those that begin with it. If there is none, it returns those that have a word of a text of several.
func having(names []string, text string) []Link {
	words := wordsOf(text)
	links := namesWith(names, strings.Join(words, "_"))
	if len(links) == 0 && strings.Contains(text, " ") {
		links = namesWith(names, words...)
		for i := range links {
			links[i].Kind = byWord
		}
	}
	return links
}

// namesWith returns links of the first names that have one of some terms: first those that begin with it.
func namesWith(names []string, terms ...string) (links []Link) {
	first := 0
	for _, name := range names {
		own := strings.TrimPrefix(name, "CUSTOM_")
		switch {
		case slices.ContainsFunc(terms, func(term string) bool {
			return len(term) > 1 && (strings.HasPrefix(name, term) || strings.HasPrefix(own, term))
		}):
			links, first = slices.Insert(links, first, Link{Text: name, Href: name}), first+1
		case slices.ContainsFunc(terms, func(term string) bool { return len(term) > 2 && strings.Contains(name, term) }):
			links = append(links, Link{Text: name, Href: name})
		}
	}
	return links[:min(len(links), maxFound)]
}
