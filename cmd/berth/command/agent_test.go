package command

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent/host"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

// agentBundle is a server and the recorded hardware of a machine with two NUMA nodes.
type agentBundle struct {
	t       *testing.T
	db      *dbtest.DB
	url     string
	writes  atomic.Int64
	machine string
	// root is a file system with a machine ID, which the machine that runs the tests may lack.
	root   string
	client *client.Client
}

func setupAgent(t *testing.T) *agentBundle {
	t.Helper()
	b := &agentBundle{t: t, db: dbtest.New(t), machine: filepath.Join(t.TempDir(), "machine.json")}
	service := servertest.New(t, servertest.Options{DB: b.db, StandardNames: true}).Handler
	b.url = servertest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			b.writes.Add(1)
		}
		service.ServeHTTP(w, r)
	})).URL
	var err error
	b.client, err = client.New(b.url)
	b.must(err)

	machine := host.Machine{Architecture: "x86_64", MemoryMB: 16384}
	for cpu := range 8 {
		machine.CPUs = append(machine.CPUs, host.CPU{ID: cpu, Core: cpu, Node: cpu / 4, Siblings: []int{cpu}})
	}
	machine.Nodes = []host.Node{{ID: 0, CPUs: []int{0, 1, 2, 3}, MemoryMB: 8192}, {ID: 1, CPUs: []int{4, 5, 6, 7}, MemoryMB: 8192}}
	recorded, err := json.Marshal(machine)
	b.must(err)
	b.must(os.WriteFile(b.machine, recorded, 0o644))
	b.root = t.TempDir()
	b.must(os.Mkdir(filepath.Join(b.root, "etc"), 0o755))
	b.must(os.WriteFile(filepath.Join(b.root, "etc", "machine-id"), []byte("3d1219c7c4c5404aaa1f6d2a48adfda4\n"), 0o644))
	return b
}

func (b *agentBundle) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// arguments returns the arguments of `berth agent` for the recorded machine.
func (b *agentBundle) arguments(more ...string) []string {
	return append([]string{"agent", "--url", b.url, "--hardware-file", b.machine, "--name", "cn1", "--root", b.root}, more...)
}

func (b *agentBundle) agent(more ...string) ran {
	b.t.Helper()
	return runCommand(b.t, nil, b.arguments(more...)...)
}

// reconcile runs one reconciliation that must succeed, and returns the number of writes.
func (b *agentBundle) reconcile(more ...string) int64 {
	b.t.Helper()
	before := b.writes.Load()
	if got := b.agent(append(more, "--once")...); got.code != frame.ExitOK || got.stdout != "" {
		b.t.Fatalf("exit code %d, %q: %s", got.code, got.stdout, got.stderr)
	}
	return b.writes.Load() - before
}

// providers returns the sorted names of all providers, and their UUIDs by name.
func (b *agentBundle) providers() ([]string, map[string]uuid.UUID) {
	b.t.Helper()
	listed, err := b.client.ProviderList(b.t.Context(), client.ProviderFilter{})
	b.must(err)
	byName, names := map[string]uuid.UUID{}, []string{}
	for _, provider := range listed {
		byName[provider.Name] = provider.UUID
		names = append(names, provider.Name)
	}
	slices.Sort(names)
	return names, byName
}

// claim creates allocations of a new consumer on the host, and a file that assigns them to NUMA
// node 1.
func (b *agentBundle) claim() (consumer uuid.UUID, file string) {
	b.t.Helper()
	_, byName := b.providers()
	consumer = uuid.New()
	b.must(b.client.AllocationReplace(b.t.Context(), consumer, &client.Consumer{
		Allocations: map[uuid.UUID]client.Resources{byName["cn1"]: {"VCPU": 2, "MEMORY_MB": 1024}},
		ProjectID:   "p", UserID: "u", Type: "INSTANCE",
	}, nil))
	file = filepath.Join(b.t.TempDir(), "consumers.json")
	b.must(os.WriteFile(file, []byte(`{"`+consumer.String()+`": [{"device": "numa:1", "resources": {"VCPU": 2, "MEMORY_MB": 1024}}]}`), 0o644))
	return consumer, file
}

func TestAgent_Once_ReportsAndReshapesHost(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	if b.reconcile() == 0 {
		t.Error("the agent sent no writes for a new host")
	}
	if names, _ := b.providers(); !slices.Equal(names, []string{"cn1"}) {
		t.Errorf("providers = %q", names)
	}
	if writes := b.reconcile(); writes != 0 {
		t.Errorf("writes of the second reconciliation = %d, want 0", writes)
	}
	consumer, file := b.claim()
	unknown := b.agent("--once", "--layout=numa")
	if unknown.code != frame.ExitFailed || !strings.Contains(unknown.stderr, consumer.String()) {
		t.Errorf("unknown consumer: exit code %d, %s", unknown.code, unknown.stderr)
	}
	b.reconcile("--layout=numa", "--consumers=cgroup", "--consumers", "file:"+file)
	names, byName := b.providers()
	if !slices.Equal(names, []string{"cn1", "cn1_NUMA0", "cn1_NUMA1"}) {
		t.Fatalf("providers = %q", names)
	}
	record, err := b.client.AllocationList(t.Context(), consumer)
	b.must(err)
	if got := record.Allocations[byName["cn1_NUMA1"]]; len(record.Allocations) != 1 || got["VCPU"] != 2 || got["MEMORY_MB"] != 1024 {
		t.Errorf("allocations of the consumer = %v", record.Allocations)
	}
	if writes := b.reconcile("--layout=numa"); writes != 0 {
		t.Errorf("writes after the reshape = %d, want 0", writes)
	}
}

func TestAgent_DryRun_ChangesNothing(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	unchanged := func(more ...string) ran {
		t.Helper()
		before, writes := dbtest.Snapshot(t, b.db), b.writes.Load()
		got := b.agent(append(more, "--dry-run")...)
		if got.code != frame.ExitOK || got.stderr != "" && !strings.Contains(got.stderr, "the driver has to move inventory") {
			t.Errorf("exit code %d: %s", got.code, got.stderr)
		}
		if b.writes.Load() != writes {
			t.Error("the dry run sent a write")
		}
		if changes := before.Diff(dbtest.Snapshot(t, b.db)); changes != nil {
			t.Errorf("the database changed: %q", changes)
		}
		return got
	}
	wantTexts := func(text string, texts ...string) {
		t.Helper()
		for _, want := range texts {
			if !strings.Contains(text, want) {
				t.Errorf("output lacks %q:\n%s", want, text)
			}
		}
	}
	wantTexts(unchanged("--layout=numa").stdout, "Provider tree to report:", "cn1_NUMA1", "Difference from the server's tree:")
	b.reconcile()
	wantTexts(unchanged().stdout, "no changes are needed")
	consumer, file := b.claim()
	reshape := unchanged("--layout=numa", "--consumers", "file:"+file)
	wantTexts(reshape.stdout, "requires a reshape", "cn1_NUMA1", consumer.String())

	var document struct {
		Trees      []struct{ Name string }
		Difference struct {
			Moves []struct {
				Consumer uuid.UUID `json:"consumer_uuid"`
			}
		}
		Reshape bool
	}
	b.must(json.Unmarshal([]byte(unchanged("--layout=numa", "--consumers=fit", "--output=json").stdout), &document))
	if !document.Reshape || len(document.Trees) != 1 || len(document.Difference.Moves) != 2 || document.Difference.Moves[0].Consumer != consumer {
		t.Errorf("document = %+v", document)
	}
}

// TestAgent_DryRunWithCloudsYAML_UsesItsCertificateSettings checks that a dry run connects as a normal
// run does, with the certificate settings of the cloud.
func TestAgent_DryRunWithCloudsYAML_UsesItsCertificateSettings(t *testing.T) {
	t.Parallel()
	keystone := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the password is wrong", http.StatusUnauthorized)
	}))
	t.Cleanup(keystone.Close)
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	content := "clouds:\n  here:\n    auth: {auth_url: \"" + keystone.URL + "/v3\", username: a, password: s, project_id: p, user_domain_name: Default}\n    verify: false\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"OS_CLOUD=here", "OS_CLIENT_CONFIG_FILE=" + file}
	got := runCommand(t, environ, "agent", "--dry-run", "--url", keystone.URL, "--name", "cn1", "--uuid", uuid.NewString())
	if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "the password is wrong") || strings.Contains(got.stderr, "certificate") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}

func TestAgent_EnvironmentVariables_AppliedAndUnknownWarned(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	file := filepath.Join(t.TempDir(), "none.json")
	environ := []string{
		"BERTH_URL=" + b.url, "BERTH_AGENT_HARDWARE_FILE=" + b.machine, "BERTH_AGENT_NAME=cn7", "BERTH_AGENT_LAYOUT=numa", "BERTH_AGENT_ONCE=true",
		"BERTH_AGENT_ROOT=" + b.root,
		"BERTH_AGENT_CONSUMERS=cgroup, file:" + file + ",fit", "BERTH_LOG_LEVEL=error", "BERTH_AGENT_LAYUOT=flat",
	}
	got := runCommand(t, environ, "agent")
	if want := "berth: warning: ignoring the unknown environment variable BERTH_AGENT_LAYUOT; the nearest name is BERTH_AGENT_LAYOUT\n"; got.code != frame.ExitOK || got.stderr != want {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	if names, _ := b.providers(); !slices.Equal(names, []string{"cn7", "cn7_NUMA0", "cn7_NUMA1"}) {
		t.Errorf("providers = %q", names)
	}
}

func TestAgent_InvalidSettings_RejectedBeforeStart(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	empty := t.TempDir()
	config := filepath.Join(empty, "agent.yaml")
	b.must(os.WriteFile(config, []byte("layuot: numa\n"), 0o644))
	nothing := filepath.Join(empty, "machine.json")
	b.must(os.WriteFile(nothing, []byte("{}\n"), 0o644))
	hardware := func(name, content string) string {
		path := filepath.Join(empty, name)
		b.must(os.WriteFile(path, []byte(content), 0o644))
		return path
	}
	recorded, err := os.ReadFile(b.machine)
	b.must(err)
	for name, test := range map[string]struct {
		arguments []string
		code      int
		stderr    string
	}{
		"another case":      {[]string{"--hardware-file", hardware("case.json", `{"CPUS": [], `+strings.TrimPrefix(string(recorded), "{"))}, frame.ExitUsage, `unknown field "CPUS"`},
		"a member twice":    {[]string{"--hardware-file", hardware("twice.json", `{"cpus": [], `+strings.TrimPrefix(string(recorded), "{"))}, frame.ExitUsage, `the member "cpus" appears twice`},
		"two documents":     {[]string{"--hardware-file", hardware("two.json", string(recorded)+"{}")}, frame.ExitUsage, "after top-level value"},
		"several":           {[]string{"--interval=1ms", "--consumers=guess"}, frame.ExitUsage, "2 settings are invalid"},
		"a uuid":            {[]string{"--uuid=x"}, frame.ExitUsage, "is not a UUID of a provider"},
		"a layout":          {[]string{"--layout=round"}, frame.ExitUsage, "write flat or numa"},
		"an address":        {[]string{"--metrics-listen=x"}, frame.ExitUsage, "is not an address with a port"},
		"a pattern":         {[]string{"--consumers=cgroup:x"}, frame.ExitUsage, "has no {uuid}"},
		"no hardware":       {[]string{"--hardware-file", config}, frame.ExitUsage, "contains no recorded hardware"},
		"empty hardware":    {[]string{"--hardware-file", nothing}, frame.ExitUsage, "it has no CPUs"},
		"the configuration": {[]string{"--config", config}, frame.ExitUsage, `unknown setting "layuot"`},
		"no machine ID":     {[]string{"--root", empty}, frame.ExitUsage, "set --uuid permanently"},
		"a name in use":     {[]string{"--once", "--uuid", uuid.NewString()}, frame.ExitFailed, "cn1"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a name in use" {
				b.reconcile()
			}
			if got := b.agent(test.arguments...); got.code != test.code || !strings.Contains(got.stderr, test.stderr) {
				t.Errorf("exit code %d: %s", got.code, got.stderr)
			}
		})
	}
}

func TestAgent_HardwareCommand_PrintsDiscoveredHost(t *testing.T) {
	t.Parallel()
	var machine host.Machine
	got := runCommand(t, nil, "agent", "hardware", "--output=json")
	if err := json.Unmarshal([]byte(got.stdout), &machine); got.code != frame.ExitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s", got.code, err, got.stderr)
	}
	if len(machine.CPUs) == 0 && machine.Sees(host.PartCPUs) {
		t.Error("the document lists neither CPUs nor missing CPUs")
	}
	empty := runCommand(t, nil, "agent", "hardware", "--root", t.TempDir())
	if empty.code != frame.ExitOK || !strings.Contains(empty.stdout, "MISSING") {
		t.Errorf("empty file system: exit code %d, %s", empty.code, empty.stdout)
	}
}
