package run_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/server/work/leases"
)

// timeout bounds each wait of a test. No test passes because something took less time.
const timeout = 3 * time.Minute

// site is a server that removes expired consumers, and a directory for the files of a test.
type site struct {
	t         *testing.T
	server    *servertest.Server
	url       string
	client    *client.Client
	directory string
	// intercept gets each request first, and reports whether it has answered; nil: none.
	intercept atomic.Pointer[func(http.ResponseWriter, *http.Request) bool]
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, server: servertest.New(t, servertest.Options{}), directory: t.TempDir()}
	s.url = servertest.Listen(t, s).URL
	var err error
	if s.client, err = client.New(s.url); err != nil {
		t.Fatal(err)
	}
	remover := leases.New(leases.Options{Store: s.server.Store, Log: servertest.Log(t), Interval: 50 * time.Millisecond})
	remover.Start()
	t.Cleanup(func() { remover.Close(t.Context()) })
	return s
}

// ServeHTTP answers the requests of the site.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if intercept := s.intercept.Load(); intercept != nil && (*intercept)(w, r) {
		return
	}
	s.server.Handler.ServeHTTP(w, r)
}

func (s *site) meet(do func(http.ResponseWriter, *http.Request) bool) { s.intercept.Store(&do) }

// unavailable answers as an overloaded server.
func unavailable(w http.ResponseWriter) bool {
	w.Header().Set("Retry-After", "3600") // the client does not retry
	w.WriteHeader(http.StatusServiceUnavailable)
	return true
}

// host creates a provider, below a parent unless that is uuid.Nil, with amounts.
func (s *site) host(name string, parent uuid.UUID, totals client.Resources) uuid.UUID {
	s.t.Helper()
	provider, err := s.client.ProviderCreate(s.t.Context(), name, uuid.New(), parent)
	if err != nil {
		s.t.Fatal(err)
	}
	inventories := client.Inventories{}
	for class, total := range totals {
		inventories[class] = client.InventoryRecord{Total: int32(total)}
	}
	if _, _, err := s.client.InventoryReplace(s.t.Context(), provider.UUID, provider.Generation, inventories); err != nil {
		s.t.Fatal(err)
	}
	return provider.UUID
}

// oneGPU is a site whose only host has one GPU.
func oneGPU(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.host("gpu-1", uuid.Nil, client.Resources{"PGPU": 1})
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.directory, name) }

func (s *site) file(name, content string) string {
	s.t.Helper()
	path := s.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// exists reports whether a file exists.
func (s *site) exists(name string) bool {
	_, err := os.Stat(s.path(name))
	return err == nil
}

// consumers returns the consumers that the server has.
func (s *site) consumers() []client.ListedConsumer {
	s.t.Helper()
	var all []client.ListedConsumer
	for record, err := range s.client.Consumers(client.WithExtensions(s.t.Context(), "1.6"), client.ConsumerFilter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, record)
	}
	return all
}

// expectFree fails the test if the server has a consumer.
func (s *site) expectFree() {
	s.t.Helper()
	if all := s.consumers(); len(all) > 0 {
		s.t.Errorf("%d consumers, want none: %+v", len(all), all)
	}
}

// until waits for a condition.
func (s *site) until(what string, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(timeout); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("no %s in %v", what, timeout)
		}
	}
}

// output is what a process has written so far.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.String()
}

// job is a `berth run` in its own process.
type job struct {
	site           *site
	command        *exec.Cmd
	stdout, stderr output
}

// command returns `berth` with arguments.
func (s *site) command(arguments ...string) *exec.Cmd {
	s.t.Helper()
	program, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	command := exec.Command(program, arguments...)
	command.Env = []string{asBerth + "=1", "BERTH_URL=" + s.url, "PATH=" + os.Getenv("PATH"), "HOME=" + s.directory, "TMPDIR=" + s.directory}
	command.Dir = s.directory
	return command
}

// start starts `berth run` for one GPU.
func (s *site) start(arguments ...string) *job {
	s.t.Helper()
	return s.startWith(append([]string{"--resources", "PGPU=1"}, arguments...)...)
}

// startWith starts `berth run` with arguments.
func (s *site) startWith(arguments ...string) *job {
	s.t.Helper()
	j := &job{site: s, command: s.command(append([]string{"run"}, arguments...)...)}
	j.command.Stdout, j.command.Stderr = &j.stdout, &j.stderr
	j.command.WaitDelay = 10 * time.Second // a process that was left behind can have the pipes
	if err := j.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = j.command.Process.Kill() })
	return j
}

// wait returns the exit code of the job.
func (j *job) wait() int {
	j.site.t.Helper()
	late := time.AfterFunc(timeout, func() { _ = j.command.Process.Kill() })
	defer late.Stop()
	_ = j.command.Wait() // the state has its exit code
	if !j.command.ProcessState.Exited() {
		j.site.t.Fatalf("berth run ended with %v; it printed %q and %q", j.command.ProcessState, j.stdout.String(), j.stderr.String())
	}
	return j.command.ProcessState.ExitCode()
}

// expect waits for the end of the job with a code.
func (j *job) expect(code int) {
	j.site.t.Helper()
	if got := j.wait(); got != code {
		j.site.t.Fatalf("exit code = %d, want %d; it printed %q and %q", got, code, j.stdout.String(), j.stderr.String())
	}
}

func (j *job) send(signal syscall.Signal) {
	j.site.t.Helper()
	if err := j.command.Process.Signal(signal); err != nil {
		j.site.t.Fatal(err)
	}
}

// prints waits until the job has printed a text.
func (j *job) prints(text string) {
	j.site.t.Helper()
	for end := time.Now().Add(timeout); !strings.Contains(j.stdout.String()+j.stderr.String(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			j.site.t.Fatalf("no %q in the output %q and the errors %q after %v", text, j.stdout.String(), j.stderr.String(), timeout)
		}
	}
}

// isRunning reports whether a process runs; one that has ended and not been waited for does not.
func isRunning(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z")
}
