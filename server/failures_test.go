package server_test

import (
	"regexp"
	"testing"

	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/api/route"
)

// TestErrors_FailureNames_AreUniqueInOperation reads the route tables of both APIs. The names are keys
// of examples in the documents, so that a second failure of the same name would replace the first.
func TestErrors_FailureNames_AreUniqueInOperation(t *testing.T) {
	t.Parallel()
	kebab := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	for _, table := range []*route.Table{server.Table(server.Options{}), server.BaremetalTable(server.Options{})} {
		api, count := table.API(), 0
		for _, operation := range table.Operations() {
			for _, version := range api.Versions() {
				seen := map[string]string{}
				for _, failure := range operation.Failures(api) {
					if !kebab.MatchString(failure.Name) || len(failure.Name) > 32 {
						t.Errorf("%s: name %q of %q, want up to 32 characters in kebab-case", operation.ID, failure.Name, failure.When)
					}
					if failure.Since > version || failure.Before != 0 && version >= failure.Before {
						continue
					}
					if first, twice := seen[failure.Name]; twice {
						t.Errorf("%s at %s: %q names %q and %q", operation.ID, version, failure.Name, first, failure.When)
					}
					seen[failure.Name] = failure.When
					count++
				}
			}
		}
		if count < 100 {
			t.Errorf("%s: %d failures, want at least 100", api.Title, count)
		}
	}
}
