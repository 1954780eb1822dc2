// Package requestlog puts the request into log lines: each line that is written on
// behalf of one carries its id, whoever writes it. It also writes lines in the format
// of OpenStack's services, for what reads their logs.
//
// It is not for what is said; that is with whoever says it. The context of a line
// tells the request, so code that serves one logs with its context.
package requestlog

import (
	"context"
	"log/slog"

	"github.com/berthd/berth/server/request"
)

// LoggerKey is the attribute that names which part of the program a line is from, in
// the format of OpenStack's services; other formats leave it out.
const LoggerKey = "logger"

// idKey is the attribute of the request's id.
const idKey = "request_id"

// identified adds the id of the request to lines that don't say it themselves.
type identified struct{ slog.Handler }

// Identified makes a handler that adds the id of the request to each line that has
// none.
func Identified(next slog.Handler) slog.Handler { return identified{next} }

// Handle implements slog.Handler.
func (h identified) Handle(ctx context.Context, record slog.Record) error {
	id := request.From(ctx).ID
	if id == "" {
		return h.Handler.Handle(ctx, record)
	}
	said := false
	record.Attrs(func(attribute slog.Attr) bool {
		said = said || attribute.Key == idKey
		return !said
	})
	if !said {
		record = record.Clone()
		record.AddAttrs(slog.String(idKey, id))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h identified) WithAttrs(attributes []slog.Attr) slog.Handler {
	return identified{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements slog.Handler. Inside of a group the id would be the group's.
func (h identified) WithGroup(name string) slog.Handler { return h.Handler.WithGroup(name) }
