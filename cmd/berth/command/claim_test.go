package command

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// claimedID is a consumer of these tests.
const claimedID = "1d5ecafe-0000-4000-8000-0000000000e1"

func TestCLI_ClaimServiceWithoutExtensions_ClaimsInSteps(t *testing.T) {
	t.Parallel()
	service := startService(t)
	real := []string{"BERTH_URL=" + service}
	environ := []string{"BERTH_URL=" + placementProxy(t, service, func() {})}
	for _, file := range []string{"compute-1.yaml", "compute-2.json"} {
		if got := runCommand(t, real, "provider", "apply", filepath.Join("testdata", "trees", file)); got.code != frame.ExitOK {
			t.Fatal(got.stderr)
		}
	}
	for _, step := range []struct {
		flags string
		want  ran
	}{
		{"--resources VCPU:4,MEMORY_MB:512 --not-in-tree compute-2-numa-0 --project demo --user alice --type INSTANCE", ran{frame.ExitOK,
			`consumer 1d5ecafe-0000-4000-8000-0000000000e1, type INSTANCE, project demo, user alice, generation 1
on compute-1

PROVIDER          UUID                                  CLASS      AMOUNT  GROUPS
compute-1-numa-0  c0ffee00-0000-4000-8000-000000000010  VCPU            4  -
compute-1-numa-0  c0ffee00-0000-4000-8000-000000000010  MEMORY_MB     512  -
`, ""}},
		{"--resources VCPU:2 --project demo --user alice", ran{frame.ExitFailed, "",
			"berth: consumer " + claimedID + " has allocations already; add --replace or --hand-over\n"}},
		{"--resources VCPU:2 --not-in-tree compute-1 --replace --generation 5", ran{frame.ExitFailed, "",
			"berth: PUT /allocations/" + claimedID + ": 409 Conflict: consumer generation conflict - expected 1 but got 5 (req-…)\n"}},
		{"--resources VCPU:2 --not-in-tree compute-1 --replace", ran{frame.ExitOK,
			`consumer 1d5ecafe-0000-4000-8000-0000000000e1, type INSTANCE, project demo, user alice, generation 2
on compute-2

PROVIDER          UUID                                  CLASS  AMOUNT  GROUPS
compute-2-numa-0  c0ffee00-0000-4000-8000-000000000012  VCPU        2  -
`, ""}},
		{"--resources VCPU:2 --not-in-tree compute-1 --not-in-tree compute-2 --replace", ran{frame.ExitFailed, "", "Nothing fits.\n"}},
	} {
		got := runCommand(t, environ, append([]string{"claim", claimedID}, strings.Fields(step.flags)...)...)
		got.stderr = regexp.MustCompile(`req-[0-9a-f-]+`).ReplaceAllString(got.stderr, "req-…")
		if got != step.want {
			t.Errorf("%s: %+v\nwant %+v", step.flags, got, step.want)
		}
	}
	var document struct {
		Claims []struct {
			Root string `json:"root_provider_name"`
		}
		Query  *int
		Effort any
	}
	got := runCommand(t, environ, "claim", claimedID, "--resources", "VCPU:2", "--not-in-tree", "compute-2", "--replace", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil || len(document.Claims) != 1 || document.Claims[0].Root != "compute-1" ||
		document.Query == nil || *document.Query != 0 || document.Effort != nil {
		t.Errorf("%v, %+v, %s", err, got, got.stderr)
	}
}

func TestCLI_FlagNeedsExtensions_ErrorNamesServiceAndFlag(t *testing.T) {
	t.Parallel()
	address := placementProxy(t, startService(t), func() { t.Error("a request for candidates was sent") })
	environ := []string{"BERTH_URL=" + address}
	const claim = "claim " + claimedID + " --project p --user u --type T --resources VCPU:1 "
	hosts(t, environ, "compute-1")
	for line, flag := range map[string]string{
		claim + "--apart root":             "--apart",
		claim + "--together root":          "--together",
		claim + "--else --resources X:1":   "--else",
		claim + "--hand-over " + claimedID: "--hand-over",
		claim + "--key k":                  "--key",
		claim + "--dry-run":                "--dry-run",
		"claim " + claimedID + " --project p --user u --type T --candidates testdata/trees/candidates.json":             "--candidates",
		"claim " + claimedID + " 1d5ecafe-0000-4000-8000-0000000000e2 --project p --user u --type T --resources VCPU:1": "a claim of several consumers",
		"provider apply testdata/trees/compute-1.yaml":                                                                  "berth provider apply",
		"provider apply testdata/trees/compute-1.yaml --dry-run":                                                        "--dry-run",
		"provider create compute-2 --dry-run":                                                                           "--dry-run",
		"inventory clear compute-1 --dry-run":                                                                           "--dry-run",
		"allocation delete " + claimedID + " --generation 1":                                                            "--generation",
		"provider delete compute-1 --generation 1":                                                                      "--generation",
		"inventory delete compute-1 VCPU --generation 1":                                                                "--generation",
	} {
		got := runCommand(t, environ, strings.Fields(line)...)
		if want := (ran{frame.ExitFailed, "", "berth: The service at " + address + " has no berth 1.3, which " + flag + " needs.\n"}); got != want {
			t.Errorf("%s: %+v\nwant %+v", line, got, want)
		}
	}
	if got := runCommand(t, environ, "inventory", "list", "compute-1"); !strings.Contains(got.stdout, "VCPU") {
		t.Errorf("a dry run changed the inventory: %+v", got)
	}
}

func TestCLI_LeaseOfServiceWithout_ErrorNamesServiceAndFlag(t *testing.T) {
	t.Parallel()
	address := placementProxy(t, startService(t), func() { t.Error("a request for candidates was sent") })
	environ := []string{"BERTH_URL=" + address}
	const claim = "claim " + claimedID + " --project p --user u --type T --resources VCPU:1 "
	hosts(t, environ, "compute-1")
	for line, flag := range map[string]string{
		claim + "--lease 10m":   "--lease",
		claim + "--until 18:00": "--until",
		claim + "--for 2h":      "--for",
		"allocation set " + claimedID + " --project p --user u --type T --on compute-1=VCPU:1 --lease 10m": "--lease",
		"consumer renew " + claimedID:       "berth consumer renew",
		"consumer list --leased":            "--leased",
		"consumer list --not-leased":        "--not-leased",
		"consumer list --expires-before 1h": "--expires-before",
		"consumer list --until-before 1h":   "--until-before",
		"consumer list --expires-first":     "--expires-first",
	} {
		got := runCommand(t, environ, strings.Fields(line)...)
		if want := (ran{frame.ExitFailed, "", "berth: The service at " + address + " has no berth 1.6, which " + flag + " needs.\n"}); got != want {
			t.Errorf("%s: %+v\nwant %+v", line, got, want)
		}
	}
	if got := runCommand(t, environ, "allocation", "show", claimedID); !strings.Contains(got.stdout, "has no allocations") {
		t.Errorf("allocations were written: %+v", got)
	}
}

func TestCLI_ClaimKeyAuto_PrintsKeyForRepetition(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	hosts(t, environ, "compute-1")
	line := strings.Fields("allocation claim " + claimedID + " --resources VCPU:1 --project p --user u --type T --key")
	first := runCommand(t, environ, append(line, "auto")...)
	key, found := strings.CutPrefix(strings.TrimSpace(first.stderr), "berth: repeat this command with --key ")
	if first.code != frame.ExitOK || !found {
		t.Fatalf("%+v", first)
	}
	again := runCommand(t, environ, append(line, key)...)
	if again != (ran{frame.ExitOK, first.stdout, ""}) {
		t.Errorf("%+v, want the output %q", again, first.stdout)
	}
	if other := runCommand(t, environ, append(line, "another")...); other.code != frame.ExitFailed {
		t.Errorf("another key: %+v", other)
	}
}

func TestCLI_ProviderApplyInverse_RestoresTree(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	run := func(line string) string {
		t.Helper()
		got := runCommand(t, environ, strings.Fields(line)...)
		if got.code != frame.ExitOK {
			t.Fatalf("%s: %s", line, got.stderr)
		}
		return got.stdout
	}
	state := func() string {
		text := run("tree compute-1") + run("allocation show 1d5ecafe-0000-4000-8000-0000000000a1")
		return regexp.MustCompile(`gen(eration)? \d+`).ReplaceAllString(text, "gen N")
	}
	directory := t.TempDir()
	undo, made := filepath.Join(directory, "undo.json"), filepath.Join(directory, "made.json")
	if got := runCommand(t, environ, "provider", "apply", "testdata/trees/compute-1.yaml", "--inverse", made, "--dry-run"); got.code != frame.ExitOK {
		t.Fatal(got.stderr)
	}
	run("provider apply testdata/trees/compute-1.yaml")
	run("claim 1d5ecafe-0000-4000-8000-0000000000a1 --resources DISK_GB:100,VCPU:8,MEMORY_MB:16384,VGPU:1 --project demo --user alice --type INSTANCE")
	before := state()
	run("provider apply testdata/trees/gpu-to-numa.yaml --inverse " + undo)
	if state() == before {
		t.Fatal("the file changed nothing")
	}
	again := runCommand(t, environ, "provider", "apply", "testdata/trees/compute-1.yaml", "--inverse", undo)
	if again.code != frame.ExitUsage || again.stderr != "berth: inverse: \""+undo+"\" (flag --inverse) exists; name a new file\n" {
		t.Errorf("an inverse that exists: %+v", again)
	}
	run("provider apply " + undo)
	if after := state(); after != before {
		t.Errorf("after the inverse:\n%s\nwant\n%s", after, before)
	}
	run("allocation delete 1d5ecafe-0000-4000-8000-0000000000a1")
	if got := runCommand(t, environ, "provider", "apply", made); got.code != frame.ExitFailed || !strings.Contains(got.stderr, "resource provider generation conflict") {
		t.Errorf("an inverse after other changes: %+v", got)
	}
}

func TestCLI_CommandsThatWrite_HaveDryRun(t *testing.T) {
	t.Parallel()
	reads := []string{"list", "show"}
	families := []string{"provider", "inventory", "trait", "class", "aggregate", "allocation", "claim"}
	checked := 0
	for _, command := range allCommands() {
		path := strings.Fields(command.CommandPath())
		if command.HasSubCommands() || len(path) < 2 || !slices.Contains(families, path[1]) || slices.Contains(reads, command.Name()) {
			continue
		}
		checked++
		if command.Flags().Lookup("dry-run") == nil {
			t.Errorf("%s has no --dry-run", command.CommandPath())
		}
	}
	if checked < 20 {
		t.Errorf("commands = %d, want at least 20", checked)
	}
}

// TestCLI_ClaimWithoutConsumer_MakesOne claims for a consumer whose UUID the command makes, with names in lower case and an
// amount with a unit.
func TestCLI_ClaimWithoutConsumer_MakesOne(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	if got := runCommand(t, environ, "provider", "apply", filepath.Join("testdata", "trees", "compute-1.yaml")); got.code != frame.ExitOK {
		t.Fatal(got.stderr)
	}
	got := runCommand(t, environ, "claim", "--resources", "vcpu=2,memory_mb=1GiB", "--project", "demo", "--user", "alice", "--type", "INSTANCE", "--output", "json")
	var document struct {
		Claims []struct {
			Consumer    string `json:"consumer_uuid"`
			Allocations []struct {
				Class  string `json:"resource_class"`
				Amount int64  `json:"amount"`
			} `json:"allocations"`
		} `json:"claims"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil || len(document.Claims) != 1 {
		t.Fatalf("%v: %+v", err, got)
	}
	claim := document.Claims[0]
	if want := "berth: the new consumer is " + claim.Consumer + "\n"; got.stderr != want || got.code != frame.ExitOK {
		t.Errorf("exit code %d, standard error %q, want %q", got.code, got.stderr, want)
	}
	amounts := map[string]int64{}
	for _, allocation := range claim.Allocations {
		amounts[allocation.Class] = allocation.Amount
	}
	if len(amounts) != 2 || amounts["VCPU"] != 2 || amounts["MEMORY_MB"] != 1024 {
		t.Errorf("amounts = %v, want VCPU 2 and MEMORY_MB 1024", amounts)
	}
}

// TestCLI_ClaimFlagsMissing_AllReportedAtOnce leaves out everything that a claim needs.
func TestCLI_ClaimFlagsMissing_AllReportedAtOnce(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startService(t)}
	for line, want := range map[string]string{
		"claim": `berth: 4 settings are invalid:
  resources: "" (flag --resources) is empty; write --resources or --group
  project: "" (flag --project) is empty; write the project ID of the new consumer
  user: "" (flag --user) is empty; write the user ID of the new consumer
  type: "" (flag --type) is empty; write the type of the consumer, such as INSTANCE
`,
		"claim --resources VCPU=1 --else --project p --user u --type T": "berth: resources: \"\" (flag --resources) is empty; write --resources or --group\n",
		"claim --replace --resources VCPU=1":                            "berth: consumer: \"\" (argument) is missing; write the UUID of the consumer that has allocations\n",
	} {
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitUsage || got.stderr != want {
			t.Errorf("%s: exit code %d, %q, want %q", line, got.code, got.stderr, want)
		}
	}
}
