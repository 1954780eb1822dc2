package store

import (
	"context"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// UsageFilter selects the consumers whose usage to sum.
type UsageFilter struct {
	ProjectID string
	// UserID and ConsumerType restrict it further; nil: any. Consumers without type have the type "unknown".
	UserID       *string
	ConsumerType *string
	// ByType groups by consumer type, instead of one group named "all".
	ByType bool
}

// Usage is the amount of a class that a group of consumers has allocated.
type Usage struct {
	ConsumerType string
	Class        string
	Used         int64
	// ConsumerCount is the number of consumers in the group, for all classes.
	ConsumerCount int64
}

// UsageList sums the allocations of a project's consumers, by type, then class.
func (s *Store) UsageList(ctx context.Context, filter UsageFilter) ([]Usage, error) {
	rows, err := postgres.QueryReplicaOrPrimary(ctx, s.pool, func(from db.DBTX) ([]db.UsageListRow, error) {
		return s.queries.UsageList(ctx, from, db.UsageListParams{
			ProjectID: filter.ProjectID, UserID: filter.UserID, ConsumerType: filter.ConsumerType, ByType: filter.ByType,
		})
	})
	usages := make([]Usage, 0, len(rows))
	for _, row := range rows {
		usages = append(usages, Usage(row))
	}
	return usages, err
}
