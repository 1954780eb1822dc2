package admin

import (
	"testing"

	"github.com/berthd/berth/server/data/migrate"
)

func TestCLI_MigrationReport_IsOneSentence(t *testing.T) {
	t.Parallel()
	for want, report := range map[string]migrate.Report{
		"The database was migrated from version 0 to version 4.":                             {To: 4, Applied: []string{"a", "b"}, FunctionsApplied: true},
		"The database is at version 4 already; nothing was changed.":                         {From: 4, To: 4},
		"The database stays at version 4; its SQL functions were replaced.":                  {From: 4, To: 4, FunctionsApplied: true},
		"The database is at version 9, which is newer than this berth; nothing was changed.": {From: 9, To: 9, DatabaseNewer: true},
	} {
		if got := describeReport(report); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
