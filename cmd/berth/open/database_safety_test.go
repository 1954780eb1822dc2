package open

import (
	"encoding/pem"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/authority"
	"github.com/berthd/berth/internal/test/capture"
	"github.com/berthd/berth/internal/test/testfile"
)

func TestSettings_PassfileOfOthers_IsIgnored(t *testing.T) {
	// Not parallel: it sets a variable of the process.
	const line = "*:*:*:*:hunter2"
	for _, test := range []struct {
		file, password string
	}{
		{testfile.Write(t, line, 0o600), "hunter2"},
		{testfile.Write(t, line, 0o400), "hunter2"},
		{testfile.Write(t, line, 0o640), ""},
		{testfile.Write(t, line, 0o604), ""},
		{testfile.Write(t, line, 0o622), ""},
	} {
		for connection, variable := range map[string]string{
			"postgres://u@localhost/d":       test.file,
			"host=localhost user=u dbname=d": test.file,
			"":                               test.file,
			"postgres://u@localhost/d?application_name=a%20b+c&passfile=" + test.file: "/missing",
			"host=localhost user=u dbname=d passfile = '" + test.file + "' port=5432": "/missing",
			"host=localhost user=u dbname=d passfile=/missing passfile=" + test.file:  "/missing",
			"postgresql://u@localhost/d?passfile=" + "/MISSING":                       test.file,
		} {
			t.Setenv("PGPASSFILE", variable)
			log := new(capture.Text)
			config, err := pgx.ParseConfig(Safely(connection, "database-url", slog.New(slog.NewTextHandler(log, nil))))
			if err != nil {
				t.Fatal(err)
			}
			want := test.password
			if strings.Contains(connection, "/MISSING") {
				want = "" // another file is named, which does not exist
			}
			warned := strings.Contains(log.String(), "the password file is ignored") && strings.Contains(log.String(), "chmod 0600")
			mayWarn := test.password == "" && !strings.Contains(connection, "/MISSING")
			if config.Password != want || warned != mayWarn {
				t.Errorf("%q with %s: password %q, want %q; log %s", connection, test.file, config.Password, want, log)
			}
			if strings.Contains(connection, "a%20b") && config.RuntimeParams["application_name"] != "a b+c" {
				t.Errorf("other parameters became %q", config.RuntimeParams)
			}
		}
	}
}

// A URL with its own password does not read the file, so there is nothing to warn of.
func TestSettings_PassfileUnused_IsNotReported(t *testing.T) {
	t.Setenv("PGPASSFILE", testfile.Write(t, "*:*:*:*:hunter2", 0o644))
	log := new(capture.Text)
	const connection = "postgres://u:own@localhost/d"
	if got := Safely(connection, "database-url", slog.New(slog.NewTextHandler(log, nil))); got != connection || log.String() != "" {
		t.Errorf("became %q; log %s", got, log)
	}
}

func TestSettings_ServerUnverified_IsReported(t *testing.T) {
	t.Parallel()
	authority := authority.New(t)
	ca := testfile.Write(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Cert.Raw})), 0o600)
	for connection, want := range map[string][]string{
		"postgres://u@/d?host=/run/postgresql":                              nil,
		"postgres://u@localhost/d":                                          nil,
		"postgres://u@127.0.0.1,[::1]/d?sslmode=disable":                    nil,
		"postgres://u@db.example.org/d":                                     {"db.example.org"},
		"postgres://u@db.example.org/d?sslmode=require":                     {"db.example.org"},
		"postgres://u@192.0.2.1/d?sslmode=disable":                          {"192.0.2.1"},
		"postgres://u@db.example.org/d?sslmode=verify-ca&sslrootcert=" + ca: {"db.example.org"},
		"postgres://u@db.example.org/d?sslmode=verify-full":                 nil,
		"postgres://u@a,b/d?sslmode=verify-full&sslrootcert=" + ca:          nil,
		"postgres://u@127.0.0.1,b,c/d?sslmode=prefer":                       {"b", "c"},
		"host=db.example.org user=u sslmode=allow":                          {"db.example.org"},
	} {
		config, err := pgx.ParseConfig(connection)
		if err != nil {
			t.Fatal(err)
		}
		if got := unverifiedHosts(config); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", connection, got, want)
		}
	}
}
