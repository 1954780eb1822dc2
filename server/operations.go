package server

import (
	"slices"

	"github.com/berthd/berth/server/api/route"
	"github.com/berthd/berth/server/wire/microversion"
)

// Operations returns the operations of the Placement API, then those of the Bare Metal API with its
// extensions. It is for tools that must cover all operations; the result cannot serve requests.
func Operations() []*route.Operation {
	return slices.Concat(Table(Options{}).Operations(), ExtendedBaremetalTable(Options{}, microversion.ExtensionMax).Operations())
}
