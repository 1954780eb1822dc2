package server

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/observe/loglimit"
	"github.com/berthd/berth/server/wire/request"
)

// givenUpLogInterval is the minimum interval between log lines about trees that searches give up. Clients cause them with
// their queries.
const givenUpLogInterval = 10 * time.Second

// logGivenUp returns what logs that the search of a request has given up a tree.
func logGivenUp(limiter *loglimit.Limiter) func(ctx context.Context, root uuid.UUID) {
	const text = "gave up a provider tree: its search for allocation candidates exceeds allocation-candidates-max-combinations"
	return func(ctx context.Context, root uuid.UUID) {
		info := request.From(ctx)
		if suppressed, ok := limiter.Allow(text, time.Now()); ok {
			info.Log.WarnContext(ctx, text, "request_id", info.ID, "root_provider", root, "suppressed", suppressed)
		}
	}
}
