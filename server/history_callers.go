package server

import (
	"context"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/wire/request"
)

// CallerOf returns who asks for a write, for the record of changes: see store.RecordCallers.
func CallerOf(ctx context.Context) store.Caller {
	info, caller := request.From(ctx), auth.From(ctx)
	return store.Caller{
		RequestID: info.ID, GlobalRequestID: info.GlobalID, UserID: caller.UserID, ProjectID: caller.ProjectID,
		ServiceUserID: caller.Service.UserID, Operation: info.Operation,
	}
}
