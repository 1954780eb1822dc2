package server

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/identity/auth"
	"github.com/berthd/berth/server/observe/loglimit"
	"github.com/berthd/berth/server/observe/requestlog"
	"github.com/berthd/berth/server/wire/request"
)

// logLine writes the log line of a completed request.
func (f *frontHandler) logLine(w *responseRecorder, info *request.Info, trips int64, took time.Duration) {
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
		slog.String("method", requestlog.Bounded(info.HTTP.Method, maxID)),
		slog.String("path", requestlog.Bounded(info.HTTP.URL.Path, maxPath)),
		slog.String("operation", info.Operation),
		slog.String("microversion", info.Microversion), slog.Int("status", w.status), slog.Int64("bytes", w.bytes),
		slog.Duration("duration", took), slog.Int64("sql_round_trips", trips),
	}
	if info.EmptyReason != "" {
		attributes = append(attributes, slog.String("reason", info.EmptyReason))
	}
	attributes = append(attributes, callerAttributes(auth.From(ctx))...)
	attributes = append(attributes, slog.String("query", requestlog.Bounded(info.RawQuery, maxQuery)))
	f.log.LogAttrs(ctx, slog.LevelInfo, "request", attributes...)
}

// These are the maximum sizes of fields that a client can choose, in bytes as JSON: ids of Keystone have up to 64
// characters. The first one also truncates a token that was used as a user's name.
const (
	maxID    = 64
	maxPath  = 512
	maxQuery = 512
	// maxURI is the maximum size of a URI in the format of OpenStack services, before its bytes are escaped.
	maxURI = 8 << 10
)

// callerAttributes returns the attributes of the caller of a request.
func callerAttributes(caller auth.Caller) []slog.Attr {
	id := func(key, value string) slog.Attr { return slog.String(key, requestlog.Bounded(value, maxID)) }
	attributes := []slog.Attr{
		id("user_id", caller.UserID), id("project_id", caller.ProjectID), id("domain_id", caller.DomainID),
		id("service_user_id", caller.Service.UserID),
		slog.String("scope", caller.Scope()), slog.String("auth_method", caller.Method),
	}
	if caller.TokenID != "" {
		attributes = append(attributes, id("token_id", caller.TokenID))
	}
	if caller.Subject != "" && caller.Subject != caller.UserID {
		attributes = append(attributes, id("subject", caller.Subject))
	}
	return attributes
}

// osloLine returns the message in the format of OpenStack Placement, for programs that parse its log. The log format
// adds the caller before it.
func osloLine(w *responseRecorder, info *request.Info) string {
	return fmt.Sprintf(`%s "%s %s" status: %d len: %d microversion: %s`, cmp.Or(info.Client, "-"),
		requestlog.Bounded(info.HTTP.Method, maxID), inQuotes(truncated(info.HTTP.RequestURI, maxURI)), w.status, w.bytes, cmp.Or(info.Microversion, "-"))
}

// truncated returns a text without the bytes beyond a size, and with an ellipsis in their place.
func truncated(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return text[:size] + "..."
}

// inQuotes escapes a text of the client so that it ends neither the quotes nor the line.
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

// givenUpLogInterval is the minimum interval between log lines about trees that searches give up. Clients cause them with
// their queries.
const givenUpLogInterval = 10 * time.Second

// logGivenUp returns what logs that the search of a request has given up a tree.
func logGivenUp(limiter *loglimit.Limiter) func(ctx context.Context, root uuid.UUID) {
	const text = "gave up a provider tree: its search for allocation candidates exceeds allocation-candidates-max-combinations"
	return func(ctx context.Context, root uuid.UUID) {
		info := request.From(ctx)
		if suppressed, ok := limiter.Allow(text, time.Now()); ok {
			info.Log.WarnContext(ctx, text, "request_id", info.ID, "root_provider", root, "suppressed", suppressed)
		}
	}
}
