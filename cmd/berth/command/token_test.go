package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

// createdToken creates a token with the command, and returns its id and the token.
func createdToken(t *testing.T, file string, arguments ...string) (id, token string) {
	t.Helper()
	result := runCommand(t, nil, append([]string{"token", "create", "--tokens-file", file, "--output", "json"}, arguments...)...)
	var made struct{ ID, Token string }
	if err := json.Unmarshal([]byte(result.stdout), &made); err != nil || result.code != frame.ExitOK || result.stderr != "" {
		t.Fatalf("exit code %d, %v: %s%s", result.code, err, result.stdout, result.stderr)
	}
	return made.ID, made.Token
}

func TestCLI_TokenCommands_CreateListRevoke(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.yaml")
	first, token := createdToken(t, file, "--user=ada", "--project=lab", "--role=admin,service", "--description=laptop of Ada", "--expires=2099-01-31")
	second, _ := createdToken(t, file, "--user=bob", "--system", "--role=reader", "--role=auditor", "--expires=never")
	printed := runCommand(t, nil, "token", "create", "--tokens-file", file, "--user=eve", "--domain=d", "--role=reader")
	table := regexp.MustCompile(`^ *ID +TOKEN +EXPIRES\n([0-9a-f]{12})  berth_[0-9a-f]{72}  20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$`).FindStringSubmatch(printed.stdout)
	if table == nil || printed.code != frame.ExitOK {
		t.Fatalf("exit code %d: %s%s", printed.code, printed.stdout, printed.stderr)
	}
	if only := runCommand(t, nil, "token", "create", "--tokens-file", file+".2", "--user=a", "--project=p", "--role=reader", "-o", "token"); !regexp.MustCompile(`^berth_[0-9a-f]{72}\n$`).MatchString(only.stdout) {
		t.Errorf("the token only: %+v", only)
	}
	if content, err := os.ReadFile(file); err != nil || strings.Contains(string(content), token) {
		t.Errorf("the file has the token: %v\n%s", err, content)
	}
	listed := runCommand(t, []string{"BERTH_TOKENS_FILE=" + file}, "token", "list", "--output=json")
	var list struct {
		Tokens []struct {
			ID, User, Project, Domain, Expires, Created, Description string
			System, Expired                                          bool
			Roles                                                    []string
		}
	}
	if err := json.Unmarshal([]byte(listed.stdout), &list); err != nil || len(list.Tokens) != 3 {
		t.Fatalf("%v: %s%s", err, listed.stdout, listed.stderr)
	}
	var got []string
	for _, each := range list.Tokens {
		if age := time.Since(parsedTime(t, each.Created)); age < -time.Second || age > time.Minute {
			t.Errorf("created %s", each.Created)
		}
		if each.User == "eve" {
			if left := time.Until(parsedTime(t, each.Expires)); left < 89*24*time.Hour || left > 90*24*time.Hour {
				t.Errorf("the default expires %s", each.Expires)
			}
			each.Expires = "default"
		}
		got = append(got, fmt.Sprint(each.ID, each.User, each.Project, each.Domain, each.System, each.Roles, each.Expires, each.Expired, each.Description))
	}
	want := []string{
		fmt.Sprint(first, "ada", "lab", "", false, []string{"admin", "service"}, "2099-01-31T00:00:00Z", false, "laptop of Ada"),
		fmt.Sprint(second, "bob", "", "", true, []string{"reader", "auditor"}, "", false, ""),
		fmt.Sprint(table[1], "eve", "", "d", false, []string{"reader"}, "default", false, ""),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("tokens:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if result := runCommand(t, nil, "token", "revoke", "--tokens-file", file, first, second); result != (ran{0, "revoked " + first + ", " + second + "\n", ""}) {
		t.Errorf("revoke: %+v", result)
	}
	short := runCommand(t, nil, "token", "list", "--tokens-file", file)
	if !regexp.MustCompile(`^ID  .*\n`+table[1]+`  eve   domain d  reader  \S+  \S+  -\n$`).MatchString(short.stdout) || short.code != frame.ExitOK {
		t.Errorf("list: %+v", short)
	}
}

func parsedTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Error(err)
	}
	return at
}

func TestCLI_TokenCommandsInvalid_ReportValueAndRule(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file, open := filepath.Join(directory, "tokens.yaml"), filepath.Join(directory, "open.yaml")
	createdToken(t, file, "--user=ada", "--project=lab", "--role=reader")
	if err := errors.Join(os.WriteFile(open, []byte("tokens: []"), 0o644), os.Chmod(open, 0o644)); err != nil {
		t.Fatal(err)
	}
	lab := []string{"--user=ada", "--project=lab"}
	mode := "berth: the tokens file " + open + " has the mode 0644, but only its owner may read and write it; run: chmod 600 " + open + "\n"
	for name, c := range map[string]struct {
		arguments []string
		want      ran
	}{
		"no user":        {[]string{"create", "--role=reader"}, ran{2, "", "berth: user: \"\" (flag --user) is missing; name the user of the token, such as --user ada\n"}},
		"no role":        {append([]string{"create"}, lab...), ran{2, "", "berth: role: \"\" (flag --role) is missing; name at least one role, such as --role reader or --role admin,service\n"}},
		"blank role":     {append([]string{"create", "--role= "}, lab...), ran{2, "", "berth: roles are missing; a caller without roles may do nothing\n"}},
		"two scopes":     {append([]string{"create", "--role=reader", "--system"}, lab...), ran{2, "", "berth: project: \"lab\" (flag --project) is not the only scope of the token; use exactly one of --project, --system and --domain\n"}},
		"no time":        {append([]string{"create", "--role=reader", "--expires=soon"}, lab...), ran{2, "", "berth: expires: \"soon\" (flag --expires) is neither a duration nor a date; write 90d, 12h, 2027-01-31 (at 00:00 UTC), 2027-01-31T12:00:00Z, or never\n"}},
		"a past time":    {append([]string{"create", "--role=reader", "--expires=2020-01-31"}, lab...), ran{2, "", "berth: expires: \"2020-01-31\" (flag --expires) is not a time in the future; write a later time, or never\n"}},
		"no days":        {append([]string{"create", "--role=reader", "--expires=0d"}, lab...), ran{2, "", "berth: expires: \"0d\" (flag --expires) is not a time in the future; write a later time, or never\n"}},
		"unknown format": {append([]string{"create", "--role=reader", "--output=xml"}, lab...), ran{2, "", "berth: output: \"xml\" (flag --output) is not one of the choices; write one of table, json, yaml, csv, token\n"}},
		"readable file":  {append([]string{"create", "--role=reader", "--tokens-file", open}, lab...), ran{1, "", mode}},
		"readable list":  {[]string{"list", "--tokens-file", open}, ran{1, "", mode}},
		"unknown id":     {[]string{"revoke", "x"}, ran{1, "", "berth: the tokens file " + file + " has no token x; nothing was revoked; 'berth token list' shows the ids\n"}},
		"no directory": {append([]string{"create", "--role=reader", "--tokens-file", directory + "/none/tokens.yaml"}, lab...), ran{1, "", "berth: cannot open the directory of the tokens file: open " +
			directory + "/none: no such file or directory; create it, or choose another file with --tokens-file\n"}},
		"no file": {[]string{"list", "--tokens-file", directory + "/none.yaml"}, ran{1, "", "berth: cannot open the tokens file: open " + directory +
			"/none.yaml: no such file or directory; create a token with 'berth token create', or choose another file with --tokens-file\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := runCommand(t, []string{"BERTH_TOKENS_FILE=" + file}, append([]string{"token"}, c.arguments...)...); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestAuth_ServeWithTokens_RevokedTokenReturns401 runs a server with a tokens file, uses it with the clients, revokes a
// token, and searches the logs for tokens.
func TestAuth_ServeWithTokens_RevokedTokenReturns401(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file, audit := filepath.Join(directory, "tokens.yaml"), filepath.Join(directory, "audit.log")
	id, token := createdToken(t, file, "--user=ada", "--project=lab", "--role=admin,service")
	system, operator := createdToken(t, file, "--user=op", "--system", "--role=admin")
	b := setupServe(t, "--auth=tokens", "--tokens-file", file, "--audit-log", audit, "--database-url", dbtest.New(t).URL)
	if want := `Try it:         curl -H "Authorization: Bearer $BERTH_TOKEN" ` + b.url + "/resource_providers"; b.greeted[3] != want {
		t.Errorf("printed %q, want %q", b.greeted[3], want)
	}
	for name, login := range map[string]client.Option{"X-Auth-Token": client.WithToken(token), "Authorization": client.WithBearerToken(token)} {
		api, err := client.New(b.url, login)
		if err != nil {
			t.Fatal(err)
		}
		if err := api.TraitEnsure(t.Context(), "CUSTOM_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	environ := func(token string) []string { return []string{"BERTH_URL=" + b.url, "BERTH_TOKEN=" + token} }
	if result := runCommand(t, environ(token), "provider", "list"); result.code != frame.ExitOK {
		t.Errorf("provider list: %+v", result)
	}
	if status, _, body := b.send(t, http.MethodGet, "/v1/conductors", "1.1", "", "X-Auth-Token", operator, "X-OpenStack-Ironic-API-Version", "1.82"); status != http.StatusOK {
		t.Errorf("conductors with system scope: %d %s", status, body)
	}
	if status, _, body := b.send(t, http.MethodGet, "/resource_providers", "1.1", "", "X-Auth-Token", operator); status != http.StatusForbidden {
		t.Errorf("providers with system scope: %d %s", status, body)
	}
	if result := runCommand(t, nil, "token", "revoke", "--tokens-file", file, id); result.code != frame.ExitOK {
		t.Fatalf("revoke: %+v", result)
	}
	revoked := time.Now()
	for result := (ran{}); result.code == frame.ExitOK; time.Sleep(50 * time.Millisecond) {
		if result = runCommand(t, environ(token), "provider", "list"); time.Since(revoked) > 30*time.Second {
			t.Fatalf("the revoked token is valid after %s", time.Since(revoked))
		}
	}
	_, _, metrics := b.send(t, http.MethodGet, "/metrics", "1.1", "")
	lines, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"log": b.stderr.String(), "audit log": string(lines), "metrics": metrics} {
		for _, secret := range []string{token, operator, strings.TrimPrefix(token, "berth_")} {
			if strings.Contains(text, secret) {
				t.Errorf("the %s has a token", where)
			}
		}
	}
	for _, want := range []string{
		" user_id=ada project_id=lab domain_id=\"\" service_user_id=\"\" scope=project auth_method=tokens token_id=" + id + " ",
		" user_id=op project_id=\"\" domain_id=\"\" service_user_id=\"\" scope=system auth_method=tokens token_id=" + system + " ",
		`msg="reloaded the tokens file" file=` + file + " tokens=1\n", `cause="the token is not in the tokens file; it may be revoked"`,
	} {
		if !strings.Contains(b.stderr.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, b.stderr)
		}
	}
	want := `"auth_method":"tokens","token_id":"` + id + `","scope":"project","user_id":"ada","project_id":"lab","roles":["admin","service","manager","member","reader"],"api":"placement"`
	if strings.Count(string(lines), want) != 2 || !strings.Contains(metrics, `berth_tokens_checks_total{result="unknown"} `) {
		t.Errorf("audit log:\n%s", lines)
	}
}

func TestAuth_ServeWithTokensUnsafe_FailsAtStartup(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	file, open := filepath.Join(directory, "tokens.yaml"), filepath.Join(directory, "open.yaml")
	createdToken(t, file, "--user=ada", "--project=lab", "--role=reader")
	if err := errors.Join(os.WriteFile(open, []byte("tokens: []"), 0o640), os.Chmod(open, 0o640)); err != nil {
		t.Fatal(err)
	}
	const nowhere = "--database-url=postgres://u@127.0.0.1:1/d"
	for name, c := range map[string]struct {
		arguments []string
		want      ran
	}{
		"a readable file": {[]string{"--tokens-file", open, "--listen=127.0.0.1:0"}, ran{1, "", "berth: the tokens file " + open +
			" has the mode 0640, but only its owner may read and write it; run: chmod 600 " + open + "\n"}},
		"no TLS on a public address": {[]string{"--tokens-file", file, "--listen=0.0.0.0:0"}, ran{2, "",
			"berth: listen: \"0.0.0.0:0\" (flag --listen) is reachable from other hosts without TLS, so that the network can read tokens; " +
				"set --tls-cert and --tls-key, or, behind a proxy that terminates TLS, allow it with --allow-insecure-tokens (BERTH_ALLOW_INSECURE_TOKENS=true)\n"}},
	} {
		got := runCommand(t, nil, append([]string{"serve", "--auth=tokens", "--log-level=error", nowhere}, c.arguments...)...)
		if got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, c.want)
		}
	}
}
