package main

import (
	"io"
	"log/slog"
)

// newLogger writes to standard error: standard output is for what a person or a
// script asked for.
func newLogger(settings *Settings, out io.Writer) *slog.Logger {
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
	}
	options := &slog.HandlerOptions{Level: levels[settings.LogLevel]}
	if settings.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}
