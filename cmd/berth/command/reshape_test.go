package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/cmd/berth/hostcommand"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

const (
	firstInstance  = "aaaaaaaa-0000-4000-8000-000000000001"
	secondInstance = "bbbbbbbb-0000-4000-8000-000000000002"
)

const gpuPlan = `root: compute-1
moves:
  - class: VGPU
    to:
      compute-1_gpu0: {total: 2}
      compute-1_gpu1: {total: 2}
    consumers:
      ` + firstInstance + `: {compute-1_gpu0: 1}
      ` + secondInstance + `: {compute-1_gpu0: 1, compute-1_gpu1: 1}
providers:
  compute-1_gpu0: {traits: [CUSTOM_A100]}
`

// gpuHosts is a database with two hosts with allocated VGPUs, and a server of the database.
type gpuHosts struct {
	t        *testing.T
	database string
	url      string
	client   *client.Client
	plan     string // path of the plan
}

func newGPUHosts(t *testing.T) *gpuHosts {
	t.Helper()
	db := dbtest.New(t)
	started := servertest.New(t, servertest.Options{DB: db, StandardNames: true})
	h := &gpuHosts{t: t, database: db.URL, url: started.Listen(t).URL, plan: filepath.Join(t.TempDir(), "plan.yaml")}
	var err error
	if h.client, err = client.New(h.url); err != nil {
		t.Fatal(err)
	}
	h.write(h.plan, gpuPlan)
	for n, instances := range map[int][]string{1: {firstInstance, secondInstance}, 2: {"cccccccc-0000-4000-8000-000000000003"}} {
		name := "compute-" + string(rune('0'+n))
		if _, err := h.client.ProviderCreate(t.Context(), name, treeID(n), uuid.Nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.client.InventoryReplace(t.Context(), treeID(n), 0, client.Inventories{"VCPU": {Total: 8}, "VGPU": {Total: 4}}); err != nil {
			t.Fatal(err)
		}
		for i, instance := range instances {
			record := &client.Consumer{ProjectID: "p", UserID: "u", Type: "INSTANCE",
				Allocations: map[uuid.UUID]client.Resources{treeID(n): {"VCPU": 2, "VGPU": int64(i + 1)}}}
			if err := h.client.AllocationReplace(t.Context(), uuid.MustParse(instance), record, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return h
}

func (h *gpuHosts) write(path, text string) {
	h.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// online runs the command with requests to the server.
func (h *gpuHosts) online(arguments ...string) ran {
	h.t.Helper()
	return runCommand(h.t, nil, append([]string{"reshape", "--url", h.url}, arguments...)...)
}

// offline runs the command on the database.
func (h *gpuHosts) offline(arguments ...string) ran {
	h.t.Helper()
	return runCommand(h.t, nil, append([]string{"reshape", "--offline", "--log-level=error", "--database-url", h.database}, arguments...)...)
}

// want compares the result of a command.
func (h *gpuHosts) want(got ran, code int, stdout, stderr string) {
	h.t.Helper()
	if got.code != code || got.stdout != stdout || got.stderr != stderr {
		h.t.Errorf("exit code %d, want %d\n%s\nwant\n%s\nstandard error\n%s\nwant\n%s", got.code, code, got.stdout, stdout, got.stderr, stderr)
	}
}

// text returns the tree of compute-1 as JSON without generations, which each write changes.
func (h *gpuHosts) text() string {
	h.t.Helper()
	got := runCommand(h.t, nil, "tree", "compute-1", "--output=json", "--url", h.url)
	if got.code != frame.ExitOK {
		h.t.Fatal(got.stderr)
	}
	return regexp.MustCompile(`"generation": \d+`).ReplaceAllString(got.stdout, "")
}

func TestReshape_PreviewApplyUndo_RestoresTree(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(*gpuHosts) func(...string) ran{
		"online":  func(h *gpuHosts) func(...string) ran { return h.online },
		"offline": func(h *gpuHosts) func(...string) ran { return h.offline },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newGPUHosts(t)
			reshape, before := run(h), h.text()
			shown := reshape(h.plan)
			if shown.code != frame.ExitOK || shown.stderr != "" || !strings.HasSuffix(shown.stdout, "No changes applied; to apply them, add --apply.\n") ||
				!strings.Contains(shown.stdout, "compute-1_gpu0") || h.text() != before {
				t.Fatalf("preview: exit code %d, %s\n%s", shown.code, shown.stderr, shown.stdout)
			}
			done := reshape(h.plan, "--apply", "--yes")
			undoPlan := strings.TrimSuffix(h.plan, ".yaml") + ".undo.yaml"
			if want := "compute-1: reshaped.\nTo undo: berth reshape " + undoPlan + "\n"; done.code != frame.ExitOK || !strings.HasSuffix(done.stdout, want) {
				t.Fatalf("exit code %d, %s\n%s", done.code, done.stderr, done.stdout)
			}
			if text := h.text(); !strings.Contains(text, "CUSTOM_A100") || strings.Count(text, `"VGPU"`) != 2 {
				t.Errorf("tree after the reshape:\n%s", text)
			}
			h.want(reshape(h.plan, "--apply", "--yes"), frame.ExitOK, "compute-1: no changes.\n", "")
			if undone := reshape(undoPlan, "--apply", "--yes"); undone.code != frame.ExitOK {
				t.Errorf("undo plan: %s", undone.stderr)
			}
			if text := h.text(); text != before {
				t.Errorf("tree after the undo plan:\n%s\nwant\n%s", text, before)
			}
		})
	}
}

func TestReshape_UndoPlanFileExists_NotOverwritten(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	stem := strings.TrimSuffix(h.plan, ".yaml") + ".undo"
	h.write(stem+".yaml", "precious")
	failed := h.online(h.plan, "--apply", "--yes", "--undo-plan", stem+".yaml")
	h.want(failed, frame.ExitUsage, "", "berth: undo-plan: \""+stem+".yaml\" (flag --undo-plan) exists, and may be the undo plan of an earlier run; name another file\n")
	if done := h.online(h.plan, "--apply", "--yes"); done.code != frame.ExitOK || !strings.Contains(done.stdout, stem+"-2.yaml\n") {
		t.Fatalf("exit code %d, %s", done.code, done.stderr)
	}
	if existing, err := os.ReadFile(stem + ".yaml"); err != nil || string(existing) != "precious" {
		t.Errorf("text of the existing file = %q, %v", existing, err)
	}
	if written, err := os.ReadFile(stem + "-2.yaml"); err != nil || !strings.HasPrefix(string(written), "# Undo plan of "+h.plan) {
		t.Errorf("text of the undo plan = %q, %v", written, err)
	}
}

func TestReshape_UndoPlanNotWritable_NothingChanged(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	before := h.text()
	failed := h.online(h.plan, "--apply", "--yes", "--undo-plan", filepath.Join(t.TempDir(), "no", "such", "directory.yaml"))
	if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, "cannot write the undo plan; no changes applied") || h.text() != before {
		t.Errorf("exit code %d, %s", failed.code, failed.stderr)
	}
}

func TestReshape_OneHostInvalid_NoHostChanged(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	before := h.text()
	h.write(h.plan, gpuPlan+"---\nroot: compute-2\nmoves: [{class: VGPU, to: {compute-2_gpu0: {total: 4}}}]\n")
	failed := h.offline(h.plan, "--apply", "--yes")
	for _, want := range []string{"consumer cccccccc-0000-4000-8000-000000000003 has 1 VGPU of compute-2, but the plan has no destination for them", "no changes applied: 1 of 2 failed"} {
		if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, want) {
			t.Errorf("exit code %d, %s", failed.code, failed.stderr)
		}
	}
	if h.text() != before {
		t.Error("the tree changed")
	}
	if shown := h.offline(h.plan); shown.code != frame.ExitFailed || !strings.Contains(shown.stdout, "compute-1_gpu0") || !strings.Contains(shown.stderr, "berth: 1 of 2 failed") {
		t.Errorf("preview: exit code %d, %s\n%s", shown.code, shown.stderr, shown.stdout)
	}
	if done := h.offline(h.plan, "--apply", "--yes", "--host", "compute-1"); done.code != frame.ExitOK || h.text() == before {
		t.Errorf("one host: exit code %d, %s", done.code, done.stderr)
	}
}

func TestReshape_FailsHalfway_PrintsUndoCommand(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	before := h.text()
	h.write(h.plan, strings.Replace(gpuPlan, "CUSTOM_A100", "NO_SUCH_TRAIT", 1))
	failed := h.online(h.plan, "--apply", "--yes")
	undoPlan := strings.TrimSuffix(h.plan, ".yaml") + ".undo.yaml"
	if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, "NO_SUCH_TRAIT") ||
		!strings.HasSuffix(failed.stdout, "If the server applied changes, undo them: berth reshape "+undoPlan+"\n") {
		t.Fatalf("exit code %d, %s\n%s", failed.code, failed.stderr, failed.stdout)
	}
	if undone := h.online(undoPlan, "--apply", "--yes"); undone.code != frame.ExitOK || h.text() != before {
		t.Errorf("undo plan: exit code %d, %s\n%s", undone.code, undone.stderr, h.text())
	}
	h.write(h.plan, gpuPlan)
	if done := h.online(h.plan, "--apply", "--yes"); done.code != frame.ExitOK {
		t.Errorf("apply after the undo: exit code %d, %s", done.code, done.stderr)
	}
}

func TestReshape_OutputJSON_IsOneDocument(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	run := func(arguments ...string) (document hostcommand.ReshapeDocument) {
		t.Helper()
		got := h.online(append(arguments, "--output=json", h.plan)...)
		if err := json.Unmarshal([]byte(got.stdout), &document); got.code != frame.ExitOK || err != nil {
			t.Fatalf("exit code %d, %v: %s", got.code, err, got.stderr)
		}
		return document
	}
	shown := run()
	if host := shown.Hosts[0]; host.Name != "compute-1" || host.UUID != treeID(1) || !host.Reshape || host.Applied ||
		len(host.Changes.Providers) != 3 || len(host.Changes.Moves) != 3 || shown.Inverse != nil {
		t.Errorf("preview: %+v", shown)
	}
	done := run("--apply", "--yes")
	if !done.Hosts[0].Applied || done.Inverse == nil || !strings.HasSuffix(*done.Inverse, ".undo.yaml") {
		t.Errorf("document after --apply = %+v", done)
	}
	if again := run("--apply", "--yes"); again.Hosts[0].Applied || again.Hosts[0].Reshape || again.Inverse != nil {
		t.Errorf("document after the second --apply = %+v", again)
	}
}

func TestReshape_OfflineFromLocalHardware_AppliesLayout(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	machine := filepath.Join("..", "..", "..", "agent", "host", "testdata", "machine-two-sockets.golden")
	flags := []string{"--layout=numa", "--hardware-file", machine, "--host", "compute-2", "--consumers=fit"}
	if done := h.offline(append(flags, "--apply", "--yes")...); done.code != frame.ExitOK || !strings.HasSuffix(done.stdout, "compute-2: reshaped.\n") {
		t.Fatalf("exit code %d, %s\n%s", done.code, done.stderr, done.stdout)
	}
	h.want(h.offline(flags...), frame.ExitOK, "compute-2: no changes.\n", "")
	record, err := h.client.AllocationList(t.Context(), uuid.MustParse("cccccccc-0000-4000-8000-000000000003"))
	if err != nil {
		t.Fatal(err)
	}
	if root := record.Allocations[treeID(2)]; len(record.Allocations) != 2 || root["VCPU"] != 0 || root["VGPU"] != 1 {
		t.Errorf("the reshape did not move the VCPUs: %v", record.Allocations)
	}
}

func TestReshape_OfflineWhileServerRuns_Rejected(t *testing.T) {
	t.Parallel()
	h, dataDir := newGPUHosts(t), privateDirectory(t)
	served := setupServe(t, "--data-dir", dataDir)
	failed := runCommand(t, nil, "reshape", "--offline", "--data-dir", dataDir, h.plan)
	if failed.code != frame.ExitFailed || !strings.Contains(failed.stderr, "stop that process") {
		t.Errorf("exit code %d, %s", failed.code, failed.stderr)
	}
	served.signals <- os.Interrupt
	<-served.exit
	empty := privateDirectory(t)
	nothing := runCommand(t, nil, "reshape", "--offline", "--data-dir", empty, h.plan)
	if _, err := os.Stat(empty); nothing.code != frame.ExitUsage || !strings.Contains(nothing.stderr, "contains no database") || !os.IsNotExist(err) {
		t.Errorf("exit code %d, %s; directory: %v", nothing.code, nothing.stderr, err)
	}
	missing := runCommand(t, nil, "reshape", "--offline", "--log-level=error", "--data-dir", dataDir, h.plan)
	h.want(missing, frame.ExitFailed, "", "berth: "+h.plan+": provider \"compute-1\" not found\n")
}

func TestReshape_InvalidPlanOrFlags_RejectedBeforeRequest(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	good, bad := filepath.Join(directory, "good.yaml"), filepath.Join(directory, "bad.yaml")
	for path, text := range map[string]string{good: gpuPlan, bad: "root: h\nmoves:\n  - class: VGPU\n    form: h\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		arguments []string
		stderr    string
	}{
		"no plan":               {nil, "plan: \"\" (argument) is missing; name a plan file, or use the hardware of this host with --layout or --agent-config"},
		"invalid plan":          {[]string{bad}, bad + ":4: \"form\" is not a key of a move; choose from class, as, from, keep, to, consumers"},
		"missing file":          {[]string{bad + ".x"}, "open " + bad + ".x: no such file or directory"},
		"plan and layout":       {[]string{good, "--layout=numa"}, "layout: \"numa\" (flag --layout) selects the hardware of this host and contradicts PLAN; omit one of them"},
		"no terminal":           {[]string{good, "--apply"}, "apply: \"true\" (flag --apply) requires a confirmation, but standard input is not a terminal; add --yes"},
		"--yes without --apply": {[]string{good, "--yes"}, "yes: \"true\" (flag --yes) has no effect without --apply; add --apply"},
		"unknown layout":        {[]string{"--layout=round"}, "layout: \"round\" (flag --layout) is not one of the choices; write flat or numa"},
		"unknown format":        {[]string{good, "-o", "xml"}, "output: \"xml\" (flag --output) is not one of the choices; write one of table, json, yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runCommand(t, []string{"BERTH_URL=http://127.0.0.1:1"}, append([]string{"reshape"}, test.arguments...)...)
			if got.code != frame.ExitUsage || got.stderr != "berth: "+test.stderr+"\n" || got.stdout != "" {
				t.Errorf("exit code %d, %s", got.code, got.stderr)
			}
		})
	}
}

func TestReshape_HostNotInPlan_Rejected(t *testing.T) {
	t.Parallel()
	h := newGPUHosts(t)
	h.want(h.online(h.plan, "--host", "compute-2"), frame.ExitUsage, "", "berth: host: \"compute-2\" (flag --host) is not a host of the plan; choose from compute-1\n")
	h.write(h.plan, "root: compute-1_child\nremove: [x]\n")
	if _, err := h.client.ProviderCreate(t.Context(), "compute-1_child", treeID(9), treeID(1)); err != nil {
		t.Fatal(err)
	}
	h.want(h.online(h.plan), frame.ExitFailed, "", "berth: compute-1_child is not a root provider: it belongs to the tree of "+treeID(1).String()+"; name the root\n")
}
