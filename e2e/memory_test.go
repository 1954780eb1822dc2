//go:build client && linux

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
)

// memoryFull measures with the sizes and the aims of docs/performance.md, on a machine
// that has nothing else to do. Without it bodies and times are shorter, and the aims
// have a margin for other kernels and file systems.
var memoryFull = flag.Bool("memory.full", false, "measure memory with bodies of 16 MiB and without a margin")

const (
	mebibyte     = 1 << 20
	memoryMargin = 16 * mebibyte
)

// TestLimits_HostileAndLargeBodies_MemoryStaysBounded holds the peak memory of the
// server's process to the aims, each on a fresh server.
func TestLimits_HostileAndLargeBodies_MemoryStaysBounded(t *testing.T) {
	providers, load := 20_000, 3*time.Second
	if *memoryFull {
		providers, load = 220_000, 30*time.Second
	}
	database := dbtest.New(t)
	makeProviders(t, database.URL, providers)
	large := largeBodies(providers)
	for _, test := range []struct {
		name  string
		above bool // the aim is above what the server holds when it is idle
		aim   int64
		limit string // of the data segment, in KiB
		work  func(t *testing.T, m *measuredServer)
	}{
		{"idle", false, 45, "", func(*testing.T, *measuredServer) { time.Sleep(2 * time.Second) }},
		{"mixed load", false, 100, "", func(t *testing.T, m *measuredServer) { m.mixedLoad(t, load) }},
		{"every microversion", false, 100, "", func(t *testing.T, m *measuredServer) { m.everyVersion(t) }},
		{"50 hostile bodies of 1 MiB", true, 64, "", func(t *testing.T, m *measuredServer) { m.parallel(t, 50, hostileBodies(mebibyte-1)) }},
		{"one large body", true, 256, "", func(t *testing.T, m *measuredServer) { m.one(t, large[0]) }},
		{"24 large bodies", true, 256, "", func(t *testing.T, m *measuredServer) { m.parallel(t, 24, large) }},
		{"24 large bodies, ulimit -d of 512 MB", true, 256, "524288", func(t *testing.T, m *measuredServer) {
			m.one(t, large[0])
			m.parallel(t, 24, large)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startMeasured(t, database.URL, test.limit)
			idle := m.peak(t)
			test.work(t, m)
			peak, aim := m.peak(t), test.aim*mebibyte
			if !*memoryFull {
				aim += memoryMargin
			}
			if test.above {
				t.Logf("peak %d MiB, %d above idle; aim %d above idle", peak>>20, (peak-idle)>>20, test.aim)
				peak -= idle
			} else {
				t.Logf("peak %d MiB; aim %d", peak>>20, test.aim)
			}
			if peak > aim {
				t.Errorf("peak = %d KiB, want at most %d", peak>>10, aim>>10)
			}
			if status := m.send(t, memoryRequest{http.MethodGet, "/resource_providers?name=none", nil}); status != http.StatusOK {
				t.Errorf("afterwards: status = %d, want 200", status)
			}
		})
	}
}

// memoryRequest is a request with its body.
type memoryRequest struct {
	method, path string
	body         []byte
}

// measuredServer is a `berth serve` whose memory is read.
type measuredServer struct {
	url string
	pid int
}

// startMeasured runs `berth serve`, with a limit on its data segment where one is given.
func startMeasured(t *testing.T, database, limit string) *measuredServer {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"serve", "--listen", "127.0.0.1:0", "--database-url", database, "--access-log=false", "--log-level", "warn",
		"--request-timeout", "10m"} // what PostgreSQL takes for 220,000 allocations is not measured
	command := exec.Command(program, arguments...)
	if limit != "" {
		command = exec.Command("sh", append([]string{"-c", "ulimit -d " + limit + ` && exec "$0" "$@"`, program}, arguments...)...)
	}
	for _, variable := range withoutSettings(os.Environ()) {
		if !strings.HasPrefix(variable, "GOGC=") && !strings.HasPrefix(variable, "GOMEMLIMIT=") {
			command.Env = append(command.Env, variable)
		}
	}
	command.Stderr = os.Stderr
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			t.Errorf("berth serve ended with %v", err)
		}
	})
	greeting, err := bufio.NewReader(stdout).ReadString('\n')
	url, announced := strings.CutPrefix(strings.TrimSpace(greeting), "Berth is listening on ")
	if err != nil || !announced {
		t.Fatalf("greeting = %q (%v), want the address", greeting, err)
	}
	return &measuredServer{url: url, pid: command.Process.Pid}
}

// peak is the most memory that the process has had.
func (m *measuredServer) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(m.pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	text, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// send returns the status of the answer, 0 where there is none.
func (m *measuredServer) send(t *testing.T, request memoryRequest, headers ...string) int {
	sent, err := http.NewRequestWithContext(context.Background(), request.method, m.url+request.path, bytes.NewReader(request.body))
	if err != nil {
		t.Error(err)
		return 0
	}
	sent.Header.Set("X-Auth-Token", "admin")
	sent.Header.Set("X-Roles", "admin,service")
	sent.Header.Set("OpenStack-API-Version", "placement 1.39, baremetal 1.82")
	sent.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		sent.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(sent)
	if err != nil {
		t.Errorf("%s %s: %v", request.method, request.path, err)
		return 0
	}
	defer answer.Body.Close()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Errorf("%s %s: %v", request.method, request.path, err)
	}
	return answer.StatusCode
}

// one sends a claim of a consumer that has nothing.
func (m *measuredServer) one(t *testing.T, request memoryRequest) {
	m.send(t, memoryRequest{http.MethodDelete, "/allocations/" + memoryUUID(0xa000, 0), nil})
	if status := m.send(t, request); status != http.StatusNoContent {
		t.Errorf("%s %s with %d bytes: status = %d, want 204", request.method, request.path, len(request.body), status)
	}
}

// parallel sends so many requests at once. Each answer is a success, says what is wrong
// with the request, or is 503.
func (m *measuredServer) parallel(t *testing.T, count int, requests []memoryRequest) {
	var sending sync.WaitGroup
	var mutex sync.Mutex
	counted := map[int]int{}
	for i := range count {
		sending.Go(func() {
			status := m.send(t, requests[i%len(requests)])
			mutex.Lock()
			defer mutex.Unlock()
			counted[status]++
			if status < 200 || status >= 500 && status != http.StatusServiceUnavailable {
				t.Errorf("%s: status = %d", requests[i%len(requests)].path, status)
			}
		})
	}
	sending.Wait()
	t.Logf("answers by status: %v", counted)
}

// mixedLoad makes and deletes consumers and searches, with 16 clients.
func (m *measuredServer) mixedLoad(t *testing.T, length time.Duration) {
	var working sync.WaitGroup
	deadline := time.Now().Add(length)
	for client := range 16 {
		working.Go(func() {
			for turn := 0; time.Now().Before(deadline) && !t.Failed(); turn++ {
				consumer := "/allocations/" + memoryUUID(0xa000, client*1_000_000+turn)
				claim := fmt.Sprintf(`{"allocations": {"%s": {"resources": {"VCPU": 1}}}, "project_id": "p", "user_id": "u",
					"consumer_generation": null, "consumer_type": "INSTANCE"}`, memoryUUID(0xb000, 1+turn%100))
				for _, step := range []struct {
					memoryRequest
					want int
				}{
					{memoryRequest{http.MethodPut, consumer, []byte(claim)}, http.StatusNoContent},
					{memoryRequest{http.MethodGet, "/allocation_candidates?resources=VCPU:1&limit=20", nil}, http.StatusOK},
					{memoryRequest{http.MethodGet, "/resource_providers/" + memoryUUID(0xb000, 1+turn%100) + "/usages", nil}, http.StatusOK},
					{memoryRequest{http.MethodDelete, consumer, nil}, http.StatusNoContent},
				} {
					if status := m.send(t, step.memoryRequest); status != step.want {
						t.Errorf("%s %s: status = %d, want %d", step.method, step.path, status, step.want)
					}
				}
			}
		})
	}
	working.Wait()
}

// everyVersion uses operations with a body at every microversion of both APIs, and reads
// every document.
func (m *measuredServer) everyVersion(t *testing.T) {
	for minor := range 83 {
		version := "1." + strconv.Itoa(minor)
		for _, path := range []string{"/allocations/" + memoryUUID(0xa000, 1), "/resource_providers/" + memoryUUID(0xb000, 1) + "/inventories"} {
			if minor < 40 {
				m.send(t, memoryRequest{http.MethodPut, path, []byte("{}")}, "OpenStack-API-Version", "placement "+version)
				m.send(t, memoryRequest{http.MethodGet, "/openapi/" + version + ".json", nil})
			}
		}
		for _, path := range []string{"/v1/nodes", "/v1/ports", "/v1/allocations"} {
			m.send(t, memoryRequest{http.MethodPost, path, []byte("{}")}, "X-OpenStack-Ironic-API-Version", version)
			m.send(t, memoryRequest{http.MethodGet, "/openapi/baremetal/" + version + ".json", nil})
		}
	}
}

// memoryUUID is a uuid with a number in it.
func memoryUUID(kind, number int) string {
	return fmt.Sprintf("c0ffee00-%04x-4000-8000-%012x", kind, number)
}

// makeProviders makes roots with much of one class each.
func makeProviders(t *testing.T, database string, count int) {
	t.Helper()
	on, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer on.Close(context.WithoutCancel(t.Context()))
	for _, statement := range []string{
		`INSERT INTO resource_providers (id, uuid, name, root_id) OVERRIDING SYSTEM VALUE
			SELECT n, ('c0ffee00-b000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'host-' || n, n FROM generate_series(1, %d) AS n`,
		`INSERT INTO provider_generations (provider_id) SELECT generate_series(1, %d)`,
		`INSERT INTO resource_classes (id, name) SELECT 0, 'VCPU' WHERE NOT EXISTS (SELECT FROM resource_classes WHERE name = 'VCPU')`,
		`INSERT INTO inventories (provider_id, class_id, root_id, total, reserved, min_unit, max_unit, step_size, allocation_ratio)
			SELECT n, (SELECT id FROM resource_classes WHERE name = 'VCPU'), n, 100000, 0, 1, 100000, 1, 1 FROM generate_series(1, %d) AS n`,
		`ANALYZE`,
	} {
		if strings.Contains(statement, "%d") {
			statement = fmt.Sprintf(statement, count)
		}
		if _, err := on.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// largeBodies are bodies with an allocation of each provider: a valid one, and some that
// are wrong in as many places.
func largeBodies(providers int) []memoryRequest {
	claims := func(consumer, amount string) string {
		var body strings.Builder
		fmt.Fprintf(&body, `{"%s": {"allocations": {`, consumer)
		for number := range providers {
			if number > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `"%s":{"resources":{"VCPU":%s}}`, memoryUUID(0xb000, 1+number), amount)
		}
		body.WriteString(`}, "project_id": "p", "user_id": "u", "consumer_generation": null, "consumer_type": "INSTANCE"}}`)
		return body.String()
	}
	reshape := func(claims string) []byte {
		return fmt.Appendf(nil, `{"inventories": {"%s": {"resource_provider_generation": 99, "inventories": {"VCPU": {"total": 1}}}}, "allocations": %s}`,
			memoryUUID(0xb000, 1), claims)
	}
	valid, wrong := claims(memoryUUID(0xa000, 0), "1"), claims(memoryUUID(0xa000, 0), `"x"`)
	hostile := `{"` + strings.Repeat(`a":[],"`, providers*8) + `":1}`
	return []memoryRequest{
		{http.MethodPost, "/allocations", []byte(valid)},
		{http.MethodPost, "/reshaper", reshape(valid)},
		{http.MethodPost, "/allocations", []byte(wrong)},
		{http.MethodPost, "/reshaper", reshape(wrong)},
		{http.MethodPost, "/allocations", []byte(hostile)},
		{http.MethodPost, "/reshaper", ones(providers * 64)},
	}
}

// ones is a list of so many bytes.
func ones(size int) []byte { return []byte("[" + strings.Repeat("1,", size/2-1) + "1]") }

// hostileBodies are what makes many values, or many violations, of few bytes.
func hostileBodies(size int) []memoryRequest {
	var keys strings.Builder
	for i := 0; keys.Len() < size-20; i++ {
		fmt.Fprintf(&keys, `"%06x":{"a":[]},`, i)
	}
	many := []byte("{" + strings.TrimSuffix(keys.String(), ",") + "}")
	texts := []byte(`["` + strings.Repeat(`aaaaaaaaaaaaa","`, size/16-1) + `"]`)
	return []memoryRequest{
		{http.MethodPost, "/v1/nodes", ones(size)},
		{http.MethodPost, "/v1/nodes", many},
		{http.MethodPost, "/allocations", many},
		{http.MethodPut, "/allocations/" + memoryUUID(0xa000, 1), many},
		{http.MethodPut, "/resource_providers/" + memoryUUID(0xb000, 1) + "/inventories",
			append([]byte(`{"inventories": `), many[:size-20]...)},
		{http.MethodPost, "/resource_providers", texts},
	}
}
