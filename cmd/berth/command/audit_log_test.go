package command

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
)

// TestAuditLog_SIGHUP_ReopensFile sends a signal to the process of all tests, so it cannot run in
// parallel with others.
func TestAuditLog_SIGHUP_ReopensFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	b := setupServe(t, "--database-url", dbtest.NewEmpty(t).URL, "--audit-log", path, "--audit-log-required")
	write := func(name string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, b.url+"/traits/"+name, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("OpenStack-API-Version", "placement 1.39")
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			t.Fatalf("status = %d", response.StatusCode)
		}
	}
	write("CUSTOM_A")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("the server did not reopen the file")
		}
	}
	write("CUSTOM_B")
	for file, name := range map[string]string{path + ".1": "CUSTOM_A", path: "CUSTOM_B"} {
		text, err := os.ReadFile(file)
		if err != nil || strings.Count(string(text), "\n") != 2 || strings.Count(string(text), name) != 2+1 { // the third is in its Location
			t.Errorf("%s = %s, %v; want two lines about %s", file, text, err, name)
		}
	}
	b.signals <- syscall.SIGTERM
	if code := <-b.exit; code != frame.ExitOK {
		t.Errorf("exit code = %d: %s", code, b.stderr)
	}
}
