package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/apicommand"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/draw"
	"github.com/berthd/berth/internal/test/servertest"
)

// forestService is a server with two hosts and a sharing provider for one of them. It counts its
// requests and the maximum of concurrent ones.
type forestService struct {
	url                     string
	client                  *client.Client
	requests, maxConcurrent atomic.Int64
}

func treeID(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("c0ffee00-5ca1-4b1e-8000-%012d", n))
}

var storageAggregate = uuid.MustParse("5b1e0001-0000-4000-8000-00000000a001")

func serveForest(t *testing.T) *forestService {
	t.Helper()
	handler := servertest.New(t, servertest.Options{StandardNames: true}).Handler
	served := &forestService{}
	var now atomic.Int64
	listening := servertest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.requests.Add(1)
		running := now.Add(1)
		defer now.Add(-1)
		for maximum := served.maxConcurrent.Load(); running > maximum && !served.maxConcurrent.CompareAndSwap(maximum, running); {
			maximum = served.maxConcurrent.Load()
		}
		handler.ServeHTTP(w, r)
	}))
	served.url = listening.URL
	var err error
	if served.client, err = client.New(listening.URL); err != nil {
		t.Fatal(err)
	}
	served.createTrees(t)
	return served
}

func (s *forestService) createTrees(t *testing.T) {
	t.Helper()
	s.provider(t, 1, "compute-1", 0, client.Inventories{"DISK_GB": {Total: 1800, Reserved: new(int32(50))}}, "COMPUTE_NODE", "HW_CPU_X86_AVX2")
	s.provider(t, 2, "compute-1_numa0", 1, client.Inventories{
		"VCPU": {Total: 32, Reserved: new(int32(2)), AllocationRatio: new(4.0)}, "MEMORY_MB": {Total: 262144},
	}, "HW_NUMA_ROOT")
	s.provider(t, 3, "compute-1_pci_0000:41:00.0", 2, client.Inventories{"VGPU": {Total: 16}}, "HW_GPU_API_VULKAN")
	s.provider(t, 10, "compute-10\x1b[2J", 0, nil)
	s.provider(t, 20, "storage", 0, nil)
	s.provider(t, 21, "storage_pool", 20, client.Inventories{"DISK_GB": {Total: 5000}}, "MISC_SHARES_VIA_AGGREGATE")
	for _, n := range []int{1, 21} {
		provider, err := s.client.ProviderShow(t.Context(), treeID(n))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.client.ProviderAggregateReplace(t.Context(), treeID(n), provider.Generation, []uuid.UUID{storageAggregate}); err != nil {
			t.Fatal(err)
		}
	}
	err := s.client.AllocationReplace(t.Context(), treeID(100), &client.Consumer{
		ProjectID: "p", UserID: "u", Type: "INSTANCE",
		Allocations: map[uuid.UUID]client.Resources{treeID(2): {"VCPU": 88, "MEMORY_MB": 180224}, treeID(3): {"VGPU": 3}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

func (s *forestService) provider(t *testing.T, n int, name string, parent int, inventories client.Inventories, traits ...string) {
	t.Helper()
	parentID := uuid.Nil
	if parent != 0 {
		parentID = treeID(parent)
	}
	created, err := s.client.ProviderCreate(t.Context(), name, treeID(n), parentID)
	if err != nil {
		t.Fatal(err)
	}
	_, generation, err := s.client.InventoryReplace(t.Context(), created.UUID, created.Generation, inventories)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.client.ProviderTraitReplace(t.Context(), created.UUID, generation, traits); err != nil {
		t.Fatal(err)
	}
}

func TestCLI_TreeOfHost_Printed(t *testing.T) {
	t.Parallel()
	s := serveForest(t)
	const drawing = `compute-1                         gen 3   c0ffee00-5ca1-4b1e-8000-000000000001
│  DISK_GB       ░░░░░░░░       0/1750    (0/1.71 TiB), reserved 50
│  traits  COMPUTE_NODE HW_CPU_X86_AVX2
│  aggregates  5b1e0001…
└─ compute-1_numa0                gen 3   c0ffee00-5ca1-4b1e-8000-000000000002
   │  MEMORY_MB  ▇▇▇▇▇▇░░  180224/262144  (176/256 GiB)
   │  VCPU       ▇▇▇▇▇▇░░      88/120     total 32, reserved 2, ratio 4.0
   │  traits  HW_NUMA_ROOT
   └─ compute-1_pci_0000:41:00.0  gen 3   c0ffee00-5ca1-4b1e-8000-000000000003
         VGPU    ▇▇░░░░░░       3/16
         traits  HW_GPU_API_VULKAN
`
	for _, host := range []string{"compute-1", "compute-1_pci_0000:41:00.0", treeID(2).String()} {
		got := runCommand(t, nil, "tree", host, "--url", s.url)
		if got.code != frame.ExitOK || got.stdout != drawing || got.stderr != "" {
			t.Errorf("%s: exit code %d, %s\n%s", host, got.code, got.stderr, got.stdout)
		}
	}
	plain := runCommand(t, nil, "tree", "compute-1", "--url", s.url, "--ascii", "--no-usages", "--no-uuids")
	if strings.ContainsAny(plain.stdout, "│▇…") || strings.Contains(plain.stdout, "c0ffee") || !strings.Contains(plain.stdout, "32  reserved 2, ratio 4.0") {
		t.Errorf("without usages and uuids, in ASCII:\n%s", plain.stdout)
	}
	if colored := runCommand(t, []string{"CLICOLOR_FORCE=1"}, "tree", "compute-1", "--url", s.url); !strings.HasPrefix(colored.stdout, "\x1b[1mcompute-1\x1b[0m") {
		t.Errorf("with colors: %q", colored.stdout)
	}
}

// roots returns the names of the root providers in a drawing.
func roots(text string) (names []string) {
	for _, row := range strings.Split(text, "\n") {
		if row != "" && row[0] < 0x80 && row[0] != ' ' {
			names = append(names, strings.Fields(row)[0])
		}
	}
	return names
}

func TestCLI_TreeFilters_SelectTrees(t *testing.T) {
	t.Parallel()
	s := serveForest(t)
	for name, test := range map[string]struct {
		arguments []string
		want      []string
		stderr    string
	}{
		"all":               {nil, []string{"compute-1", `compute-10\x1b[2J`, "storage"}, ""},
		"limit":             {[]string{"--limit=2"}, []string{"compute-1", `compute-10\x1b[2J`}, "berth: showing 2 of 3 trees\n"},
		"trait":             {[]string{"--trait=HW_NUMA_ROOT"}, []string{"compute-1"}, ""},
		"any of two traits": {[]string{"--trait=in:HW_NUMA_ROOT,MISC_SHARES_VIA_AGGREGATE"}, []string{"compute-1", "storage"}, ""},
		"aggregate":         {[]string{"--aggregate=" + storageAggregate.String()}, []string{"compute-1", "storage"}, ""},
		"aggregate and trait of different providers": {[]string{"--aggregate=" + storageAggregate.String(), "--trait=HW_NUMA_ROOT"}, nil, "berth: no trees found\n"},
		"sharing provider of another tree":           {[]string{"compute-1", "--sharing"}, []string{"compute-1", "storage_pool"}, ""},
		"sharing provider in a drawn tree":           {[]string{"--sharing"}, []string{"compute-1", `compute-10\x1b[2J`, "storage"}, ""},
	} {
		got := runCommand(t, nil, append([]string{"tree", "--url", s.url}, test.arguments...)...)
		if got.code != frame.ExitOK || fmt.Sprint(roots(got.stdout)) != fmt.Sprint(test.want) || got.stderr != test.stderr {
			t.Errorf("%s: exit code %d, %q, trees %q\n%s", name, got.code, got.stderr, roots(got.stdout), got.stdout)
		}
	}
	if maximum := s.maxConcurrent.Load(); maximum > apicommand.MaxConcurrentReads {
		t.Errorf("concurrent requests = %d, want at most %d", maximum, apicommand.MaxConcurrentReads)
	}
}

func TestCLI_TreeOutputFormats_Printed(t *testing.T) {
	t.Parallel()
	s := serveForest(t)
	for format, begin := range map[string]string{"json": "{\n  \"trees\": [", "dot": "digraph providers {", "svg": "<svg xmlns="} {
		got := runCommand(t, nil, "tree", "--url", s.url, "--output", format)
		if got.code != frame.ExitOK || !strings.HasPrefix(got.stdout, begin) || strings.Contains(got.stdout, "\x1b") {
			t.Errorf("%s: exit code %d, %s\n%s", format, got.code, got.stderr, got.stdout)
		}
	}
	var document struct {
		Trees []struct {
			Name     string
			Children []struct {
				Inventories map[string]struct{ Capacity, Used int64 }
			}
		}
	}
	got := runCommand(t, nil, "tree", "compute-1", "--url", s.url, "--output=json")
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil {
		t.Fatal(err)
	}
	if vcpu := document.Trees[0].Children[0].Inventories["VCPU"]; vcpu.Capacity != 120 || vcpu.Used != 88 {
		t.Errorf("document = %+v", document)
	}
}

func TestCLI_TreeInvalidRequest_Explained(t *testing.T) {
	t.Parallel()
	s := serveForest(t)
	for name, test := range map[string]struct {
		arguments []string
		code      int
		stderr    []string
	}{
		"an unknown host":         {[]string{"compute-2"}, frame.ExitFailed, []string{`provider "compute-2" not found`, "compute-1"}},
		"an unknown uuid":         {[]string{treeID(77).String()}, frame.ExitFailed, []string{"not found", treeID(77).String()}},
		"an unknown trait":        {[]string{"--trait=HW_NUMA"}, frame.ExitFailed, []string{"HW_NUMA"}},
		"an unknown format":       {[]string{"--output=table"}, frame.ExitUsage, []string{`output: "table" (flag --output) is not one of the choices; write text, json, dot or svg`}},
		"an unknown color":        {[]string{"--color=red"}, frame.ExitUsage, []string{"write auto, always or never"}},
		"a negative limit":        {[]string{"--limit=-1"}, frame.ExitUsage, []string{"or 0 for no limit"}},
		"a host and a filter":     {[]string{"compute-1", "--trait=HW_NUMA_ROOT"}, frame.ExitUsage, []string{"conflicts with HOST"}},
		"a host and an aggregate": {[]string{"compute-1", "--aggregate=x"}, frame.ExitUsage, []string{"conflicts with HOST"}},
		"not a server of the API": {[]string{"--url=" + s.url + "/nowhere"}, frame.ExitFailed, []string{"berth: "}},
	} {
		got := runCommand(t, nil, append([]string{"tree", "--url", s.url}, test.arguments...)...)
		if got.code != test.code || got.stdout != "" {
			t.Errorf("%s: exit code %d, printed %q", name, got.code, got.stdout)
		}
		for _, part := range test.stderr {
			if !strings.Contains(got.stderr, part) {
				t.Errorf("%s: standard error lacks %q:\n%s", name, part, got.stderr)
			}
		}
	}
}

func TestCLI_TreeProviderDeletedDuringRead_Omitted(t *testing.T) {
	t.Parallel()
	s := serveForest(t)
	reader := &apicommand.TreeReader{Service: s.client, Usages: true, Slots: make(chan struct{}, apicommand.MaxConcurrentReads), Progress: &apicommand.Progress{}}
	trees, err := reader.Choose(t.Context(), &apicommand.TreeOptions{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.client.ProviderDelete(t.Context(), treeID(10)); err != nil {
		t.Fatal(err)
	}
	tree, err := reader.Tree(t.Context(), trees[1])
	if err != nil || len(tree.Nodes) != 0 {
		t.Errorf("tree = %+v, %v; want no nodes", tree, err)
	}
}

func TestCLI_TreeHelp_ShowsGeneratedExample(t *testing.T) {
	t.Parallel()
	forest := draw.Forest{
		Nodes: []client.Node{
			{UUID: treeID(1), Name: "compute-17", Generation: new(int64(7)), Traits: []string{"COMPUTE_NODE", "HW_CPU_X86_AVX2"},
				Inventories: client.Inventories{"DISK_GB": {Total: 1800, Reserved: new(int32(50))}},
				Aggregates:  []uuid.UUID{storageAggregate}},
			{UUID: treeID(2), Name: "compute-17_numa0", Parent: treeID(1), Generation: new(int64(4)),
				Inventories: client.Inventories{"PCPU": {Total: 16}, "VCPU": {Total: 32, Reserved: new(int32(2)), AllocationRatio: new(4.0)}}},
		},
		Usages: map[uuid.UUID]client.Resources{treeID(1): {"DISK_GB": 640}, treeID(2): {"PCPU": 16, "VCPU": 88}},
	}
	var drawing strings.Builder
	if err := draw.Text(&drawing, forest, draw.Style{Usages: true, UUIDs: true}); err != nil {
		t.Fatal(err)
	}
	indented := "  " + strings.ReplaceAll(strings.TrimSpace(drawing.String()), "\n", "\n  ")
	if help := runCommand(t, nil, "tree", "--help").stdout; !strings.Contains(help, indented+"\n\n") {
		t.Errorf("the help lacks\n%s", indented)
	}
}
