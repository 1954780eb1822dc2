//go:build client

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/berthd/berth/internal/test/dbtest"
)

var failovers = flag.Int("failovers", 2, "number of failovers of the Patroni cluster: a kill, a pause and a switch-over in turn")

// failover is one way to take the leadership from a member.
type failover struct {
	name string
	// run takes the leadership away and returns when another member has it and the
	// former leader is back.
	run func(c *patroniCluster, written func())
}

// failoverKinds are those that take turns. written returns when both servers have
// acknowledged a write that began after the call.
var failoverKinds = []failover{
	{"kill", func(c *patroniCluster, written func()) {
		leader := c.leader()
		leader.patroni.command.Process.Kill()
		leader.killPostgres()
		leader.patroni.kill()
		written()
		leader.startPatroni()
	}},
	{"pause", func(c *patroniCluster, written func()) {
		leader := c.leader()
		_ = leader.patroni.command.Process.Signal(syscall.SIGSTOP)
		leader.signalPostgres(syscall.SIGSTOP)
		c.await("another member leads", func() error {
			if now := c.withRole("leader"); now == nil || now == leader {
				return fmt.Errorf("the leader is %v", now)
			}
			return nil
		})
		written()
		// Its Patroni, which would demote it, sleeps on for a while: the former leader
		// still takes itself for the leader, and accepts connections.
		leader.signalPostgres(syscall.SIGCONT)
		time.Sleep(3 * time.Second)
		_ = leader.patroni.command.Process.Signal(syscall.SIGCONT)
		written()
	}},
	{"switch-over", func(c *patroniCluster, written func()) {
		// On a loaded machine the leader or the standby may change between the question and the switch-over.
		c.await("Patroni switches over", func() error {
			leader, standby := c.withRole("leader"), c.withRole("sync_standby")
			if leader == nil || standby == nil {
				return fmt.Errorf("leader %v, synchronous standby %v", leader, standby)
			}
			return leader.call("POST", "/switchover", map[string]string{"leader": leader.name, "candidate": standby.name}, nil)
		})
		written()
	}},
}

// prober writes to one server, one request at a time, and notes when each write was
// acknowledged. The writes are providers with numbered names.
type prober struct {
	*journaledWriter
	label string // how the server finds the leader
	// last is the number of the newest provider that was acknowledged; 0: none.
	last atomic.Int64

	times sync.Mutex
	acks  []time.Time
}

func (p *prober) providerName(number int64) string { return fmt.Sprintf("%s-%d", p.label, number) }

func (p *prober) write(ended <-chan struct{}) {
	for number := int64(1); !isClosed(ended); number++ {
		got, err := p.ask("POST", "/resource_providers", text(map[string]any{"name": p.providerName(number)}))
		switch {
		case err == nil && got.status == 200:
			p.times.Lock()
			p.acks = append(p.acks, time.Now())
			p.times.Unlock()
			p.last.Store(number)
		case err == nil && got.status != 503:
			p.fail("provider %d through %s: got %d %s, want 200 or 503", number, p.label, got.status, got.body)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// freshReader reads through one server the newest provider that a prober has written. A
// write that was acknowledged before a read began must show.
type freshReader struct {
	*journaledWriter
	label string
	of    *prober
}

func (p *freshReader) read(ended <-chan struct{}) {
	for !isClosed(ended) {
		number := p.of.last.Load()
		if number == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		name, began := p.of.providerName(number), time.Now()
		got, err := p.ask("GET", "/resource_providers?name="+name, "")
		switch {
		case err == nil && got.status == 200 && !strings.Contains(got.body, `"`+name+`"`):
			p.fail("stale read through %s: %s was acknowledged before %s and is not listed at %s",
				p.label, name, began.Format(time.StampMilli), time.Now().Format(time.StampMilli))
		case err == nil && got.status != 200 && got.status != 503:
			p.fail("read through %s: got %d %s, want 200 or 503", p.label, got.status, got.body)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// outage is the longest time without an acknowledged write since a moment.
func (p *prober) outage(since time.Time) (longest time.Duration) {
	p.times.Lock()
	defer p.times.Unlock()
	before := since
	for _, at := range p.acks {
		if at.After(since) {
			longest = max(longest, at.Sub(before))
			before = at
		}
	}
	return longest
}

// acknowledgedSince is the number of writes that were acknowledged since a moment.
func (p *prober) acknowledgedSince(moment time.Time) (number int) {
	p.times.Lock()
	defer p.times.Unlock()
	for _, at := range slices.Backward(p.acks) {
		if !at.After(moment) {
			break
		}
		number++
	}
	return number
}

// TestFailover_PatroniLeaderLost_LosesNoAcknowledgedWrite takes the leadership of a real
// Patroni cluster away again and again, in three ways, while clients write and read
// through two servers: one behind HAProxy, one with all members in its URL.
func TestFailover_PatroniLeaderLost_LosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	cluster := newPatroniCluster(t)
	// A statement on a paused leader waits for as long as its request may, and a connection
	// to it for as long as connect_timeout says.
	more := []string{"--request-timeout", "5s"}
	balanced, listed := serveOn(t, cluster.balanced, more...), serveOn(t, cluster.listed, more...)
	guarded(t, cluster.leader().node)
	crowd := newCrowd(t, 8, balanced.url, listed.url)
	probers, clerks := newProbers(crowd, map[string]string{"haproxy": balanced.url, "hosts": listed.url})
	crowd.forAnother(t, 50)

	outages := map[string][]time.Duration{} // by the words of the summary
	for number := range *failovers {
		kind := failoverKinds[number%len(failoverKinds)]
		cluster.awaitSynchronous()
		since := time.Now()
		kind.run(cluster, func() { awaitWrites(t, probers) })
		line := fmt.Sprintf("failover %2d of %d, %-11s", number+1, *failovers, kind.name)
		for _, p := range probers {
			took, what := p.outage(since), fmt.Sprintf("%-11s through %s", kind.name, p.label)
			outages[what] = append(outages[what], took)
			line += fmt.Sprintf("  %s %5.1f s", p.label, took.Seconds())
		}
		t.Log(line)
		crowd.forAnother(t, 50)
	}
	cluster.awaitSynchronous()
	crowd.end()
	t.Log("longest time without an acknowledged write:")
	for _, what := range slices.Sorted(maps.Keys(outages)) {
		took := outages[what]
		slices.Sort(took)
		t.Logf("%-27s  %2d times  min %5.1f s  median %5.1f s  max %5.1f s", what, len(took),
			took[0].Seconds(), took[len(took)/2].Seconds(), took[len(took)-1].Seconds())
	}
	for _, one := range clerks {
		for _, failure := range one.failures[:min(len(one.failures), 10)] {
			t.Error(failure)
		}
	}
	audit(t, crowd.clerks)
	dbtest.Audit(t, &dbtest.DB{Pool: cluster.leader().pool("berth")})
}

// newProbers starts a prober for each server, and at each server a reader of each prober.
// They end with the crowd. The clerks are those that do this, and hold what went wrong.
func newProbers(crowd *writerGroup, urls map[string]string) (probers []*prober, clerks []*journaledWriter) {
	newClerk := func(label string) *journaledWriter {
		one := &journaledWriter{urls: []string{urls[label]}, http: &http.Client{Transport: &http.Transport{}}, dice: rand.New(rand.NewPCG(1, 1))}
		clerks = append(clerks, one)
		return one
	}
	labels := slices.Sorted(maps.Keys(urls))
	for _, label := range labels {
		writer := &prober{label: label, journaledWriter: newClerk(label)}
		probers = append(probers, writer)
		crowd.working.Go(func() { writer.write(crowd.ended) })
		for _, label := range labels {
			reader := &freshReader{label: label, journaledWriter: newClerk(label), of: writer}
			crowd.working.Go(func() { reader.read(crowd.ended) })
		}
	}
	return probers, clerks
}

// awaitWrites waits until every server has acknowledged a few writes from now on.
func awaitWrites(t *testing.T, probers []*prober) {
	t.Helper()
	since := time.Now()
	for _, p := range probers {
		for p.acknowledgedSince(since) < 3 {
			if time.Since(since) > writeTimeout {
				t.Fatalf("the server behind %s acknowledged %d writes in %s, want 3", p.label, p.acknowledgedSince(since), writeTimeout)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}
