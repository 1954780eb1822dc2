// Package storetest adds the standard traits and resource classes to the databases of tests, as the
// first start of a server does.
//
// It is for tests of packages that use a store. Package dbtest creates the databases; it cannot
// import the store, whose tests import it.
package storetest

import (
	"context"
	"os"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
)

// Main is the body of the TestMain of a package; it does not return.
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
