package command

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/admin"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/server/identity/policy"
)

// policyDirectory creates a directory with files, given by name and text.
func policyDirectory(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestPolicy_Check_PrintsReasonAndExitCode(t *testing.T) {
	t.Parallel()
	dir := policyDirectory(t, map[string]string{"p.yaml": "placement:traits:list: role:auditor and not project_id:p1\n"})
	for command, want := range map[string]struct {
		code int
		text string
	}{
		"POST /reshaper --roles admin,member,reader": {frame.ExitFailed, `denied by placement:reshaper:reshape (default)
  check    rule:service_api
  because  role:service does not hold: required is service, the caller's roles are admin, member, reader, through service_api
`},
		"POST /reshaper --roles admin --enforce-new-defaults=false": {frame.ExitOK, `allowed by placement:reshaper:reshape (default)
  check    rule:service_api
  because  role:admin holds: required is admin, the caller's roles are admin, through service_api
`},
		"GET /usages?project_id=p2 --roles reader --project p1": {frame.ExitFailed, `denied by placement:usages (default)
  check    rule:admin_or_project_reader_or_service_api
  because  role:admin does not hold: required is admin, the caller's roles are reader, through admin_or_project_reader_or_service_api
  and      project_id:%(project_id)s does not hold: the caller's project_id is p1, required is p2, through admin_or_project_reader_or_service_api, project_reader_api
  and      role:service does not hold: required is service, the caller's roles are reader, through admin_or_project_reader_or_service_api
`},
		"placement:usages --roles reader --project p1": {frame.ExitOK, `allowed by placement:usages (default)
  check    rule:admin_or_project_reader_or_service_api
  because  role:reader holds: required is reader, the caller's roles are reader, through admin_or_project_reader_or_service_api, project_reader_api
  and      project_id:%(project_id)s holds: the caller's project_id is p1, required is p1, through admin_or_project_reader_or_service_api, project_reader_api
`},
		"placement:usages --roles reader --project p1 --target-project p2": {frame.ExitFailed, ""},
		"put /resource_providers/x/traits --roles admin --system-scope all": {frame.ExitFailed, `denied by placement:resource_providers:traits:update (default)
  check    rule:admin_or_service_api
  because  the token is not project-scoped, which enforce-scope requires
`},
		"PUT /resource_providers/x/traits --roles admin --system-scope all --enforce-scope=false": {frame.ExitOK, ""},
		"GET /v1/nodes --roles admin,member,reader --system-scope all":                            {frame.ExitOK, ""},
		"GET /": {frame.ExitOK, "allowed: the operation requires no authentication\n"},
		"GET /traits --roles auditor --project p2 --policy-file " + dir + "/p.yaml": {frame.ExitOK, "allowed by placement:traits:list (" + dir + `/p.yaml:1)
  check    role:auditor and not project_id:p1
  because  role:auditor holds: required is auditor, the caller's roles are auditor
  and      project_id:p1 does not hold: the caller's project_id is p2, required is p1
`},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, nil, append([]string{"policy", "check"}, strings.Fields(command)...)...)
			if got.code != want.code || want.text != "" && got.stdout != want.text {
				t.Errorf("exit code %d, want %d\n%s%s", got.code, want.code, got.stdout, got.stderr)
			}
			if denied := strings.HasPrefix(got.stderr, "berth: Policy does not allow "); denied != (want.code == frame.ExitFailed) {
				t.Errorf("standard error %q", got.stderr)
			}
		})
	}
}

func TestPolicy_CheckInvalidArguments_Rejected(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"":                                    `rule: "" (argument) names no rule; name a rule, or a method and a path, or add --all`,
		"placement:usage":                     `rule: "placement:usage" (argument) is not a rule of an operation; the nearest name is placement:usages; 'berth policy list' lists all`,
		"GET /nothing":                        `path: "GET /nothing" (argument) is not an operation of this service; write a method and a path without the prefix of --base-path, such as GET /resource_providers`,
		"POST /traits":                        `path: "POST /traits" (argument) is not an operation of this service; write a method and a path without the prefix of --base-path, such as GET /resource_providers`,
		"GET / --output=x":                    `output: "x" (flag --output) is not one of the choices; write one of table, json, yaml`,
		"GET / --roles a b":                   "'berth policy check' takes at most 2 arguments, but 3 were given; write 'berth policy check {RULE | METHOD PATH | --all}'\nSee 'berth policy check --help'.",
		"GET /traits --enforce-scope=perhaps": `enforce-scope: "perhaps" (flag --enforce-scope) is neither true nor false; write true or false`,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, nil, append([]string{"policy", "check"}, strings.Fields(command)...)...)
			if got.code != frame.ExitUsage || got.stderr != "berth: "+want+"\n" {
				t.Errorf("exit code %d: %s", got.code, got.stderr)
			}
		})
	}
}

func TestPolicy_CheckAll_ListsTypicalCallers(t *testing.T) {
	t.Parallel()
	got := runCommand(t, nil, "policy", "check", "placement:usages", "--all")
	want := `RULE              ADMIN  SERVICE  READER  READER ELSEWHERE  MEMBER ONLY  SYSTEM ADMIN  DOMAIN ADMIN
placement:usages  yes    yes      yes     no                no           scope         scope
`
	if got.code != frame.ExitOK || got.stdout != want {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	got = runCommand(t, nil, "policy", "check", "--all", "--output=json")
	var all map[string]map[string]string
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil || len(all) != len(policy.New(policy.Options{EnforceScope: true}).Rules()) {
		t.Errorf("rules = %d, %v", len(all), err)
	}
	if row := all[policy.Reshape]; row["admin"] != "no" || row["service"] != "yes" || row["reader_elsewhere"] != "no" {
		t.Errorf("row of %s = %v", policy.Reshape, row)
	}
}

func TestPolicy_List_ShowsOriginsAndOperations(t *testing.T) {
	t.Parallel()
	dir := policyDirectory(t, map[string]string{"p.yaml": "\"own\": \"role:own\"\n\"placement:usages\": [[\"role:a b\"], [\"rule:own\"]]\n"})
	got := runCommand(t, []string{"BERTH_POLICY_FILE=" + dir + "/p.yaml", "BERTH_LISTEN=unused"}, "policy", "list", "--output=json")
	var document struct {
		Rules []admin.PolicyRow
		Files []string
	}
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil || got.code != frame.ExitOK || got.stderr != "" {
		t.Fatalf("%v, exit code %d: %s", err, got.code, got.stderr)
	}
	rows := map[string]admin.PolicyRow{}
	for _, row := range document.Rules {
		rows[row.Name] = row
		if row.Default != "" && strings.Contains(row.Name, ":") && len(row.Operations) == 0 {
			t.Errorf("%s has no operations", row.Name)
		}
	}
	usages := rows[policy.Usages]
	if usages.Check != `[["role:a b"], ["rule:own"]]` || usages.Origin() != dir+"/p.yaml:2" || usages.Default != "rule:admin_or_project_reader_or_service_api" ||
		len(usages.Operations) != 1 || usages.Operations[0].Path != "/usages" {
		t.Errorf("row of %s = %+v", policy.Usages, usages)
	}
	if own := rows["own"]; own.Check != "role:own" || own.Line != 1 || own.Default != "" {
		t.Errorf("row of own = %+v", own)
	}
	if base := rows[policy.ServiceAPI]; base.Check != "role:service" || base.Deprecated != "role:admin" || base.Origin() != "default" {
		t.Errorf("row of %s = %+v", policy.ServiceAPI, base)
	}
	table := runCommand(t, nil, "policy", "list")
	if line := regexp.MustCompile(`(?m)^placement:traits:update +default +rule:admin_or_service_api +PUT /traits/\{name\}$`); !line.MatchString(table.stdout) {
		t.Errorf("the table lacks the row of placement:traits:update:\n%s", table.stdout)
	}
}

func TestPolicy_Sample_IsEquivalentPolicyFile(t *testing.T) {
	t.Parallel()
	dir := policyDirectory(t, map[string]string{"p.yaml": "\"own\": \"role:own\"\n\"placement:usages\": [[\"role:a b\"], [\"rule:own\"]]\n"})
	sample := runCommand(t, nil, "policy", "list", "--output=yaml", "--policy-file", dir+"/p.yaml").stdout
	for _, part := range []string{
		"\n# List the usages of a project: GET /usages\n\"placement:usages\": [[\"role:a b\"], [\"rule:own\"]]\n",
		"\n# List traits: GET /traits\n#\"placement:traits:list\": \"rule:admin_or_service_api\"\n",
		"\n\"own\": \"role:own\"\n",
		"\n# With enforce-new-defaults=false this check also authorizes: role:admin\n#\"service_api\": \"role:service\"\n",
	} {
		if !strings.Contains(sample, part) {
			t.Errorf("the sample lacks %q:\n%s", part, sample)
		}
	}
	bare := policyDirectory(t, map[string]string{"as-is.yaml": sample, "all.yaml": strings.ReplaceAll(sample, "\n#\"", "\n\"")})
	for _, name := range []string{"as-is.yaml", "all.yaml"} {
		opened, problems, err := policy.Open(policy.Defaults(), policy.Files{Main: filepath.Join(bare, name)})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", name, err, problems)
		}
		for _, r := range opened.List() {
			want := r.Default
			switch r.Name {
			case policy.Usages:
				want = `[["role:a b"], ["rule:own"]]`
			case "own":
				want = "role:own"
			}
			if r.Check != want {
				t.Errorf("%s: check of %s = %s, want %s", name, r.Name, r.Check, want)
			}
		}
	}
}

func TestPolicy_Files_FoundInSearchPath(t *testing.T) {
	t.Parallel()
	conf := "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = postgresql://u:p@h/d\n"
	deny, other := "placement:traits:list: '!'\n", "placement:traits:list: role:other\n"
	for name, test := range map[string]struct {
		files     map[string]string
		arguments []string
		environ   []string
		want      string
		code      int
		stderr    string
	}{
		"directory of the configuration file":           {map[string]string{"placement.conf": conf, "policy.yaml": deny}, []string{"--config-file", "DIR/placement.conf"}, nil, "!", 0, ""},
		"policy.json":                                   {map[string]string{"placement.conf": conf, "policy.json": `{"placement:traits:list": "!"}`}, []string{"--config-file", "DIR/placement.conf"}, nil, "!", 0, ""},
		"policy.d":                                      {map[string]string{"placement.conf": conf, "policy.d/x": deny}, []string{"--config-file", "DIR/placement.conf"}, nil, "!", 0, ""},
		"policy_file of the configuration file":         {map[string]string{"placement.conf": conf + "[oslo_policy]\npolicy_file = mine.yaml\n", "policy.yaml": deny, "mine.yaml": other}, []string{"--config-file", "DIR/placement.conf"}, nil, "role:other", 0, ""},
		"policy_dirs of the configuration file":         {map[string]string{"placement.conf": conf + "[oslo_policy]\npolicy_dirs = a.d\npolicy_dirs = b.d\n", "a.d/x": deny, "b.d/x": other}, []string{"--config-file", "DIR/placement.conf"}, nil, "role:other", 0, ""},
		"missing policy_file of the configuration file": {map[string]string{"placement.conf": conf + "[oslo_policy]\npolicy_file = mine.yaml\n"}, []string{"--config-file", "DIR/placement.conf"}, nil, "rule:admin_or_service_api", 0, "mine.yaml (file DIR/placement.conf:6 [oslo_policy]policy_file) does not exist, so Berth reads no rules from it\n"},
		"flag over the default":                         {map[string]string{"placement.conf": conf, "policy.yaml": deny, "mine.yaml": other}, []string{"--config-file", "DIR/placement.conf", "--policy-file", "DIR/mine.yaml"}, nil, "role:other", 0, ""},
		"environment variable":                          {map[string]string{"mine.yaml": other}, nil, []string{"BERTH_POLICY_FILE=DIR/mine.yaml"}, "role:other", 0, ""},
		"empty flag":                                    {map[string]string{"placement.conf": conf, "policy.yaml": deny}, []string{"--config-file", "DIR/placement.conf", "--policy-file="}, nil, "rule:admin_or_service_api", 0, ""},
		"missing file of a flag":                        {nil, []string{"--policy-file", "DIR/none.yaml"}, nil, "", frame.ExitFailed, "none.yaml does not exist; create it, or remove the setting to use the default rules\n"},
		"missing file of an environment variable":       {nil, nil, []string{"BERTH_POLICY_FILE=DIR/none.yaml"}, "", frame.ExitFailed, "none.yaml does not exist; create it, or remove the setting to use the default rules\n"},
		"missing directory":                             {map[string]string{"x": ""}, []string{"--policy-dirs", "DIR/none.d"}, nil, "rule:admin_or_service_api", 0, "none.d (flag --policy-dirs) does not exist, so Berth reads no rules from it\n"},
		"directory of the last configuration file":      {map[string]string{"dist/dist.conf": conf, "etc/placement.conf": "[api]\n", "etc/policy.yaml": deny, "dist/policy.yaml": other}, []string{"--config-file", "DIR/dist/dist.conf", "--config-file", "DIR/etc/placement.conf"}, nil, "!", 0, ""},
		"directory of the first configuration file":     {map[string]string{"dist/dist.conf": conf, "etc/placement.conf": "[api]\n", "dist/policy.d/x": deny}, []string{"--config-file", "DIR/dist/dist.conf", "--config-file", "DIR/etc/placement.conf"}, nil, "!", 0, ""},
		"no configuration file":                         {nil, nil, nil, "rule:admin_or_service_api", 0, ""},
		"warning":                                       {map[string]string{"mine.yaml": "placement:traits:list: foo"}, []string{"--policy-file", "DIR/mine.yaml"}, nil, "foo", 0, `"foo" has no colon, so it never matches; write role:foo or rule:foo` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := policyDirectory(t, test.files)
			arguments := []string{"policy", "list", "--output=json"}
			for _, argument := range test.arguments {
				arguments = append(arguments, strings.ReplaceAll(argument, "DIR", dir))
			}
			var environ []string
			for _, variable := range test.environ {
				environ = append(environ, strings.ReplaceAll(variable, "DIR", dir))
			}
			got := runCommand(t, environ, arguments...)
			if got.code != test.code || !strings.HasSuffix(got.stderr, strings.ReplaceAll(test.stderr, "DIR", dir)) || test.stderr == "" && got.stderr != "" {
				t.Fatalf("exit code %d: %s", got.code, got.stderr)
			}
			if test.code == frame.ExitOK && !strings.Contains(got.stdout, `"name": "placement:traits:list",`+"\n      \"check\": \""+test.want+`"`) {
				t.Errorf("check of placement:traits:list is not %q:\n%s", test.want, got.stdout)
			}
		})
	}
}

func TestPolicy_BrokenFile_ServeExitsBeforeStart(t *testing.T) {
	t.Parallel()
	dir := policyDirectory(t, map[string]string{"broken.yaml": "placement:traits:list: http://x\n"})
	data := privateDirectory(t)
	got := runCommand(t, nil, "serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--policy-file", dir+"/broken.yaml")
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, `broken.yaml:1: rule "placement:traits:list", character 1: http://x queries another server`) {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("the server created a database")
	}
}

func TestPolicy_FileChangedWhileServing_Applied(t *testing.T) {
	t.Parallel()
	dir := policyDirectory(t, map[string]string{"p.yaml": "placement:traits:list: '!'\n"})
	b := setupServe(t, "--data-dir", privateDirectory(t), "--policy-file", dir+"/p.yaml")
	defer func() { <-b.exit }()
	defer close(b.signals)
	status := func() int {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url+"/traits", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Auth-Token", "u")
		request.Header.Set("X-Roles", "reader")
		request.Header.Set("OpenStack-API-Version", "placement 1.39")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if got := status(); got != http.StatusForbidden {
		t.Errorf("status before the change = %d, want %d", got, http.StatusForbidden)
	}
	if err := os.WriteFile(dir+"/p.yaml", []byte("placement:traits:list: role:reader\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); status() != http.StatusOK; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the server did not apply the change")
		}
	}
}
