package server

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/berthd/berth/server/request"
	"github.com/berthd/berth/server/requestlog"
)

// logLine writes the line of a request that has been answered.
func (f *front) logLine(w *watcher, info *request.Info, trips int64, took time.Duration) {
	if !f.accessLog {
		return
	}
	ctx := info.HTTP.Context()
	if f.osloLines {
		f.log.LogAttrs(ctx, slog.LevelInfo, osloLine(w, info), slog.String(requestlog.LoggerKey, "berth.requestlog"))
		return
	}
	attributes := []slog.Attr{
		slog.String("request_id", info.ID), slog.String("global_request_id", info.GlobalID),
		slog.String("client", info.Client),
		slog.String("method", info.HTTP.Method), slog.String("path", info.HTTP.URL.Path),
		slog.String("operation", info.Operation),
		slog.String("microversion", info.Microversion), slog.Int("status", w.status), slog.Int64("bytes", w.bytes),
		slog.Duration("duration", took), slog.Int64("sql_round_trips", trips),
	}
	f.log.LogAttrs(ctx, slog.LevelInfo, "request", attributes...)
}

// osloLine is the line in the words in which the reference says it, so that what
// reads its log reads this one. Who calls is in front of it, as the log puts it there.
func osloLine(w *watcher, info *request.Info) string {
	return fmt.Sprintf(`%s "%s %s" status: %d len: %d microversion: %s`, cmp.Or(info.Client, "-"),
		info.HTTP.Method, inQuotes(info.HTTP.RequestURI), w.status, w.bytes, cmp.Or(info.Microversion, "-"))
}

// inQuotes is what a client sent as something that ends neither the quotes nor the
// line.
func inQuotes(sent string) string {
	var safe strings.Builder
	for i := range len(sent) {
		if c := sent[i]; c > ' ' && c < 0x7f && c != '"' && c != '\\' {
			safe.WriteByte(c)
		} else {
			fmt.Fprintf(&safe, "%%%02X", c)
		}
	}
	return safe.String()
}
