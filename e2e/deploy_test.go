//go:build client

package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const deploy = "../docs/deploy/"

// highestExposure is what `systemd-analyze security` may say, in tenths: 0 is a
// service that may do nothing, 100 one that may do everything. Below 25 it is "OK".
const highestExposure = "15"

func TestDocs_SystemdUnits_VerifyAndHardened(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	for _, name := range []string{"berth.service", "berth.socket"} {
		text, err := os.ReadFile(deploy + name)
		if err != nil {
			t.Fatal(err)
		}
		// The program need not be installed where the unit looks for it.
		text = []byte(strings.ReplaceAll(string(text), "/usr/bin/berth", "/bin/true"))
		if err := os.WriteFile(filepath.Join(directory, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unit, socket := filepath.Join(directory, "berth.service"), filepath.Join(directory, "berth.socket")
	for _, arguments := range [][]string{
		{"verify", unit, socket},
		{"security", "--offline=true", "--no-pager", "--threshold=" + highestExposure, unit},
	} {
		if out, err := exec.Command("systemd-analyze", arguments...).CombinedOutput(); err != nil || strings.Contains(string(out), "Unknown") {
			t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(arguments, " "), err, out)
		}
	}
}

// instruction is a line of a Dockerfile.
type instruction struct{ name, arguments string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	file, err := os.Open(deploy + "Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []instruction
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, arguments, _ := strings.Cut(line, " ")
		all = append(all, instruction{name, arguments})
	}
	return all
}
