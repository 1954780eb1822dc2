//go:build client

package e2e

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/test/dbtest"
)

// killingProxy stands between a program and PostgreSQL. Each piece that the program
// sends is counted before it is passed on.
type killingProxy struct {
	// URL is where the program finds the database.
	URL    string
	pieces atomic.Int64
	// strike is told of each piece, and whether the connection ends there.
	strike atomic.Pointer[func(piece int64) (cut bool)]
}

func newWiretap(t *testing.T, database string) *killingProxy {
	t.Helper()
	target, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	query := target.Query()
	port := query.Get("port")
	if port == "" {
		port = "5432"
	}
	behind := filepath.Join(query.Get("host"), ".s.PGSQL."+port)
	// A socket's path must be short, and the test's own directory is not.
	directory, err := os.MkdirTemp("", "tap")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	listener, err := net.Listen("unix", filepath.Join(directory, ".s.PGSQL."+port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	query.Set("host", directory)
	target.RawQuery = query.Encode()
	tap := &killingProxy{URL: target.String()}
	go func() {
		for {
			program, err := listener.Accept()
			if err != nil {
				return
			}
			go tap.pass(program, behind)
		}
	}()
	return tap
}

func (w *killingProxy) pass(program net.Conn, behind string) {
	defer program.Close()
	database, err := net.Dial("unix", behind)
	if err != nil {
		return
	}
	defer database.Close()
	go func() {
		io.Copy(program, database)
		program.Close()
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := program.Read(buffer)
		if n > 0 {
			if strike := w.strike.Load(); strike != nil && (*strike)(w.pieces.Add(1)) {
				return
			}
			if _, err := database.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// TestReshape_OfflineKilledAtAnyStatement_NextRunCompletes kills the offline command at
// each piece that it sends to PostgreSQL in turn, with SIGKILL, and runs it again.
func TestReshape_OfflineKilledAtAnyStatement_NextRunCompletes(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	service := httptest.NewServer(handler(t, db.URL))
	t.Cleanup(service.Close)
	cloud, tap := connect(t, service.URL), newWiretap(t, db.URL)
	if killed := killOffline(t, cloud, tap, "host-uncut", 0); killed {
		t.Fatal("killed = true, want false")
	}
	pieces := tap.pieces.Load()
	if pieces < 40 {
		t.Fatalf("the command sent only %d pieces", pieces)
	}
	for piece := int64(1); piece <= pieces; piece += 2 {
		tap.pieces.Store(0)
		// How much goes in one piece may vary a little at the end.
		if !killOffline(t, cloud, tap, fmt.Sprintf("host-%d", piece), piece) && piece < pieces*9/10 {
			t.Errorf("the command was not killed at piece %d of %d", piece, pieces)
		}
	}
}

// killOffline makes a host with a claim, kills the command that moves it at a
// piece (0: never), and lets another run do it.
func killOffline(t *testing.T, cloud *client.Client, tap *killingProxy, name string, at int64) bool {
	t.Helper()
	plan, consumer := hostWithGPUs(t, cloud, name)
	// What leads back is written before anything is done, and never over another.
	args := []string{"reshape", plan, "--offline", "--apply", "--yes", "--log-level", "error", "--database-url", tap.URL}
	victim := berthCommand(t, args...)
	strike := func(piece int64) bool {
		if piece == at {
			victim.Process.Kill()
		}
		return piece == at
	}
	tap.strike.Store(&strike)
	printed, err := victim.CombinedOutput()
	tap.strike.Store(nil)
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && !exit.Exited()
	if err != nil && !killed {
		t.Fatalf("the command was not killed at piece %d, it failed: %v\n%s", at, err, printed)
	}
	berth(t, args...)
	want := client.Resources{"VGPU": 3, "DISK_GB": 10}
	if got := has(t, cloud, consumer); !maps.Equal(got, want) {
		t.Errorf("killed at piece %d: the consumer has %v instead of %v", at, got, want)
	}
	tree := shape(t, cloud, name)
	if _, stayed := tree[name]["VGPU"]; stayed || tree[name+"_gpu0"]["VGPU"] != 2 || tree[name+"_gpu1"]["VGPU"] != 1 {
		t.Errorf("killed at piece %d: the tree is %v", at, tree)
	}
	return killed
}

// hostWithGPUs makes a host whose VGPUs are in use, and a plan that gives them to
// its cards.
func hostWithGPUs(t *testing.T, cloud *client.Client, name string) (plan string, consumer uuid.UUID) {
	t.Helper()
	host, err := cloud.ProviderCreate(t.Context(), name, uuid.New(), uuid.Nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := cloud.InventoryReplace(t.Context(), host.UUID, 0, client.Inventories{"VGPU": {Total: 4}, "DISK_GB": {Total: 100}}); err != nil {
		t.Fatal(err)
	}
	consumer = uuid.New()
	err = cloud.AllocationReplace(t.Context(), consumer, &client.Consumer{
		Allocations: map[uuid.UUID]client.Resources{host.UUID: {"VGPU": 3, "DISK_GB": 10}},
		ProjectID:   "lab", UserID: "ada", Type: "INSTANCE",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`root: %[1]s
moves:
  - class: VGPU
    to: {%[1]s_gpu0: {total: 2}, %[1]s_gpu1: {total: 2}}
    consumers: {%[2]s: {%[1]s_gpu0: 2, %[1]s_gpu1: 1}}
providers:
  %[1]s_gpu0: {traits: [CUSTOM_A100]}
`, name, consumer)
	plan = filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return plan, consumer
}
