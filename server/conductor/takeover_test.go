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

	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/store"
)

// decided waits until no allocation is left to decide, and fails unless exactly so
// many got a node, each another one.
func (b *bundle) decided(total, active int) {
	b.t.Helper()
	b.eventually("every allocation is decided", func() bool {
		return b.count("SELECT count(*) FROM node_allocations WHERE state <> 'allocating'") == total
	})
	got := b.count("SELECT count(*) FROM node_allocations WHERE state = 'active'")
	taken := b.count(`SELECT count(DISTINCT node.id) FROM nodes AS node
		JOIN node_allocations AS allocation ON allocation.node_id = node.id AND allocation.uuid = node.instance_uuid`)
	if got != active || taken != active || b.count("SELECT count(*) FROM nodes WHERE instance_uuid IS NOT NULL") != active {
		b.t.Errorf("%d allocations are active and %d nodes taken, want %d of both", got, taken, active)
	}
}

func TestAllocationsAreDecidedByWhomTheyWereMadeAt(t *testing.T) {
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

// A killed process says no goodbye, so this is what others have to go by: silence.
func TestTheWorkOfAKilledProcessIsDoneByAnother(t *testing.T) {
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
		t.Errorf("%d allocations were left behind, want at least the 40 made after the end", left)
	}
	killed := time.Now()
	b.decided(60, 40)
	if took := time.Since(killed); took > 10*time.Second {
		t.Errorf("taking over took %v after a timeout of one second", took)
	}
}

func TestAConductorThatStopsLeavesItsNodesToOthersWithoutASilence(t *testing.T) {
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
	other.HeartbeatTimeout = time.Hour // so it is not the silence that tells
	b.run(other)
	stop()
	b.rests(nodes[0], provision.Manageable)
	b.rests(nodes[1], provision.Available)
	b.rests(nodes[2], provision.Available)
	if begun.Load() != 3 || brokenOff.Load() != 3 {
		t.Errorf("%d steps were begun and %d broken off", begun.Load(), brokenOff.Load())
	}
	if left := b.count("SELECT count(*) FROM conductors WHERE hostname = 'stopping' AND online"); left != 0 {
		t.Error("it has stopped and still counts as online")
	}
}

func TestANodeOfAKilledProcessIsWorkedOnAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	node := b.node("n", provision.Manageable)
	if err := b.ConductorRegister(t.Context(), "dead", []string{FakeHardware}); err != nil {
		t.Fatal(err)
	}
	// It died while it was cleaning.
	if _, ok, err := b.NodeMove(t.Context(), node.UUID.String(), store.NodeStep{
		To: provision.Cleaning, Target: new(provision.Available), Conductor: new("dead"),
	}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	b.run(b.conductor("alive"))
	b.rests(node, provision.Available)
}

func TestAConductorThatBeginsAgainHasTheWorkOfItsName(t *testing.T) {
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
	if _, ok, err := b.NodeMove(t.Context(), node.UUID.String(), store.NodeStep{
		To: provision.Verifying, Target: new(provision.Manageable), Conductor: new("again"),
	}); err != nil || !ok {
		t.Fatal(ok, err)
	}
	b.run(again)
	b.decided(1, 1)
	b.rests(node, provision.Manageable)
}

// Nobody is told again of what was told while the connection was down, and there
// is no periodic check here.
func TestLostNotificationsLoseNothing(t *testing.T) {
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

func TestThePeriodicCheckFindsWhatNobodyTold(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run(b.conductor("one"))
	node := b.node("n", provision.Enroll)
	b.exec("UPDATE nodes SET provision_state = 'verifying', target_provision_state = 'manageable', revision = revision + 1")
	b.rests(node, provision.Manageable)
}

func TestAConductorThatWasForgottenRegistersAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := b.conductor("one")
	b.run(c)
	b.exec("DELETE FROM conductors")
	node := b.node("n", provision.Enroll)
	b.verb(node, provision.Manage)
	b.rests(node, provision.Manageable)
	b.eventually("it is known again", func() bool { return b.count("SELECT count(*) FROM conductors WHERE online") == 1 })
}

// told is a log that a test waits for.
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

// A process that was paused comes back to find its work done by somebody else.
func TestWhoWasTakenForDeadDropsWhatItDid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	began, goOn := make(chan bool), make(chan bool)
	log := &told{what: "what was done here is dropped"}
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
	b.eventually("it drops what it did", log.seen.Load)
	if after := b.show(node); after.ProvisionState != provision.Manageable || after.LastError != nil {
		t.Errorf("the node is %q with %q", after.ProvisionState, value(after.LastError))
	}
}

func TestAConductorThatCannotRegisterAtFirstBeginsLater(t *testing.T) {
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
		t.Fatalf("it gave up: %v", err)
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

func TestAConductorThatIsStoppedBeforeItBeginsSignsOff(t *testing.T) {
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
		t.Errorf("%d conductors are online", online)
	}
}
