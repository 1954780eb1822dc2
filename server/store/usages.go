package store

import (
	"context"

	"github.com/berthd/berth/gen/db"
)

// UsageFilter says whose usage to sum.
type UsageFilter struct {
	ProjectID string
	// UserID and ConsumerType narrow it down; nil: any. Consumers without type
	// are of the type "unknown".
	UserID       *string
	ConsumerType *string
	// ByType makes one group a consumer type, instead of one group named "all".
	ByType bool
}

// Usage is how much of a class a group of consumers has.
type Usage struct {
	ConsumerType string
	Class        string
	Used         int64
	// ConsumerCount is the number of consumers in the group, whatever the class.
	ConsumerCount int64
}

// UsageList sums what a project's consumers have, by type, then class.
func (s *Store) UsageList(ctx context.Context, filter UsageFilter) ([]Usage, error) {
	rows, err := readAnywhere(ctx, s, func(from db.DBTX) ([]db.UsageListRow, error) {
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
