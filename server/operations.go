package server

import (
	"slices"

	"github.com/berthd/berth/server/route"
)

// Operations lists what the service can be asked for: the Placement API, then the Bare
// Metal API with what this server has beyond it. For tools that must cover all of it;
// no request can be served by them.
func Operations() []*route.Operation {
	return slices.Concat(Table(Options{}).Operations(), extendedTable(Options{}).Operations())
}
