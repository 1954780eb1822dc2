package open

import (
	"io"
	"log/slog"

	"github.com/berthd/berth/cmd/berth/config"
	"github.com/berthd/berth/server/observe/requestlog"
)

// Logger returns a logger in the format and level of the settings. Lines of requests contain the
// request ID.
func Logger(settings *config.Settings, out io.Writer) *slog.Logger {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	options := &slog.HandlerOptions{Level: levels[settings.LogLevel]}
	switch settings.LogFormat {
	case config.LogJSON:
		return slog.New(requestlog.WithRequestID(slog.NewJSONHandler(out, options)))
	case config.LogOslo:
		return slog.New(requestlog.NewOslo(out, options.Level, "berth"))
	default:
		return slog.New(requestlog.WithRequestID(slog.NewTextHandler(out, options)))
	}
}
