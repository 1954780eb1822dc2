package auditlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
)

// logged is the log of the server; it can be read while the server writes it.
type logged struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.String()
}

func opened(t *testing.T, path string, required bool) (*Log, *logged) {
	t.Helper()
	said := &logged{}
	l, err := Open(Options{Path: path, Required: required, Log: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(t.Context()) })
	return l, said
}

// lines reads a file and parses each of its lines.
func lines(t *testing.T, path string) (found []Record) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var record Record
		if err := json.Unmarshal([]byte(line), &record); err != nil || !strings.HasSuffix(line, "\n") {
			t.Fatalf("line %.100q is not one JSON object: %v", line, err)
		}
		found = append(found, record)
	}
	return found
}

// maximal returns a record whose members have the maximum length that package server allows.
func maximal(id string) *Record {
	text := func(size int) string { return strings.Repeat("x", size) }
	r := &Record{
		RequestID: id, GlobalRequestID: text(40), Client: text(64), AuthMethod: "keystone", Scope: "project", TokenID: text(64), Subject: text(64),
		UserID: text(64), UserDomainID: text(64), ProjectID: text(64), ProjectDomainID: text(64), DomainID: text(64),
		ServiceUserID: text(64), ServiceProjectID: text(64), RolesOmitted: math.MaxInt32,
		API: "baremetal", Microversion: "1.82, berth 1.99", Operation: text(40), Method: "DELETE", Route: text(80),
		Target: map[string]string{text(20): text(256), text(21): text(256)}, Path: text(512),
		Status: 503, Outcome: Unknown, ErrorCode: text(64), Location: text(512),
	}
	for range 12 {
		r.Roles = append(r.Roles, text(64))
	}
	most := int64(math.MinInt64)
	for range 2 * maxGenerations {
		r.Provider(Generation{UUID: uuid.New(), Before: &most, After: &most})
		r.Consumer(Generation{UUID: uuid.New(), Before: &most, Removed: true})
	}
	return r
}

func TestAuditLog_MaximalRecord_StaysWithinMaxLine(t *testing.T) {
	t.Parallel()
	r := maximal("req-" + uuid.NewString())
	if got := len(r.encode(PhaseBegin, time.Now())); got > MaxLine {
		t.Errorf("length = %d, want at most %d", got, MaxLine)
	}
	if len(r.Providers) != maxGenerations || r.ProvidersOmitted != maxGenerations || r.ConsumersOmitted != maxGenerations {
		t.Errorf("providers = %d and %d omitted, consumers omitted = %d", len(r.Providers), r.ProvidersOmitted, r.ConsumersOmitted)
	}
}

func TestAuditLog_ManyWriters_LinesNeverInterleave(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	l, _ := opened(t, path, false)
	const writers, each = 32, 8
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				l.End(maximal(fmt.Sprint(w, "-", i)))
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, line := range lines(t, path) {
		seen[line.RequestID] = true
	}
	if written, lost := l.Counts(); len(seen) != writers*each || written != writers*each || lost != 0 {
		t.Errorf("%d lines in the file, %d written, %d lost; want %d", len(seen), written, lost, writers*each)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&^0o640 != 0 {
		t.Errorf("mode = %v, %v, want 0640 or less", info.Mode(), err)
	}
}

func TestAuditLog_FileMoved_ReopenWritesToNewFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	l, _ := opened(t, path, false)
	l.End(&Record{RequestID: "one"})
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	l.End(&Record{RequestID: "two"})
	l.Reopen()
	l.End(&Record{RequestID: "three"})
	if old, now := lines(t, path+".1"), lines(t, path); len(old) != 2 || len(now) != 1 || now[0].RequestID != "three" {
		t.Errorf("moved file has %v, new file has %v", old, now)
	}
}

func TestAuditLog_ReopenFails_KeepsOpenFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, said := opened(t, filepath.Join(dir, "audit.log"), false)
	if err := os.Rename(dir, dir+".moved"); err != nil {
		t.Fatal(err)
	}
	l.Reopen()
	l.End(&Record{RequestID: "one"})
	if found := lines(t, filepath.Join(dir+".moved", "audit.log")); len(found) != 1 || !strings.Contains(said.String(), "cannot reopen the audit log") {
		t.Errorf("lines = %v, log = %s", found, said)
	}
}

// full returns a path that leads to a full disk, and a function that frees space.
func full(t *testing.T) (path, file string, makeRoom func()) {
	t.Helper()
	dir := t.TempDir()
	path, file = filepath.Join(dir, "audit.log"), filepath.Join(dir, "real.log")
	if err := os.Symlink("/dev/full", path); err != nil {
		t.Fatal(err)
	}
	return path, file, func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(file, path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAuditLog_DiskFull_CountsAndReportsLostLines(t *testing.T) {
	t.Parallel()
	path, file, makeRoom := full(t)
	l, said := opened(t, path, false)
	for range 3 {
		l.End(&Record{RequestID: "lost"})
	}
	if written, lost := l.Counts(); written != 0 || lost != 3 {
		t.Errorf("written = %d, lost = %d, want 0 and 3", written, lost)
	}
	makeRoom()
	l.Reopen()
	l.End(&Record{RequestID: "kept"})
	if found := lines(t, file); len(found) != 1 || found[0].RequestID != "kept" {
		t.Errorf("lines = %v", found)
	}
	text := said.String()
	if strings.Count(text, "lines are lost") != 1 || !strings.Contains(text, "no space left on device") ||
		!strings.Contains(text, `msg="the audit log is writable again"`) || !strings.Contains(text, "lines_lost=3") {
		t.Errorf("log = %s", text)
	}
}

func TestAuditLog_DiskFullRequired_BeginFailsUntilSpaceIsFree(t *testing.T) {
	t.Parallel()
	path, file, makeRoom := full(t)
	l, _ := opened(t, path, true)
	if err := l.Begin(&Record{}); err == nil {
		t.Error("Begin = nil on a full disk")
	}
	makeRoom()
	l.Reopen()
	if err := l.Begin(&Record{RequestID: "one"}); err != nil {
		t.Errorf("Begin = %v with free space", err)
	}
	if found := lines(t, file); len(found) != 1 || found[0].Phase != PhaseBegin {
		t.Errorf("lines = %v", found)
	}
}

// stuck returns a log on a disk that completes no write: a pipe without a reader.
func stuck(t *testing.T, required bool) (l *Log, read func() string) {
	t.Helper()
	reading, writing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := writing.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	padding, err := writing.Write(make([]byte, 1<<20))
	if err == nil {
		t.Fatal("a write to the pipe did not block")
	}
	if err := writing.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	l = start(Options{Path: "pipe", Required: required, Log: slog.New(slog.DiscardHandler)}, &file{File: writing})
	return l, func() string {
		text := make(chan string)
		go func() {
			var all bytes.Buffer
			_, _ = all.ReadFrom(reading)
			text <- all.String()[padding:]
		}()
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		return <-text
	}
}

func TestAuditLog_DiskStalls_OnlyFirstRequestWaits(t *testing.T) {
	t.Parallel()
	l, read := stuck(t, false)
	l.wait = 50 * time.Millisecond
	l.End(&Record{RequestID: "first"})
	if !l.stalled.Load() {
		t.Fatal("stalled = false, want true")
	}
	l.wait = time.Hour // a request that waited now would end the test
	for range maxQueue + 10 {
		l.End(&Record{RequestID: "later"})
	}
	if _, lost := l.Counts(); lost != 10 {
		t.Errorf("lost = %d lines with a full queue, want 10", lost)
	}
	if got, want := strings.Count(read(), "\n"), maxQueue+1; got != want {
		t.Errorf("%d lines were written after the disk resumed, want %d", got, want)
	}
	if l.stalled.Load() {
		t.Error("stalled = true after the disk resumed")
	}
}

func TestAuditLog_DiskStallsRequired_BeginFailsImmediately(t *testing.T) {
	t.Parallel()
	l, read := stuck(t, true)
	l.wait = 50 * time.Millisecond
	if err := l.Begin(&Record{}); err == nil {
		t.Error("Begin = nil although the line was not written")
	}
	l.wait = time.Hour
	if err := l.Begin(&Record{}); err == nil {
		t.Error("Begin = nil on a stalled disk")
	}
	read()
}

func TestAuditLog_NoRegularFile_OpenFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	refused := func(path string) {
		t.Helper()
		if l, err := Open(Options{Path: path, Log: slog.New(slog.DiscardHandler)}); err == nil {
			t.Errorf("Open(%s) = nil", path)
			_ = l.Close(t.Context())
		}
	}
	refused(pipe) // must not wait for a reader
	refused(dir)
	refused(filepath.Join(dir, "none", "audit.log"))
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	refused(pipe)
}

func TestAuditLog_TornLineInFile_NextLineStandsAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(`{"time": "2026`), 0o600); err != nil {
		t.Fatal(err)
	}
	l, _ := opened(t, path, false)
	l.End(&Record{RequestID: "one"})
	text, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(text), "{\"time\": \"2026\n{") || strings.Count(string(text), "\n") != 2 {
		t.Errorf("file = %q, %v", text, err)
	}
}

// limitedFile is the variable that names the file of a child process with a limit on file sizes, and
// limited is that limit in bytes.
const (
	limitedFile = "BERTH_TEST_LIMITED_FILE"
	limited     = 1000
)

// TestAuditLog_FileSizeLimit_CutsNoOtherLine runs itself in a child process with a limit on file sizes,
// which interrupts a write in the middle of a line, as a full disk may.
func TestAuditLog_FileSizeLimit_CutsNoOtherLine(t *testing.T) {
	if path := os.Getenv(limitedFile); path != "" {
		writeLimited(t, path)
		return
	}
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.log")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.count=1")
	child.Env = append(os.Environ(), limitedFile+"="+path)
	if said, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, parts := map[string]bool{}, 0
	for line := range strings.Lines(string(text)) {
		var record Record
		if json.Unmarshal([]byte(line), &record) != nil {
			parts++
			continue
		}
		whole[record.RequestID] = true
	}
	if parts != 1 || !whole["before"] || !whole["after"] || whole["cut"] {
		t.Errorf("%d torn lines, complete lines %v, in %q", parts, whole, text)
	}
}

func writeLimited(t *testing.T, path string) {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	l, _ := opened(t, path, false)
	l.End(&Record{RequestID: "before"})
	lower := limit
	lower.Cur = limited
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &lower); err != nil {
		t.Fatal(err)
	}
	l.End(&Record{RequestID: "cut", Path: strings.Repeat("x", limited)})
	l.End(&Record{RequestID: "cut", Path: strings.Repeat("x", limited)})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	l.End(&Record{RequestID: "after"})
	if written, lost := l.Counts(); written != 2 || lost != 2 {
		t.Errorf("written = %d, lost = %d, want 2 and 2", written, lost)
	}
}

// BenchmarkAuditLog measures the cost of a line for a request, with fsync if the line is required.
func BenchmarkAuditLog(b *testing.B) {
	for _, required := range []bool{false, true} {
		b.Run(fmt.Sprintf("required=%t", required), func(b *testing.B) {
			l, err := Open(Options{Path: filepath.Join(b.TempDir(), "audit.log"), Required: required, Log: slog.Default()})
			if err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if record := (&Record{UserID: "user", Path: "/allocations"}); required {
						if err := l.Begin(record); err != nil {
							b.Error(err)
						}
					} else {
						l.End(record)
					}
				}
			})
			_ = l.Close(b.Context())
		})
	}
}
