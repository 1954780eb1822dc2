//go:build client

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/osloconf"
	"github.com/berthd/berth/internal/test/dbtest"
)

// confRead is what was read from a text: the values of options by name, null where one
// cannot be made, or the first line that cannot be read.
type confRead struct {
	Line   int                 `json:"line"`
	Values map[string][]string `json:"values"`
}

// readByBerth reads what oslo_config_peer.py reads.
func readByBerth(text string) confRead {
	entries, err := osloconf.Parse("f", []byte(text))
	var broken *osloconf.SyntaxError
	if errors.As(err, &broken) {
		return confRead{Line: broken.Line}
	}
	known := func(group, option string) (string, bool) {
		if !slices.Contains([]string{"DEFAULT", "g", "h"}, group) || !slices.Contains([]string{"a", "b", "c"}, option) {
			return "", false
		}
		entry, _ := osloconf.Last(entries, group, option)
		return entry.Text, true
	}
	read := confRead{Values: map[string][]string{}}
	for _, group := range []string{"DEFAULT", "g", "h"} {
		for _, name := range []string{"a", "b", "c", "m"} {
			found := osloconf.Every(entries, group, name)
			if len(found) > 1 && name != "m" {
				found = found[len(found)-1:]
			}
			for _, entry := range found {
				value, err := osloconf.Expand(group, entry.Text, known)
				if err != nil {
					read.Values[group+"."+name] = nil
					break
				}
				read.Values[group+"."+name] = append(read.Values[group+"."+name], value)
			}
		}
	}
	return read
}

// What lines are made of, those first that make most of them good.
var (
	lineBeginnings = []string{"a = ", "b=", "c: ", "m = ", "[g]\n", "[h]\n[g]\n", "[DEFAULT]\n", "[G]\n", "[default]\n", "a=", "b :", "  ", "\t", "#", ";", "\n", "[g", "[]", "a", "= ", "\f", "A=", "m:="}
	lineMiddles    = []string{"x", "\"x y\"", "'z'", "\"", "'x", "$b", "${c}", "$h.a", "${g.c}x", "$$a", "\\$a", "$nix", "$", "${", "x # y", "x;y", "a = b", "[x]", "a,b", "", " ", "\u00a0", "é", "\x1f", "$c.d", "%(a)s", "\\"}
	lineEnds       = []string{"\n", "\n", "\n", "\n", "\r\n", "\r", " \n", "\n\n", ""}
)

func randomConf(random *rand.Rand) string {
	pick := func(from []string) string {
		// What stands first comes more often.
		at := random.Float64()
		return from[int(at*at*at*float64(len(from)))]
	}
	text := pick(lineBeginnings[4:8])
	for range 1 + random.IntN(7) {
		text += pick(lineBeginnings)
		for range random.IntN(3) {
			text += pick(lineMiddles)
		}
		text += pick(lineEnds)
	}
	return text
}

// TestOsloconf_RandomFiles_ParseLikeOsloConfig compares both readers on files made by chance, the same
// ones each time.
func TestOsloconf_RandomFiles_ParseLikeOsloConfig(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(6, 6))
	texts := make([]string, 2500)
	for i := range texts {
		texts[i] = randomConf(random)
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), python, "oslo_config_peer.py")
	command.Stdin, command.Stderr = strings.NewReader(string(input)), t.Output()
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var theirs []confRead
	if err := json.Unmarshal(output, &theirs); err != nil || len(theirs) != len(texts) {
		t.Fatalf("%d answers, %v", len(theirs), err)
	}
	good, failures := 0, 0
	for i, text := range texts {
		ours := readByBerth(text)
		if ours.Line == 0 {
			good++
		}
		fallThrough(ours, theirs[i])
		if !reflect.DeepEqual(ours, theirs[i]) {
			t.Errorf("%q\nberth       %#v\noslo.config %#v", text, ours, theirs[i])
			if failures++; failures == 10 {
				t.Fatal("and maybe more")
			}
		}
	}
	if good < len(texts)/4 {
		t.Errorf("only %d of %d files can be read: too few for a comparison", good, len(texts))
	}
}

// fallThrough takes out what oslo.config reads by accident: a reference to an option of
// its own group whose value cannot be made falls through to the option of DEFAULT.
func fallThrough(ours, theirs confRead) {
	broken := slices.ContainsFunc(slices.Collect(maps.Values(theirs.Values)), func(value []string) bool { return value == nil })
	for name, value := range ours.Values {
		if value == nil && broken && theirs.Values[name] != nil {
			delete(ours.Values, name)
			delete(theirs.Values, name)
		}
	}
}

// packagedConf is the file that Debian's package of the service installs.
const packagedConf = "/usr/share/placement-common/placement.conf"

// TestSettings_PackagedPlacementConf_NoWarnings starts with what is installed, as it is,
// and then with every option that it mentions in comments.
func TestSettings_PackagedPlacementConf_NoWarnings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(packagedConf)
	if err != nil {
		t.Fatal(err)
	}
	command := berthCommand(t, "config", "--config-file", packagedConf, "--keystone-password=x", "--output=json")
	var warnings strings.Builder
	command.Stderr = &warnings
	printed, err := command.Output()
	if err != nil || warnings.String() != "" {
		t.Errorf("%v, warnings %s", err, &warnings)
	}
	for _, origin := range []string{"[keystone_authtoken]auth_url", "[oslo_policy]policy_dirs"} {
		if !strings.Contains(string(printed), origin) {
			t.Errorf("nothing comes from %s", origin)
		}
	}
	every := regexp.MustCompile(`(?m)^#([a-z_0-9]+ = )<None>$`).ReplaceAllString(string(text), "${1}1")
	every = regexp.MustCompile(`(?m)^#([a-z_0-9]+ =)`).ReplaceAllString(every, "$1")
	// One that takes effect by moving others to a group of its own.
	every = strings.Replace(every, "\nauth_section = 1\n", "\n", 1)
	unknownOptions(t, every)
}

// TestSettings_InstalledPlacementOptions_AllKnown asks the installed libraries which options
// they have.
func TestSettings_InstalledPlacementOptions_AllKnown(t *testing.T) {
	t.Parallel()
	arguments := []string{"/usr/bin/oslo-config-generator", "--format", "json"}
	for _, namespace := range []string{"placement.conf", "keystonemiddleware.auth_token", "oslo.log", "oslo.policy", "oslo.middleware.cors",
		"oslo.middleware.http_proxy_to_wsgi", "osprofiler"} {
		arguments = append(arguments, "--namespace", namespace)
	}
	output, err := exec.CommandContext(t.Context(), python, arguments...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Options map[string]struct {
			Opts []struct {
				Dest       string
				Deprecated []struct{ Group, Name string } `json:"deprecated_opts"`
			}
		}
	}
	if err := json.Unmarshal(output, &document); err != nil {
		t.Fatal(err)
	}
	text, count := "", 0
	for _, group := range slices.Sorted(maps.Keys(document.Options)) {
		for _, option := range document.Options[group].Opts {
			count++
			if option.Dest == "auth_section" {
				continue // it would move others to a group of its own
			}
			text += fmt.Sprintf("[%s]\n%s = 1\n", group, option.Dest)
			for _, old := range option.Deprecated {
				text += fmt.Sprintf("[%s]\n%s = 1\n", old.Group, old.Name)
			}
		}
	}
	if count < 90 {
		t.Fatalf("only %d options were found", count)
	}
	unknownOptions(t, text)
}

// unknownOptions fails the test for each option of a file that berth does not know.
func unknownOptions(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "placement.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	command := berthCommand(t, "config", "--config-file", path)
	var told strings.Builder
	command.Stderr = &told
	_, _ = command.Output() // the values are anything, so that some are wrong
	for line := range strings.Lines(told.String()) {
		if strings.Contains(line, "is not a known option") || strings.Contains(line, "is unknown, so that its options") || strings.Contains(line, "neither = nor :") {
			t.Error(line)
		}
	}
}

// TestCLI_PlacementManageScripts_BehaveLikeOriginal compares what both print and how they end, on databases
// of their own.
func TestCLI_PlacementManageScripts_BehaveLikeOriginal(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	old, ours := filepath.Join(directory, "old.conf"), filepath.Join(directory, "ours.conf")
	if err := os.WriteFile(filepath.Join(directory, "policy.yaml"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, connection := range map[string]string{
		old:  "sqlite:///" + filepath.Join(directory, "old.db"),
		ours: strings.Replace(dbtest.NewEmpty(t).URL, "postgres://", "postgresql+psycopg2://", 1),
	} {
		text := "[api]\nauth_strategy = noauth2\n[placement_database]\nconnection = " + connection + "\n[oslo_policy]\npolicy_file = policy.yaml\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"placement-manage", "placement-status"} {
		if err := os.Symlink(program, filepath.Join(directory, name)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(program, config string, words ...string) (code int, printed string) {
		command := exec.CommandContext(t.Context(), program, append([]string{"--config-file", config}, words...)...)
		command.Env = withoutSettings(command.Environ())
		output, err := command.Output()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			t.Fatal(err)
		}
		return command.ProcessState.ExitCode(), string(output)
	}
	for _, words := range [][]string{
		{"placement-manage", "db", "sync"}, {"placement-manage", "db", "online_data_migrations"},
		{"placement-manage", "db", "online_data_migrations", "--max-count", "5"},
		{"placement-manage", "db", "online_data_migrations", "--max-count", "0"},
		{"placement-status", "upgrade", "check"}, {"placement-status", "upgrade", "check", "--nix"},
	} {
		theirCode, theirs := run("/usr/bin/"+words[0], old, words[1:]...)
		ourCode, printed := run(filepath.Join(directory, words[0]), ours, words[1:]...)
		same := printed == theirs || strings.HasPrefix(theirs, "Must supply")
		switch words[len(words)-1] {
		case "sync": // theirs is silent
			same = theirs == ""
		case "check": // ours has more checks
			same = true
			for line := range strings.Lines(theirs) {
				if strings.Contains(line, "Check: ") && !strings.Contains(printed, strings.TrimSpace(strings.Trim(line, "|\n "))) {
					same = false
				}
			}
		}
		if ourCode != theirCode || !same {
			t.Errorf("%s: exit codes %d and %d\nours\n%s\ntheirs\n%s", strings.Join(words, " "), ourCode, theirCode, printed, theirs)
		}
	}
}
