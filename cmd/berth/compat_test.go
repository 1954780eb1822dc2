package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandLinesOfTheServiceBefore(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"berth serve --debug":                        "serve --debug",
		"/usr/bin/placement-manage db sync":          "db sync",
		"placement-manage --config-file f db sync":   "db sync --config-file f",
		"placement-manage --config-file=f -d db":     "db --config-file=f --log-level=debug",
		"placement-manage --nodebug --config-dir d":  "--config-dir d",
		"placement-manage --config-file":             "--config-file",
		"placement-manage --version":                 "version",
		"placement-manage":                           "",
		"placement-status upgrade check":             "status upgrade check",
		"placement-status --config-dir d upgrade":    "status upgrade --config-dir d",
		"./placement-status --nix upgrade check":     "status upgrade check --nix",
		"placement-manage db online_data_migrations": "db online_data_migrations",
	} {
		words := strings.Fields(line)
		if got := renamed(words[0], words[1:]); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s becomes %q, want %q", line, got, want)
		}
	}
}
