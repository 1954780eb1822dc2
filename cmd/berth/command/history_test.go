package command

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
)

// startRecord serves a database whose record of changes is on, without the worker that begins and ends it.
func startRecord(t *testing.T) []string {
	t.Helper()
	started := servertest.New(t, servertest.Options{StandardNames: true})
	dbtest.TurnRecordOn(t, started.DB)
	if _, err := started.Store.HistoryState(t.Context()); err != nil {
		t.Fatal(err)
	}
	return []string{"BERTH_URL=" + started.Listen(t).URL}
}

// runLines runs command lines that must succeed.
func runLines(t *testing.T, environ []string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitOK {
			t.Fatalf("%s: %+v", line, got)
		}
	}
}

// whats returns the column WHAT of `berth history` with these arguments.
func whats(t *testing.T, environ []string, arguments ...string) (lines []string) {
	t.Helper()
	got := runCommand(t, environ, append([]string{"history"}, arguments...)...)
	if got.code != frame.ExitOK {
		t.Fatalf("history %v: %+v", arguments, got)
	}
	rows := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
	at := strings.Index(rows[0], "WHAT")
	for _, row := range rows[1:] {
		lines = append(lines, row[at:])
	}
	return lines
}

func TestCLI_HistoryOfServiceWithout_ErrorNamesServiceAndCommand(t *testing.T) {
	t.Parallel()
	address := placementProxy(t, startService(t), func() {})
	environ := []string{"BERTH_URL=" + address}
	for _, line := range []string{"history", "history enable", "history disable", "history status"} {
		got := runCommand(t, environ, strings.Fields(line)...)
		if want := (ran{frame.ExitFailed, "", "berth: The service at " + address + " has no berth 1.7, which berth " + line + " needs.\n"}); got != want {
			t.Errorf("%s: %+v\nwant %+v", line, got, want)
		}
	}
}

func TestCLI_AtOfServiceWithout_ErrorNamesServiceAndFlag(t *testing.T) {
	t.Parallel()
	address := placementProxy(t, startService(t), func() {})
	environ := []string{"BERTH_URL=" + address}
	for _, line := range []string{"tree compute-1 --at 2h", "consumer show 1d5ecafe-0000-4000-8000-0000000000a1 --at 2h"} {
		got := runCommand(t, environ, strings.Fields(line)...)
		if want := (ran{frame.ExitFailed, "", "berth: The service at " + address + " has no berth 1.7, which --at needs.\n"}); got != want {
			t.Errorf("%s: %+v\nwant %+v", line, got, want)
		}
	}
}

func TestCLI_AtDeniedByPolicy_ErrorNamesRule(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startRecording(t, "\"berth:history:list\": \"!\"\n")}
	runLines(t, environ, "provider create compute-1")
	for _, line := range []string{"tree compute-1 --at 2h", "tree compute-1 --at 2h --output json", "consumer show 1d5ecafe-0000-4000-8000-0000000000a1 --at 2h"} {
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitFailed || got.stdout != "" || !strings.Contains(got.stderr, "the rule is berth:history:list") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestCLI_HistoryDeniedByPolicy_ErrorNamesRule(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startRecording(t, "\"berth:history:list\": \"!\"\n\"berth:history:update\": \"!\"\n")}
	for _, line := range []string{"history", "history status"} {
		if got := runCommand(t, environ, strings.Fields(line)...); got.code != frame.ExitFailed || !strings.Contains(got.stderr, "the rule is berth:history:list") {
			t.Errorf("%s: %+v", line, got)
		}
	}
	environ = []string{"BERTH_URL=" + startRecording(t, "\"berth:history:update\": \"!\"\n")}
	if got := runCommand(t, environ, "history", "enable"); got.code != frame.ExitFailed || !strings.Contains(got.stderr, "the rule is berth:history:update") {
		t.Errorf("%+v", got)
	}
}

// TestCLI_HistoryEnable_WaitsAndComparesGeneration has no worker: the record stays in the state starting.
func TestCLI_HistoryEnable_WaitsAndComparesGeneration(t *testing.T) {
	t.Parallel()
	url := startService(t)
	environ := []string{"BERTH_URL=" + url}
	if got := runCommand(t, environ, "history", "enable", "--wait-timeout", "0"); got.code != frame.ExitOK ||
		!strings.HasPrefix(got.stdout, "History is starting, kept for 30 days, log ") || !strings.HasSuffix(got.stdout, ". 'berth history status' shows when it is on.\n") {
		t.Errorf("without a wait: %+v", got)
	}
	const unfinished = "berth: the record is not complete after 600ms: a transaction that had written before has not ended; " +
		"changes are recorded, and 'berth history status' shows when the state is on\n"
	if got := runCommand(t, environ, "history", "enable", "--wait-timeout", "600ms"); got != (ran{frame.ExitFailed, "", unfinished}) {
		t.Errorf("with a wait: %+v", got)
	}
	if got := runCommand(t, environ, "history", "enable", "--wait-timeout", "-1s"); got.code != frame.ExitUsage {
		t.Errorf("with a negative wait: %+v", got)
	}
	// Another client is faster each time.
	proxy := &counted{answer: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			request, _ := http.NewRequest(r.Method, url+r.URL.Path, bytes.NewReader(body))
			request.Header = r.Header.Clone()
			if response, err := http.DefaultClient.Do(request); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("the faster write: %v", err)
			}
		}
		return false
	}}
	behind := []string{"BERTH_URL=" + proxy.listen(t, url)}
	const lost = "berth: another client has changed the settings of the history at the same time; see 'berth history status', and repeat the command if it is still wanted\n"
	for _, line := range []string{"history enable --keep 7", "history disable"} {
		if got := runCommand(t, behind, strings.Fields(line)...); got != (ran{frame.ExitFailed, "", lost}) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestCLI_HistoryOfRequest_HasWhatFoundNothing(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startRecording(t, "{}")}
	runLines(t, environ, "history enable --wait-timeout 0", "provider create compute-1", "inventory set compute-1 --resource VCPU=1")
	runCommand(t, environ, "candidate", "list", "--resources", "VCPU=2")
	request := newestRequest(t, environ)
	got := runCommand(t, environ, "history", "--request", request)
	_, row, _ := strings.Cut(got.stdout, "\n")
	if fields := strings.Fields(row); got.code != frame.ExitOK || len(fields) < 5 || fields[0] != "-" || !strings.HasPrefix(request, fields[3]) || !strings.Contains(row, "  nothing found: ") {
		t.Errorf("history = %+v, want the request %s", got, request)
	}
	if got := runCommand(t, environ, "history", "--full", "--request", request); !strings.HasPrefix(got.stdout, "request that found nothing at ") || !strings.Contains(got.stdout, "\nnothing found: ") {
		t.Errorf("history --full = %+v", got)
	}
}

func TestCLI_HistoryOfTree_NamesWhatMovedAndWhatIsGone(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	runLines(t, environ, "provider create compute-1", "provider create compute-2", "provider create numa --parent compute-1",
		"provider set numa --parent compute-2", "provider delete numa", "provider delete compute-2")
	for _, test := range []struct{ arguments, want string }{
		{"numa", "provider numa deleted|provider numa moved from compute-1 to compute-2|provider numa created below compute-1"},
		{"--tree compute-1", "provider numa created below compute-1|provider compute-1 created"},
		{"--tree compute-2 --oldest-first --topic provider", "provider compute-2 created|provider numa moved from compute-1 to compute-2|provider numa deleted|provider compute-2 deleted"},
		{"--name numa --limit 1", "provider numa deleted"},
	} {
		if got := strings.Join(whats(t, environ, strings.Fields(test.arguments)...), "|"); got != test.want {
			t.Errorf("history %s:\n%s, want\n%s", test.arguments, got, test.want)
		}
	}
}

// TestCLI_HistoryOfManyObjects_ReadsNamesAtOnce has more providers than are asked for one by one.
func TestCLI_HistoryOfManyObjects_ReadsNamesAtOnce(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	service, err := client.New(strings.TrimPrefix(environ[0], "BERTH_URL="))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 24 {
		if _, err := service.ProviderCreate(t.Context(), "host-"+string(rune('a'+n)), treeID(n+1), uuid.Nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := service.ProviderTraitReplace(t.Context(), treeID(n+1), 0, []string{"COMPUTE_STATUS_DISABLED"}); err != nil {
			t.Fatal(err)
		}
	}
	proxy := &counted{}
	environ = []string{"BERTH_URL=" + proxy.listen(t, strings.TrimPrefix(environ[0], "BERTH_URL="))}
	if got := whats(t, environ, "--limit", "0", "--topic", "trait"); len(got) != 24 || got[0] != "host-x: traits +COMPUTE_STATUS_DISABLED" {
		t.Errorf("history = %q", got)
	}
	if len(proxy.requests) > 4 {
		t.Errorf("requests = %q, want one for all names", proxy.requests)
	}
}

func TestCLI_HistoryOfNodes_NamesThem(t *testing.T) {
	t.Parallel()
	environ := []string{"BERTH_URL=" + startHistory(t)}
	runLines(t, environ, "history enable", "baremetal node create --name rack-1 --driver fake-hardware --resource-class gold",
		"baremetal node manage rack-1 --wait", "baremetal node provide rack-1 --wait",
		"baremetal allocation create --name web --resource-class gold --wait")
	got := strings.Join(whats(t, environ, "rack-1", "--oldest-first", "--limit", "0"), "\n")
	for _, want := range []string{
		"node rack-1 created: driver fake-hardware, provision_state enroll, resource_class gold\n",
		"node rack-1: ", "provision_state enroll → verifying", "node allocation web: node_uuid none → rack-1, state allocating → active",
	} {
		if !strings.Contains(got+"\n", want) {
			t.Errorf("history:\n%s\nwant %q", got, want)
		}
	}
}

// output is a stream that a test reads while a command writes it.
type output struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.text.Write(text)
}

// wait waits until the text contains another one.
func (o *output) wait(t *testing.T, wanted string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		o.mutex.Lock()
		text := o.text.String()
		o.mutex.Unlock()
		if strings.Contains(text, wanted) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q, want %q", text, wanted)
		}
	}
}

func TestCLI_HistoryFollow_PrintsNewEventsUntilSignal(t *testing.T) {
	t.Parallel()
	environ := startRecord(t)
	url := strings.TrimPrefix(environ[0], "BERTH_URL=")
	runLines(t, environ, "trait create CUSTOM_BEFORE")
	var isAway atomic.Bool
	var asked atomic.Int32
	proxy := &counted{answer: func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/history") {
			asked.Add(1)
		}
		return isAway.Load() && send(w, http.StatusServiceUnavailable, "placement.undefined_code")
	}}
	signals := make(chan os.Signal, 1)
	stdout, stderr := &output{}, &output{}
	host := frame.Frame{Environ: []string{"BERTH_URL=" + proxy.listen(t, url)}, Stdout: stdout, Stderr: stderr,
		Signals: func() (<-chan os.Signal, func()) { return signals, func() {} }}
	ended := make(chan int, 1)
	go func() {
		ended <- Run(t.Context(), &host, []string{"history", "--follow", "--topic", "name", "--timeout", "2s"})
	}()
	for deadline := time.Now().Add(time.Minute); asked.Load() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the command does not ask again")
		}
	}
	runLines(t, environ, "trait create CUSTOM_A", "provider create compute-1", "trait create CUSTOM_B")
	stdout.wait(t, "trait CUSTOM_B created\n")
	isAway.Store(true)
	stderr.wait(t, "berth: the service is not available; the command asks again every second (")
	runLines(t, environ, "trait create CUSTOM_C")
	isAway.Store(false)
	stdout.wait(t, "trait CUSTOM_C created\n")
	signals <- syscall.SIGINT
	if code := <-ended; code != frame.ExitOK {
		t.Errorf("exit code %d, %s", code, stderr.text.String())
	}
	lines := strings.Split(strings.TrimSpace(stdout.text.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "3  20") || !strings.HasSuffix(lines[0], "  trait CUSTOM_A created") || !strings.HasPrefix(lines[1], "5  20") {
		t.Errorf("lines = %q", lines)
	}
}
