package run_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// TestRun_TwoJobsOneGPU_SecondWaits runs the second job when the first has ended. Each job fails if the other one runs.
func TestRun_TwoJobsOneGPU_SecondWaits(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	first := s.start("--", "sh", "-c", "mkdir running || exit 9; touch started; until [ -e end ]; do sleep 0.05; done; rmdir running")
	s.until("first job", func() bool { return s.exists("started") })
	second := s.start("--wait", "1h", "--", "sh", "-c", "mkdir running || exit 9; rmdir running")
	second.prints("waiting: Nothing fits.")
	second.prints(s.consumers()[0].UUID.String()) // which holds the GPU
	s.file("end", "")
	first.expect(0)
	second.expect(0)
	if got := strings.Count(second.stderr.String(), "waiting:"); got != 1 {
		t.Errorf("the reason was printed %d times: %q", got, second.stderr.String())
	}
	s.expectFree()
}

func TestRun_PlaceDeleted_KillsCommandThatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "1s", "--", "python3", "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); open('ready', 'w'); time.sleep(1000)")
	s.until("command", func() bool { return s.exists("ready") })
	s.deleteAll()
	j.expect(73)
	if !strings.Contains(j.stderr.String(), "the place is lost, stopping the command") {
		t.Errorf("standard error = %q", j.stderr.String())
	}
}

// deleteAll deletes all consumers.
func (s *site) deleteAll() {
	s.t.Helper()
	for _, consumer := range s.consumers() {
		if err := s.client.AllocationDelete(s.t.Context(), consumer.UUID); err != nil {
			s.t.Error(err)
		}
	}
}

func TestRun_PlaceDeleted_KeepsCommandIfAsked(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "1s", "--on-lost", "keep", "--", "sh", "-c", "touch ready; until [ -e end ]; do sleep 0.05; done; exit 6")
	s.until("command", func() bool { return s.exists("ready") })
	s.deleteAll()
	j.prints("the place is lost, the command goes on")
	s.file("end", "")
	j.expect(6)
}

func TestRun_ServerAbsentForLease_StopsCommand(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "2s", "--", "sh", "-c", "touch ready; exec sleep 1000")
	s.until("command", func() bool { return s.exists("ready") })
	s.meet(func(w http.ResponseWriter, _ *http.Request) bool { return unavailable(w) })
	j.expect(73)
	if text := j.stderr.String(); !strings.Contains(text, "stopping the command") || !strings.Contains(text, "is not given back (503") {
		t.Errorf("standard error = %q", text)
	}
	s.meet(func(http.ResponseWriter, *http.Request) bool { return false })
	s.until("free place", func() bool { return len(s.consumers()) == 0 })
}

// TestRun_ServerRestarts_KeepsPlace rejects the first renewal, as a server that restarts.
func TestRun_ServerRestarts_KeepsPlace(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	var renewals atomic.Int64
	s.meet(func(w http.ResponseWriter, r *http.Request) bool {
		return r.URL.Path == "/leases" && renewals.Add(1) == 1 && unavailable(w)
	})
	j := s.start("--lease", "5m", "--", "sh", "-c", "until [ -e end ]; do sleep 0.05; done")
	s.until("renewal", func() bool { return renewals.Load() > 1 })
	s.file("end", "")
	j.expect(0)
	s.expectFree()
}

// TestRun_ServerAbsent_IsWaitedFor starts the server after the job.
func TestRun_ServerAbsent_IsWaitedFor(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	j := s.start("--url", "http://"+address, "--wait", "1h", "--", "true")
	j.prints("waiting: no server answers at http://" + address)
	s.until("address", func() bool {
		listener, err = net.Listen("tcp", address)
		return err == nil
	})
	late := &httptest.Server{Listener: listener, Config: &http.Server{Handler: s}}
	late.Start()
	defer late.Close()
	j.expect(0)
	s.expectFree()
}

func TestRun_ServerHangs_IsUnavailable(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	s.meet(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/claims" {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}
		return r.URL.Path == "/claims"
	})
	j := s.start("--timeout", "2s", "--", "true")
	j.expect(69)
}

// TestRun_ResponseOfClaimLost_ClaimsOnce executes the claim and drops the connection.
func TestRun_ResponseOfClaimLost_ClaimsOnce(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	var claims atomic.Int64
	s.meet(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/claims" || claims.Add(1) > 1 {
			return false
		}
		s.server.Handler.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	j := s.start("--", "true")
	j.expect(0)
	if claims.Load() < 2 {
		t.Errorf("%d claims", claims.Load())
	}
	s.expectFree()
}

func TestRun_NamesUnreadAfterClaim_GivesPlaceBack(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	s.meet(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/resource_providers/") {
			return false
		}
		return unavailable(w)
	})
	j := s.start("--", "touch", "ran")
	j.expect(69)
	if s.exists("ran") {
		t.Error("the command ran")
	}
	s.expectFree()
}

// TestRun_ServerSlow_RenewsFromClaimOn answers the first request for a name after two renewals.
func TestRun_ServerSlow_RenewsFromClaimOn(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	var renewals atomic.Int64
	s.meet(func(_ http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/leases":
			renewals.Add(1)
		case strings.HasPrefix(r.URL.Path, "/resource_providers/"):
			for renewals.Load() < 2 && r.Context().Err() == nil {
				time.Sleep(20 * time.Millisecond)
			}
		}
		return false
	})
	j := s.start("--lease", "6s", "--", "true")
	j.expect(0)
	if renewals.Load() < 2 {
		t.Errorf("%d renewals", renewals.Load())
	}
	s.expectFree()
}

func TestRun_ConsumerChanged_IsNotGivenBack(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	j := s.start("--lease", "1h", "--", "sh", "-c", "touch ready; until [ -e end ]; do sleep 0.05; done")
	s.until("command", func() bool { return s.exists("ready") })
	consumer := s.consumers()[0].UUID
	if _, err := s.client.AllocationPatch(t.Context(), consumer, client.AllocationChanges{Lease: &client.LeaseTerms{Seconds: 3600}}); err != nil {
		t.Fatal(err)
	}
	s.file("end", "")
	j.expect(0)
	if !strings.Contains(j.stderr.String(), "another client has changed it") || len(s.consumers()) != 1 {
		t.Errorf("standard error = %q", j.stderr.String())
	}
}

// TestRun_LeaseShort_IsRenewed runs a command for three times its lease.
func TestRun_LeaseShort_IsRenewed(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	var renewals atomic.Int64
	s.meet(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/leases" {
			renewals.Add(1)
		}
		return false
	})
	j := s.start("--lease", "6s", "--", "sh", "-c", "until [ -e end ]; do sleep 0.05; done")
	began := time.Now()
	s.until("renewals", func() bool { return renewals.Load() > 5 })
	s.file("end", "")
	if code := j.wait(); code != 0 {
		t.Errorf("exit code = %d after %v: %s", code, time.Since(began), j.stderr.String())
	}
}

func TestRun_HostHasTree_IsPreferred(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	s.host(name, uuid.Nil, client.Resources{"VCPU": 2})
	other := s.host("gpu-2", uuid.Nil, client.Resources{"VCPU": 8})
	s.host("gpu-2-card", other, client.Resources{"PGPU": 1})
	for _, c := range []struct {
		code      int
		host      string
		arguments []string
	}{
		{0, name, []string{"--resources", "VCPU=1"}},
		{0, name, []string{"--here", "--group", "_A:resources=VCPU:1"}},
		{75, "", []string{"--resources", "VCPU=4"}},
		{75, "", []string{"--group", "_A:resources=VCPU:4"}},
		{0, "gpu-2", []string{"--resources", "VCPU=4", "--anywhere"}},
		{0, "gpu-2", []string{"--resources", "VCPU=1", "--host", "gpu-2"}},
		{0, "gpu-2", []string{"--resources", "VCPU=1", "--in-tree", "gpu-2"}},
		{0, "gpu-2", []string{"--resources", "VCPU=4", "--else", "--resources", "VCPU=4", "--in-tree", "gpu-2"}},
		{1, "", []string{"--resources", "VCPU=1", "--host", "gpu-2-card"}}, // no root
	} {
		j := s.startWith(append(c.arguments, "--", "sh", "-c", `echo "$BERTH_HOST"`)...)
		if code := j.wait(); code != c.code || strings.TrimSpace(j.stdout.String()) != c.host {
			t.Errorf("%q: exit code %d on %q, want %d on %q; %s", c.arguments, code, j.stdout.String(), c.code, c.host, j.stderr.String())
		}
	}
	s.expectFree()
}

// TestRun_SignalDuringClaim_LeavesNoConsumer sends the signal after the server has executed the claim, before its response.
func TestRun_SignalDuringClaim_LeavesNoConsumer(t *testing.T) {
	t.Parallel()
	s := oneGPU(t)
	claimed := make(chan struct{})
	s.meet(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/claims" {
			return false
		}
		s.server.Handler.ServeHTTP(httptest.NewRecorder(), r)
		close(claimed)
		<-r.Context().Done()
		return true
	})
	j := s.start("--wait", "1h", "--", "touch", "ran")
	select {
	case <-claimed:
	case <-time.After(timeout):
		t.Fatal("no claim")
	}
	j.send(syscall.SIGINT)
	j.expect(130)
	if s.exists("ran") {
		t.Error("the command ran")
	}
	s.expectFree()
}
