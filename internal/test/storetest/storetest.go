// Package storetest gives the databases of tests what a service finds after its
// first start: the standard traits and resource classes.
//
// It is for tests whose package works on a store. Databases as such are package
// dbtest's, which cannot know the store because the store is tested with it.
package storetest

import (
	"context"
	"os"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/postgres"
	"github.com/berthd/berth/server/store"
)

// Main is for the TestMain of a package; it does not return.
func Main(m *testing.M) {
	dbtest.Prepare = dbtest.Preparation{Key: "standard names " + store.StandardNamesHash(), Run: sync}
	os.Exit(m.Run())
}

func sync(ctx context.Context, databaseURL string) error {
	opened, err := store.Open(ctx, postgres.Options{URL: databaseURL})
	if err != nil {
		return err
	}
	defer opened.Close()
	return opened.SyncStandardNames(ctx)
}
