package config

import (
	"errors"
	"net"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/setting"
	"github.com/berthd/berth/server/api/placement"
)

// loaded returns the result of Read for a command line and an environment.
func loaded(t *testing.T, widest setting.Scope, arguments, environ []string) (*Settings, []string, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags, widest)
	if err := flags.Parse(arguments); err != nil {
		t.Fatalf("parsing %q: %v", arguments, err)
	}
	return Read(&frame.Frame{Environ: environ, Variables: []string{"BERTH_URL", "BERTH_AGENT_NAME"}}, flags, widest)
}

func TestSettings_Precedence_FlagEnvironmentDefault(t *testing.T) {
	t.Parallel()
	type outcome struct{ value, origin string }
	for name, test := range map[string]struct {
		arguments, environ []string
		want               outcome
	}{
		"the default holds when nothing is said":      {nil, nil, outcome{"127.0.0.1:8778", "default"}},
		"the environment wins over the default":       {nil, []string{"BERTH_LISTEN=[::1]:1"}, outcome{"[::1]:1", "environment BERTH_LISTEN"}},
		"an empty variable counts as not set":         {nil, []string{"BERTH_LISTEN="}, outcome{"127.0.0.1:8778", "default"}},
		"a flag wins over the environment":            {[]string{"--listen", "localhost:2"}, []string{"BERTH_LISTEN=[::1]:1"}, outcome{"localhost:2", "flag --listen"}},
		"the last of two flags wins":                  {[]string{"--listen=localhost:2", "--listen=localhost:3"}, nil, outcome{"localhost:3", "flag --listen"}},
		"a flag that repeats the default is a flag":   {[]string{"--listen", "127.0.0.1:8778"}, nil, outcome{"127.0.0.1:8778", "flag --listen"}},
		"the name of another variable does not count": {nil, []string{"LISTEN=localhost:9"}, outcome{"127.0.0.1:8778", "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, _, err := loaded(t, ForServer, test.arguments, test.environ)
			if err != nil {
				t.Fatal(err)
			}
			if got := (outcome{settings.Listen, settings.Row("listen").Origin}); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestSettings_AllValueKinds_Parsed(t *testing.T) {
	t.Parallel()
	settings, warnings, err := loaded(t, ForServer,
		[]string{"--access-log=false", "--request-timeout=1m30s", "--base-path=/placement", "--enforce-new-defaults=0",
			"--cors-allow-methods=GET", "--cors-expose-headers=", "--cors-max-age=1m",
			"--max-allocation-candidates=0", "--allocation-candidates-generation-strategy=breadth-first",
			"--baremetal-backend=placement", "--baremetal-hostname=rack7.example:8778", "--baremetal-takeover-interval=0"},
		[]string{"BERTH_BAREMETAL_WORKERS=9", "BERTH_DB_MAX_CONNECTIONS=7", "BERTH_LOG_FORMAT=json", "BERTH_CORS_ALLOWED_ORIGIN=https://a.example, *,",
			"BERTH_RANDOMIZE_ALLOCATION_CANDIDATES=true", "BERTH_DATABASE_URL=host=/run/x dbname=y", "BERTH_DB_POOLER=transaction"})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %q", err, warnings)
	}
	// Other tests check the fields of rows that are not set here.
	got := []any{
		settings.AccessLog, settings.RequestTimeout, settings.BasePath, settings.Policy.EnforceNewDefaults, settings.Placement.Candidates.Max, settings.Placement.Candidates.Strategy,
		settings.BaremetalBackend, settings.Conductor.Hostname, settings.Conductor.CheckInterval, settings.Conductor.Workers, settings.DBMaxConnections,
		settings.LogFormat, settings.CORS.AllowedOrigins, settings.CORS.AllowMethods, settings.CORS.ExposeHeaders, settings.CORS.MaxAge,
		settings.Placement.Candidates.Randomize, settings.DatabaseURL, settings.DBPooler,
	}
	want := []any{
		false, 90 * time.Second, "/placement", false, 0, "breadth-first",
		"placement", "rack7.example:8778", time.Duration(0), 9, int64(7),
		"json", []string{"https://a.example", "*"}, []string{"GET"}, []string{}, time.Minute,
		true, "host=/run/x dbname=y", "transaction",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestSettings_SeveralErrors_AllReported(t *testing.T) {
	t.Parallel()
	_, _, err := loaded(t, ForServer,
		[]string{"--request-timeout=soon", "--auth=kerberos", "--drain-timeout=11m", "--migrate=perhaps",
			"--max-allocation-candidates=-2", "--allocation-candidates-generation-strategy=widest-first",
			"--baremetal-backend=ironic", "--baremetal-hostname=rack 7", "--baremetal-heartbeat-timeout=19s"},
		[]string{"BERTH_LISTEN=nowhere", "BERTH_ENFORCE_SCOPE=perhaps", "BERTH_DB_MAX_CONNECTIONS=0",
			"BERTH_BASE_PATH=/a/", "BERTH_CORS_ALLOWED_ORIGIN=https://a.example/", "BERTH_CORS_ALLOW_HEADERS=X A",
			"BERTH_LOG_LEVEL=loud", "BERTH_DATABASE_URL=host=x port=many", "BERTH_INCOMPLETE_CONSUMER_USER_ID=" + strings.Repeat("x", 256)})
	want := []string{
		`listen: "nowhere" (environment BERTH_LISTEN) is not an address with a port; write an address and a port, such as 127.0.0.1:8778, [::1]:8778 or :8778`,
		`base-path: "/a/" (environment BERTH_BASE_PATH) is not a plain path; write a path that starts with / and does not end with it, such as /placement`,
		`request-timeout: "soon" (flag --request-timeout) is not a duration; write a number with its unit, such as 500ms, 30s or 2m`,
		`drain-timeout: "11m" (flag --drain-timeout) is out of range; write a duration from 0s to 10m0s`,
		`auth: "kerberos" (flag --auth) is not one of the choices; write one of noauth2, keystone, tokens, oidc`,
		`cors-allowed-origin: "https://a.example/" (environment BERTH_CORS_ALLOWED_ORIGIN) holds "https://a.example/", which is not an origin; write scheme, host and port as browsers send them, such as https://horizon.example.org, or *`,
		`cors-allow-headers: "X A" (environment BERTH_CORS_ALLOW_HEADERS) holds "X A", which is not the name of a header; write names separated by commas, such as X-Auth-Token,X-Roles`,
		`incomplete-consumer-user-id: "` + strings.Repeat("x", 256) + `" (environment BERTH_INCOMPLETE_CONSUMER_USER_ID) is not an id of 1 to 255 characters; write the id, or leave the setting out for the zero UUID`,
		`enforce-scope: "perhaps" (environment BERTH_ENFORCE_SCOPE) is neither true nor false; write true or false`,
		`max-allocation-candidates: "-2" (flag --max-allocation-candidates) is not a whole number from -1 to 2147483647; write -1, or digits without a unit`,
		`allocation-candidates-generation-strategy: "widest-first" (flag --allocation-candidates-generation-strategy) is not one of the choices; write one of depth-first, breadth-first`,
		`baremetal-backend: "ironic" (flag --baremetal-backend) is not one of the choices; write one of off, database, placement`,
		`baremetal-hostname: "rack 7" (flag --baremetal-hostname) is not a name of 1 to 255 letters, digits and the characters . _ : -; write a name such as conductor-1, or omit the setting to use the host name and the port`,
		`database-url: "host=x port=many" (environment BERTH_DATABASE_URL) is not a connection string (cannot parse ` + "`host=x port=many`" + `: invalid port); write postgres://user:password@host:5432/name, with characters such as @ / : ? % percent-encoded in the password`,
		`db-max-connections: "0" (environment BERTH_DB_MAX_CONNECTIONS) is not a whole number from 1 to 10000; write digits only, without a unit`,
		`migrate: "perhaps" (flag --migrate) is neither true nor false; write true or false`,
		`log-level: "loud" (environment BERTH_LOG_LEVEL) is not one of the choices; write one of debug, info, warn, error`,
		`baremetal-heartbeat-timeout: "19s" (flag --baremetal-heartbeat-timeout) is less than two heartbeats of 10s, so that conductors would take over nodes of live conductors; write at least twice --baremetal-heartbeat-interval, better six times`,
	}
	if err == nil {
		t.Fatal("error = nil, want InputErrors")
	}
	got := strings.Split(err.Error(), "\n")
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("line %d differs\ngot  %q\nwant %q", i, got[min(i, len(got)-1):], want[min(i, len(want)-1):])
		}
	}
	var single *frame.InputError
	if !errors.As(err, &single) || single.Setting != "listen" {
		t.Errorf("first error = %+v, want that of listen", single)
	}
}

func TestSettings_CandidateDefaults_UnlimitedDepthFirst(t *testing.T) {
	t.Parallel()
	settings, _, err := loaded(t, ForServer, nil, nil)
	want := placement.CandidateOptions{Max: -1, Strategy: "depth-first", Budget: 10_000_000}
	if err != nil || settings.Placement.Candidates != want {
		t.Errorf("error %v, options %+v, want %+v", err, settings.Placement.Candidates, want)
	}
}

func TestSettings_Noauth2OnPublicAddress_NeedsConsent(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		listen   string
		loopback bool
	}{
		{"127.0.0.1:8778", true},
		{"127.255.3.4:0", true},
		{"[::1]:8778", true},
		{"[::ffff:127.0.0.1]:8778", true},
		{"localhost:8778", true},
		{"LocalHost:8778", true},
		{":8778", false},
		{"0.0.0.0:8778", false},
		{"[::]:8778", false},
		{"192.0.2.1:8778", false},
		{"128.0.0.1:8778", false},
		{"[fe80::1%eth0]:8778", false},
		{"localhost.example.org:8778", false},
		{"127.1:8778", false},
	} {
		t.Run("listening on "+test.listen, func(t *testing.T) {
			t.Parallel()
			if got := setting.IsLoopback(test.listen); got != test.loopback {
				t.Errorf("isLoopback is %t", got)
			}
			_, _, err := loaded(t, ForServer, []string{"--listen", test.listen}, nil)
			if refused := err != nil; refused == test.loopback {
				t.Errorf("without consent: %v", err)
			}
			_, _, err = loaded(t, ForServer, []string{"--listen", test.listen}, []string{"BERTH_ALLOW_INSECURE_NOAUTH2=true"})
			if err != nil {
				t.Errorf("with consent: %v", err)
			}
		})
	}
}

func TestSettings_InvalidInsecureConsent_OneError(t *testing.T) {
	t.Parallel()
	_, _, err := loaded(t, ForServer, []string{"--listen=:1", "--allow-insecure-noauth2=yes"}, nil)
	want := `allow-insecure-noauth2: "yes" (flag --allow-insecure-noauth2) is neither true nor false; write true or false`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSettings_DatabaseSelection_FollowsFlagsAndPGVariables(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		arguments, environ []string
		embedded           bool
		variables          []string
		url, direct        string
	}{
		"nothing said means embedded":                   {embedded: true},
		"a host of PostgreSQL's own is used":            {environ: []string{"PGHOST=/run/x"}, variables: []string{"PGHOST"}},
		"a database name of PostgreSQL's own is used":   {environ: []string{"PGDATABASE=x", "PGUSER=y"}, variables: []string{"PGDATABASE"}},
		"a user alone names no database":                {environ: []string{"PGUSER=y", "PGPASSWORD=z"}, embedded: true},
		"a URL wins over PostgreSQL's variables":        {environ: []string{"PGHOST=/run/x", "BERTH_DATABASE_URL=host=a"}, url: "host=a", direct: "host=a"},
		"an empty URL flag clears that of the variable": {arguments: []string{"--database-url="}, environ: []string{"BERTH_DATABASE_URL=host=a"}, embedded: true},
		"the direct URL is kept apart":                  {arguments: []string{"--database-url=host=a", "--direct-database-url=host=b"}, url: "host=a", direct: "host=b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings, _, err := loaded(t, ForDatabase, test.arguments, test.environ)
			if err != nil {
				t.Fatal(err)
			}
			if settings.Embedded() != test.embedded || settings.DatabaseURL != test.url || settings.DirectURL() != test.direct ||
				!reflect.DeepEqual(settings.PGVariables, test.variables) {
				t.Errorf("embedded %t, URL %q, direct %q, variables %q", settings.Embedded(), settings.DatabaseURL, settings.DirectURL(), settings.PGVariables)
			}
		})
	}
}

func TestSettings_DirectURLAlone_Rejected(t *testing.T) {
	t.Parallel()
	_, _, err := loaded(t, ForDatabase, nil, []string{"BERTH_DIRECT_DATABASE_URL=postgres://u:secret@h/d"})
	want := `direct-database-url: "postgres://u:***@h/d" (environment BERTH_DIRECT_DATABASE_URL) bypasses a pooler, but no database URL is set; set --database-url (BERTH_DATABASE_URL) as well`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSettings_InvalidServerSettings_IgnoredByDBCommands(t *testing.T) {
	t.Parallel()
	settings, warnings, err := loaded(t, ForDatabase, nil, []string{"BERTH_AUTH=keystone", "BERTH_LISTEN=:80"})
	if err != nil || len(warnings) > 0 || settings.LogLevel != "info" {
		t.Errorf("error %v, warnings %q, log level %q", err, warnings, settings.LogLevel)
	}
}

func TestSettings_UnknownVariables_WarnedWithNearestName(t *testing.T) {
	t.Parallel()
	_, warnings, err := loaded(t, ForServer, []string{"--database-url=host=a"},
		[]string{"BERTH_LISEN=x", "BERTH_DATABSE_URL=x", "BERTH_TEST_DATABASE_URL=x", "BERTHA=x", "BERTH_DATA_DIR=/x"})
	want := []string{
		"ignoring the unknown environment variable BERTH_DATABSE_URL; the nearest name is BERTH_DATABASE_URL",
		"ignoring the unknown environment variable BERTH_LISEN; the nearest name is BERTH_LISTEN",
		"data-dir (environment BERTH_DATA_DIR) has no effect: it applies to the embedded PostgreSQL, but a database is configured",
	}
	if err != nil || !reflect.DeepEqual(warnings, want) {
		t.Errorf("error %v, warnings\n%s", err, strings.Join(warnings, "\n"))
	}
}

// settingName matches the name of a setting, from which its flag and variable follow.
var settingName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// The name or kind of a setting shows whether it contains a password.
func isSecret(row setting.Setting) bool {
	switch row.Name {
	case "database-url", "direct-database-url", "replica-url":
		return true
	case "keystone-auth-url", "keystone-www-authenticate-uri":
		return true // they are refused if they hold a password, and must not show it then
	}
	return strings.HasSuffix(row.Name, "-password") || strings.HasSuffix(row.Name, "-secret")
}

func TestSettings_Table_Complete(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, row := range new(Settings).Table() {
		if seen[row.Name] || !settingName.MatchString(row.Name) || row.Help == "" || row.Value.Kind == "" {
			t.Errorf("row %q is a duplicate or incomplete", row.Name)
		}
		seen[row.Name] = true
		if broken := row.Value.Read(row.Fallback); broken != nil {
			t.Errorf("default of %s: %s", row.Name, broken.Broken)
		}
		if secret := isSecret(row); secret != row.Value.Secret {
			t.Errorf("%s: secret is %t", row.Name, row.Value.Secret)
		}
		row.Text = "postgres://u:hunter2@h/d"
		if shown := row.Shown(); row.Value.Secret && (strings.Contains(shown, "hunter2") || !strings.Contains(shown, setting.Mask)) {
			t.Errorf("%s shows %q", row.Name, shown)
		}
	}
}

// For any text, a setting either accepts it or returns a rule and a remedy; an address for which
// IsLoopback is true is a loopback address.
func FuzzReaders(f *testing.F) {
	for _, row := range new(Settings).Table() {
		f.Add(row.Fallback)
	}
	for _, seed := range []string{"[::1]:8778", ":0", "[::ffff:127.0.0.1]:1", "https://a.example,*", "1e3", "/a//b", "host=h password='x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		settings := new(Settings)
		for _, row := range settings.Table() {
			if broken := row.Value.Read(text); broken != nil && (broken.Broken == "" || broken.Remedy == "") {
				t.Errorf("%s rejects %q without a reason", row.Name, text)
			}
		}
		if settings.Listen == "" || strings.ContainsAny(settings.Listen, ",/ ") || !isLocal(settings.Listen) || strings.HasPrefix(strings.ToLower(settings.Listen), "localhost:") {
			return
		}
		if address, err := net.ResolveTCPAddr("tcp", settings.Listen); err != nil || !address.IP.IsLoopback() {
			t.Errorf("IsLoopback(%q) = true, but the address is %v, %v", text, address, err)
		}
	})
}
