//go:build client

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peerAPI is an API of Debian's nova or ironic (the packages python3-nova and python3-ironic), with rows that their own
// objects write.
type peerAPI struct {
	t       *testing.T
	url     string
	process *os.Process
	into    io.Writer
	from    *bufio.Reader
}

// startPeer starts the API of a script, with pages of two or three items, until the test ends. The path is that of the API.
func startPeer(t *testing.T, script, path string, more ...string) *peerAPI {
	t.Helper()
	port := freePort(t)
	directory := t.TempDir()
	command := exec.Command(python, append([]string{script, directory, strconv.Itoa(port)}, more...)...)
	into, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	command.Stderr = &printed
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		command.Process.Kill()
		if err := command.Wait(); t.Failed() {
			t.Logf("%s ended: %v\n%s", script, err, printed.String())
		}
	})
	api := &peerAPI{t: t, url: fmt.Sprintf("http://127.0.0.1:%d%s", port, path), process: command.Process, into: into, from: bufio.NewReader(from)}
	api.expect("ready")
	return api
}

// expect fails the test if the next line of the program is another one, or if none comes within five minutes.
func (c *peerAPI) expect(want string) {
	c.t.Helper()
	late := time.AfterFunc(5*time.Minute, func() { c.process.Kill() })
	defer late.Stop()
	line, err := c.from.ReadString('\n')
	if strings.TrimSpace(line) != want {
		c.t.Fatalf("the API printed %q, want %q; %v", line, want, err)
	}
}

// add writes a row of a kind that the script knows.
func (c *peerAPI) add(kind string, row map[string]any) {
	c.t.Helper()
	row["make"] = kind
	if err := json.NewEncoder(c.into).Encode(row); err != nil {
		c.t.Fatal(err)
	}
	c.expect("ok")
}

// computeID is the UUID of a host, server or migration by its number.
func computeID(number int) string { return fmt.Sprintf("c0ffee00-0000-4000-8000-%012d", number) }

// reconciled runs `berth reconcile` with a source and returns its findings as "kind number host outcome", and the number of
// servers that it read.
func (c *peerAPI) reconciled(code int, source string, arguments ...string) (findings []string, servers int) {
	c.t.Helper()
	line := []string{"reconcile", "--with", source, "--" + source + "-url", c.url, "--min-age", "0", "--settle", "10ms", "--output", "json"}
	command := berthCommand(c.t, append(line, arguments...)...)
	var printed strings.Builder
	command.Stderr = &printed
	output, err := command.Output()
	failed, _ := errors.AsType[*exec.ExitError](err)
	if got := failed != nil && failed.ExitCode() == code; err != nil && !got || err == nil && code != 0 {
		c.t.Fatalf("berth reconcile %q: %v, want exit code %d\n%s%s", arguments, err, code, output, printed.String())
	}
	var document struct {
		Servers  int
		Findings []struct {
			Finding  string
			Consumer string `json:"consumer_uuid"`
			Host     string
			Outcome  string
		}
	}
	if err := json.Unmarshal(output, &document); err != nil {
		c.t.Fatal(err)
	}
	findings = []string{}
	for _, finding := range document.Findings {
		number := strings.TrimLeft(finding.Consumer[max(0, len(finding.Consumer)-12):], "0")
		findings = append(findings, strings.Join(strings.Fields(finding.Finding+" "+number+" "+finding.Host+" "+finding.Outcome), " "))
	}
	return findings, document.Servers
}

// TestReconcile_DebianNova_IsRepaired compares a server with Debian's nova: its servers in the states that matter, with
// their migrations, in pages of three.
func TestReconcile_DebianNova_IsRepaired(t *testing.T) {
	t.Parallel()
	api := startPeer(t, "compute_api.py", "/v2.1")
	url := serve(t)
	claim := func(number int, kind string, hosts ...int) {
		t.Helper()
		line := []string{"allocation", "set", computeID(number), "--project", "web", "--user", "ada", "--type", kind, "--url", url}
		for _, host := range hosts {
			line = append(line, "--on", computeID(host)+"=VCPU:2,MEMORY_MB:2048,DISK_GB:20")
		}
		berth(t, line...)
	}
	for host := 1; host <= 3; host++ {
		name := fmt.Sprintf("compute-%d", host)
		berth(t, "provider", "create", name, "--uuid", computeID(host), "--url", url)
		berth(t, "inventory", "set", name, "--resource", "VCPU=64", "--resource", "MEMORY_MB=65536", "--resource", "DISK_GB=1000", "--url", url)
		if host < 3 {
			api.add("host", map[string]any{"name": name, "uuid": computeID(host)})
		}
	}
	for number := 11; number <= 22; number++ {
		host := fmt.Sprintf("compute-%d", 1+number%2)
		row := map[string]any{"uuid": computeID(number), "host": host}
		switch number {
		case 13:
			row["vm_state"] = "soft-delete"
		case 14:
			row["vm_state"], row["host"] = "shelved_offloaded", nil
		case 16:
			row["vm_state"], row["host"] = "error", nil
		case 17:
			row["task_state"] = "migrating"
		case 21:
			row["extra_specs"] = map[string]string{"resources:VCPU": "3"}
		}
		api.add("server", row)
		claimed := []int{1 + number%2}
		switch number {
		case 14, 22: // shelved; missing
			continue
		case 17, 18, 19: // live migration; evacuated; nothing explains it
			claimed = []int{1, 2}
		}
		claim(number, "INSTANCE", claimed...)
	}
	api.add("change", map[string]any{"uuid": computeID(15), "set": map[string]any{}, "destroy": true})
	for number, row := range map[int][3]string{31: {"resize", "finished", "12"}, 32: {"evacuation", "done", "18"}, 33: {"live-migration", "running", "17"}, 34: {"resize", "error", "12"}} {
		instance, _ := strconv.Atoi(row[2])
		api.add("migration", map[string]any{"uuid": computeID(number), "instance": computeID(instance), "type": row[0], "status": row[1], "from": "compute-2", "to": "compute-1"})
		if number != 32 {
			claim(number, "MIGRATION", 2)
		}
	}
	want := []string{"orphan 15 compute-2", "orphan-migration 34 compute-2", "elsewhere 19 compute-1", "missing 22 compute-1", "amount 21 compute-2", "empty-host compute-3"}
	found, servers := api.reconciled(3, "nova", "--url", url)
	if !slices.Equal(found, want) || servers != 11 {
		t.Fatalf("findings = %q of %d servers, want %q of 11", found, servers, want)
	}
	plan := filepath.Join(t.TempDir(), "plan.json")
	found, _ = api.reconciled(3, "nova", "--url", url, "--repair", "--heal", "--providers", "--save-plan", plan)
	for i := range want {
		if i != 4 {
			want[i] += " repaired"
		}
	}
	if !slices.Equal(found, want) {
		t.Fatalf("repaired = %q, want %q", found, want)
	}
	if found, _ = api.reconciled(3, "nova", "--url", url); !slices.Equal(found, []string{"amount 21 compute-2"}) {
		t.Errorf("findings after the repair = %q", found)
	}
	berth(t, "reconcile", "--plan", strings.TrimSuffix(plan, ".json")+".undo.json", "--url", url)
	if found, _ = api.reconciled(3, "nova", "--url", url); len(found) != 6 {
		t.Errorf("findings after the undo = %q", found)
	}
}

// TestReconcile_DebianIronic_IsRepaired compares a server with Debian's ironic, in pages of two.
func TestReconcile_DebianIronic_IsRepaired(t *testing.T) {
	t.Parallel()
	api := startPeer(t, "baremetal_api.py", "")
	url := serve(t)
	berth(t, "class", "create", "CUSTOM_GOLD", "--url", url)
	claim := func(number, node int) {
		berth(t, "allocation", "set", computeID(number), "--project", "lab", "--user", "eve", "--type", "INSTANCE", "--on", computeID(node)+"=CUSTOM_GOLD:1", "--url", url)
	}
	for node := 1; node <= 5; node++ {
		berth(t, "provider", "create", computeID(node), "--uuid", computeID(node), "--url", url)
		berth(t, "inventory", "set", computeID(node), "--resource", "CUSTOM_GOLD=1", "--url", url)
		row := map[string]any{"uuid": computeID(node)}
		if node == 1 || node == 5 {
			row["instance"] = computeID(10 + node)
		}
		api.add("node", row)
	}
	api.add("allocation", map[string]any{"uuid": computeID(12), "node": computeID(2)})
	api.add("allocation", map[string]any{"uuid": computeID(14)})
	api.add("serve", map[string]any{})
	claim(11, 1)
	claim(12, 2)
	claim(13, 3)
	claim(15, 4) // its instance is on node 5
	want := []string{"orphan 13 " + computeID(3), "elsewhere 15 " + computeID(4), "missing 15 " + computeID(5)}
	if found, servers := api.reconciled(3, "ironic", "--url", url); !slices.Equal(found, want) || servers != 4 {
		t.Fatalf("findings = %q of %d servers, want %q of 4", found, servers, want)
	}
	api.reconciled(0, "ironic", "--url", url, "--repair", "--heal", "--save-plan", filepath.Join(t.TempDir(), "plan.json"))
	if found, _ := api.reconciled(0, "ironic", "--url", url); len(found) != 0 {
		t.Errorf("findings after the repair = %q", found)
	}
}
