package store

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/gen/db"
	"github.com/berthd/berth/server/data/postgres"
)

// Caller is who asked for a write, as the record has it. An empty member is null there.
type Caller struct {
	RequestID       string
	GlobalRequestID string
	UserID          string
	ProjectID       string
	// ServiceUserID is the user of the service that forwards the request; null is omitted.
	ServiceUserID string
	// Operation is the operation id of a request.
	Operation string
	// Process is the part of a server that writes without a request, such as "lease".
	Process string
}

// Processes that write without a request.
const (
	ProcessLease     = "lease"
	ProcessConductor = "conductor"
)

// recording is what the writes of a process know about the record. All copies of a store share it.
type recording struct {
	// on is set while changes are recorded, as far as this process knows.
	on atomic.Bool
	// callerOf returns who asks, from the context of a request; nil: unknown.
	callerOf func(context.Context) Caller
}

// RecordCallers sets the function that returns who asks, from the context of a write. Call it before the first write.
func (s *Store) RecordCallers(callerOf func(context.Context) Caller) { s.recording.callerOf = callerOf }

type processKey struct{}

// AsProcess returns the context of writes of a part of the server without a request.
func AsProcess(ctx context.Context, process string) context.Context {
	return context.WithValue(ctx, processKey{}, process)
}

// caller returns who asks, as JSON; empty while nothing is recorded.
func (s *Store) caller(ctx context.Context) string {
	if !s.recording.on.Load() {
		return ""
	}
	var caller Caller
	if process, ok := ctx.Value(processKey{}).(string); ok {
		caller.Process = process
	} else if s.recording.callerOf != nil {
		caller = s.recording.callerOf(ctx)
	}
	members := map[string]any{}
	for name, value := range map[string]string{
		"request_id": caller.RequestID, "global_request_id": caller.GlobalRequestID, "user_id": caller.UserID,
		"project_id": caller.ProjectID, "operation": caller.Operation, "process": caller.Process,
	} {
		if members[name] = nil; value != "" {
			members[name] = value
		}
	}
	if caller.ServiceUserID != "" {
		members["service_user_id"] = caller.ServiceUserID
	}
	return string(encode(members))
}

type sendsCallerKey struct{}

// sendsCaller returns the context of a write whose statement has the caller itself.
func sendsCaller(ctx context.Context) context.Context {
	return context.WithValue(ctx, sendsCallerKey{}, true)
}

// withCaller returns connections whose statements come behind one that sets the caller, in the same transaction and round trip. While
// nothing is recorded it returns the same connections.
func (s *Store) withCaller(ctx context.Context, to *postgres.Primary) *postgres.Primary {
	if ctx.Value(sendsCallerKey{}) != nil {
		return to
	}
	caller := s.caller(ctx)
	if caller == "" {
		return to
	}
	return to.Behind(func(batch *pgx.Batch) { batch.Queue(db.CallerSet, caller) })
}
