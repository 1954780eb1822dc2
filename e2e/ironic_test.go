//go:build client

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestClient_IronicCLI_PrintsRecordedOutput runs what an operator types at `openstack baremetal`, at the
// version that the client picks by itself and at those where allocations came and
// where they learned to be made for nodes in use. Whether Placement knows the nodes as
// well makes no difference.
func TestClient_IronicCLI_PrintsRecordedOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version apiVersion
		backend string
	}{
		"at the default":                        {newestOfIronicClient, "database"},
		"at the default, with Placement behind": {newestOfIronicClient, "placement"},
		"at 1.58":                               {"1.58", "database"},
		"at 1.52":                               {"1.52", "database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := newIronic(t, serve(t, "--baremetal-hostname", conductorName, "--baremetal-backend", c.backend), c.version)
			for _, call := range ironicSession(c.version) {
				client.check(call)
				if t.Failed() {
					return // each call stands on those before it
				}
			}
		})
	}
}

// newestOfIronicClient is what the client asks for unless told otherwise.
const newestOfIronicClient = apiVersion("1.78")

// ironic is the `openstack` client, started once for many command lines.
type ironic struct {
	t       *testing.T
	options []string
	into    io.Writer
	from    *bufio.Reader
}

func newIronic(t *testing.T, url string, version apiVersion) *ironic {
	t.Helper()
	command := exec.Command(python, "ironic.py")
	// The client keeps in its cache what a server at this address could do last time.
	command.Env = append(withoutSettings(os.Environ()), "HOME="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
	var said bytes.Buffer
	command.Stderr = &said
	into, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	// One that hangs would hang the test.
	late := time.AfterFunc(5*time.Minute, func() { command.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		into.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("the client ended with %v: %s", err, said.String())
		}
	})
	options := []string{"--os-auth-type", "none", "--os-endpoint", url}
	if version != newestOfIronicClient {
		options = append(options, "--os-baremetal-api-version", string(version))
	}
	return &ironic{t: t, options: options, into: into, from: bufio.NewReader(from)}
}

// ran is what came of a command line.
type ran struct {
	Code    int
	Printed string
	Said    string
}

func (i *ironic) run(words ...string) ran {
	i.t.Helper()
	line, err := json.Marshal(append(append([]string{}, i.options...), words...))
	if err != nil {
		i.t.Fatal(err)
	}
	if _, err := i.into.Write(append(line, '\n')); err != nil {
		i.t.Fatal(err)
	}
	var got ran
	answer, err := i.from.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(answer), &got)
	}
	if err != nil {
		i.t.Fatalf("openstack %s: %v: %s", strings.Join(words, " "), err, answer)
	}
	return got
}

// ironicCall is a command line and what must come of it.
type ironicCall struct {
	line string
	// want is the output, as a Go value that encodes to the same JSON, with momentShown
	// for every time. A text stands for what the client says without being asked for JSON.
	want any
	// fails is a part of the error, when there must be one.
	fails string
}

// momentShown stands for the times in outputs.
const momentShown = "A MOMENT"

var momentPattern = regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`)

func (i *ironic) check(call ironicCall) {
	i.t.Helper()
	words := append([]string{"baremetal"}, splitQuoted(call.line)...)
	text, plain := call.want.(string)
	if call.want != nil && !plain {
		words = append(words, "-f", "json")
	}
	got := i.run(words...)
	printed := momentPattern.ReplaceAllString(got.Printed, momentShown)
	complain := func(why string) {
		i.t.Helper()
		i.t.Errorf("openstack %s: %s\nexit code %d\n%s", strings.Join(words, " "), why, got.Code, got.Said)
	}
	switch {
	case call.fails != "":
		if got.Code == 0 || !strings.Contains(strings.Join(strings.Fields(got.Said), " "), call.fails) {
			complain("want an error with " + call.fails)
		}
	case got.Code != 0:
		complain("want no error")
	case plain:
		if strings.TrimSpace(printed) != text {
			complain("printed " + printed + " and should print " + text)
		}
	default:
		if diff := differs(printed, call.want); diff != "" {
			complain(diff)
		}
	}
}

// splitQuoted splits a command line at blanks that are not in single quotes.
func splitQuoted(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}
