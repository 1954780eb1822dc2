package deploycheck

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deploy is the directory of the checked files, repository the root of the sources.
const (
	repository = "../.."
	deploy     = repository + "/docs/deploy"
)

// program is the path of berth, which TestMain builds.
var program string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	directory, err := os.MkdirTemp("", "deploycheck-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(directory)
	program = filepath.Join(directory, "berth")
	build := exec.Command("go", "build", "-o", program, "./cmd/berth")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", build, err, out)
		return 1
	}
	return m.Run()
}

// berth returns a command of berth with only the variables of environment.
func berth(t *testing.T, environment []string, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Env = append([]string{"HOME=" + t.TempDir()}, environment...)
	return command
}

// checkCommand checks that berth has a command and its flags. With --help it executes nothing.
func checkCommand(t *testing.T, arguments []string) {
	t.Helper()
	out, err := berth(t, nil, append(slices.Clone(arguments), "--help")...).CombinedOutput()
	if err != nil || len(arguments) == 0 || !strings.Contains(string(out), "Usage:\n  berth "+arguments[0]) {
		t.Errorf("berth %q: %v\n%s", arguments, err, out)
	}
}

// checkNames checks that each variable is a setting.
func checkNames(t *testing.T, environment []string) {
	t.Helper()
	known := settings(t)
	for _, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); !slices.Contains(known, name) {
			t.Errorf("%s is not a setting", name)
		}
	}
}

// checkServer checks that the settings of a `berth serve` are valid together, without a warning.
func checkServer(t *testing.T, environment, arguments []string) {
	t.Helper()
	if len(arguments) == 0 || arguments[0] != "serve" {
		t.Fatalf("arguments = %q, want serve", arguments)
	}
	command := berth(t, environment, append([]string{"config"}, arguments[1:]...)...)
	var messages bytes.Buffer
	command.Stderr = &messages
	if err := command.Run(); err != nil || messages.Len() > 0 {
		t.Errorf("berth config with %q: %v\n%s", environment, err, &messages)
	}
}

// settings returns the environment variables of all settings.
func settings(t *testing.T) []string {
	t.Helper()
	out, err := berth(t, nil, "config", "--output", "json").Output()
	if err != nil {
		t.Fatalf("berth config: %v", err)
	}
	var shown struct {
		Settings []struct{ Environment string }
	}
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range shown.Settings {
		names = append(names, one.Environment)
	}
	return names
}

// serve starts a berth with an embedded PostgreSQL and returns its address. It ends with the test.
func serve(t *testing.T) string {
	t.Helper()
	address := freeAddress(t)
	directory := t.TempDir()
	// For the account of PostgreSQL, which is another one if the test runs as root.
	if err := os.Chmod(filepath.Dir(directory), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "serve", "--listen", address, "--data-dir", filepath.Join(directory, "data"))
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + directory}
	start(t, command)
	await(t, time.Minute, func() error { return get("http://"+address+"/readyz", nil) })
	return address
}

// start starts a process, and stops it at the end of the test.
func start(t *testing.T, command *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		var err error
		select {
		case err = <-ended:
		case <-time.After(30 * time.Second):
			_ = command.Process.Kill()
			err = errors.Join(<-ended, errors.New("it still ran 30 s after SIGTERM"))
		}
		log.Close()
		if text, _ := os.ReadFile(log.Name()); err != nil || t.Failed() {
			t.Errorf("%s: %v\n%s", command, err, text)
		}
	})
}

// await calls check until it returns nil.
func await(t *testing.T, limit time.Duration, check func() error) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(100 * time.Millisecond) {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", limit, err)
		}
	}
}

// get requests a URL, and decodes the JSON of the response if into is not nil. A status other than 200 is an error.
func get(url string, into any) error {
	client := http.Client{Timeout: 10 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s %s", url, response.Status, body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(body, into)
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
