package server

import (
	"context"

	"github.com/berthd/berth/server/baremetal"
	"github.com/berthd/berth/server/migrate"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
)

// SetSchemaState replaces the check of the database's schema.
func SetSchemaState(options *Options, check func(context.Context) (migrate.State, error)) {
	options.schemaState = check
}

// BaremetalTableOfEveryVersion returns a route table that builds an API for each version.
func BaremetalTableOfEveryVersion() *route.Table {
	api := baremetal.API(nil)
	api.Changes = nil
	return route.New(baremetal.Operations(baremetal.Options{}), route.Options{
		API: api, Policy: policy.NewBaremetal(), Tags: baremetal.Tags(), Schemas: baremetal.Schemas(),
	})
}
