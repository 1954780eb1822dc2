package reconcile_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// twoHosts returns a cloud with compute-1 (1) and compute-2 (2), and instances 11 on the first and 12 on the second.
func twoHosts(t *testing.T) *cloud {
	t.Helper()
	c := newCloud(t)
	c.host("compute-1", 1)
	c.host("compute-2", 2)
	c.claim(id(11), "INSTANCE", map[uuid.UUID]client.Resources{id(1): small})
	c.claim(id(12), "INSTANCE", map[uuid.UUID]client.Resources{id(2): small})
	return c
}

func TestReconcile_OrphanOfFile_IsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	file := c.file("known.txt", "# instances\n"+id(11).String()+"\n")
	before := c.allocations(id(12))
	c.expect([]string{"orphan 12 compute-2"}, "--with", "file:"+file)
	if got := c.reconcile("--with", "file:"+file); got.code != 3 || !strings.Contains(got.stdout, "add --repair") {
		t.Errorf("without --repair: %+v", got)
	}
	if got := c.allocations(id(12)); got != before {
		t.Fatalf("allocations without --repair = %s, want %s", got, before)
	}
	plan := c.path("plan.json")
	got := c.reconcile("--with", "file:"+file, "--repair", "--save-plan", plan)
	if got.code != frame.ExitOK || !strings.Contains(got.stdout, "1 difference: 1 repaired, 0 left.") || c.allocations(id(12)) != "{}" || c.allocations(id(11)) == "{}" {
		t.Fatalf("with --repair: %+v", got)
	}
	c.expect([]string{}, "--with", "file:"+file)
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK || c.allocations(id(12)) != before {
		t.Errorf("undo: %+v, %s", got, c.allocations(id(12)))
	}
}

func TestReconcile_OrphanNot_IsNotFound(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	c.claim(id(13), "MIGRATION", map[uuid.UUID]client.Resources{id(1): small})
	c.claim(id(14), "RESERVATION", map[uuid.UUID]client.Resources{id(1): small})
	known := c.file("known.txt", id(11).String()+"\n"+id(12).String()+"\n")
	c.expect([]string{}, "--with", "file:"+known)
	empty := c.file("one.txt", id(11).String()+"\n")
	c.expect([]string{}, "--with", "file:"+empty, "--min-age", "1h")
	c.expect([]string{"orphan 14 compute-1"}, "--with", "file:"+known, "--type", "RESERVATION")
}

func TestReconcile_Elsewhere_RemovesOnlyThat(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	pool := c.host("pool", 3)
	c.inventories(pool, client.Resources{"DISK_GB": 10000})
	c.claim(id(15), "INSTANCE", map[uuid.UUID]client.Resources{id(1): {"VCPU": 2}, id(2): {"VCPU": 2}, pool: {"DISK_GB": 20}})
	before := c.allocations(id(15))
	file := c.file("known.txt", fmt.Sprintf("%s\tcompute-1\n%s\tcompute-2\n%s\tcompute-2\n", id(11), id(12), id(15)))
	c.expect([]string{"elsewhere 15 compute-1 repaired"}, "--with", "file:"+file, "--repair", "--save-plan", c.path("plan.json"))
	if got, want := c.allocations(id(15)), textOf(map[uuid.UUID]client.Resources{id(2): {"VCPU": 2}, pool: {"DISK_GB": 20}}); got != want {
		t.Errorf("allocations = %s, want %s", got, want)
	}
	if got := c.run("reconcile", "--plan", c.path("plan.undo.json")); got.code != frame.ExitOK || c.allocations(id(15)) != before {
		t.Errorf("undo: %+v, %s", got, c.allocations(id(15)))
	}
	both := c.file("both.txt", fmt.Sprintf("%s\tcompute-1\n%s\tcompute-2\n%s\tcompute-2\n%s\tcompute-1\n", id(11), id(12), id(15), id(15)))
	c.expect([]string{}, "--with", "file:"+both)
}

func TestReconcile_OnlyAllocationsElsewhere_AreKept(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	before := c.allocations(id(12))
	file := c.file("known.txt", fmt.Sprintf("%s\tcompute-1\n%s\tcompute-1\n", id(11), id(12)))
	c.expect([]string{"elsewhere 12 compute-2", "missing 12 compute-1"}, "--with", "file:"+file, "--repair")
	c.expect([]string{"elsewhere 12 compute-2"}, "--with", "file:"+file, "--repair", "--finding", "elsewhere")
	if got := c.allocations(id(12)); got != before {
		t.Errorf("allocations = %s, want %s", got, before)
	}
}

func TestReconcile_SourceEmpty_ChangesNothing(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.host("compute-1", 1)
	for i := range 11 {
		c.claim(id(100+i), "INSTANCE", map[uuid.UUID]client.Resources{id(1): {"VCPU": 1}})
	}
	file := c.file("empty.txt", "# nothing\n")
	got := c.reconcile("--with", "file:"+file, "--repair")
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "has no consumers, the server has 11") {
		t.Errorf("%+v", got)
	}
	broken := c.file("broken.txt", id(100).String()+"\nc0ffee\n")
	got = c.reconcile("--with", "file:"+broken, "--repair")
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, `line 2: "c0ffee" is not a UUID`) {
		t.Errorf("%+v", got)
	}
	if got := c.reconcile("--with", "file:"+c.path("missing.txt")); got.code != frame.ExitFailed {
		t.Errorf("%+v", got)
	}
	if len(c.findings("--with", "file:"+file, "--allow-empty")) != 11 {
		t.Error("--allow-empty does not find 11 orphans")
	}
	got = c.reconcile("--with", "file:"+file, "--allow-empty", "--repair", "--max", "10")
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "would change 11 of 11 consumers, --max 10 permits 10") || c.allocations(id(100)) == "{}" {
		t.Errorf("%+v", got)
	}
	got = c.reconcile("--with", "file:"+file, "--allow-empty", "--repair", "--max", "1%", "--save-plan", c.path("plan.json"))
	if got.code != frame.ExitOK || c.allocations(id(100)) != "{}" {
		t.Errorf("a percentage permits 20: %+v", got)
	}
}

func TestReconcile_ChangedSincePlan_IsNotRepaired(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	file := c.file("known.txt", id(1).String()+"\n")
	plan := c.path("plan.json")
	if got := c.reconcile("--with", "file:"+file, "--save-plan", plan); got.code != 3 {
		t.Fatalf("%+v", got)
	}
	if _, err := c.client.AllocationPatch(t.Context(), id(12), client.AllocationChanges{
		Allocations: map[uuid.UUID]map[string]*int64{id(2): {"VCPU": new(int64(3))}},
	}); err != nil {
		t.Fatal(err)
	}
	got := c.run("reconcile", "--plan", plan)
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "consumer "+id(12).String()+": it has changed since the plan was made") ||
		c.allocations(id(11)) != "{}" || c.allocations(id(12)) == "{}" {
		t.Errorf("%+v", got)
	}
	// The first change was made: the same plan goes on.
	got = c.run("reconcile", "--plan", plan, "--output", "csv")
	if want := "orphan,consumer " + id(11).String() + ",unneeded\n"; !strings.Contains(got.stdout, want) {
		t.Errorf("stdout = %q, want %q", got.stdout, want)
	}
}

func TestReconcile_FlagsInvalid_AreNamed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	existing := c.file("plan.json", "{}")
	for arguments, want := range map[string]string{
		"":                                      `with: "" (flag --with) is required`,
		"--with heat":                           `with: "heat" (flag --with) is no source`,
		"--with file:":                          `with: "file:" (flag --with) is no source`,
		"--with file:x --providers":             `providers: "true" (flag --providers) needs a source with all hosts`,
		"--with file:x --max 110%":              `max: "110%" (flag --max) is neither a number nor a percentage`,
		"--with file:x --finding lost":          `finding: "lost" (flag --finding) is no kind of finding`,
		"--with file:x --settle -1s":            `settle: "-1s" (flag --settle) is negative`,
		"--with file:x --undo-plan y":           `undo-plan: "y" (flag --undo-plan) has no effect without a plan`,
		"--with file:x --save-plan plan":        "",
		"--plan x --with nova":                  `with: "nova" (flag --with) has no effect with --plan`,
		"--plan missing":                        "no such file",
		"--plan " + existing:                    "berth_reconcile_plan is 0, this berth executes 1",
		"--with nova":                           `nova-url: "" (flag --nova-url) is required without --auth keystone`,
		"--with ironic":                         `ironic-url: "" (flag --ironic-url) is required without --auth keystone`,
		"--with nova --nova-url nova:8774":      `nova-url: "nova:8774" (flag --nova-url) is not an http or https URL`,
		"--with file:x --save-plan " + existing: "exists, and may be the plan of an earlier run",
	} {
		got := c.run(append([]string{"reconcile"}, strings.Fields(arguments)...)...)
		if want != "" && (got.code != frame.ExitUsage || !strings.Contains(got.stderr, want)) {
			t.Errorf("%q: %+v, want %q", arguments, got, want)
		}
	}
}

func TestReconcile_MetricsFile_HasFindings(t *testing.T) {
	t.Parallel()
	c := twoHosts(t)
	file, metrics := c.file("known.txt", id(11).String()+"\n"), c.path("berth.prom")
	read := func() string {
		text, err := os.ReadFile(metrics)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	c.reconcile("--with", "file:"+file, "--metrics-file", metrics)
	if text := read(); !strings.Contains(text, `berth_reconcile_findings{source="file",finding="orphan"} 1`) {
		t.Errorf("metrics:\n%s", text)
	}
	c.reconcile("--with", "file:"+file, "--metrics-file", metrics, "--repair", "--save-plan", c.path("plan.json"))
	for _, want := range []string{
		`berth_reconcile_findings{source="file",finding="orphan"} 0`, `berth_reconcile_repaired{source="file",finding="orphan"} 1`,
		`berth_reconcile_last_success_timestamp_seconds{source="file"} 1`,
	} {
		if text := read(); !strings.Contains(text, want) {
			t.Errorf("metrics have no %s:\n%s", want, text)
		}
	}
	written := read()
	if got := c.reconcile("--with", "file:"+c.path("missing.txt"), "--metrics-file", metrics); got.code != frame.ExitFailed || read() != written {
		t.Errorf("a failed run: %+v\n%s", got, read())
	}
}
