package baremetal

import (
	"context"

	"github.com/berthd/berth/server/microversion"
)

// What behaves differently by microversion, where it is no matter of shape. No
// operation compares versions itself.

// namesAvailable: before 1.2 the provision state of a free node was shown as null.
func namesAvailable(ctx context.Context) bool { return microversion.From(ctx) >= v(2) }

// findsNodesByName: before 1.5 nodes had no names.
func findsNodesByName(ctx context.Context) bool { return microversion.From(ctx) >= v(5) }

// enrollsNodes: before 1.11 new nodes were available at once.
func enrollsNodes(ctx context.Context) bool { return microversion.From(ctx) >= v(11) }
