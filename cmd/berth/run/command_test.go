package run_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

func TestRun_Command_GetsVariablesAndGivesPlaceBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	root := s.host("gpu-1", uuid.Nil, client.Resources{"PCPU": 4})
	s.host("ada's card", root, client.Resources{"PGPU": 2})
	j := s.startWith("--resources", "PGPU=2,PCPU=1", "--env-file", "job.env", "--project", "vision", "--user", "ada", "--",
		"sh", "-c", `env | grep BERTH_; cp "$BERTH_CLAIM" claim.json; echo "$0 $*"; exit 7`, "a b", "--help")
	j.expect(7)
	for _, want := range []string{"BERTH_HOST=gpu-1\n", "BERTH_PROVIDERS=ada's card gpu-1\n", "BERTH_PGPU=2\n", "BERTH_PCPU=1\n", "BERTH_CONSUMER=", "a b --help\n"} {
		if !strings.Contains(j.stdout.String(), want) {
			t.Errorf("output %q has no %q", j.stdout.String(), want)
		}
	}
	if j.stderr.String() != "" {
		t.Errorf("standard error = %q", j.stderr.String())
	}
	claim, err := os.ReadFile(s.path("claim.json"))
	if err != nil || !strings.Contains(string(claim), `"project_id": "vision"`) || !strings.Contains(string(claim), `"resource_provider_name": "ada's card"`) {
		t.Errorf("claim = %s, %v", claim, err)
	}
	sourced, err := exec.Command("sh", "-c", `. "$0"; sh -c 'echo "$BERTH_PROVIDERS|$BERTH_PGPU|$BERTH_CLAIM"'`, s.path("job.env")).Output()
	parts := strings.Split(strings.TrimSpace(string(sourced)), "|")
	if err != nil || len(parts) != 3 || parts[0] != "ada's card gpu-1" || parts[1] != "2" {
		t.Fatalf("sourced %q: %v", sourced, err)
	}
	if _, err := os.Stat(parts[2]); !os.IsNotExist(err) {
		t.Errorf("the file of the claim is still there: %v", err)
	}
	s.expectFree()
}

func TestRun_ExitCodes_MatchTable(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	notExecutable := s.file("text.txt", "hello\n")
	noFormat := s.file("noformat", "hello\n")
	noInterpreter := s.file("nointerpreter", "#!/no/such/shell\n")
	for _, path := range []string{noFormat, noInterpreter} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	query := []string{"--resources", "PGPU=1"}
	for name, c := range map[string]struct {
		code      int
		message   string
		arguments []string
	}{
		"success":              {0, "", append(query, "true")},
		"failure":              {1, "", append(query, "--", "false")},
		"killed":               {137, "", append(query, "--", "sh", "-c", "kill -9 $$")},
		"nothing fits":         {75, "lacks the size for 3 PGPU", []string{"--resources", "PGPU=3", "--", "true"}},
		"waited in vain":       {75, "no place after 1s", []string{"--resources", "PGPU=3", "--wait", "1s", "--", "true"}},
		"no server":            {69, "no server answers at http://127.0.0.1:1 ", append(query, "--url", "http://127.0.0.1:1", "--", "true")},
		"not found":            {127, "executable file not found", append(query, "--", "no-such-command")},
		"not executable":       {126, "permission denied", append(query, "--", notExecutable)},
		"no executable format": {126, "exec format error", append(query, "--", noFormat)},
		"no interpreter":       {127, "cannot execute", append(query, "--", noInterpreter)},
		"no command":           {2, "write the command after --", query},
		"no query":             {2, "write --resources or --group", []string{"--", "true"}},
		"wrong class":          {2, "did you mean PGPU", []string{"--resources", "PGPUS=1", "--", "true"}},
		"wrong lease":          {2, "is not a duration", append(query, "--lease", "none", "--", "true")},
		"wrong env-file":       {2, "cannot be written", append(query, "--env-file", "/no/such/file", "--", "true")},
		"here and anywhere":    {2, "conflicts with --here", append(query, "--here", "--anywhere", "--", "true")},
		"no such host":         {1, `no root provider has the name "gpu-9"`, append(query, "--host", "gpu-9", "--", "true")},
		"else":                 {0, "", []string{"--resources", "PGPU=3", "--else", "--resources", "PGPU=1", "--wait", "5m", "--", "true"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := oneGPU(t)
			of.directory = s.directory
			j := of.startWith(c.arguments...)
			if code := j.wait(); code != c.code || !strings.Contains(j.stderr.String(), c.message) || c.message == "" && j.stderr.String() != "" {
				t.Errorf("exit code = %d, want %d; standard error %q, want %q", code, c.code, j.stderr.String(), c.message)
			}
			of.expectFree()
		})
	}
}

func TestRun_ServerWithoutLeases_IsNamed(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	s.meet(func(_ http.ResponseWriter, r *http.Request) bool {
		version, _, _ := strings.Cut(r.Header.Get("OpenStack-API-Version"), ",")
		r.Header.Set("OpenStack-API-Version", version)
		return false
	})
	j := s.start("--wait", "5m", "--", "touch", s.path("ran"))
	j.expect(1)
	if want := "berth: the service at " + s.url + " has no berth 1.6, which berth run needs\n"; j.stderr.String() != want || s.exists("ran") {
		t.Errorf("standard error = %q, want %q", j.stderr.String(), want)
	}
}

func TestRun_Signals_ReachCommandOnce(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	script := s.file("count.py", `import os, signal, sys, time
counts = {}
def count(number, frame):
    counts[number] = counts.get(number, 0) + 1
    print("got", number, counts[number], flush=True)
for number in (1, 2, 3, 10, 12, 28):
    signal.signal(number, count)
def end(number, frame):
    print(sorted(counts.items()), flush=True)
    sys.exit(5)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    time.sleep(0.1)
`)
	j := s.start("--", "python3", script)
	j.prints("ready")
	sent := []syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH}
	for _, signal := range sent {
		j.send(signal)
		j.prints("got " + map[syscall.Signal]string{1: "1 1", 2: "2 1", 3: "3 1", 10: "10 1", 12: "12 1", 28: "28 1"}[signal])
	}
	j.send(syscall.SIGTERM)
	j.expect(5)
	if want := "[(1, 1), (2, 1), (3, 1), (10, 1), (12, 1), (28, 1)]"; !strings.Contains(j.stdout.String(), want) {
		t.Errorf("output %q, want %q", j.stdout.String(), want)
	}
	s.expectFree()
}

func TestRun_SignalWhileWaiting_EndsWithoutConsumer(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		s := oneGPU(t)
		j := s.startWith("--resources", "PGPU=2", "--wait", "1h", "--", "true")
		j.prints("waiting: Nothing fits.")
		j.send(signal)
		j.expect(code)
		s.expectFree()
	}
}

func TestRun_TimeOver_StopsCommand(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--for", "3s", "--", "sleep", "1000")
	j.expect(143)
	if !strings.Contains(j.stderr.String(), "the time of the command is over") {
		t.Errorf("standard error = %q", j.stderr.String())
	}
	s.until("free place", func() bool { return len(s.consumers()) == 0 })
}

// TestRun_StandardErrorClosed_GivesPlaceBack prints to a pipe that has no reader, and so does the command, which SIGPIPE ends.
func TestRun_StandardErrorClosed_GivesPlaceBack(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	defer writer.Close()
	j := &job{site: s, command: s.command("run", "--resources", "PGPU=1", "--lease", "1h", "--", "bash", "-c", "sleep 1000 & echo hello >&2; exit 3")}
	j.command.Stdout, j.command.Stderr = &j.stdout, writer
	if err := j.command.Start(); err != nil {
		t.Fatal(err)
	}
	j.expect(141) // bash writes to the pipe
	s.expectFree()
}

func TestRun_ProcessesLeftBehind_AreStopped(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--", "bash", "-c", "sleep 1000 & echo $! > pid; exit 4")
	j.expect(4)
	pid, err := os.ReadFile(s.path("pid"))
	if err != nil || isRunning(strings.TrimSpace(string(pid))) {
		t.Errorf("process %s runs after berth run has ended, or %v", pid, err)
	}
	s.expectFree()
}

// TestRun_Killed_EndsCommandAndItsChildren kills the wrapper. The parent-death signal ends bash, the guard what bash has started.
func TestRun_Killed_EndsCommandAndItsChildren(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "2s", "--", "bash", "-c", "sleep 1000 & echo $$ $! > pids.new; mv pids.new pids; wait; wait; sleep 1000")
	s.until("pids", func() bool { return s.exists("pids") })
	j.send(syscall.SIGKILL)
	pids, err := os.ReadFile(s.path("pids"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range strings.Fields(string(pids)) {
		s.until("end of process "+pid, func() bool { return !isRunning(pid) })
	}
	s.until("free place", func() bool { return len(s.consumers()) == 0 })
	s.until("removal of the file of the claim", func() bool {
		entries, err := os.ReadDir(s.directory)
		return err == nil && !strings.Contains(strings.Join(names(entries), " "), "berth-claim")
	})
	_ = j.command.Wait()
	again := s.start("--wait", "5m", "--", "true")
	again.expect(0)
}

// TestRun_KilledWithGuard_EndsCommand kills the guard before the wrapper: the parent-death signal remains.
func TestRun_KilledWithGuard_EndsCommand(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "2s", "--", "sh", "-c", "echo $$ > pid.new; mv pid.new pid; exec sleep 1000")
	s.until("pid", func() bool { return s.exists("pid") })
	command := strings.TrimSpace(s.content("pid"))
	guard := ""
	s.until("guard", func() bool {
		guard = strings.Join(slices.DeleteFunc(s.children(j.command.Process.Pid), func(child string) bool { return child == command }), " ")
		return guard != ""
	})
	number, err := strconv.Atoi(guard)
	if err != nil {
		t.Fatalf("children besides the command: %q", guard)
	}
	if err := syscall.Kill(number, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s.until("end of the guard", func() bool { return !isRunning(guard) })
	j.send(syscall.SIGKILL)
	s.until("end of the command", func() bool { return !isRunning(command) })
	s.until("free place", func() bool { return len(s.consumers()) == 0 })
}

// children returns the children of all threads of a process.
func (s *site) children(pid int) (all []string) {
	s.t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread has ended
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

func names(entries []os.DirEntry) (all []string) {
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}
