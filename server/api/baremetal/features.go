package baremetal

import (
	"context"

	"github.com/berthd/berth/server/wire/microversion"
)

// These functions select behavior by microversion. Operations do not compare versions themselves.

// namesAvailable reports whether free nodes have the state available; before 1.2 it was null.
func namesAvailable(ctx context.Context) bool { return microversion.From(ctx) >= v(2) }

// findsNodesByName reports whether nodes have names; before 1.5 they had none.
func findsNodesByName(ctx context.Context) bool { return microversion.From(ctx) >= v(5) }

// enrollsNodes reports whether new nodes are in state enroll; before 1.11 they were available immediately.
func enrollsNodes(ctx context.Context) bool { return microversion.From(ctx) >= v(11) }
