package candidates

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// ProviderSummary is the summary of a provider of candidates.
type ProviderSummary struct {
	UUID   uuid.UUID
	Parent *uuid.UUID
	Root   uuid.UUID
	// Traits are in the order of their ids.
	Traits []string
	// Resources are all inventories, in class order.
	Resources []SummaryResource
}

// SummaryResource is an inventory in a summary.
type SummaryResource struct {
	Class string
	// Capacity is an integer, but valid ratios can make it larger than any int64.
	Capacity float64
	Used     int64
}

// usedTrees are the trees of all providers that candidates use, in the order of their first use; and those providers,
// if the summaries include only them.
type usedTrees struct {
	trees    []usedTree
	onlyThem map[int64]bool
	known    map[int64]bool
	// pages are those that the trees keep in memory, with so many providers.
	pages     []*page
	providers int
}

// usedTree is the root of a tree and the page that has it, nil if the summaries have to read it again.
type usedTree struct {
	root int64
	page *page
}

// maxKeptProviders limits the memory of the trees that wait for their summaries, to about 10 MB.
const maxKeptProviders = 1 << 16

// add adds the tree of a provider.
func (u *usedTrees) add(of *page, item *provider, search *candidateSearch) {
	if search.query.OnePerTree {
		if u.onlyThem == nil {
			u.onlyThem = map[int64]bool{}
		}
		u.onlyThem[item.id] = true
	}
	if count := len(u.trees); count > 0 && u.trees[count-1].root == item.root {
		return
	}
	// Depth first, the candidates of a tree come one after the other, and only sharing providers are in another tree.
	if search.ids.sharing || search.query.interleavesTrees() {
		if u.known[item.root] {
			return
		}
		if u.known == nil {
			u.known = map[int64]bool{}
		}
		u.known[item.root] = true
	}
	if count := len(u.pages); count == 0 || u.pages[count-1] != of && !slices.Contains(u.pages, of) {
		// Outside of a snapshot, a page read again could be of another state.
		if search.snapshot != nil && u.providers+len(of.providers) > maxKeptProviders {
			of = nil
		} else {
			u.pages = append(u.pages, of)
			u.providers += len(of.providers)
			of.unsorted = nil
		}
	}
	u.trees = append(u.trees, usedTree{item.root, of})
}

// summaryPage is how many trees are sorted by their ids: summaries of few trees come in that order.
const summaryPage = 500

// Summaries yields the providers of all trees of which All has used providers. If the query was OnePerTree, it yields
// only the used providers. A yielded summary is valid until the next one. An error ends the sequence.
func (c *Result) Summaries() iter.Seq2[*ProviderSummary, error] {
	return func(yield func(*ProviderSummary, error) bool) {
		trees, most := c.used.trees, min(summaryPage, c.search.of.maxTrees())
		sent, err := c.readAgain(trees, most)
		more := true
		for len(trees) > 0 && more && err == nil {
			count := min(most, len(trees))
			batch := slices.Clone(trees[:count])
			trees = trees[count:]
			var again *page
			if sent != nil {
				again, err = c.receiveAgain(sent)
				sent = nil
			}
			if err == nil {
				// The database executes the query of the next page while the caller writes this one.
				sent, err = c.readAgain(trees, most)
			}
			if err == nil {
				more = c.summaries(batch, again, yield)
				again.release()
			}
		}
		if sent != nil {
			err = errors.Join(err, sent.Close())
		}
		if err != nil {
			yield(nil, postgres.StreamError(c.search.ctx, err))
		}
	}
}

// readAgain sends the query for those of the next count trees that are not in memory; nil if all are. The last query ends the
// snapshot in the same round trip.
func (c *Result) readAgain(trees []usedTree, count int) (*pendingPage, error) {
	s := c.search
	roots := make([]int64, 0, min(count, len(trees)))
	for _, tree := range trees[:min(count, len(trees))] {
		if tree.page == nil {
			roots = append(roots, tree.root)
		}
	}
	if len(roots) == 0 {
		return nil, nil
	}
	sent := &pendingPage{Batch: s.snapshot.Batch(), page: newPage()}
	sent.answer = postgres.EnqueueEachRow(sent.Batch, func(ctx context.Context, to db.DBTX) error {
		_, err := s.of.queries.CandidatePage(ctx, to, db.CandidatePageParams{
			Lead: leadNone, Roots: roots, Conditions: encoded([]condition{}), Amounts: encoded([]amountPart{}),
			RootRequired: []int32{}, RootForbidden: []int32{},
		})
		return err
	}, sent.page.read)
	if len(trees) <= count {
		sent.Commit()
	}
	if err := sent.Send(s.ctx); err != nil {
		return nil, errors.Join(err, sent.Close())
	}
	return sent, nil
}

func (c *Result) receiveAgain(sent *pendingPage) (*page, error) {
	if err := errors.Join(sent.answer(c.search.ctx), sent.Close()); err != nil {
		return nil, err
	}
	sent.page.arrange()
	c.search.names.missingNames(sent.page) // none are missing: the search has read these trees before
	return sent.page, nil
}

// summaries yields the providers of some trees. again is the page of those that had to be read again.
func (c *Result) summaries(trees []usedTree, again *page, yield func(*ProviderSummary, error) bool) bool {
	if byRoot := func(a, b usedTree) int { return cmp.Compare(a.root, b.root) }; !slices.IsSortedFunc(trees, byRoot) {
		slices.SortFunc(trees, byRoot)
	}
	classes := c.search.names.classes.all()
	var summary ProviderSummary
	for _, tree := range trees {
		p := tree.page
		if p == nil {
			p = again
		}
		of := p.tree(tree.root).tree
		for i := of.start; i < of.end; i++ {
			provider := &p.providers[i]
			if c.search.query.OnePerTree && !c.used.onlyThem[provider.id] {
				continue
			}
			p.summarize(provider, &summary, classes)
			if !yield(&summary, nil) {
				return false
			}
		}
	}
	return true
}

// summarize overwrites a summary with that of a provider.
func (p *page) summarize(item *provider, to *ProviderSummary, classes map[int32]string) {
	*to = ProviderSummary{UUID: item.uuid, Traits: p.lists[item.traits].names, Resources: to.Resources[:0]}
	if root, known := p.places[item.root]; known {
		to.Root = p.providers[root].uuid
	}
	if parent, known := p.places[item.parent]; known {
		to.Parent = &p.providers[parent].uuid
	}
	for i := item.inventories.start; i < item.inventories.end; i++ {
		of := &p.inventories[i]
		to.Resources = append(to.Resources, SummaryResource{Class: classes[of.class], Capacity: of.capacity, Used: of.used})
	}
}
