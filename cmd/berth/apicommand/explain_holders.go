package apicommand

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	api "github.com/berthd/berth/gen/client"
)

// maxHolders is the maximum number of consumers of a provider in the text.
const maxHolders = 5

// holding is what consumers hold of a class on a provider that has too little free capacity.
type holding struct {
	provider api.ExplanationProvider
	class    string
	// consumers are those with the largest amounts; more is the number of the others.
	consumers []holder
	more      int
}

type holder struct {
	consumer uuid.UUID
	amount   int64
}

// holders are the consumers that hold what the nearest trees of an explanation lack.
type holders struct {
	holdings []holding
	// now is true if the explanation is of an earlier time.
	now bool
	// note is the reason why holdings are missing; "" if none are.
	note string
}

// holderReader reads the allocations on providers with the credentials of the user, each once.
type holderReader struct {
	service *client.Client
	read    map[uuid.UUID]map[uuid.UUID]client.Resources
	// note is the reason why it reads no more; "" for none.
	note string
}

func newHolderReader(service *client.Client) *holderReader {
	return &holderReader{service: service, read: map[uuid.UUID]map[uuid.UUID]client.Resources{}}
}

// find returns the consumers on the providers whose free capacity is too small. The text is complete without them, so
// that an error becomes a note. stored is true for an explanation of an earlier time.
func (r *holderReader) find(ctx context.Context, of *client.Explanation, stored bool) holders {
	result := holders{now: stored}
	isNamed := func(tree api.ExplanationTree) bool { return tree.FreedBy.IsSpecified() }
	if of == nil || of.Reason == fitsReason || slices.ContainsFunc(of.Nearest, isNamed) {
		return result // nothing is missing, or the explanation says which consumers must go
	}
	for _, held := range fullProviders(of) {
		if r.load(ctx, held.provider); r.note != "" {
			result.note = r.note
			return result
		}
		if held.hold(r.read[held.provider.UUID]); len(held.consumers) > 0 {
			result.holdings = append(result.holdings, held)
		}
	}
	return result
}

// load reads the allocations on a provider. One that does not exist any more has none.
func (r *holderReader) load(ctx context.Context, provider api.ExplanationProvider) {
	if _, known := r.read[provider.UUID]; known || r.note != "" {
		return
	}
	allocations, _, err := r.service.ProviderAllocationList(ctx, provider.UUID)
	switch {
	case errors.Is(err, client.ErrForbidden):
		r.note = "Policy does not permit you to see the allocations of providers."
	case err != nil && !errors.Is(err, client.ErrNotFound):
		r.note = "Cannot read the allocations of " + provider.Name + ": " + err.Error()
	}
	r.read[provider.UUID] = allocations
}

// fullProviders returns the providers and classes that lack free capacity in the nearest trees, each once.
func fullProviders(of *client.Explanation) []holding {
	var all []holding
	for _, tree := range of.Nearest {
		for _, missing := range tree.Missing {
			if missing.Step != "used" || missing.Provider == nil {
				continue
			}
			known := slices.ContainsFunc(all, func(h holding) bool { return h.provider.UUID == missing.Provider.UUID && h.class == missing.Class })
			if !known {
				all = append(all, holding{provider: *missing.Provider, class: missing.Class})
			}
		}
	}
	return all
}

// hold sets the consumers with the largest amounts.
func (h *holding) hold(allocations map[uuid.UUID]client.Resources) {
	for consumer, resources := range allocations {
		if amount := resources[h.class]; amount > 0 {
			h.consumers = append(h.consumers, holder{consumer, amount})
		}
	}
	slices.SortFunc(h.consumers, func(a, b holder) int {
		return cmp.Or(cmp.Compare(b.amount, a.amount), bytes.Compare(a.consumer[:], b.consumer[:]))
	})
	if len(h.consumers) > maxHolders {
		h.more = len(h.consumers) - maxHolders
		h.consumers = h.consumers[:maxHolders]
	}
}
