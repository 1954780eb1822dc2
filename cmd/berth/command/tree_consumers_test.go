package command

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/servertest"
)

// recordingProxy is a proxy that records the paths of requests. With older set, the service has no extensions.
type recordingProxy struct {
	url   string
	mutex sync.Mutex
	paths []string
}

func serveProxy(t *testing.T, target string, older bool) *recordingProxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &recordingProxy{}
	forward := httputil.NewSingleHostReverseProxy(to)
	p.url = servertest.Listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		p.paths = append(p.paths, r.URL.Path)
		p.mutex.Unlock()
		if version, _, _ := strings.Cut(r.Header.Get("OpenStack-API-Version"), ","); older {
			r.Header.Set("OpenStack-API-Version", version)
		}
		forward.ServeHTTP(w, r)
	})).URL
	return p
}

// count returns the number of requests whose path has a suffix.
func (p *recordingProxy) count(suffix string) (n int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, path := range p.paths {
		if strings.HasSuffix(path, suffix) {
			n++
		}
	}
	return n
}

// serveVolume is serveForest with a volume that uses only the sharing provider of compute-1.
func serveVolume(t *testing.T) *forestService {
	t.Helper()
	s := serveForest(t)
	err := s.client.AllocationReplace(t.Context(), treeID(101), &client.Consumer{
		ProjectID: "p", UserID: "u", Type: "VOLUME", Allocations: map[uuid.UUID]client.Resources{treeID(21): {"DISK_GB": 500}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	consumersOfTree = `
CONSUMER                              TYPE      PROJECT  USER  PROVIDER                    RESOURCES
c0ffee00-5ca1-4b1e-8000-000000000100  INSTANCE  p        u     compute-1_numa0             MEMORY_MB=180224 VCPU=88
                                                               compute-1_pci_0000:41:00.0  VGPU=3
`
	consumersOfTreeAndVolume = `
CONSUMER                              TYPE      PROJECT  USER  PROVIDER                    RESOURCES
c0ffee00-5ca1-4b1e-8000-000000000100  INSTANCE  p        u     compute-1_numa0             MEMORY_MB=180224 VCPU=88
                                                               compute-1_pci_0000:41:00.0  VGPU=3
c0ffee00-5ca1-4b1e-8000-000000000101  VOLUME    p        u     storage_pool                DISK_GB=500               sharing only
`
)

func TestCLI_TreeConsumers_ListedWithOneRequestPerTree(t *testing.T) {
	t.Parallel()
	s := serveVolume(t)
	newest := serveProxy(t, s.url, false)
	got := runCommand(t, nil, "tree", "--url", newest.url, "--no-uuids", "--consumers")
	if got.code != frame.ExitOK || got.stderr != "" || !strings.Contains(got.stdout, "HW_GPU_API_VULKAN\n"+consumersOfTreeAndVolume+"\ncompute-10") ||
		strings.Count(got.stdout, "No consumer uses this tree.") != 1 {
		t.Errorf("exit code %d, %s\n%s", got.code, got.stderr, got.stdout)
	}
	// One for the version, one for the list, and one for each of the three trees.
	if newest.count("/tree") != 3 || len(newest.paths) != 5 {
		t.Errorf("sent %q", newest.paths)
	}
	older := serveProxy(t, s.url, true)
	got = runCommand(t, nil, "tree", "compute-1", "--url", older.url, "--no-uuids", "--consumers")
	if got.code != frame.ExitOK || got.stderr != "" || !strings.HasSuffix(got.stdout, "HW_GPU_API_VULKAN\n"+consumersOfTree) {
		t.Errorf("older service: exit code %d, %s\n%s", got.code, got.stderr, got.stdout)
	}
	if older.count("/tree") != 0 || older.count("/allocations") != 3 {
		t.Errorf("sent %q to an older service", older.paths)
	}
}

func TestCLI_TreeConsumersJSON_MarksSharingOnly(t *testing.T) {
	t.Parallel()
	s := serveVolume(t)
	got := runCommand(t, nil, "tree", "--url", s.url, "--consumers", "--sharing", "--output", "json")
	var document struct {
		Trees []struct {
			Name      string
			Consumers *[]struct {
				UUID        uuid.UUID
				SharingOnly bool `json:"sharing_only"`
			}
		}
	}
	if err := json.Unmarshal([]byte(got.stdout), &document); err != nil || got.code != frame.ExitOK {
		t.Fatal(err, got.stderr)
	}
	var found []string
	for _, tree := range document.Trees {
		if tree.Consumers == nil {
			t.Fatalf("%s has no member consumers", tree.Name)
		}
		for _, consumer := range *tree.Consumers {
			text := tree.Name + " " + consumer.UUID.String()[33:]
			if consumer.SharingOnly {
				text += " sharing only"
			}
			found = append(found, text)
		}
	}
	if want := []string{"compute-1 100", "compute-1 101 sharing only", "storage 101"}; !slices.Equal(found, want) {
		t.Errorf("consumers = %q, want %q", found, want)
	}
	if plain := runCommand(t, nil, "tree", "--url", s.url, "--output", "json"); strings.Contains(plain.stdout, "consumers") {
		t.Error("the document without --consumers has consumers")
	}
}

func TestCLI_ListsOfOlderService_StatedOrListed(t *testing.T) {
	t.Parallel()
	s := serveForest(t)
	older, newest := serveProxy(t, s.url, true), serveProxy(t, s.url, false)
	for _, format := range []string{"table", "json"} {
		old := runCommand(t, nil, "provider", "list", "--url", older.url, "--output", format)
		paged := runCommand(t, nil, "provider", "list", "--url", newest.url, "--output", format)
		if old.code != frame.ExitOK || old != paged || old.stderr != "" {
			t.Errorf("the list of an older service is %+v, want %+v", old, paged)
		}
	}
	for line, want := range map[string]string{
		"provider list --prefix compute":      "berth: the service cannot list providers with --prefix, because it does not have berth 1.4: ",
		"provider list --limit 1":             "berth: the service cannot list providers with --limit, because it does not have berth 1.4: ",
		"provider list --sort -created_at":    "berth: the service cannot list providers with --sort -created_at, because it does not have berth 1.4: ",
		"aggregate list":                      "berth: the service lists only the aggregates of a PROVIDER, because it does not have berth 1.4: ",
		"consumer list":                       "berth: the service lists no consumers, because it does not have berth 1.4: ",
		"capacity":                            "berth: the service shows no capacities, because it does not have berth 1.4: ",
		"capacity fits --resources DISK_GB:1": "berth: the service shows no capacities, because it does not have berth 1.4: ",
	} {
		got := runCommand(t, nil, append(strings.Fields(line), "--url", older.url)...)
		if got.code != frame.ExitFailed || got.stdout != "" || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%s: exit code %d, %s%s", line, got.code, got.stdout, got.stderr)
		}
	}
	if got := runCommand(t, nil, "aggregate", "list", "compute-1", "--url", older.url); got.stdout != "AGGREGATE\n"+storageAggregate.String()+"\n" {
		t.Errorf("aggregates of a provider = %+v", got)
	}
}
