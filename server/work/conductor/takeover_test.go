package conductor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// decided waits until no node allocation is pending. It fails unless exactly active of them have a node, each a
// different one.
func (b *bundle) decided(total, active int) {
	b.t.Helper()
	b.eventually("every allocation is decided", func() bool {
		return b.count("SELECT count(*) FROM node_allocations WHERE state <> 'allocating'") == total
	})
	got := b.count("SELECT count(*) FROM node_allocations WHERE state = 'active'")
	taken := b.count(`SELECT count(DISTINCT node.id) FROM nodes AS node
		JOIN node_allocations AS allocation ON allocation.node_id = node.id AND allocation.uuid = node.instance_uuid`)
	if got != active || taken != active || b.count("SELECT count(*) FROM nodes WHERE instance_uuid IS NOT NULL") != active {
		b.t.Errorf("active node allocations = %d, assigned nodes = %d, want %d of both", got, taken, active)
	}
}

func TestConductor_AllocationCreated_DecidedBySameConductor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one"))
	b.run(b.conductor("two"))
	for i := range 20 {
		b.node(fmt.Sprintf("n%d", i), provision.Available)
	}
	for i := range 30 {
		b.allocate(fmt.Sprintf("a%d", i), []string{"one", "two"}[i%2])
	}
	b.decided(30, 20)
}

// A killed process does not unregister, so other conductors detect its death by the heartbeat timeout.
func TestTakeover_ProcessKilled_AllocationsDecided(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 40 {
		b.node(fmt.Sprintf("n%d", i), provision.Available)
	}
	kill := b.process("dead")
	b.run(b.conductor("alive"))
	for i := range 60 {
		if i == 20 {
			kill()
		}
		b.allocate(fmt.Sprintf("a%d", i), "dead")
	}
	if left := b.count("SELECT count(*) FROM node_allocations WHERE state = 'allocating'"); left < 40 {
		t.Errorf("pending node allocations = %d, want at least the 40 created after the end", left)
	}
	killed := time.Now()
	b.decided(60, 40)
	if took := time.Since(killed); took > 10*time.Second {
		t.Errorf("takeover took %v, with a heartbeat timeout of one second", took)
	}
}

func TestTakeover_ConductorUnregisters_NoHeartbeatWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var begun, brokenOff atomic.Int64
	stopping := b.conductor("stopping").script(func(ctx context.Context, _ string, _ store.Node) error {
		begun.Add(1)
		<-ctx.Done()
		brokenOff.Add(1)
		return ctx.Err()
	})
	stop := b.run(stopping)
	nodes := []store.Node{b.node("n1", provision.Enroll), b.node("n2", provision.Active), b.node("n3", provision.Manageable)}
	for i, verb := range []string{provision.Manage, provision.Delete, provision.Provide} {
		b.verb(nodes[i], verb)
	}
	b.eventually("it works on all three", func() bool { return begun.Load() == 3 })
	other := b.conductor("other")
	other.HeartbeatTimeout = time.Hour // so that only the unregistration can cause the takeover
	b.run(other)
	stop()
	b.rests(nodes[0], provision.Manageable)
	b.rests(nodes[1], provision.Available)
	b.rests(nodes[2], provision.Available)
	if begun.Load() != 3 || brokenOff.Load() != 3 {
		t.Errorf("steps started = %d, interrupted = %d", begun.Load(), brokenOff.Load())
	}
	if left := b.count("SELECT count(*) FROM conductors WHERE hostname = 'stopping' AND online"); left != 0 {
		t.Error("the stopped conductor is still online")
	}
}

func TestTakeover_ProcessKilled_NodeStepRestarted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	node := b.node("n", provision.Manageable)
	if err := b.ConductorRegister(t.Context(), "dead", []string{FakeHardware}); err != nil {
		t.Fatal(err)
	}
	// The conductor died while it cleaned the node.
	if _, ok, err := b.NodeTransition(t.Context(), node.UUID.String(), store.Transition{
		To: provision.Cleaning, Target: new(provision.Available), Conductor: new("dead"),
	}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	b.run(b.conductor("alive"))
	b.rests(node, provision.Available)
}

func TestTakeover_SameHostnameRestarts_ResumesOwnWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	node := b.node("n", provision.Enroll)
	b.node("free", provision.Available)
	again := b.conductor("again")
	again.CheckInterval = 0
	if err := again.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.allocate("a", "again")
	if _, ok, err := b.NodeTransition(t.Context(), node.UUID.String(), store.Transition{
		To: provision.Verifying, Target: new(provision.Manageable), Conductor: new("again"),
	}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	b.run(again)
	b.decided(1, 1)
	b.rests(node, provision.Manageable)
}

// PostgreSQL does not repeat notifications that it sent while the connection was down, and this conductor has no
// periodic check.
func TestConductor_ListenConnectionLost_NoWorkLost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.conductor("one")
	c.CheckInterval = 0
	b.run(c)
	const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE 'LISTEN%'`
	for i := range 10 {
		b.eventually("it listens", func() bool { return b.count("SELECT count(*) "+listeners) == 1 })
		node := b.node(fmt.Sprintf("n%d", i), provision.Enroll)
		b.node(fmt.Sprintf("free%d", i), provision.Available)
		b.exec("SELECT pg_terminate_backend(pid) " + listeners)
		b.allocate(fmt.Sprintf("a%d", i), "one")
		b.verb(node, provision.Manage)
		b.rests(node, provision.Manageable)
		b.decided(i+1, i+1)
	}
}

func TestConductor_NoNotification_PeriodicCheckFindsNode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one"))
	node := b.node("n", provision.Enroll)
	b.exec("UPDATE nodes SET provision_state = 'verifying', target_provision_state = 'manageable', revision = revision + 1")
	b.rests(node, provision.Manageable)
}

func TestConductor_RowDeleted_RegistersAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.conductor("one")
	b.run(c)
	b.exec("DELETE FROM conductors")
	node := b.node("n", provision.Enroll)
	b.verb(node, provision.Manage)
	b.rests(node, provision.Manageable)
	b.eventually("it is registered again", func() bool { return b.count("SELECT count(*) FROM conductors WHERE online") == 1 })
}

// told is a log writer that records whether a message was logged.
type told struct {
	what string
	seen atomic.Bool
}

func (l *told) Write(line []byte) (int, error) {
	if strings.Contains(string(line), l.what) {
		l.seen.Store(true)
	}
	return len(line), nil
}

// A paused process resumes after another conductor has taken over its work.
func TestTakeover_PausedConductorResumes_DiscardsResult(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, goOn := make(chan bool), make(chan bool)
	log := &told{what: "discarding the result of this step"}
	paused := b.conductor("paused").script(func(ctx context.Context, _ string, _ store.Node) error {
		close(began)
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return errors.New("this machine is broken")
	})
	paused.HeartbeatInterval, paused.CheckInterval = time.Hour, 0
	paused.Log = slog.New(slog.NewTextHandler(log, nil))
	b.run(paused)
	node := b.node("n", provision.Enroll)
	b.verb(node, provision.Manage)
	<-began
	b.run(b.conductor("alive"))
	b.rests(node, provision.Manageable)
	close(goOn)
	b.eventually("it discards its result", log.seen.Load)
	if after := b.show(node); after.ProvisionState != provision.Manageable || after.LastError != nil {
		t.Errorf("state = %q, last_error = %q", after.ProvisionState, value(after.LastError))
	}
}

func TestConductor_RegisterFailsAtFirst_StartsLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.conductor("me")
	execute := func(statement string) {
		t.Helper()
		if _, err := b.db.Pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	execute("ALTER TABLE conductors RENAME TO out_of_reach")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	select {
	case err := <-ended:
		t.Fatalf("Run = %v before the table existed", err)
	case <-time.After(3 * c.HeartbeatInterval):
	}
	execute("ALTER TABLE out_of_reach RENAME TO conductors")
	b.eventually("it registers", func() bool {
		_, err := b.ConductorShow(t.Context(), "me")
		return err == nil
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestConductor_StoppedBeforeRun_Unregisters(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.conductor("me")
	if err := c.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.Run(ctx); err != nil {
		t.Error(err)
	}
	if online := b.count("SELECT count(*) FROM conductors WHERE online"); online != 0 {
		t.Errorf("online conductors = %d, want 0", online)
	}
}
