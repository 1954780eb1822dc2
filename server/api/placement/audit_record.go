package placement

import (
	"context"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/observe/auditlog"
)

// recordProvider adds the generation of a written provider to the audit record. sent is the generation that the store
// compared, or nil if it compared none. after is the generation after the statement, or nil if the statement returns
// none.
func recordProvider(ctx context.Context, provider uuid.UUID, sent, after *int64, err error) {
	record := auditlog.From(ctx)
	if err != nil {
		record.Provider(auditlog.Generation{UUID: provider, Sent: sent})
		return
	}
	record.Provider(auditlog.Generation{UUID: provider, Before: sent, After: after})
}

// removedGeneration returns the generations of a resource that a DELETE removed, unless err is not nil. sent is the
// generation that the store compared, or nil.
func removedGeneration(id uuid.UUID, sent *int64, err error) auditlog.Generation {
	if err != nil {
		return auditlog.Generation{UUID: id, Sent: sent}
	}
	return auditlog.Generation{UUID: id, Before: sent, Removed: true}
}

// recordClaims adds the consumer generations to the audit record. If the store compared them, the generation after the
// write is the sent one plus one, or 1 for a new consumer. Otherwise both generations are unknown.
func recordClaims(ctx context.Context, claims []store.Claim, compared bool, err error) {
	record := auditlog.From(ctx)
	if record == nil {
		return
	}
	for _, claim := range claims {
		generation := auditlog.Generation{UUID: claim.Consumer}
		switch {
		case err != nil:
			generation.Sent = claim.Generation
		case len(claim.Allocations) == 0:
			generation.Before, generation.Removed = claim.Generation, true
		case compared:
			generation.Before, generation.After = claim.Generation, new(int64)
			*generation.After = 1
			if claim.Generation != nil {
				*generation.After += *claim.Generation
			}
		}
		record.Consumer(generation)
	}
}

// recordShapes adds the provider generations that a reshape compared. The reshape increments each one by a different
// amount and does not return the result.
func recordShapes(ctx context.Context, shapes []store.ReshapedProvider, err error) {
	for i := range shapes {
		recordProvider(ctx, shapes[i].Provider, &shapes[i].Generation, nil, err)
	}
}
