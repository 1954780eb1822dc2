package config

import (
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/server/data/postgres"
)

func TestConductor_Hostname_DefaultsToHostAndPort(t *testing.T) {
	t.Parallel()
	machine, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ chosen, want string }{{"", machine + ":8778"}, {"rack7", "rack7"}} {
		got, err := ConductorHostname(c.chosen, &net.TCPAddr{IP: net.IPv6zero, Port: 8778})
		if err != nil || got != c.want {
			t.Errorf("chosen %q: %q, %v", c.chosen, got, err)
		}
	}
}

func TestSettings_RequestTimeout_DecidesOnLimitsOfPostgreSQL(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments []string
		limits    postgres.Limits
		reads     int32
	}{
		"defaults": {[]string{"--db-max-connections=16"},
			postgres.Limits{LockTimeout: 30 * time.Second, StatementTimeout: 65 * time.Second, IdleTransactionTimeout: 65 * time.Second, ClientCheckInterval: 5 * time.Second}, 4},
		"a short request": {[]string{"--request-timeout=2s", "--db-max-connections=3"},
			postgres.Limits{LockTimeout: time.Second, StatementTimeout: 7 * time.Second, IdleTransactionTimeout: 7 * time.Second, ClientCheckInterval: 5 * time.Second}, 1},
		"requests without an end": {[]string{"--request-timeout=0", "--db-max-connections=1"},
			postgres.Limits{LockTimeout: 30 * time.Second, ClientCheckInterval: 5 * time.Second}, 1},
		"chosen": {[]string{"--db-lock-timeout=1s", "--db-statement-timeout=2s", "--db-idle-transaction-timeout=3s", "--db-client-check-interval=4s", "--db-read-connections=7"},
			postgres.Limits{LockTimeout: time.Second, StatementTimeout: 2 * time.Second, IdleTransactionTimeout: 3 * time.Second, ClientCheckInterval: 4 * time.Second}, 7},
		"left to the role": {[]string{"--db-lock-timeout=0", "--db-statement-timeout=0", "--db-idle-transaction-timeout=0", "--db-client-check-interval=0", "--db-read-connections=0"},
			postgres.Limits{}, 0},
	} {
		settings, _, err := loaded(t, ForServer, test.arguments, nil)
		if err != nil {
			t.Fatal(err)
		}
		if settings.Limits() != test.limits || settings.ReadConnections() != test.reads {
			t.Errorf("%s: got %+v and %d, want %+v and %d", name, settings.Limits(), settings.ReadConnections(), test.limits, test.reads)
		}
	}
}

func TestSettings_ApplicationName_KeepsPortWithin63Bytes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 80)
	for of, want := range map[string]string{
		"host:8778":              "berth/host:8778",
		"two words":              "berth/two-words",
		long + ":8778":           "berth/" + long[:52] + ":8778",
		long:                     "berth/" + long[:57],
		"h:" + long:              "berth/h:" + long[:55],
		"host:run-berth.sock":    "berth/host:run-berth.sock",
		"berth-1.example.org:80": "berth/berth-1.example.org:80",
	} {
		if got := applicationName(of); got != want || len(got) > maxApplicationName {
			t.Errorf("%s: got %s, want %s", of, got, want)
		}
	}
	if got := CommandApplication("berth db migrate"); got != "berth/db-migrate" {
		t.Errorf("got %s", got)
	}
}

func TestSettings_ApplicationName_ConnectionStringWins(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]string{
		"postgres://u@h/d":                         "berth/x:1",
		"postgres://u@h/d?sslmode=disable":         "berth/x:1",
		"postgres://u@h/d?application_name=theirs": "theirs",
		"host=h dbname=d":                          "berth/x:1",
		"host=h application_name=theirs":           "theirs",
		"":                                         "berth/x:1",
	} {
		config, err := pgx.ParseConfig(WithApplication(connection, "berth/x:1"))
		if err != nil || config.RuntimeParams["application_name"] != want {
			t.Errorf("%q: got %v, %v, want %s", connection, config, err, want)
		}
	}
}
