package hostcommand

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
)

func TestAgent_HostUUID_DerivedFromMachineIDAndName(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	identity := func(machine, name string) uuid.UUID {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "etc/machine-id"), []byte(machine+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		id, err := (&agentSettings{Root: root, Name: name}).identity()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	const machine = "3d1219c7c4c5404aaa1f6d2a48adfda4"
	first := identity(machine, "cn1")
	if first != identity(machine, "cn1") || first.Version() != 5 {
		t.Errorf("UUID = %s, want the same version 5 UUID on each call", first)
	}
	if first == identity(machine, "cn2") || first == identity("4"+machine[1:], "cn1") {
		t.Error("two hosts have the same UUID")
	}
}
