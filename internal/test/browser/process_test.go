package browser

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// childVariable makes TestConsole_KilledTest_LeavesNoProcess the test that is killed.
const childVariable = "BERTH_BROWSER_TEST_CHILD"

// TestConsole_KilledTest_LeavesNoProcess kills a test binary that runs a browser. Afterwards there must be no process
// and no profile of that browser.
func TestConsole_KilledTest_LeavesNoProcess(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		fmt.Println("directory", Start(t).directory)
		select {} // until it is killed
	}
	if runtime.GOOS != "linux" {
		t.Skip("the processes are read from /proc")
	}
	t.Parallel()
	Start(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConsole_KilledTest_LeavesNoProcess$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"=1")
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	directory := ""
	for lines := bufio.NewScanner(output); directory == "" && lines.Scan(); {
		_, directory, _ = strings.Cut(lines.Text(), "directory ")
	}
	if directory == "" || len(processesOf(t, directory)) == 0 {
		t.Fatalf("no process uses the directory %q", directory)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // the process was killed
	deadline := time.Now().Add(30 * time.Second)
	for len(processesOf(t, directory)) > 0 || exists(directory) {
		if time.Now().After(deadline) {
			t.Fatalf("30 s after the kill: processes %q, directory exists: %t", processesOf(t, directory), exists(directory))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// processesOf returns the command lines that contain a path.
func processesOf(t *testing.T, path string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && strings.Contains(string(line), path) { // the process may have ended
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func TestConsole_BrowserUnavailable_SkipsOrFails(t *testing.T) {
	t.Parallel()
	missing := func() (*Browser, error) { return nil, fmt.Errorf("no program: %w", exec.ErrNotFound) }
	broken := func() (*Browser, error) { return nil, errors.New("crashed") }
	for name, test := range map[string]struct {
		value    string
		launched func() (*Browser, error)
		want     string
	}{
		"missing":           {"", missing, "skip: " + t.Name() + " is skipped: no program: " + exec.ErrNotFound.Error() + "; install chromium"},
		"missing, required": {"required", missing, "fail: cannot start a browser: no program: " + exec.ErrNotFound.Error()},
		"broken":            {"", broken, "fail: cannot start a browser: crashed"},
		"unknown value":     {"yes", missing, `fail: BERTH_TEST_BROWSER is "yes", want "required" or nothing`},
	} {
		recorder := &recorder{TB: t}
		recorder.run(func() { start(recorder, test.value, test.launched) })
		if got := strings.Join(recorder.messages, "\n"); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	messages []string
}

// run calls f in a goroutine, which Fatalf and Skipf end.
func (r *recorder) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func (r *recorder) Errorf(format string, arguments ...any) {
	r.messages = append(r.messages, "error: "+fmt.Sprintf(format, arguments...))
}

func (r *recorder) Fatalf(format string, arguments ...any) {
	r.messages = append(r.messages, "fail: "+fmt.Sprintf(format, arguments...))
	runtime.Goexit()
}

func (r *recorder) Skipf(format string, arguments ...any) {
	r.messages = append(r.messages, "skip: "+fmt.Sprintf(format, arguments...))
	runtime.Goexit()
}
