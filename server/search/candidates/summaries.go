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
	// kept are those whose page is in memory. again are the roots of all later ones, in blocks of one query, so that a
	// million of them take no second copy while the list grows.
	kept     []usedTree
	again    [][]int64
	last     int64 // the root added last
	onlyThem map[int64]bool
	known    map[int64]bool
	// pages are those that the trees keep in memory, with so many providers.
	pages     []*page
	providers int
}

// usedTree is the root of a tree and the page that has it.
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
	if u.last == item.root {
		return
	}
	u.last = item.root
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
	if u.keeps(of, search) {
		u.kept = append(u.kept, usedTree{item.root, of})
		return
	}
	count := len(u.again)
	if count == 0 || len(u.again[count-1]) == cap(u.again[count-1]) {
		u.again = append(u.again, make([]int64, 0, min(summaryPage, search.of.maxTrees())))
		count++
	}
	u.again[count-1] = append(u.again[count-1], item.root)
}

// keeps reports whether a page is in memory until the summaries. Later ones are not after the first that is not.
func (u *usedTrees) keeps(of *page, search *candidateSearch) bool {
	if len(u.again) > 0 {
		return false
	}
	if count := len(u.pages); count > 0 && u.pages[count-1] == of || slices.Contains(u.pages, of) {
		return true
	}
	// Outside of a snapshot, a page read again could be of another state.
	if search.snapshot != nil && u.providers+len(of.providers) > maxKeptProviders {
		return false
	}
	u.pages = append(u.pages, of)
	u.providers += len(of.providers)
	of.unsorted = nil
	return true
}

// summaryPage is how many trees are sorted by their ids: summaries of few trees come in that order.
const summaryPage = 500

// Summaries yields the providers of all trees of which All has used providers. If the query was OnePerTree, it yields
// only the used providers. A yielded summary is valid until the next one. An error ends the sequence.
func (c *Result) Summaries() iter.Seq2[*ProviderSummary, error] {
	return func(yield func(*ProviderSummary, error) bool) {
		sent, err := c.readAgain(0)
		more := true
		for batch := range slices.Chunk(c.used.kept, min(summaryPage, c.search.of.maxTrees())) {
			more = more && (err != nil || c.summaries(slices.Clone(batch), yield))
		}
		for number := 0; sent != nil && more && err == nil; number++ {
			again, failure := c.receiveAgain(sent)
			if sent, err = nil, failure; err == nil {
				// The database executes the query of the next block while the caller writes this one.
				sent, err = c.readAgain(number + 1)
			}
			if err == nil {
				batch := make([]usedTree, len(c.used.again[number]))
				for i, root := range c.used.again[number] {
					batch[i] = usedTree{root, again}
				}
				more = c.summaries(batch, yield)
				again.release()
			}
		}
		if sent != nil {
			err = errors.Join(err, sent.Close())
		}
		if err != nil && more {
			yield(nil, postgres.StreamError(c.search.ctx, err))
		}
	}
}

// readAgain sends the query for a block of trees that are not in memory; nil after the last. The last query ends the snapshot in
// the same round trip.
func (c *Result) readAgain(number int) (*pendingPage, error) {
	s := c.search
	if number >= len(c.used.again) {
		return nil, nil
	}
	sent := &pendingPage{Batch: s.snapshot.Batch(), page: newPage()}
	sent.answer = postgres.EnqueueEachRow(sent.Batch, func(ctx context.Context, to db.DBTX) error {
		_, err := s.of.queries.CandidatePage(ctx, to, db.CandidatePageParams{
			Lead: leadNone, Roots: c.used.again[number], Conditions: encoded([]condition{}), Amounts: encoded([]amountPart{}),
			RootRequired: []int32{}, RootForbidden: []int32{},
		})
		return err
	}, sent.page.read)
	if number == len(c.used.again)-1 {
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

// summaries yields the providers of some trees.
func (c *Result) summaries(trees []usedTree, yield func(*ProviderSummary, error) bool) bool {
	if byRoot := func(a, b usedTree) int { return cmp.Compare(a.root, b.root) }; !slices.IsSortedFunc(trees, byRoot) {
		slices.SortFunc(trees, byRoot)
	}
	classes := c.search.names.classes.all()
	var summary ProviderSummary
	for _, tree := range trees {
		p := tree.page
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
