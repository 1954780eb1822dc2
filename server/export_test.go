package server

import (
	"github.com/berthd/berth/server/baremetal"
	"github.com/berthd/berth/server/policy"
	"github.com/berthd/berth/server/route"
)

// BaremetalTableOfEveryVersion returns a route table that builds an API for each version.
func BaremetalTableOfEveryVersion() *route.Table {
	api := baremetal.API()
	api.Changes = nil
	return route.New(baremetal.Operations(baremetal.Options{}), route.Options{
		API: api, Policy: policy.NewBaremetal(), Tags: baremetal.Tags(), Schemas: baremetal.Schemas(),
	})
}
