// Package requestlog adds the request ID to log lines that are written on behalf of a request. It also writes lines in
// the format of OpenStack services, for programs that parse their logs.
//
// It is not for the contents of messages. The context of a line identifies the request, so code that serves a request
// must log with its context.
package requestlog

import (
	"context"
	"log/slog"

	"github.com/berthd/berth/server/wire/request"
)

// LoggerKey is the attribute with the part of the program that wrote a line, in the format of OpenStack services; other
// formats omit it.
const LoggerKey = "logger"

// idKey is the attribute with the request ID.
const idKey = "request_id"

// identified adds the request ID to lines without one.
type identified struct{ slog.Handler }

// WithRequestID returns a handler that adds the request ID to each line without one.
func WithRequestID(next slog.Handler) slog.Handler { return identified{next} }

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

// WithGroup implements slog.Handler. Inside of a group the ID would belong to the group.
func (h identified) WithGroup(name string) slog.Handler { return h.Handler.WithGroup(name) }
