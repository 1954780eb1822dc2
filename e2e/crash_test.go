//go:build client

package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
)

var kills = flag.Int("kills", 200, "how often servers are killed under load")

// writerGroup is a load of clerks on servers of one database.
type writerGroup struct {
	clerks    []*journaledWriter
	providers []uuid.UUID
	ended     chan struct{}
	working   sync.WaitGroup
	end       func()
}

// newCrowd lets clerks work for as long as the test does, or until it is ended. Four
// sevenths of their accounts are claims, of one consumer or of two, also by POST /claims and
// with an Idempotency-Key; the others are inventories, reshapes, and traits with aggregates.
func newCrowd(t *testing.T, clerks int, urls ...string) *writerGroup {
	t.Helper()
	crowd := &writerGroup{ended: make(chan struct{})}
	crowd.end = sync.OnceFunc(func() { close(crowd.ended); crowd.working.Wait() })
	t.Cleanup(crowd.end)
	for i := range 4 {
		crowd.providers = append(crowd.providers, newProvider(t, urls[i%len(urls)], fmt.Sprintf("shared-%d", i), 100000000))
	}
	for i := range clerks {
		one := &journaledWriter{
			urls: urls, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}},
			dice: rand.New(rand.NewPCG(uint64(i), 3)), ended: crowd.ended,
		}
		opened := i
		one.open = func() trackedResource {
			opened++
			return crowd.open(one, opened)
		}
		crowd.clerks = append(crowd.clerks, one)
		crowd.working.Go(one.work)
	}
	return crowd
}

func (c *writerGroup) open(by *journaledWriter, number int) trackedResource {
	two := []uuid.UUID{c.providers[number%4], c.providers[(number+1)%4]}
	switch number % 7 {
	case 0:
		return &claimAccount{consumers: []uuid.UUID{uuid.New()}, providers: two}
	case 1:
		return &claimAccount{consumers: []uuid.UUID{uuid.New(), uuid.New()}, providers: two}
	case 2:
		return &stockAccount{provider: by.provider()}
	case 3:
		return &labelAccount{provider: by.provider()}
	case 4:
		return &candidateAccount{keyedAccount{claimAccount{consumers: []uuid.UUID{uuid.New()}, providers: two}}}
	case 5:
		return &keyedAccount{claimAccount{consumers: []uuid.UUID{uuid.New(), uuid.New()}, providers: two}}
	default:
		return &moveAccount{consumer: uuid.New(), providers: [2]uuid.UUID{by.provider(), by.provider()}}
	}
}

// writeTimeout bounds each wait for servers to write or read again. It is far above any outage that the tests cause, for
// machines with much other load.
const writeTimeout = 5 * time.Minute

// provider makes one, as often as it takes.
func (c *journaledWriter) provider() uuid.UUID {
	id := uuid.New()
	for deadline := time.Now().Add(writeTimeout); ; time.Sleep(10 * time.Millisecond) {
		got, err := c.ask("POST", "/resource_providers", text(map[string]any{"name": "own-" + id.String(), "uuid": id}))
		switch {
		case err == nil && (got.status == 200 || got.status == 409):
			return id
		case err == nil && got.status != 503 || time.Now().After(deadline):
			c.fail("a provider is not made: %d %s, %v", got.status, got.body, err)
			return id
		}
	}
}

// acknowledged counts the writes of all clerks.
func (c *writerGroup) acknowledged() (sum int) {
	for _, one := range c.clerks {
		one.mutex.Lock()
		sum += one.acknowledged
		one.mutex.Unlock()
	}
	return sum
}

// forAnother lets so many writes be acknowledged.
func (c *writerGroup) forAnother(t *testing.T, writes int) {
	t.Helper()
	before := c.acknowledged()
	for deadline := time.Now().Add(writeTimeout); c.acknowledged() < before+writes; time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the servers acknowledged %d writes in %s, want %d", c.acknowledged()-before, writeTimeout, writes)
		}
	}
}

// check ends the load and looks at everything.
func (c *writerGroup) check(t *testing.T, on *node) {
	t.Helper()
	c.end()
	audit(t, c.clerks)
	dbtest.Audit(t, &dbtest.DB{Pool: on.pool("berth")})
}

// guarded has the database refuse generations that fall. Its own test, since the audit
// at the end of that one would find a server that was started later stopped by then.
func guarded(t *testing.T, on *node) {
	t.Helper()
	t.Run("guarded", func(t *testing.T) { dbtest.AddInvariantTriggers(t, &dbtest.DB{Pool: on.pool("berth")}) })
}

// TestCrash_ServerKilledRepeatedly_KeepsAcknowledgedWrites kills two servers in turn with
// SIGKILL, and at times both, while clients write.
func TestCrash_ServerKilledRepeatedly_KeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	database := newPrimary(t)
	// Not where connections begin: while a server is down, one could take its port.
	addresses := []string{"127.0.0.2" + freeAddress(t)[len("127.0.0.1"):], "127.0.0.2" + freeAddress(t)[len("127.0.0.1"):]}
	start := func(i int) *restartable {
		return startBerth(t, nil, "--listen", addresses[i], "--database-url", database.url(), "--baremetal-hostname", addresses[i])
	}
	servers := []*restartable{start(0), start(1)}
	guarded(t, database)
	crowd := newCrowd(t, 12, servers[0].url, servers[1].url)
	crowd.forAnother(t, 50)
	begun := time.Now()
	for killed := 0; killed < *kills; {
		victims := []int{killed % 2}
		if killed%20 == 0 {
			victims = []int{0, 1}
		}
		for _, i := range victims {
			if err := servers[i].command.Process.Kill(); err != nil {
				t.Fatalf("a server had ended before: %v\n%s", err, servers[i].log)
			}
			killed++
		}
		for _, i := range victims {
			<-servers[i].ended
			servers[i] = start(i)
		}
		crowd.forAnother(t, 2)
	}
	t.Logf("%d kills in %s", *kills, time.Since(begun).Round(time.Millisecond))
	crowd.check(t, database)
}

// TestCrash_PostgresKilled_KeepsAcknowledgedWrites kills it with all its processes, as a power
// cut would, or has it end at once without a word to anybody.
func TestCrash_PostgresKilled_KeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	database := newPrimary(t)
	servers := []*served{serveOn(t, database.url()), serveOn(t, database.url())}
	guarded(t, database)
	crowd := newCrowd(t, 12, servers[0].url, servers[1].url)
	for i := range 8 {
		crowd.forAnother(t, 100)
		if i%2 == 0 {
			database.crashAll()
		} else {
			database.stopAtOnce()
		}
		time.Sleep(time.Duration(i) * 100 * time.Millisecond) // no server accepts requests, in some rounds for long
		database.startAgain()
	}
	crowd.forAnother(t, 100)
	crowd.check(t, database)
}

// TestCrash_SynchronousCommitOff_JournalsDetectLoss plants a fault: a PostgreSQL that acknowledges
// before it has written, as synchronous_commit = off allows, and loses power.
func TestCrash_SynchronousCommitOff_JournalsDetectLoss(t *testing.T) {
	t.Parallel()
	database := newPrimary(t, "synchronous_commit = off", "wal_writer_delay = 10s")
	url := serveOn(t, database.url()).url
	if got := ask(t, "GET", url+"/readyz", nil); got.status != http.StatusOK || !strings.Contains(got.body, "synchronous_commit = off") {
		t.Errorf("readiness: got %d %s, want 200 with a warning", got.status, got.body)
	}
	crowd := newCrowd(t, 12, url)
	// PostgreSQL writes its log at each megabyte all the same, and one crash may come just after that.
	for range 3 {
		crowd.forAnother(t, 200)
		database.crashAll()
		database.startAgain()
	}
	crowd.end()
	if found := compare(crowd.clerks); len(found.wrong) == 0 {
		t.Errorf("nothing is missing of %d writes", found.acknowledged)
	}
}

// crashAll is crash, and waits for the last of the processes: while one is left the
// server can't be started again.
func (n *node) crashAll() {
	n.t.Helper()
	children := childrenOf(n.t, n.server.Process.Pid)
	n.crash()
	for deadline := time.Now().Add(20 * time.Second); slices.ContainsFunc(children, isAlive); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			n.t.Fatalf("of the processes %v some are left", children)
		}
	}
}

// startAgain is start, as soon as no connection has taken the port meanwhile.
func (n *node) startAgain() {
	n.t.Helper()
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n.port))
		if err == nil {
			listener.Close()
			n.start()
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatal(err)
		}
	}
}

// isAlive tells whether a process runs; one that only waits to be noticed does not.
func isAlive(process int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	_, after, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(after, "Z")
}

// stopAtOnce is an immediate shutdown: every session is told to go, nothing is written.
func (n *node) stopAtOnce() {
	n.t.Helper()
	if err := n.server.Process.Signal(syscall.SIGQUIT); err != nil {
		n.t.Fatal(err)
	}
	select {
	case <-n.ended:
		n.server = nil
	case <-time.After(20 * time.Second):
		n.t.Fatal("the server does not end at once")
	}
}

// TestCrash_ConnectionCutDuringCommit_KeepsAcknowledgedWrites cuts connections to PostgreSQL before
// a statement, between it and its answer, and in the middle of the answer.
func TestCrash_ConnectionCutDuringCommit_KeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	database := newPrimary(t)
	wire := newShears(t, database)
	servers := []*served{serveOn(t, wire.url), serveOn(t, wire.url)}
	guarded(t, database)
	crowd := newCrowd(t, 12, servers[0].url, servers[1].url)
	crowd.forAnother(t, 50)
	wire.every.Store(61)
	for deadline := time.Now().Add(2 * time.Minute); wire.cuts.Load() < 300; {
		if time.Now().After(deadline) {
			t.Fatalf("only %d connections were cut", wire.cuts.Load())
		}
		crowd.forAnother(t, 10)
	}
	wire.every.Store(0)
	crowd.forAnother(t, 50)
	t.Logf("%d connections were cut: %s", wire.cuts.Load(), wire.tally())
	crowd.check(t, database)
}
