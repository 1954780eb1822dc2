package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// minLimit is the number of changes that a limit in percent permits at least.
const minLimit = 20

// repairs are the settings of the repair.
type repairs struct {
	heal, providers bool
	max             string
}

// repairer makes the changes that repair findings.
type repairer struct {
	repairs
	service *client.Client
	state   *state
	known   *knowledge
}

// changes returns the changes that repair the findings, and sets the Repair of each finding that has none. The Consumer of two
// changes is never the same.
func (r *repairer) changes(ctx context.Context, findings []Finding, progress *progressLine) ([]Change, error) {
	byConsumer := map[uuid.UUID][]*Finding{}
	var order []uuid.UUID
	var changes []Change
	for i := range findings {
		finding := &findings[i]
		switch {
		case finding.Kind == EmptyHost && r.providers:
			changes = append(changes, r.state.treeDeletion(finding.Root))
		case finding.Kind == EmptyHost:
			finding.Repair = "none without --providers"
		case finding.Kind != Amount:
			if byConsumer[finding.Consumer] == nil {
				order = append(order, finding.Consumer)
			}
			byConsumer[finding.Consumer] = append(byConsumer[finding.Consumer], finding)
		}
	}
	for i, id := range order {
		progress.show("planning repairs: %d of %d consumers", i, len(order))
		change, err := r.consumer(ctx, byConsumer[id])
		if err != nil {
			return nil, err
		}
		if change != nil {
			changes = append(changes, *change)
		}
	}
	return changes, nil
}

// consumer returns the change that repairs the findings of a consumer; nil if none can be repaired.
func (r *repairer) consumer(ctx context.Context, findings []*Finding) (*Change, error) {
	repaired := slices.DeleteFunc(slices.Clone(findings), func(f *Finding) bool { return f.Kind == Missing })
	var missing *Finding
	for _, finding := range findings {
		if finding.Kind == Missing {
			missing = finding
		}
	}
	consumer, exists := r.state.consumers[findings[0].Consumer]
	if !exists {
		consumer = client.ListedConsumer{Type: "INSTANCE", ProjectID: findings[0].ProjectID, UserID: findings[0].userID}
	}
	if missing == nil {
		if r.losesAll(consumer, repaired) {
			return nil, nil
		}
		change := consumerChange(consumer, repaired, nil)
		return &change, nil
	}
	added, err := r.heal(ctx, missing)
	if err != nil {
		return nil, err
	}
	if added == nil {
		for _, finding := range repaired {
			finding.Repair = "none: it has no allocations on its own host; repair that first"
		}
		return nil, nil
	}
	change := consumerChange(consumer, append(repaired, missing), added)
	return r.rehearsed(ctx, &change, missing)
}

// losesAll reports whether the repair of allocations elsewhere would remove all allocations of a server that is on a host,
// whose Missing is not among the findings: it is too young, or not looked for.
func (r *repairer) losesAll(consumer client.ListedConsumer, findings []*Finding) bool {
	if findings[0].Kind != Elsewhere || r.known.servers[consumer.UUID].home == "" {
		return false
	}
	home, _ := r.state.rootOf(r.known.servers[consumer.UUID].home, r.known)
	if slices.ContainsFunc(consumer.Allocations, func(on client.ListedAllocation) bool { return on.Root == home }) {
		return false
	}
	for _, finding := range findings {
		finding.Repair = "none: it has no allocations on its own host"
	}
	return true
}

// heal returns the allocations that a server lacks on its host, of the first candidate in the tree of the host. It returns nil
// and sets the Repair of the finding if there are none.
func (r *repairer) heal(ctx context.Context, missing *Finding) (map[uuid.UUID]client.Resources, error) {
	switch {
	case missing.Root == uuid.Nil:
		missing.Repair = "none: the host has no provider"
	case missing.wanted == nil:
		missing.Repair = "none: the amounts of the flavor are unknown"
	case !r.repairs.heal:
		missing.Repair = "none without --heal"
	default:
		return r.candidate(ctx, missing)
	}
	return nil, nil
}

// candidate returns the first allocation candidate for the amounts of a server in the tree of its host.
func (r *repairer) candidate(ctx context.Context, missing *Finding) (map[uuid.UUID]client.Resources, error) {
	var texts []string
	for _, amount := range missing.Resources {
		if missing.wanted[amount.Class] > 0 {
			texts = append(texts, fmt.Sprintf("%s:%d", amount.Class, missing.wanted[amount.Class]))
		}
	}
	found, err := r.service.CandidateList(ctx, client.CandidateQuery{Resources: strings.Join(texts, ","), InTree: missing.Root.String(), Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found.AllocationRequests) == 0 {
		missing.Repair = "none: the host has not enough free capacity"
		return nil, nil
	}
	added := map[uuid.UUID]client.Resources{}
	for provider, on := range found.AllocationRequests[0].Allocations {
		id, err := uuid.Parse(provider)
		if err != nil {
			return nil, fmt.Errorf("the candidate has the provider %q, which is no UUID", provider)
		}
		added[id] = on.Resources
	}
	missing.Repair = "claim the amounts of the flavor"
	return added, nil
}

// rehearsed returns the change if its dry run succeeds. It returns nil if the server would reject it.
func (r *repairer) rehearsed(ctx context.Context, change *Change, missing *Finding) (*Change, error) {
	if change.Consumer.Type == client.NoType {
		return change, nil // its microversion has no dry runs
	}
	dry, _ := client.WithDryRun(ctx)
	_, err := change.execute(dry, r.service)
	switch {
	case err == nil:
		return change, nil
	case errors.Is(err, client.ErrCapacityExceeded):
		missing.Repair = "none: the host has not enough free capacity"
	case errors.Is(err, client.ErrConcurrentUpdate), errors.Is(err, errChanged):
		missing.Repair = "none: the consumer has changed"
	default:
		return nil, err
	}
	return nil, nil
}

// checkLimit returns an error if there are more changes than --max permits: of consumers, or of trees.
func (r *repairs) checkLimit(changes []Change, state *state) error {
	consumers := 0
	for _, change := range changes {
		if change.Consumer != nil {
			consumers++
		}
	}
	for _, item := range []struct {
		what           string
		changes, total int
	}{{"consumers", consumers, len(state.consumers)}, {"provider trees", len(changes) - consumers, len(state.trees())}} {
		if limit := r.limit(item.total); item.changes > limit {
			return fmt.Errorf("the repair would change %d of %d %s, --max %s permits %d; nothing was repaired. Check the source, or increase --max",
				item.changes, item.total, item.what, r.max, limit)
		}
	}
	return nil
}

// limit returns the maximum number of changes of --max, which is a number, or a percentage of a total.
func (r *repairs) limit(total int) int {
	number, isPercentage := strings.CutSuffix(r.max, "%")
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0
	}
	if isPercentage {
		return max(minLimit, int(math.Ceil(float64(total)*value/100)))
	}
	return int(value)
}

// countByKind returns the numbers of findings, with all kinds.
func countByKind(findings []Finding, counts func(*Finding) bool) map[Kind]int {
	numbers := maps.Collect(func(yield func(Kind, int) bool) {
		for _, kind := range kinds {
			if !yield(kind, 0) {
				return
			}
		}
	})
	for i := range findings {
		if counts(&findings[i]) {
			numbers[findings[i].Kind]++
		}
	}
	return numbers
}
