package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/search/candidates"
)

// Claim explains a claim that was a conflict, with the state in a snapshot. It runs one statement, and two for a claim of
// more than 100 inventories: those that are not shown have no number of consumers.
func (x *Explainer) Claim(ctx context.Context, in *postgres.Snapshot, asked *Claim) (*Explanation, error) {
	keys := asked.keys()
	isCounted := len(keys) <= maxItems
	states, err := x.claimStates(ctx, in, asked, keys, isCounted)
	if err != nil {
		return nil, err
	}
	asked.reshape(states)
	items := asked.items(states)
	items = items[:min(len(items), maxItems):min(len(items), maxItems)]
	if !isCounted {
		if err := x.countConsumers(ctx, in, asked, items); err != nil {
			return nil, err
		}
	}
	return &Explanation{Kind: KindClaim, Reason: asked.Reason, Summary: claimSummary(items), Items: items}, nil
}

// claimStates reads the state of inventories.
func (x *Explainer) claimStates(
	ctx context.Context, in *postgres.Snapshot, asked *Claim, keys []claimKey, isCounted bool,
) (map[claimKey]*claimState, error) {
	params := db.ExplainClaimParams{IsCounted: isCounted, Providers: []uuid.UUID{}, Classes: []string{}, Consumers: []uuid.UUID{}}
	for _, key := range keys {
		params.Providers, params.Classes = append(params.Providers, key.provider), append(params.Classes, key.class)
	}
	for i := range asked.Claims {
		params.Consumers = append(params.Consumers, asked.Claims[i].Consumer)
	}
	rows, err := postgres.QueryOnce(ctx, in, func(ctx context.Context, to db.DBTX) ([]db.ExplainClaimRow, error) {
		return x.queries.ExplainClaim(ctx, to, params)
	})
	if err != nil {
		return nil, fmt.Errorf("read the inventories of a claim: %w", err)
	}
	states := make(map[claimKey]*claimState, len(rows))
	for i, row := range rows {
		states[keys[i]] = &claimState{
			name: row.ProviderName, total: row.Total, reserved: row.Reserved, ratio: row.AllocationRatio,
			minUnit: row.MinUnit, maxUnit: row.MaxUnit, stepSize: row.StepSize,
			used: row.Used, own: row.Own, consumers: row.Consumers,
		}
	}
	return states, nil
}

// countConsumers adds the numbers of consumers to items.
func (x *Explainer) countConsumers(ctx context.Context, in *postgres.Snapshot, asked *Claim, items []ClaimItem) error {
	var keys []claimKey
	for i := range items {
		keys = append(keys, claimKey{items[i].Provider.UUID, items[i].Class})
	}
	states, err := x.claimStates(ctx, in, asked, keys, true)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if items[i].ClaimedInventory != nil {
			items[i].Consumers = states[key].consumers
		}
	}
	return nil
}

// AddElsewhere adds the candidates for the amounts of the first consumer that does not fit. limit changes the query as the
// server changes those of clients. If the search fails, the explanation is incomplete.
func (x *Explainer) AddElsewhere(
	ctx context.Context, in *postgres.Snapshot, asked *Claim, to *Explanation, limit func(*candidates.Query),
) {
	at := slices.IndexFunc(to.Items, func(item ClaimItem) bool { return item.Verdict != Fits })
	if at < 0 {
		return
	}
	of := slices.IndexFunc(asked.Claims, func(claim store.Claim) bool { return claim.Consumer == to.Items[at].Consumer })
	amounts := amountsByClass(asked.Claims[of].Allocations)
	query := candidates.Query{Groups: []candidates.Group{{Resources: amounts}}, Limit: relaxedLimit}
	limit(&query)
	found, isAll, err := x.search.CountIn(ctx, in, query, time.Now().Add(searchTime))
	if err != nil {
		to.Incomplete = true
		return
	}
	texts := make([]string, len(amounts))
	for i, amount := range amounts {
		texts[i] = fmt.Sprintf("%s:%d", amount.Class, amount.Amount)
	}
	to.Elsewhere = &Elsewhere{
		Candidates: found, More: found >= query.Limit || !isAll,
		Query: fmt.Sprintf("resources=%s&limit=%d", strings.Join(texts, ","), relaxedLimit),
	}
}

// amountsByClass adds up amounts, in the order in which their classes first appear.
func amountsByClass(of []store.Allocation) (sums []store.Amount) {
	for _, allocation := range of {
		at := slices.IndexFunc(sums, func(sum store.Amount) bool { return sum.Class == allocation.Class })
		if at < 0 {
			at = len(sums)
			sums = append(sums, store.Amount{Class: allocation.Class})
		}
		sums[at].Amount = addAmounts(sums[at].Amount, allocation.Amount)
	}
	return sums
}
