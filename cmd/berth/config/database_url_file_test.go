package config

import (
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/testfile"
)

func TestSettings_DatabaseURLFile_IsRead(t *testing.T) {
	t.Parallel()
	file := testfile.Write(t, "postgres://u:hunter2@h/d\r\n", 0o600)
	for _, from := range []struct{ arguments, environ []string }{
		{arguments: []string{"--database-url-file", file}},
		{environ: []string{"BERTH_DATABASE_URL_FILE=" + file, "PGHOST=elsewhere"}},
		{environ: []string{"BERTH_DATABASE_URL_FILE=" + file, "BERTH_CONFIG_FILE=" + testfile.PlacementConf(t, "[placement_database]\nconnection = postgresql://other@h2/d2\n")}},
	} {
		settings, _, err := loaded(t, ForDatabase, from.arguments, from.environ)
		if err != nil {
			t.Fatal(err)
		}
		if settings.DatabaseURL != "postgres://u:hunter2@h/d" || settings.Embedded() || len(settings.PGVariables) != 0 {
			t.Errorf("%+v: URL %q, PG variables %q", from, settings.DatabaseURL, settings.PGVariables)
		}
		if row := settings.Row("database-url"); row.Shown() != "postgres://u:***@h/d" || row.Origin != "file "+file {
			t.Errorf("shown %q (%s)", row.Shown(), row.Origin)
		}
	}
}

func TestSettings_DatabaseURLFileWrong_IsRefused(t *testing.T) {
	t.Parallel()
	good := testfile.Write(t, "postgres://u@h/d", 0o600)
	for want, arguments := range map[string][]string{
		"only one of them":        {"--database-url-file", good, "--database-url=postgres://u@h/d"},
		"cannot be read":          {"--database-url-file=/missing"},
		"is empty":                {"--database-url-file", testfile.Write(t, "\n", 0o600)},
		"is not a connection str": {"--database-url-file", testfile.Write(t, "postgres://u:hunter2@h:port/d", 0o600)},
	} {
		_, _, err := loaded(t, ForDatabase, arguments, nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}
