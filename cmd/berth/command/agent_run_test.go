package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/cmd/berth/frame"
	"github.com/berthd/berth/internal/test/capture"
	"github.com/berthd/berth/internal/test/dbtest"
)

// runningAgent is `berth agent` in the process of the test.
type runningAgent struct {
	t       *testing.T
	signals chan os.Signal
	exit    chan int
	stderr  *capture.Text
}

func startAgent(t *testing.T, arguments []string) *runningAgent {
	t.Helper()
	a := &runningAgent{t: t, signals: make(chan os.Signal, 2), exit: make(chan int, 1), stderr: new(capture.Text)}
	f := frame.Frame{Stdout: io.Discard, Stderr: a.stderr, Signals: func() (<-chan os.Signal, func()) { return a.signals, func() {} }}
	go func() { a.exit <- Run(t.Context(), &f, arguments) }()
	return a
}

// logged waits until the log matches a pattern, and returns the submatches.
func (a *runningAgent) logged(pattern string) []string {
	a.t.Helper()
	expression := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if found := expression.FindStringSubmatch(a.stderr.String()); found != nil {
			return found
		}
	}
	a.t.Fatalf("the log does not match %q: %s", pattern, a.stderr)
	return nil
}

func (a *runningAgent) stop() {
	a.t.Helper()
	a.signals <- syscall.SIGTERM
	if code := <-a.exit; code != frame.ExitOK {
		a.t.Errorf("exit code %d: %s", code, a.stderr)
	}
}

// metrics waits until /metrics contains a line.
func (a *runningAgent) metrics(address, line string) {
	a.t.Helper()
	var page []byte
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		response, err := http.Get("http://" + address + "/metrics")
		if err != nil {
			a.t.Fatal(err)
		}
		page, err = io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			a.t.Fatal(err)
		}
		if slices.Contains(strings.Split(string(page), "\n"), line) {
			return
		}
	}
	a.t.Fatalf("the metrics lack %q:\n%s", line, page)
}

func TestAgent_Run_ReconcilesUntilStopped(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	a := startAgent(t, b.arguments("--metrics-listen=127.0.0.1:0", "--interval=1h", "--log-level=debug"))
	address := a.logged(`msg="serving metrics" address=(\S+)`)[1]
	a.metrics(address, `berth_agent_reconciliations_total{outcome="success"} 1`)
	a.metrics(address, `berth_agent_reconciliations_total{outcome="reshape_needed"} 0`)
	a.metrics(address, `berth_agent_providers 1`)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	a.metrics(address, `berth_agent_reconciliations_total{outcome="success"} 2`)
	a.stop()
}

func TestAgent_ServiceUnreachable_KeepsRunning(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	unknown := httptest.NewServer(nil)
	unknown.Close()
	a := startAgent(t, b.arguments("--url", unknown.URL, "--metrics-listen=127.0.0.1:0", "--interval=1h"))
	address := a.logged(`msg="serving metrics" address=(\S+)`)[1]
	a.metrics(address, `berth_agent_reconciliations_total{outcome="unavailable"} 1`)
	a.metrics(address, `berth_agent_last_success_timestamp_seconds 0`)
	a.logged("cannot synchronize the provider tree; retrying")
	a.stop()

	if once := b.agent("--url", unknown.URL, "--once"); once.code != frame.ExitFailed || !strings.Contains(once.stderr, "connection refused") {
		t.Errorf("exit code %d: %s", once.code, once.stderr)
	}
}

func TestAgent_SecondSignal_AbortsReconciliation(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	a := startAgent(t, b.arguments("--url", "http://"+silentListener(t), "--timeout=0"))
	a.logged("this host")
	a.signals <- syscall.SIGTERM
	a.logged("msg=stopping")
	select {
	case code := <-a.exit:
		t.Errorf("the agent exited with code %d after one signal: %s", code, a.stderr)
	case <-time.After(300 * time.Millisecond):
	}
	a.signals <- syscall.SIGTERM
	if code := <-a.exit; code != frame.ExitFailed || !strings.Contains(a.stderr.String(), "canceled a reconciliation at the stop deadline") {
		t.Errorf("exit code %d: %s", code, a.stderr)
	}
}

func TestAgent_RunReshapeFails_ExitsUnchanged(t *testing.T) {
	t.Parallel()
	b := setupAgent(t)
	b.reconcile()
	b.claim()
	before := dbtest.Snapshot(t, b.db)
	if code := <-startAgent(t, b.arguments("--layout=numa")).exit; code != frame.ExitFailed {
		t.Errorf("exit code %d", code)
	}
	if changes := before.Diff(dbtest.Snapshot(t, b.db)); changes != nil {
		t.Errorf("the database changed: %q", changes)
	}
}
