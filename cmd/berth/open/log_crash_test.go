package open

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The process that crashes is this test, started again with the name of the file.
func TestCLI_Crash_IsInLogFile(t *testing.T) {
	const variable = "TEST_CRASH_LOG_FILE"
	if name := os.Getenv(variable); name != "" {
		if _, err := openLogFile(name); err != nil {
			t.Fatal(err)
		}
		crashed := make(chan struct{})
		go func() { panic("a bug in a goroutine") }()
		<-crashed
	}
	t.Parallel()
	file := filepath.Join(t.TempDir(), "berth.log")
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), variable+"="+file)
	if output, err := command.CombinedOutput(); err == nil {
		t.Fatalf("the process did not crash: %s", output)
	}
	if logged, err := os.ReadFile(file); err != nil || !strings.Contains(string(logged), "panic: a bug in a goroutine") {
		t.Errorf("the log has %q: %v", logged, err)
	}
}
