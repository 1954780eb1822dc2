//go:build client

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/cluster"
)

// Full disks: each test mounts a small tmpfs and fills it with a file. That needs root.

// smallDisk is a mounted tmpfs.
type smallDisk struct {
	t   *testing.T
	dir string
}

// newSmallDisk mounts a tmpfs of so many MiB on a new directory until the test ends.
func newSmallDisk(t *testing.T, mib int) *smallDisk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a file system")
	}
	// Not t.TempDir, which PostgreSQL's account may not enter.
	dir, err := os.MkdirTemp("", "berth-disk-")
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0755", mib)); err != nil {
		t.Fatalf("mount a tmpfs on %s: %v", dir, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		os.RemoveAll(dir)
	})
	return &smallDisk{t, dir}
}

func (d *smallDisk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill leaves no room. What others delete meanwhile is taken as well by the next call.
func (d *smallDisk) fill() {
	d.t.Helper()
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := file.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

func (d *smallDisk) free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Error(err)
	}
}

// await asks until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within three minutes: %s", what)
		}
	}
}

// sendAdmin sends a request as an administrator; the status is 0 where there is no answer.
func sendAdmin(url, method, path, body string) answer {
	request, err := http.NewRequest(method, url+path, strings.NewReader(body))
	if err != nil {
		return answer{body: err.Error()}
	}
	request.Header = http.Header{
		"X-Auth-Token": {"admin"}, "X-Roles": {"admin,service"}, "Openstack-Api-Version": {"placement 1.39, baremetal 1.82"},
		"Content-Type": {"application/json"}, "Accept": {"application/json"},
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{body: err.Error()}
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return answer{response.StatusCode, string(text), response.Header}
}

func isReady(url string) bool { return sendAdmin(url, "GET", "/readyz", "").status == 200 }

// saysDiskFull tells whether an answer is the 503 of a full disk.
func saysDiskFull(got answer) bool {
	return got.status == 503 && got.header.Get("Retry-After") != "" && strings.Contains(got.body, "disk of the database is full")
}

// writes are one request of each kind that changes something, and none that depends on
// another. reads are requests that change nothing.
func writes() map[string]string {
	id, long := uuid.NewString(), strings.Repeat("x", 150)
	return map[string]string{
		"POST /resource_providers": text(map[string]any{"name": long + id, "uuid": id}),
		"PUT /resource_classes/CUSTOM_" + strings.ToUpper(strings.ReplaceAll(id, "-", "_")): "",
		"PUT /traits/CUSTOM_" + strings.ToUpper(strings.ReplaceAll(id, "-", "_")):           "",
		"POST /v1/nodes": text(map[string]any{"driver": "fake-hardware", "name": "node-" + id, "extra": map[string]string{"note": strings.Repeat("x", 1500)}}),
	}
}

var reads = []string{"/resource_providers", "/resource_classes", "/traits", "/usages?project_id=project",
	"/allocation_candidates?resources=VCPU:1&limit=1", "/allocations/" + uuid.NewString(), "/v1/nodes", "/v1/allocations", "/v1/conductors"}

// fillUntilRefused keeps the disk full and writes until the database reports it. Every
// request is answered as usual or with 503. False: PostgreSQL had no room for its WAL
// before it had none for a table.
func fillUntilRefused(t *testing.T, disk *smallDisk, url string) (refused bool) {
	t.Helper()
	await(t, "a write is refused because the disk is full", func() bool {
		disk.fill()
		for request, body := range writes() {
			method, path, _ := strings.Cut(request, " ")
			switch got := sendAdmin(url, method, path, body); {
			case saysDiskFull(got):
				refused = true
			case got.status >= 300 && (got.status != 503 || got.header.Get("Retry-After") == ""):
				t.Fatalf("%s: status = %d %s, want success, or 503 with Retry-After", request, got.status, got.body)
			}
		}
		return refused || !isReady(url)
	})
	for _, path := range reads {
		got := sendAdmin(url, "GET", path, "")
		// The load may have PostgreSQL end at any moment.
		if got.status != 200 && (got.status != 503 || got.header.Get("Retry-After") == "") {
			t.Errorf("GET %s: status = %d %s, want 200, or 503 with Retry-After", path, got.status, got.body)
		}
	}
	return refused
}

// wantReads fails for reads that are not answered.
func wantReads(t *testing.T, url string) {
	t.Helper()
	for _, path := range reads {
		if got := sendAdmin(url, "GET", path, ""); got.status != 200 {
			t.Errorf("GET %s: status = %d %s, want 200 while only writes need room", path, got.status, got.body)
		}
	}
}

// wantAll503 fails for requests that are answered otherwise while there is no database.
func wantAll503(t *testing.T, url string) {
	t.Helper()
	for request, body := range writes() {
		method, path, _ := strings.Cut(request, " ")
		if got := sendAdmin(url, method, path, body); got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Errorf("%s: status = %d %s, want 503 with Retry-After", request, got.status, got.body)
		}
	}
	for _, path := range reads {
		if got := sendAdmin(url, "GET", path, ""); got.status != 503 || got.header.Get("Retry-After") == "" {
			t.Errorf("GET %s: status = %d %s, want 503 with Retry-After", path, got.status, got.body)
		}
	}
}

// panicOf has PostgreSQL need another file of WAL, for which there is no room.
func panicOf(t *testing.T, url string, isDown func() bool) {
	t.Helper()
	await(t, "PostgreSQL ends for want of room for its WAL", func() bool {
		if isDown() {
			return true
		}
		ctx := t.Context()
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return isDown()
		}
		defer conn.Close(ctx)
		_, _ = conn.Exec(ctx, "SELECT pg_switch_wal()") // it may end meanwhile
		_, _ = conn.Exec(ctx, "SELECT pg_logical_emit_message(false, 'full', 'x')")
		return isDown()
	})
}

// wantJournals fails for acknowledged writes that are not there.
func wantJournals(t *testing.T, crowd *writerGroup) {
	t.Helper()
	crowd.end()
	b := compare(crowd.clerks)
	t.Logf("%d writes to %d accounts acknowledged; %d were refused, %d had an unknown outcome", b.acknowledged, b.accounts, b.unsent, b.doubts)
	for _, sentence := range b.wrong[:min(len(b.wrong), 10)] {
		t.Error(sentence)
	}
	if b.unsent == 0 {
		t.Error("no write was refused")
	}
}

// TestCrash_EmbeddedDiskFull_LosesNothingAndReturns fills the disk of the embedded
// PostgreSQL under load, until it ends because it cannot write its WAL, and gives the
// room back.
func TestCrash_EmbeddedDiskFull_LosesNothingAndReturns(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t, 200)
	logFile := filepath.Join(t.TempDir(), "log")
	home := filepath.Join(disk.dir, "pg")
	server := startBerth(t, nil, "--listen", "127.0.0.1:0", "--data-dir", home, "--log-file", logFile)
	crowd := newCrowd(t, 6, server.url)
	crowd.forAnother(t, 200)

	refused := fillUntilRefused(t, disk, server.url)
	if url, err := cluster.RunningURL(t.Context(), cluster.Options{Dir: home}); err == nil {
		panicOf(t, url, func() bool { return !isReady(server.url) })
	}
	const stillFull = "cannot start the private PostgreSQL; retrying"
	await(t, "berth logs that the disk is full", func() bool {
		disk.fill()
		log, _ := os.ReadFile(logFile)
		return bytes.Contains(log, []byte(stillFull)) && bytes.Contains(log, []byte("disk_full=true"))
	})
	wantAll503(t, server.url)
	if got := sendAdmin(server.url, "GET", "/livez", ""); got.status != 200 {
		t.Errorf("GET /livez: status = %d %s, want 200", got.status, got.body)
	}

	disk.free()
	await(t, "the service returns", func() bool { return isReady(server.url) })
	crowd.forAnother(t, 200)
	wantJournals(t, crowd)
	wantReads(t, server.url)
	wantCounted(t, server.url, "berth_embedded_postgres_restarts_total")
	if refused {
		wantCounted(t, server.url, "berth_sql_disk_full_total")
	}
	server.stop(t)
}

// TestCrash_ExternalDiskFull_LosesNothingAndReturns does it with a PostgreSQL that
// an operator runs and starts again.
func TestCrash_ExternalDiskFull_LosesNothingAndReturns(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t, 200)
	database := newPrimaryOn(t, disk.dir)
	server := serveOn(t, database.url())
	crowd := newCrowd(t, 6, server.url)
	crowd.forAnother(t, 200)

	refused := fillUntilRefused(t, disk, server.url)
	ended := func() bool {
		select {
		case <-database.ended:
			return true
		default:
			disk.fill()
			return false
		}
	}
	panicOf(t, database.url(), ended)
	await(t, "the server ends", ended)
	database.server = nil
	wantAll503(t, server.url)

	disk.free()
	database.startAgain()
	await(t, "the service returns", func() bool { return isReady(server.url) })
	crowd.forAnother(t, 200)
	wantJournals(t, crowd)
	wantReads(t, server.url)
	if refused {
		wantCounted(t, server.url, "berth_sql_disk_full_total")
	}
}

// wantCounted fails for a counter that is zero or absent.
func wantCounted(t *testing.T, url, metric string) {
	t.Helper()
	if !regexp.MustCompile(`(?m)^` + metric + ` [1-9]`).MatchString(sendAdmin(url, "GET", "/metrics", "").body) {
		t.Errorf("%s is zero or absent", metric)
	}
}

// newPrimaryOn is newPrimary with its data on a disk; its log is elsewhere.
func newPrimaryOn(t *testing.T, disk string) *node {
	t.Helper()
	n := newNode(t)
	on := filepath.Join(disk, "data")
	if err := os.Mkdir(on, 0o700); err != nil {
		t.Fatal(err)
	}
	if n.trackedResource != nil {
		if err := os.Chown(on, int(n.trackedResource.Uid), int(n.trackedResource.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(on, n.data()); err != nil {
		t.Fatal(err)
	}
	n.run("initdb", "--pgdata="+n.data(), "--username=berth", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
	n.configure("max_connections = 100")
	n.start()
	n.exec("postgres", "CREATE DATABASE berth")
	return n
}

// TestMetrics_LogDiskFull_CountsLostLines: requests go on while their lines cannot be
// written, and the log says how many are missing.
func TestMetrics_LogDiskFull_CountsLostLines(t *testing.T) {
	t.Parallel()
	disk := newSmallDisk(t, 1)
	logFile := filepath.Join(disk.dir, "log")
	server := startBerth(t, nil, "--listen", "127.0.0.1:0", "--database-url", dbtest.NewEmpty(t).URL, "--log-file", logFile, "--access-log=true")
	lost := func() int {
		found := regexp.MustCompile(`(?m)^berth_log_lines_lost_total (\d+)$`).FindStringSubmatch(sendAdmin(server.url, "GET", "/metrics", "").body)
		if found == nil {
			t.Fatal("there is no metric berth_log_lines_lost_total")
		}
		number, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		return number
	}
	disk.fill()
	await(t, "lines are lost", func() bool {
		disk.fill()
		if got := sendAdmin(server.url, "GET", "/resource_providers", ""); got.status != 200 {
			t.Errorf("status = %d %s, want 200 with a full disk below the log", got.status, got.body)
		}
		return lost() >= 50
	})
	disk.free()
	sendAdmin(server.url, "GET", "/resource_providers", "")
	total := lost()
	log, err := os.ReadFile(logFile)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("lines=%d", total); !strings.Contains(string(log), want) {
		t.Errorf("the log does not say %q:\n%s", want, tail(string(log), 1000))
	}
	if got := sendAdmin(server.url, "GET", "/resource_providers", ""); got.status != 200 || lost() != total {
		t.Errorf("status = %d with %d lines lost, want 200 with %d", got.status, lost(), total)
	}
	server.stop(t)
}

// TestLimits_SpoolDiskFull_Returns503BeforeTheFirstByte: an answer that does not fit into memory is rejected as a
// whole while its disk is full; small answers need no disk.
func TestLimits_SpoolDiskFull_Returns503BeforeTheFirstByte(t *testing.T) {
	t.Parallel()
	const providers = 1200
	disk := newSmallDisk(t, 8)
	server := startBerth(t, nil, "--listen", "127.0.0.1:0", "--database-url", dbtest.NewEmpty(t).URL, "--access-log=false",
		"--spool-dir", disk.dir, "--spool-memory", strconv.Itoa(1<<20))
	var first uuid.UUID
	for i := range providers {
		id := uuid.New()
		if i == 0 {
			first = id
		}
		body := fmt.Sprintf(`{"name": "%s-%d", "uuid": %q}`, strings.Repeat("n", 180), i, id)
		if got := sendAdmin(server.url, "POST", "/resource_providers", body); got.status != 200 {
			t.Fatalf("status = %d %s", got.status, got.body)
		}
	}
	whole := func() bool {
		got := sendAdmin(server.url, "GET", "/resource_providers", "")
		return got.status == 200 && strings.Count(got.body, `"generation"`) == providers
	}
	if !whole() {
		t.Fatal("the list is not whole before the disk is full")
	}
	disk.fill()
	got := sendAdmin(server.url, "GET", "/resource_providers", "")
	if got.status != 503 || got.header.Get("Retry-After") == "" || !strings.HasPrefix(got.body, `{"errors":`) {
		t.Errorf("status = %d, headers = %v, body = %.200s, want an error 503 with Retry-After", got.status, got.header, got.body)
	}
	if got := sendAdmin(server.url, "GET", "/resource_providers/"+first.String(), ""); got.status != 200 {
		t.Errorf("a small answer: status = %d, want 200", got.status)
	}
	wantCounted(t, server.url, `berth_spool_rejected_total\{reason="disk"\}`)
	disk.free()
	if !whole() {
		t.Error("the list is not whole when there is space again")
	}
	server.stop(t)
}

// TestLimits_RefusedClaims_EmbeddedLogStaysBounded: PostgreSQL logs one short line for
// a claim that does not fit, and berth deletes old files.
func TestLimits_RefusedClaims_EmbeddedLogStaysBounded(t *testing.T) {
	t.Parallel()
	// Not t.TempDir, which PostgreSQL's account may not enter.
	dir, err := os.MkdirTemp("", "berth-log-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const most = 1 << 20
	server := startBerth(t, nil, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "pg"), "--embedded-log-max-bytes", strconv.Itoa(most))
	provider := newProvider(t, server.url, "small", 1)
	refuse := func() {
		claim := text(map[string]any{
			"allocations": map[string]any{provider.String(): map[string]any{"resources": map[string]int{"VCPU": 2}}},
			"project_id":  "project", "user_id": "user", "consumer_type": "INSTANCE", "consumer_generation": nil,
		})
		if got := sendAdmin(server.url, "PUT", "/allocations/"+uuid.NewString(), claim); got.status != 409 {
			t.Fatalf("status = %d %s, want 409", got.status, got.body)
		}
	}
	before, claims := logBytes(t, dir), 200
	for range claims {
		refuse()
	}
	each := float64(logBytes(t, dir)-before) / float64(claims)
	t.Logf("%.0f bytes for each refused claim", each)
	if each > 250 {
		t.Errorf("PostgreSQL logs %.0f bytes for each refused claim, want at most 250", each)
	}
	// What a flood of errors leaves: far more than the limit, without HTTP in between.
	url, err := cluster.RunningURL(t.Context(), cluster.Options{Dir: filepath.Join(dir, "pg")})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for range 8 * most / 4096 {
		_, _ = conn.Exec(t.Context(), "DO $$BEGIN RAISE '%', repeat('x', 4000); END$$")
	}
	// The collector begins a file in the second after that in which it began the last.
	await(t, "the oldest files are deleted", func() bool {
		refuse()
		return logBytes(t, dir) <= most+most/4
	})
	server.stop(t)
}

// logBytes is the size of all files of the log of an embedded PostgreSQL.
func logBytes(t *testing.T, dir string) (sum int64) {
	t.Helper()
	for _, pattern := range []string{"pg/postgres.log", "pg/postgres.log.1", "pg/postgres-log/*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				sum += info.Size()
			}
		}
	}
	return sum
}
