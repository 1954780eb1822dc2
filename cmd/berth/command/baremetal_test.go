package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/berthd/berth/cmd/berth/connect"
	"github.com/berthd/berth/cmd/berth/frame"
)

func TestCLI_BaremetalCompletion_ListsNodesAndAllocations(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startBaremetal(t)}
	for _, line := range []string{
		"node create --driver fake-hardware --name rack-1 --resource-class gold", "node create --driver fake-hardware --name rack-2 --resource-class lead",
		"allocation create --resource-class tin --name web", "node trait add rack-1 CUSTOM_SSD",
		"allocation create --resource-class tin --uuid c0ffee00-0000-4000-8000-000000000021",
		"port create 52:54:00:12:34:56 --node rack-1 --uuid c0ffee00-0000-4000-8000-000000000031",
	} {
		if got := runCommand(t, environ, append([]string{"baremetal"}, strings.Fields(line)...)...); got.code != frame.ExitOK {
			t.Fatalf("%s: %s", line, got.stderr)
		}
	}
	for line, want := range map[string]string{
		"node show ":                            "rack-1 rack-2",
		"node show rack-1 ":                     "",
		"node delete rack-1 ":                   "rack-2",
		"node manage r":                         "rack-1 rack-2",
		"node power on rack-2 ":                 "rack-1",
		"node maintenance set ":                 "rack-1 rack-2",
		"node trait add ":                       "rack-1 rack-2",
		"node create ":                          "",
		"node create --driver ":                 "fake-hardware",
		"node list --resource-class ":           "gold lead",
		"node list --provision-state ":          "enroll manageable available active error clean failed deploy failed",
		"port list --node ":                     "rack-1 rack-2",
		"port delete ":                          "c0ffee00-0000-4000-8000-000000000031",
		"allocation show ":                      "c0ffee00-0000-4000-8000-000000000021 web",
		"allocation explain w":                  "web",
		"allocation explain web ":               "",
		"allocation delete web ":                "c0ffee00-0000-4000-8000-000000000021",
		"allocation create --candidate-node ":   "rack-1 rack-2",
		"allocation create --resource-class g":  "gold",
		"allocation list --state ":              "allocating active error",
		"driver show ":                          "fake-hardware",
		"conductor show ":                       "conductor-1",
		"allocation create --trait CUSTOM_NO":   "",
		"allocation create --resource-class x ": "",
	} {
		words := append([]string{"baremetal"}, strings.Fields(line)...)
		if strings.HasSuffix(line, " ") {
			words = append(words, "")
		}
		if got := strings.Join(completed(t, environ, words...), " "); got != want {
			t.Errorf("completions of %q = %q, want %q", line, got, want)
		}
	}
}

// startUnchanging serves node allocations and nodes whose state never changes, and returns the URL.
func startUnchanging(t *testing.T) string {
	t.Helper()
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"uuid": "c0ffee00-0000-4000-8000-000000000021", "state": "allocating", "provision_state": "cleaning", "target_provision_state": "available"}`))
	}))
	t.Cleanup(listening.Close)
	return listening.URL
}

func TestCLI_BaremetalWaitTimeout_ExitsWithFailure(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startUnchanging(t)}
	for _, line := range []string{"allocation create --resource-class gold", "node provide rack-1", "node provide rack-1 rack-2"} {
		start := time.Now()
		got := runCommand(t, environ, append([]string{"baremetal"}, strings.Fields(line+" --wait --wait-timeout 300ms")...)...)
		if got.code != frame.ExitFailed || !strings.Contains(got.stderr, "not done within 300ms") && !strings.Contains(got.stderr, "2 of 2 failed") {
			t.Errorf("%s: exit code %d, %s", line, got.code, got.stderr)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %s", line, took)
		}
	}
	got := runCommand(t, environ, "baremetal", "node", "provide", "rack-1", "--wait", "--wait-timeout=-1s")
	if got.code != frame.ExitUsage || !strings.Contains(got.stderr, "is negative") {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
}

func TestCLI_Commands_UseTheirCatalogServiceType(t *testing.T) {
	t.Parallel()
	for _, command := range allCommands() {
		want := ""
		if strings.HasPrefix(command.CommandPath(), "berth baremetal") {
			want = "baremetal"
		}
		if got := connect.ServiceType(command); got != want {
			t.Errorf("service type of %s = %q, want %q", command.CommandPath(), got, want)
		}
	}
	if connect.ServiceType(&cobra.Command{}) != "" {
		t.Error("a command without annotation has a service type")
	}
}
