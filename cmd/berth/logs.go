package main

import (
	"io"
	"log/slog"

	"github.com/berthd/berth/server/requestlog"
)

// What --log-format may be.
const (
	logText = "text"
	logJSON = "json"
	// logOslo is how OpenStack's services log.
	logOslo = "oslo"
)

// newLogger writes to standard error: standard output is for what a person or a
// script asked for. Lines of requests have their ids.
func newLogger(settings *Settings, out io.Writer) *slog.Logger {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	options := &slog.HandlerOptions{Level: levels[settings.LogLevel]}
	switch settings.LogFormat {
	case logJSON:
		return slog.New(requestlog.Identified(slog.NewJSONHandler(out, options)))
	case logOslo:
		return slog.New(requestlog.NewOslo(out, options.Level, "berth"))
	default:
		return slog.New(requestlog.Identified(slog.NewTextHandler(out, options)))
	}
}
