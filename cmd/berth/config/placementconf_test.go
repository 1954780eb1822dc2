package config

import (
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/berthd/berth/internal/test/testfile"
)

// fromConf reads settings from a file and environment variables. It sets the credentials for
// Keystone, so that files need not repeat them.
func fromConf(t *testing.T, text string, environ ...string) (settings *Settings, path string, warnings []string, err error) {
	t.Helper()
	path = testfile.PlacementConf(t, text)
	environ = append([]string{"BERTH_KEYSTONE_AUTH_URL=http://k/v3", "BERTH_KEYSTONE_USERNAME=p", "BERTH_KEYSTONE_PASSWORD=p",
		"BERTH_KEYSTONE_PROJECT_NAME=service"}, environ...)
	settings, warnings, err = loaded(t, ForServer, []string{"--config-file", path}, environ)
	return settings, path, warnings, err
}

func TestSettings_PlacementConfMappings_NameExistingSettings(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, row := range new(Settings).Table() {
		known[row.Name] = true
	}
	seen := map[string]bool{}
	for _, option := range confOptions() {
		name := "[" + option.group + "]" + option.Name
		switch {
		case option.setting != "" && !known[option.setting]:
			t.Errorf("%s maps to %s, which is not a setting", name, option.setting)
		case (option.setting == "") == (option.unused == ""):
			t.Errorf("%s needs either a setting or a reason why it has none", name)
		case option.quiet && option.setting != "":
			t.Errorf("%s is quiet, but has a setting", name)
		}
		if key := name + option.setting; seen[key] {
			t.Errorf("%s is a duplicate", name)
		} else {
			seen[key] = true
		}
	}
}

// confSamples has each option that maps to a setting, with a value in the file and the value of
// the setting. The test below fails if an option is missing.
var confSamples = map[string][2]string{
	"[api]auth_strategy":                                   {"noauth2", "noauth2"},
	"[placement]randomize_allocation_candidates":           {"Yes", "true"},
	"[placement]incomplete_consumer_project_id":            {"p1", "p1"},
	"[placement]incomplete_consumer_user_id":               {"u1", "u1"},
	"[placement]allocation_conflict_retry_count":           {"3", "3"},
	"[placement]max_allocation_candidates":                 {"1000", "1000"},
	"[placement]allocation_candidates_generation_strategy": {"breadth-first", "breadth-first"},
	"[oslo_middleware]enable_proxy_headers_parsing":        {"on", "true"},
	"[placement_database]connection":                       {"postgresql+psycopg2://u:p@h/d", "postgres://u:***@h/d"},
	"[placement_database]slave_connection":                 {"postgresql://u:p@r/d", "postgres://u:***@r/d"},
	"[placement_database]max_pool_size":                    {"7", "17"},
	"[placement_database]max_overflow":                     {"7", "12"},
	"[placement_database]sync_on_startup":                  {"0", "false"},
	"[cors]allowed_origin":                                 {"https://a.example,https://b.example", "https://a.example,https://b.example"},
	"[cors]allow_credentials":                              {"false", "false"},
	"[cors]expose_headers":                                 {"X-A", "X-A"},
	"[cors]max_age":                                        {"60", "60s"},
	"[cors]allow_methods":                                  {"GET", "GET"},
	"[cors]allow_headers":                                  {"X-B", "X-B"},
	"[DEFAULT]debug":                                       {"true", "debug"},
	"[DEFAULT]use_json":                                    {"true", "json"},
	"[DEFAULT]log_options":                                 {"false", "false"},
	"[DEFAULT]log_file":                                    {"/var/log/p.log", "/var/log/p.log"},
	"[DEFAULT]log_dir":                                     {"/var/log/placement", "/var/log/placement/berth.log"},
	"[oslo_policy]policy_file":                             {"p.yaml", "p.yaml"},
	"[oslo_policy]policy_dirs":                             {"p.d", "p.d"},
	"[oslo_policy]policy_default_rule":                     {"none", "none"},
	"[oslo_policy]enforce_scope":                           {"false", "false"},
	"[oslo_policy]enforce_new_defaults":                    {"false", "false"},
	"[keystone_authtoken]interface":                        {"admin", "admin"},
	"[keystone_authtoken]cafile":                           {"/ca", "/ca"},
	"[keystone_authtoken]certfile":                         {"/cert", "/cert"},
	"[keystone_authtoken]keyfile":                          {"/key", "/key"},
	"[keystone_authtoken]insecure":                         {"1", "true"},
	"[keystone_authtoken]region_name":                      {"r", "r"},
	"[keystone_authtoken]http_connect_timeout":             {"3", "3s"},
	"[keystone_authtoken]http_request_max_retries":         {"1", "1"},
	"[keystone_authtoken]token_cache_time":                 {"-1", "-1"},
	"[keystone_authtoken]service_type":                     {"placement", "placement"},
	"[keystone_authtoken]service_token_roles":              {"a,b", "a,b"},
	"[keystone_authtoken]service_token_roles_required":     {"false", "false"},
	"[keystone_authtoken]auth_url":                         {"http://k:5000", "http://k:5000"},
	"[keystone_authtoken]user_id":                          {"u", "u"},
	"[keystone_authtoken]password":                         {"hunter2", "***"},
	"[keystone_authtoken]user_domain_id":                   {"d", "d"},
	"[keystone_authtoken]user_domain_name":                 {"d", "d"},
	"[keystone_authtoken]project_domain_id":                {"d", "d"},
	"[keystone_authtoken]project_domain_name":              {"d", "d"},
	"[keystone_authtoken]system_scope":                     {"all", "all"},
	"[keystone_authtoken]application_credential_id":        {"i", "i"},
	"[keystone_authtoken]application_credential_secret":    {"hunter2", "***"},
	"[keystone_authtoken]www_authenticate_uri":             {"http://k:5000", "http://k:5000"},
	"[keystone_authtoken]auth_type":                        {"v3password", "v3password"},
	"[keystone_authtoken]username":                         {"u", "u"},
	"[keystone_authtoken]project_name":                     {"s", "s"},
	"[keystone_authtoken]project_id":                       {"s", "s"},
	"[keystone_authtoken]default_domain_id":                {"d", "d"},
	"[keystone_authtoken]default_domain_name":              {"d", "d"},
}

func TestSettings_PlacementConfOptions_MapToSettings(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	for _, option := range confOptions() {
		name := "[" + option.group + "]" + option.Name
		if option.setting == "" {
			continue
		}
		met[name] = true
		sample, ok := confSamples[name]
		if !ok {
			t.Errorf("%s has no sample", name)
			continue
		}
		spellings := append([]string{option.group + "." + option.Name}, option.aliases...)
		for _, spelling := range spellings {
			group, written, dotted := strings.Cut(spelling, ".")
			if !dotted {
				group, written = option.group, spelling
			}
			path := testfile.PlacementConf(t, "["+group+"]\n"+written+" = "+sample[0]+"\n")
			settings, warnings, _ := loaded(t, ForServer, []string{"--config-file", path}, nil)
			row := settings.Row(option.setting)
			want := "file " + path + ":2 [" + group + "]" + written
			if row.Shown() != sample[1] || row.Origin != want || row.Wrong {
				t.Errorf("%s = %s makes %s %q from %q, want %q", spelling, sample[0], row.Name, row.Shown(), row.Origin, sample[1])
			}
			if len(warnings) > 0 {
				t.Errorf("%s: %q", spelling, warnings)
			}
		}
	}
	for name := range confSamples {
		if !met[name] {
			t.Errorf("%s is not an option", name)
		}
	}
}

func TestSettings_ConfigFiles_RankBelowFlagsAndEnvironment(t *testing.T) {
	t.Parallel()
	first := testfile.PlacementConf(t, "[placement]\nmax_allocation_candidates = 1\nincomplete_consumer_user_id = first\n[DEFAULT]\ndebug=true\n")
	second := testfile.PlacementConf(t, "[placement]\nmax_allocation_candidates = 2\n[DEFAULT]\ndebug=false\n")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.conf": "[cors]\nmax_age = 2\n", "a.conf": "[cors]\nmax_age = 1\nallow_methods = GET\n",
		".c.conf": "[cors]\nmax_age = 3\n", "d.txt": "[cors]\nmax_age = 4\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	settings, _, _ := loaded(t, ForServer,
		[]string{"--config-file", first, "--config-file=" + second, "--config-dir", dir, "--cors-allow-methods=PUT"}, []string{"BERTH_AUTH=noauth2"})
	for name, want := range map[string][2]string{
		"auth":                        {"noauth2", "environment BERTH_AUTH"},
		"cors-allow-methods":          {"PUT", "flag --cors-allow-methods"},
		"cors-max-age":                {"2s", "file " + filepath.Join(dir, "b.conf") + ":2 [cors]max_age"},
		"max-allocation-candidates":   {"2", "file " + second + ":2 [placement]max_allocation_candidates"},
		"incomplete-consumer-user-id": {"first", "file " + first + ":3 [placement]incomplete_consumer_user_id"},
		"log-level":                   {"info", "default"},
		"config-file":                 {first + "," + second, "flag --config-file"},
	} {
		if row := settings.Row(name); row.Shown() != want[0] || row.Origin != want[1] {
			t.Errorf("%s = %q from %q, want %q", name, row.Shown(), row.Origin, want)
		}
	}
	if got := settings.configDirs(); !slices.Equal(got, []string{dir, filepath.Dir(second), filepath.Dir(first)}) {
		t.Errorf("directories for relative paths = %q", got)
	}
}

func TestSettings_ConfigFileVariables_NameFiles(t *testing.T) {
	t.Parallel()
	path := testfile.PlacementConf(t, "[placement]\nmax_allocation_candidates = 1\n")
	for name, environ := range map[string][]string{
		"its own variable":            {"BERTH_CONFIG_FILE=" + path, "OS_PLACEMENT_CONFIG_DIR=/nowhere"},
		"that of OpenStack Placement": {"OS_PLACEMENT_CONFIG_DIR=" + filepath.Dir(path)},
		"the variable of a directory": {"BERTH_CONFIG_DIR=" + filepath.Dir(path)},
	} {
		settings, _, _ := loaded(t, ForServer, nil, environ)
		if settings.Placement.Candidates.Max != 1 || !slices.Equal(settings.configDirs(), []string{filepath.Dir(path)}) {
			t.Errorf("%s: %d, directories %q", name, settings.Placement.Candidates.Max, settings.configDirs())
		}
	}
	settings, _, err := loaded(t, ForServer, nil, nil)
	if err != nil || settings.Conf.given() || len(settings.configDirs()) > 0 {
		t.Errorf("paths = %q, error = %v, want no files", settings.Conf.paths, err)
	}
}

func TestSettings_PlacementConfWithoutAuth_DefaultsToKeystone(t *testing.T) {
	t.Parallel()
	settings, _, _, err := fromConf(t, "[placement]\n")
	if row := settings.Row("auth"); err != nil || row.Text != "keystone" || row.Origin != "default of placement.conf" {
		t.Errorf("auth is %q from %q, %v", row.Text, row.Origin, err)
	}
	settings, _, _, err = fromConf(t, "[DEFAULT]\nauth_strategy = noauth2\n")
	if err != nil || settings.Auth != "noauth2" {
		t.Errorf("auth is %q, %v", settings.Auth, err)
	}
	settings, _, _, err = fromConf(t, "[api]\n", "BERTH_AUTH=noauth2")
	if err != nil || settings.Auth != "noauth2" {
		t.Errorf("auth is %q, %v", settings.Auth, err)
	}
}

func TestSettings_EmptyConfigDir_DefaultsToKeystone(t *testing.T) {
	t.Parallel()
	_, _, err := loaded(t, ForServer, []string{"--config-dir", t.TempDir()}, nil)
	if err == nil || !strings.Contains(err.Error(), "--auth keystone requires it") {
		t.Errorf("got %v", err)
	}
}

func TestSettings_AuthSection_NamedGroupRead(t *testing.T) {
	t.Parallel()
	settings, _, warnings, err := fromConf(t, "[keystone_authtoken]\nauth_section = ours\ninterface = public\n"+
		"[ours]\nuser_domain_name = D\ndefault_domain_id = x\nsystem_scope = all\n")
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, %q", err, warnings)
	}
	for name, want := range map[string]string{
		"keystone-user-domain-name": "D", "keystone-user-domain-id": "", "keystone-project-domain-id": "x",
		"keystone-system-scope": "all", "keystone-interface": "public",
	} {
		if got := settings.Row(name).Text; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestSettings_PlacementConfReferences_Expanded(t *testing.T) {
	t.Parallel()
	settings, _, _, err := fromConf(t, "[DEFAULT]\nstate_path = /srv/x\nlog_dir = $state_path/log\nlog_file = p.log\n"+
		"[placement]\nincomplete_consumer_user_id = $incomplete_consumer_project_id-u\nincomplete_consumer_project_id = $$p\n")
	if err != nil || settings.LogFile != "/srv/x/log/p.log" || settings.Placement.IncompleteUser != "$p-u" {
		t.Errorf("log %q, user %q, %v", settings.LogFile, settings.Placement.IncompleteUser, err)
	}
	_, path, _, err := fromConf(t, "[placement]\nincomplete_consumer_user_id = $me\n")
	want := `incomplete-consumer-user-id: "$me" (file ` + path + `:2 [placement]incomplete_consumer_user_id) refers to $me, which is not a known option; write the value itself, or $$ for a dollar sign`
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}

func TestSettings_InvalidPlacementConf_ReportsLines(t *testing.T) {
	t.Parallel()
	_, path, _, err := fromConf(t, "[placement]\nmax_allocation_candidates = many\nrandomize_allocation_candidates = t\nnothing\n"+
		"[placement_database]\nmax_overflow = x\n[keystone_authtoken]\npassword = $hunter2\n", "BERTH_KEYSTONE_PASSWORD=")
	want := []string{
		path + ":4: the line contains neither = nor :; write option = value, or # before a comment",
		`keystone-password: "***" (file ` + path + `:8 [keystone_authtoken]password) contains a dollar sign, which starts a reference to an option, and the option does not exist; write the value itself, or $$ for a dollar sign`,
		`max-allocation-candidates: "many" (file ` + path + `:2 [placement]max_allocation_candidates) is not a whole number from -1 to 2147483647; write -1, or digits without a unit`,
		`randomize-allocation-candidates: "t" (file ` + path + `:3 [placement]randomize_allocation_candidates) is neither true nor false; write true or false`,
		`db-max-connections: "x" (file ` + path + `:6 [placement_database]max_overflow) is not a whole number; write digits only in [placement_database]max_overflow`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v", err)
	}
	_, _, err = loaded(t, ForDatabase, []string{"--config-file=/nowhere/p.conf", "--config-dir", "/nowhere"}, nil)
	if err == nil || err.Error() != `config-file: "/nowhere/p.conf" (flag --config-file) cannot be read (no such file or directory); name an existing, readable file or directory, or omit the setting`+"\n"+
		`config-dir: "/nowhere" (flag --config-dir) cannot be read (no such file or directory); name an existing, readable file or directory, or omit the setting` {
		t.Errorf("got %v", err)
	}
}

func TestSettings_UnknownOrUnusedOptions_Warned(t *testing.T) {
	t.Parallel()
	_, path, warnings, err := fromConf(t, `[DEFAULT]
pybasedir = /usr/lib/python3
use_syslog = false
default_log_levels = a=INFO
log_config_append = /etc/l.conf
[API]
auth_stratgy = keystone
[placment]
x = 1
y = 2
[keystone_authtoken]
memcached_servers = a:1
enforce_token_bind = required
`)
	want := []string{
		path + ":7: [API]auth_stratgy is not a known option and is ignored; the nearest name is auth_strategy",
		path + ":8: the group [placment] is unknown, so that its options are ignored; the nearest name is [placement]",
		"[DEFAULT]default_log_levels (" + path + ":4), [DEFAULT]log_config_append (" + path + ":5) have no effect: " + reasonLogs,
		"[keystone_authtoken]memcached_servers (" + path + ":12) has no effect: " + reasonTokenCache,
		"[keystone_authtoken]enforce_token_bind (" + path + ":13) has no effect: current versions of Keystone do not bind tokens",
	}
	want[1] = strings.Replace(want[1], ":8:", ":9:", 1)
	if err != nil || !slices.Equal(warnings, want) {
		t.Errorf("error %v, warnings\n%s", err, strings.Join(warnings, "\n"))
	}
	// Database commands do not warn about options of the server.
	_, warnings, err = loaded(t, ForDatabase, []string{"--config-file", path}, nil)
	if err != nil || !slices.Equal(warnings, want[:2]) {
		t.Errorf("error %v, warnings\n%s", err, strings.Join(warnings, "\n"))
	}
}

func TestSettings_SQLAlchemyURLs_ConvertedToPostgres(t *testing.T) {
	t.Parallel()
	for connection, want := range map[string]string{
		"postgresql://u:p@h/d":                                    "postgres://u:p@h/d",
		"postgresql+psycopg2://u:p@h:5433/d":                      "postgres://u:p@h:5433/d",
		"postgresql+asyncpg://u@h/d?sslmode=require":              "postgres://u@h/d?sslmode=require",
		"postgresql://u:p%40q@h/d":                                "postgres://u:p%40q@h/d",
		"postgresql://u:p/q?r@h/d":                                "postgres://u:p%2Fq%3Fr@h/d",
		"postgresql://u:p@q@h/d":                                  "postgres://u:p%40q@h/d",
		"postgresql://u:p+%2B:a@h/d":                              "postgres://u:p++%3Aa@h/d",
		"postgresql://h/d?application_name=a@b":                   "postgres://h/d?application_name=a%40b",
		"postgresql://h/d%20e":                                    "postgres://h/d%2520e",
		"postgresql://u:p/q#r@h/d":                                "postgres://u:p%2Fq%23r@h/d",
		"postgresql:///d?host=/run/x":                             "postgres:///d?host=%2Frun%2Fx",
		"postgresql://u:p@/d?host=a:1&host=b":                     "postgres://u:p@/d?host=a%2Cb&port=1%2C5432",
		"postgresql://u@[::1]:5432/d":                             "postgres://u@[::1]:5432/d",
		"postgresql://u@h/d?keepalives=1&application_name=p":      "postgres://u@h/d?application_name=p",
		"postgresql://u@h/d?client_encoding=utf8&keepalives_idle": "postgres://u@h/d?client_encoding=utf8",
	} {
		settings, path, _, err := fromConf(t, "[placement_database]\nconnection = "+connection+"\n")
		row := settings.Row("database-url")
		if err != nil || settings.DatabaseURL != want || row.Origin != "file "+path+":2 [placement_database]connection" {
			t.Errorf("%s is %q from %q, want %q, error %v", connection, settings.DatabaseURL, row.Origin, want, err)
		}
	}
	settings, _, _, err := fromConf(t, "[placement_database]\nconnection = postgresql://h/d\nconnection_parameters = sslmode=require&connect_timeout=3\n")
	if err != nil || settings.DatabaseURL != "postgres://h/d?connect_timeout=3&sslmode=require" {
		t.Errorf("with parameters: %q, %v", settings.DatabaseURL, err)
	}
}

// For any password, PostgreSQL receives the one that SQLAlchemy would send, and messages mask it.
func TestSettings_SQLAlchemyPasswords_PreservedAndMasked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		password := rapid.StringMatching(`[ -~]{0,3}hunter2[ -~]{0,12}`).Draw(t, "password")
		written := strings.ReplaceAll(password, "%", "%25")
		if rapid.Bool().Draw(t, "escaped") {
			written = url.PathEscape(password)
		}
		found, _ := convertURL(fromFile{text: "postgresql+psycopg2://u:" + written + "@h:5433/d?sslmode=disable"}, "")
		if found.broken != nil {
			t.Fatalf("%q %s", password, found.broken.Broken)
		}
		parsed, err := pgx.ParseConfig(found.text)
		if err != nil || parsed.Password != password || parsed.User != "u" || parsed.Host != "h" || parsed.Port != 5433 || parsed.Database != "d" {
			t.Fatalf("%q arrives as %+v, %v", password, parsed, err)
		}
		if strings.Contains(found.shown+MaskPassword(found.text), "hunter2") {
			t.Fatalf("%q is shown as %q", password, found.shown)
		}
	})
}

func TestSettings_OtherDatabases_RejectedWithRemedy(t *testing.T) {
	t.Parallel()
	wayOut := "name a PostgreSQL database with --database-url (BERTH_DATABASE_URL), which takes precedence over the file, and copy the data with 'berth import %://…'"
	for connection, want := range map[string][3]string{
		"mysql+pymysql://u:hunter2@h/d?charset=utf8": {"mysql+pymysql://u:***@h/d?***", "is a MySQL database, but Berth requires PostgreSQL", strings.ReplaceAll(wayOut, "%", "mysql")},
		"mysql://u:hunter@hunter2@h/d":               {"mysql://u:***@h/d", "is a MySQL database, but Berth requires PostgreSQL", strings.ReplaceAll(wayOut, "%", "mysql")},
		"sqlite:////var/lib/p.db":                    {"sqlite:////var/lib/p.db", "is a SQLite database, but Berth requires PostgreSQL", strings.ReplaceAll(wayOut, "%", "sqlite")},
		"oracle://u:hunter2@h":                       {"oracle://u:***@h", "is not a PostgreSQL URL", "write postgresql://user:password@host/name, or set --database-url (BERTH_DATABASE_URL)"},
		"hunter2":                                    {"(hidden, may contain a password)", "is not a PostgreSQL URL", "write postgresql://user:password@host/name, or set --database-url (BERTH_DATABASE_URL)"},
		"postgresql://u:hunter2@h/d?plugin=x":        {"postgresql://u:***@h/d?***", `has the parameter "plugin", which Berth does not support`, "remove it, or name the database with --database-url (BERTH_DATABASE_URL), which takes precedence over the file"},
		"postgresql://u:hunter2@h:x/d":               {"(hidden, may contain a password)", "is not a connection string", "write postgres://user:password@host:5432/name, with characters such as @ / : ? % percent-encoded in the password"},
	} {
		_, path, _, err := fromConf(t, "[placement_database]\nconnection = "+connection+"\n")
		sentence := `database-url: "` + want[0] + `" (file ` + path + `:2 [placement_database]connection) ` + want[1] + "; " + want[2]
		if err == nil || err.Error() != sentence {
			t.Errorf("got  %v\nwant %s", err, sentence)
		}
	}
}

func TestSettings_DatabaseFromEnvironment_OverridesFile(t *testing.T) {
	t.Parallel()
	text := "[placement_database]\nconnection = mysql://u:hunter2@h/d\nslave_connection = mysql://u:hunter2@r/d\nmax_pool_size = 3\n"
	for variable, origin := range map[string]string{
		"BERTH_DATABASE_URL=postgres://n/d": "environment BERTH_DATABASE_URL",
		"PGHOST=/run/x":                     "environment PGHOST",
	} {
		settings, path, warnings, err := fromConf(t, text, variable)
		want := []string{"[placement_database]connection (" + path + ":2) is not used: " + origin + " names the database of Berth"}
		if err != nil || !reflect.DeepEqual(warnings, want) || settings.Row("replica-url").Text != "" || settings.DBMaxConnections != 13 {
			t.Errorf("%s: error %v, warnings %q, replica %q", variable, err, warnings, settings.Row("replica-url").Text)
		}
	}
}

func TestSettings_InvalidPoolSize_AlwaysRejected(t *testing.T) {
	t.Parallel()
	for range 50 {
		if _, _, _, err := fromConf(t, "[placement_database]\nmax_pool_size = x\nmax_overflow = -1\n"); err == nil {
			t.Fatal("error = nil, want an error")
		}
	}
}

func TestSettings_PoolWithoutLimit_KeepsDefault(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"max_pool_size = 0", "max_overflow = -1", "max_pool_size ="} {
		settings, _, _, err := fromConf(t, "[placement_database]\n"+text+"\n")
		if row := settings.Row("db-max-connections"); err != nil || row.Origin != "default" {
			t.Errorf("%s: %q from %q, %v", text, row.Text, row.Origin, err)
		}
	}
}
