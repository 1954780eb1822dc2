//go:build client

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/client/baremetal"
	"github.com/berthd/berth/internal/test/dbtest"
)

// newPooler runs pgbouncer, which hands out so few connections by the transaction,
// and returns the address of the database through it.
func newPooler(t *testing.T, behind *node, connections int) string {
	t.Helper()
	dir, port := filepath.Join(behind.dir, "pooler"), freePort(t)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(`[databases]
berth = host=127.0.0.1 port=%d user=berth
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = %d
max_client_conn = 500
server_login_retry = 1
`, behind.port, port, connections)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	pooler := behind.command("/usr/sbin/pgbouncer", file)
	var log bytes.Buffer
	pooler.Stdout, pooler.Stderr = &log, &log
	if err := pooler.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pooler.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		_ = pooler.Wait()
		if t.Failed() {
			t.Logf("the log of pgbouncer:\n%s", tail(log.String(), 4000))
		}
	})
	url := fmt.Sprintf("postgres://berth@127.0.0.1:%d/berth?sslmode=disable", port)
	for since := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), url)
		if err == nil {
			conn.Close(t.Context())
			return url
		}
		if time.Since(since) > 10*time.Second {
			t.Fatalf("pgbouncer does not answer: %v\n%s", err, log.String())
		}
	}
}

// TestServer_PgBouncerTransactionMode_AllFeaturesWork: three connections to PostgreSQL for
// all that is done, so that two statements of one client hardly ever have the same.
func TestServer_PgBouncerTransactionMode_AllFeaturesWork(t *testing.T) {
	t.Parallel()
	primary := newPrimary(t)
	primary.exec("postgres", "ALTER DATABASE berth SET plan_cache_mode = force_generic_plan", "ALTER DATABASE berth SET jit = off",
		"ALTER DATABASE berth SET default_transaction_isolation = serializable")
	pooled := newPooler(t, primary, 3)
	server := serveOn(t, pooled, "--direct-database-url", primary.url(), "--db-pooler", "transaction", "--db-max-connections", "50")

	t.Run("commands and their answers", func(t *testing.T) { tourOfCommands(t, server.url) })
	t.Run("a reshape", func(t *testing.T) { reshapeOnce(t, server.url) })
	t.Run("lists with names in their filters", func(t *testing.T) {
		mustAsk(t, 200, "GET", server.url+"/resource_providers?required=CUSTOM_GOLD&resources=VCPU:1", nil)
	})
	t.Run("reads of berth 1.4", func(t *testing.T) { readAll(t, server.url) })
	t.Run("machines", func(t *testing.T) {
		provideNodes(t, bareMetalOf(t, server.url), 2)
		said := berth(t, "baremetal", "allocation", "create", "--url", server.url, "--name", "web", "--resource-class", "gold", "--wait")
		if !strings.Contains(said, "active") {
			t.Errorf("got %s", said)
		}
		// Another way to wait, in which the server listens past the pooler.
		service := bareMetalOf(t, server.url)
		given, err := service.NodeAllocationCreate(t.Context(), baremetal.NewAllocation{ResourceClass: "gold"})
		if err != nil {
			t.Fatal(err)
		}
		if given, err = service.WaitForAllocation(t.Context(), given.UUID.String(), nil); err != nil || given.NodeUUID == nil {
			t.Errorf("got %+v and %v", given, err)
		}
	})
	t.Run("claims at once", func(t *testing.T) { claimAtOnce(t, server.url, 50, 30) })
	t.Run("trees moved at once", func(t *testing.T) { // the audit finds wrong roots
		for round := range 10 {
			moveAtOnce(t, server.url, round)
		}
	})
	dbtest.Audit(t, &dbtest.DB{Pool: primary.pool("berth")})
	t.Run("a restart of PostgreSQL", func(t *testing.T) {
		primary.stop()
		var waiting sync.WaitGroup
		for range 4 { // the pooler lets them wait for the database
			waiting.Go(func() {
				if got := ask(t, "GET", server.url+"/resource_providers", nil); got.status != 200 {
					retryable(t, "a list without a database", got)
				}
			})
		}
		time.Sleep(200 * time.Millisecond)
		primary.start()
		waiting.Wait()
		awaitStatus(t, server.url+"/resource_providers", http.StatusOK)
		claimAtOnce(t, server.url, 5, 5)
	})
}

// moveAtOnce moves three roots below each other at once. One of them would close a cycle.
func moveAtOnce(t *testing.T, url string, round int) {
	t.Helper()
	var roots [3]uuid.UUID
	for i := range roots {
		roots[i] = newProvider(t, url, fmt.Sprintf("root %d of round %d", i, round), 1)
	}
	var moved atomic.Int64
	var all sync.WaitGroup
	for i := range roots {
		all.Go(func() {
			body := map[string]any{"name": fmt.Sprintf("root %d of round %d", i, round), "parent_provider_uuid": roots[(i+1)%3]}
			if got := ask(t, "PUT", url+"/resource_providers/"+roots[i].String(), body); got.status == 200 {
				moved.Add(1)
			}
		})
	}
	all.Wait()
	if moved.Load() != 2 {
		t.Errorf("%d of 3 roots were moved below each other, want 2", moved.Load())
	}
}

// readAll sends requests of berth 1.4: each route without parameters and with lists of values, of which the others are null.
func readAll(t *testing.T, url string) {
	t.Helper()
	const id = "5f0d2a1e-0001-4000-8000-000000000001"
	host := newProvider(t, url, "read", 8)
	send := func(method, path, body string) {
		header := []string{"X-Auth-Token", "admin", "X-Roles", "admin,service", "OpenStack-API-Version", "placement 1.39, berth 1.4"}
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			request.Header.Set(header[i], header[i+1])
		}
		if body != "" {
			request.Header.Set("Content-Type", "application/json")
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if text, err := io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
			t.Errorf("%s %s: got %d %s, error %v", method, path, response.StatusCode, text, err)
		}
	}
	for _, path := range []string{
		"/resource_providers?include=inventories,usages,traits,aggregates&total=true", "/resource_providers?q=re&limit=1&required=CUSTOM_GOLD",
		"/resource_providers/" + host.String() + "/tree?include=inventories,usages,traits,aggregates,sharing,consumers",
		"/consumers?total=true&include=allocations", "/consumers?uuid=in:" + id + "," + id + "&resource_class=in:VCPU,DISK_GB&q=5&total=true",
		"/consumers?in_tree=" + host.String() + "&created_after=2026-01-01T00:00:00Z&trait=CUSTOM_GOLD", "/consumers/" + id,
		"/aggregates", "/aggregates?uuid=in:" + id + "," + id + "&resource_provider=" + host.String(),
		"/capacity", "/capacity?resource_class=in:VCPU,MEMORY_MB&unit=VCPU:2&required=CUSTOM_GOLD&member_of=!" + id,
		"/capacity?group_by=tree&limit=1", "/capacity?group_by=aggregate&aggregate=" + id,
	} {
		send("GET", path, "")
	}
	const query = `"query": {"groups": {"": {"resources": {"VCPU": 1}}}}`
	send("POST", "/capacity", "{"+query+"}")
	send("POST", "/capacity", "{"+query+`, "changes": [{"like": "`+host.String()+`", "count": 2}, {"resource_class": "VCPU", "allocation_ratio": 2}]}`)
}

// tourOfCommands does a little of everything from the command line.
func tourOfCommands(t *testing.T, url string) {
	t.Helper()
	const consumer = "5f0d2a1e-0001-4000-8000-000000000001"
	for _, step := range [][]string{
		{"trait", "create", "CUSTOM_GOLD"},
		{"provider", "create", "compute-1"},
		{"provider", "create", "compute-1_numa0", "--parent", "compute-1"},
		{"inventory", "set", "compute-1", "--resource", "VCPU=16", "--resource", "VCPU:allocation_ratio=4", "--resource", "MEMORY_MB=4096"},
		{"inventory", "set", "compute-1", "--amend", "--resource", "VCPU:reserved=2"},
		{"provider", "trait", "set", "compute-1", "CUSTOM_GOLD"},
		{"candidate", "list", "--resources", "VCPU:2,MEMORY_MB:512", "--required", "CUSTOM_GOLD"},
		{"allocation", "claim", consumer, "--resources", "VCPU:2,MEMORY_MB:512", "--project", "demo", "--user", "alice", "--type", "INSTANCE"},
		{"allocation", "show", consumer},
		{"provider", "list"},
		{"tree", "compute-1"},
		{"usage", "show", "compute-1"},
		{"usage", "list", "--project", "demo"},
	} {
		said := berth(t, append(step, "--url", url)...)
		if strings.Join(step[:2], " ") == "candidate list" && !strings.Contains(said, "compute-1") {
			t.Errorf("compute-1 is no candidate:\n%s", said)
		}
	}
}

// reshapeOnce moves the inventory of a provider, and what a consumer has of it, to its
// child.
func reshapeOnce(t *testing.T, url string) {
	t.Helper()
	service := connect(t, url)
	root := newProvider(t, url, "reshaped", 8)
	consumer := uuid.New()
	mustAsk(t, 204, "PUT", url+"/allocations/"+consumer.String(), claimBody(root, nil))
	child, err := service.ProviderCreate(t.Context(), "reshaped_numa0", uuid.New(), root)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := service.ProviderShow(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	had, err := service.AllocationList(t.Context(), consumer)
	if err != nil {
		t.Fatal(err)
	}
	had.Allocations = map[uuid.UUID]client.Resources{child.UUID: {"VCPU": 1}}
	if err := service.Reshape(t.Context(), map[uuid.UUID]client.ProviderInventories{
		root: {Generation: shown.Generation}, child.UUID: {Inventories: client.Inventories{"VCPU": {Total: 8}}},
	}, client.Allocations{consumer: had}); err != nil {
		t.Fatal(err)
	}
	if got := mustAsk(t, 200, "GET", url+"/allocations/"+consumer.String(), nil); !strings.Contains(got.body, child.UUID.String()) {
		t.Errorf("the allocation did not move: %s", got.body)
	}
}

// claimAtOnce sends so many claims for one host at once, of which it has room for some.
func claimAtOnce(t *testing.T, url string, claims, room int) {
	t.Helper()
	host := newProvider(t, url, "contended-"+uuid.NewString(), room)
	var made, refused atomic.Int64
	var all sync.WaitGroup
	for range claims {
		all.Go(func() {
			switch got := ask(t, "PUT", url+"/allocations/"+uuid.NewString(), claimBody(host, nil)); got.status {
			case 204:
				made.Add(1)
			case 409:
				refused.Add(1)
			default:
				t.Errorf("got %d %s", got.status, got.body)
			}
		})
	}
	all.Wait()
	if int(made.Load()) != room || int(refused.Load()) != claims-room {
		t.Errorf("%d of %d claims were made and %d refused; there was room for %d", made.Load(), claims, refused.Load(), room)
	}
}
