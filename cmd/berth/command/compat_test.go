package command

import (
	"slices"
	"strings"
	"testing"
)

func TestCLI_PlacementCommandLines_Translated(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"berth serve --debug":                        "serve --debug",
		"/usr/bin/placement-manage db sync":          "db sync --config-file=/etc/placement/placement.conf",
		"placement-manage --config-file f db sync":   "db sync --config-file f",
		"placement-manage --config-file=f -d db":     "db --config-file=f --log-level=debug",
		"placement-manage --nodebug --config-dir d":  "--config-dir d",
		"placement-manage --config-file":             "--config-file",
		"placement-manage --version":                 "version",
		"placement-manage":                           "",
		"placement-status upgrade check":             "status upgrade check --config-file=/etc/placement/placement.conf",
		"placement-status --config-dir d upgrade":    "status upgrade --config-dir d",
		"./placement-status --nix upgrade check":     "status upgrade check --nix --config-file=/etc/placement/placement.conf",
		"placement-manage db online_data_migrations": "db online_data_migrations --config-file=/etc/placement/placement.conf",
	} {
		words := strings.Fields(line)
		if got := TranslateOldCommand(words[0], words[1:], nil); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("translation of %q = %q, want %q", line, got, want)
		}
	}
}

func TestCLI_PlacementManageWithEnvironment_OmitsDefaultConfigFile(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"BERTH_CONFIG_FILE=f", "BERTH_CONFIG_DIR=d", "OS_PLACEMENT_CONFIG_DIR=d", "BERTH_DATABASE_URL=host=h"} {
		want := []string{"db", "sync"}
		if got := TranslateOldCommand("placement-manage", []string{"db", "sync"}, []string{variable}); !slices.Equal(got, want) {
			t.Errorf("with %s: %q", variable, got)
		}
	}
}
