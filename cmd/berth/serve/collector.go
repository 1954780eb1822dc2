package serve

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/berthd/berth/cmd/berth/config"
)

// collectorPercent is the growth of the heap between garbage collections, in percent of the live
// heap (GOGC): 10 MB under ordinary load, and up to 100 MB while a body of 16 MiB is served. See
// docs/decisions/0012-memory.md for the cost of other values.
const collectorPercent = 100

const (
	// memoryShare is the fraction of the limit for the heap and the runtime. The rest is for the
	// pages of the program and of the C library.
	memoryShare = 0.9
	// embeddedBuffers and embeddedBackend are the memory of an embedded PostgreSQL in the same
	// control group: of its shared buffers, and of each connection.
	embeddedBuffers, embeddedBackend = 128 << 20, 8 << 20
	// minMemoryShare is the minimum fraction of the limit for the server, for any number of
	// connections of the embedded PostgreSQL.
	minMemoryShare = 0.25
)

// tuneCollector sets the frequency of garbage collections. GOGC, if set, takes precedence.
func tuneCollector() {
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(collectorPercent)
	}
}

// limitMemory sets the runtime's soft memory limit from that of the control group, so that
// garbage collections run more often before the kernel kills the process. GOMEMLIMIT, if set,
// takes precedence.
func limitMemory(settings *config.Settings, log *slog.Logger) {
	if text, set := os.LookupEnv("GOMEMLIMIT"); set {
		log.Info("memory limit of the runtime taken from GOMEMLIMIT", "limit", text)
		return
	}
	group, err := memlimit.FromCgroup()
	switch {
	case errors.Is(err, memlimit.ErrNoLimit) || errors.Is(err, memlimit.ErrNoCgroup) || errors.Is(err, memlimit.ErrCgroupsNotSupported):
		return
	case err != nil:
		log.Warn("cannot read the memory limit of the control group; set GOMEMLIMIT", "cause", err)
		return
	}
	var connections int64
	if settings.Embedded() {
		connections = settings.DBMaxConnections
	}
	limit := memoryLimit(group, connections)
	debug.SetMemoryLimit(limit)
	log.Info("memory limit of the runtime set from the control group", "limit", limit, "control_group_limit", group,
		"embedded_postgresql", settings.Embedded())
}

// memoryLimit returns the runtime's share of a control group's limit. connections is 0 without an
// embedded PostgreSQL.
func memoryLimit(group uint64, connections int64) int64 {
	available := float64(group)
	if connections > 0 {
		available = max(available-embeddedBuffers-float64(connections)*embeddedBackend, available*minMemoryShare)
	}
	if available *= memoryShare; available < math.MaxInt64 {
		return int64(available)
	}
	return math.MaxInt64
}
