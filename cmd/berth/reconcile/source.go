package reconcile

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// source is another service, or a file, that knows which consumers exist.
type source interface {
	// name names the source in the plan and in output.
	name() string
	// read returns what the source knows now. It returns an error if any part of it cannot be read.
	read(ctx context.Context, progress *progressLine) (*knowledge, error)
	// absent returns the consumers of ids that the source does not have, by asking for each of them where the source can.
	absent(ctx context.Context, ids []uuid.UUID, progress *progressLine) (map[uuid.UUID]bool, error)
}

// knowledge is what a source knows at one moment.
type knowledge struct {
	// servers are the consumers that exist.
	servers map[uuid.UUID]server
	// migrations are those in progress; nil if the source knows none.
	migrations map[uuid.UUID]migration
	// hosts are the UUIDs of hosts by name; a host whose UUID is unknown has uuid.Nil.
	hosts map[string]uuid.UUID
	// hasAllHosts is true if a host that is not in hosts does not exist.
	hasAllHosts bool
	// onlyHosts is true if the source knows nothing about consumers that use no host of it.
	onlyHosts bool
	// notes are parts of the comparison that this source does not permit, and why.
	notes []string
}

// server is a consumer that a source knows, such as an instance of nova.
type server struct {
	// isSettled is true if the source knows where the server is, and nothing is moving it. Otherwise only its existence counts.
	isSettled bool
	// home is the name of its host; empty: a settled server is on none.
	home string
	// alsoOn are hosts where it may have allocations, too.
	alsoOn []string
	// amounts are those of its flavor; nil: unknown.
	amounts map[string]int64
	// createdAt is zero if it is unknown.
	createdAt         time.Time
	projectID, userID string
}

// migration is a migration in progress.
type migration struct {
	instance uuid.UUID
	// source is the name of the old host, and sourceService that of its service.
	source, sourceService string
	status, kind          string
}
