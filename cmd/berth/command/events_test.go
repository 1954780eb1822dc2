package command

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/berthd/berth/cmd/berth/frame"
)

// watching is `berth events` that runs.
type watching struct {
	stdout, stderr *output
	signals        chan os.Signal
	ended          chan int
}

func startEvents(t *testing.T, environ []string, arguments ...string) *watching {
	t.Helper()
	w := &watching{&output{}, &output{}, make(chan os.Signal, 1), make(chan int, 1)}
	host := frame.Frame{Environ: environ, Stdout: w.stdout, Stderr: w.stderr, Signals: func() (<-chan os.Signal, func()) { return w.signals, func() {} }}
	go func() { w.ended <- Run(t.Context(), &host, append([]string{"events"}, arguments...)) }()
	return w
}

// stop interrupts the command, which must succeed.
func (w *watching) stop(t *testing.T) {
	t.Helper()
	w.signals <- syscall.SIGINT
	if code := <-w.ended; code != frame.ExitOK {
		t.Errorf("exit code %d, %s", code, w.stderr.text.String())
	}
}

func TestCLI_Events_PrintsEventsUntilSignal(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	runLines(t, environ, "trait create CUSTOM_BEFORE")
	all := startEvents(t, environ, "--after", "0", "--topic", "name")
	all.stdout.wait(t, "trait CUSTOM_BEFORE created\n")
	runLines(t, environ, "provider create compute-1", "provider create compute-2")
	one := startEvents(t, environ, "compute-2", "--after", "1", "--output", "json")
	runLines(t, environ, "inventory set compute-2 --resource VCPU=4", "trait create CUSTOM_A")
	all.stdout.wait(t, "trait CUSTOM_A created\n")
	one.stdout.wait(t, `"operation":"inventory-replace"`)
	all.stop(t)
	one.stop(t)
	lines := strings.Split(strings.TrimSpace(all.stdout.text.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "2  20") || !strings.HasPrefix(lines[1], "6  20") {
		t.Errorf("lines = %q", lines)
	}
	if objects := strings.Split(strings.TrimSpace(one.stdout.text.String()), "\n"); len(objects) != 2 || !strings.HasPrefix(objects[0], `{"type":"event","index":4,`) {
		t.Errorf("objects = %q", objects)
	}
}

// TestCLI_EventsOfServerThatIsAway_GoOn rejects what asks for names for some seconds, as a server that stops does.
func TestCLI_EventsOfServerThatIsAway_GoOn(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	var left atomic.Int32
	left.Store(6)
	proxy := &counted{answer: func(w http.ResponseWriter, r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/resource_providers") && left.Add(-1) >= 0 && send(w, http.StatusServiceUnavailable, "placement.undefined_code")
	}}
	events := startEvents(t, []string{"BERTH_URL=" + proxy.listen(t, strings.TrimPrefix(environ[0], "BERTH_URL="))}, "--after", "0", "--topic", "inventory")
	runLines(t, environ, "provider create compute-1", "inventory set compute-1 --resource VCPU=4")
	events.stdout.wait(t, "compute-1: inventory +VCPU total 4\n")
	events.stop(t)
	if left.Load() >= 0 {
		t.Error("the command did not ask for names while the service was away")
	}
}

func TestCLI_EventsExec_HandlesEachEventAtLeastOnce(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	state, handled := filepath.Join(t.TempDir(), "state.json"), filepath.Join(t.TempDir(), "handled")
	runLines(t, environ, "trait create CUSTOM_A", "trait create CUSTOM_B")
	// The command fails at the first attempt of each event.
	const script = `test -e "$0.$BERTH_EVENT_INDEX" || { touch "$0.$BERTH_EVENT_INDEX"; exit 7; }; echo "$BERTH_EVENT_INDEX $BERTH_EVENT_KINDS $(grep -c '"type":"event"')" >> "$0"`
	line := []string{"--topic", "name", "--state", state, "--exec", "sh -c '" + strings.ReplaceAll(script, "'", `'\''`) + "' " + handled}
	first := startEvents(t, environ, append(line, "--after", "0")...)
	first.stderr.wait(t, "berth: event 2: the command failed: exit status 7; it is run again in 1s\n")
	first.stderr.wait(t, "berth: event 3: the command failed: exit status 7; it is run again in 1s\n")
	runLines(t, environ, "trait create CUSTOM_C")
	first.stderr.wait(t, "berth: event 4: the command failed: exit status 7; it is run again in 1s\n")
	first.stop(t)
	runLines(t, environ, "trait create CUSTOM_D")
	second := startEvents(t, environ, append(line, "--retries", "0", "--on-failure", "skip")...)
	second.stderr.wait(t, "berth: event 5 is skipped: the command failed 1 times: exit status 7\n")
	second.stop(t)
	text, err := os.ReadFile(handled)
	if want := "2 traits 1\n3 traits 1\n4 traits 1\n"; err != nil || string(text) != want {
		t.Errorf("handled %q, %v, want %q", text, err, want)
	}
	position, err := os.ReadFile(state)
	if err != nil || !strings.HasSuffix(string(position), "\"index\":5}\n") {
		t.Errorf("state = %q, %v", position, err)
	}
}

func TestCLI_Events_Errors(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	runLines(t, environ, "trait create CUSTOM_A")
	folder := t.TempDir()
	other, broken := filepath.Join(folder, "other.json"), filepath.Join(folder, "broken.json")
	for path, text := range map[string]string{other: `{"log": "7c1e0b54-9f4e-4c53-8d0e-2a6d1c9b7f10", "index": 1}`, broken: "index: 1"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		arguments []string
		code      int
		stderr    string
	}{
		"later index":      {[]string{"--after", "1000"}, frame.ExitFailed, "Index 1000 is not known: the newest is 2."},
		"other log":        {[]string{"--state", other}, frame.ExitFailed, "What happened in between is unknown."},
		"no state":         {[]string{"--state", broken}, frame.ExitFailed, "is not a state file of 'berth events': it begins with \"index: 1\". Remove it"},
		"unknown object":   {[]string{"compute-9"}, frame.ExitFailed, "no node has the name, and the record has no changes of it"},
		"no index":         {[]string{"--after", "x"}, frame.ExitUsage, "\"x\" (flag --after) is not an index; write a number such as 41822"},
		"no choice":        {[]string{"--exec", "true", "--on-failure", "x"}, frame.ExitUsage, "is neither stop nor skip"},
		"skips nothing":    {[]string{"--on-failure", "skip"}, frame.ExitUsage, "is used without --exec"},
		"format and exec":  {[]string{"--exec", "true", "-o", "json"}, frame.ExitUsage, "is used with --exec"},
		"failing command":  {[]string{"--after", "0", "--exec", "exit 3", "--retries", "0"}, frame.ExitFailed, "event 1: the command failed 1 times: exit status 3"},
		"negative retries": {[]string{"--exec", "true", "--retries", "-1"}, frame.ExitUsage, "is negative"},
	} {
		if got := runCommand(t, environ, append([]string{"events"}, test.arguments...)...); got.code != test.code || !strings.Contains(got.stderr, test.stderr) {
			t.Errorf("%s: %+v\nwant %q", name, got, test.stderr)
		}
	}
}
