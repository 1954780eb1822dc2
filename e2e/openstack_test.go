//go:build client

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// The system's Python and client, by path: another Python that comes earlier on
// PATH would not have the client's libraries.
const (
	python    = "/usr/bin/python3"
	openstack = "/usr/bin/openstack"
)

// callLimit ends a client that hangs; an ordinary call takes about a second.
const callLimit = 60 * time.Second

// call is one command line of the client and what must come of it.
type call struct {
	command string
	args    []string
	// since is the microversion from which the client has the command, or the
	// option used here. Below it the client itself must say so.
	since string
	// want is the output, as a Go value that encodes to the same JSON; nil stands
	// for commands that print nothing.
	want any
	// fails is a part of the error, when there must be one.
	fails string
}

// row is one record of the client's output.
type row = map[string]any

// TestClient_OpenStackCLI_PrintsRecordedOutput runs every command of the client's placement plugin, at
// the oldest microversion, at the newest one that the client picks by itself,
// and at the newest of all.
func TestClient_OpenStackCLI_PrintsRecordedOutput(t *testing.T) {
	t.Parallel()
	known := pluginCommands(t)
	// The client needs a whole processor for most of its second.
	slots := make(chan struct{}, 2)
	for _, version := range []apiVersion{"1.0", "1.29", "1.39"} {
		t.Run("at "+string(version), func(t *testing.T) {
			t.Parallel()
			calls := session(version)
			checkCoverage(t, known, calls)
			url := serve(t)
			for _, c := range calls {
				slots <- struct{}{}
				c.check(t, url, version)
				<-slots
				if t.Failed() {
					return // each call stands on those before it
				}
			}
		})
	}
}

// pluginCommands asks the installed plugin for its commands, so that a command
// that is new to it fails this test.
func pluginCommands(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command(python, "-c", `
from importlib.metadata import entry_points
for point in entry_points()["openstack.placement.v1"]:
    print(point.name.replace("_", " "))`).Output()
	if err != nil {
		t.Fatalf("list the commands of the placement plugin (python3-osc-placement): %v", err)
	}
	commands := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(commands)
	return slices.Compact(commands)
}

func checkCoverage(t *testing.T, known []string, calls []call) {
	t.Helper()
	used := map[string]bool{}
	for _, c := range calls {
		used[c.command] = true
	}
	if got := slices.Sorted(maps.Keys(used)); !slices.Equal(got, known) {
		t.Fatalf("the session covers\n%q\nand the plugin has\n%q", got, known)
	}
}

// check runs a call and compares what the client says.
func (c call) check(t *testing.T, url string, version apiVersion) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callLimit)
	defer cancel()
	command := exec.CommandContext(ctx, openstack, append([]string{
		"--os-auth-type", "admin_token", "--os-token", "admin", "--os-endpoint", url,
		"--os-placement-api-version", string(version),
	}, c.line()...)...)
	command.Env = withoutSettings(os.Environ())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()

	wantError := c.fails
	if c.since != "" && !version.has(c.since) {
		wantError = "Operation or argument is not supported with version " + string(version) +
			"; requires at least version " + c.since
	}
	if wantError != "" {
		if err == nil || !strings.Contains(stderr.String(), wantError) {
			t.Errorf("openstack %s: %v\nprinted %s%s\nwant an error with %q", c, err, stdout.String(), stderr.String(), wantError)
		}
		return
	}
	if err != nil {
		t.Errorf("openstack %s: %v\n%s", c, err, stderr.String())
		return
	}
	if diff := differs(stdout.String(), c.want); diff != "" {
		t.Errorf("openstack %s: %s", c, diff)
	}
}

// line is the command line. Commands with output give it as JSON.
func (c call) line() []string {
	line := append(strings.Fields(c.command), c.args...)
	if c.want != nil {
		line = append(line, "-f", "json")
	}
	return line
}

func (c call) String() string { return strings.Join(c.line(), " ") }

// differs compares an output with the value that it must encode.
func differs(printed string, want any) string {
	if want == nil {
		if printed != "" {
			return "printed " + printed + " and should print nothing"
		}
		return ""
	}
	wanted, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		return err.Error()
	}
	var got, normal any
	if err := json.Unmarshal(wanted, &normal); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal([]byte(printed), &got); err != nil || !reflect.DeepEqual(got, normal) {
		return "printed\n" + printed + "and should print\n" + string(wanted)
	}
	return ""
}
