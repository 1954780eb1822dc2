package conductor

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// TestMain is also the main function of the processes that tests start and kill.
func TestMain(m *testing.M) {
	if url := os.Getenv(processVariable); url != "" {
		if err := runProcess(context.Background(), url, os.Getenv(hostnameVariable)); err != nil {
			slog.Error("conductor", "error", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// The environment of such a process: the database, and the name of its conductor.
const (
	processVariable  = "BERTH_TEST_CONDUCTOR_DATABASE"
	hostnameVariable = "BERTH_TEST_CONDUCTOR_HOSTNAME"
)

func runProcess(ctx context.Context, url, hostname string) error {
	opened, err := store.Open(ctx, postgres.Options{URL: url, MaxConns: 4})
	if err != nil {
		return err
	}
	return quick(opened, hostname).Run(ctx)
}

// quick returns a conductor with short intervals, so that tests take less time.
func quick(opened *store.Store, hostname string) *Conductor {
	return &Conductor{
		Store: opened, Drivers: Drivers(), Options: Options{
			Hostname: hostname, Workers: 4, HeartbeatInterval: 100 * time.Millisecond, HeartbeatTimeout: time.Second, CheckInterval: 200 * time.Millisecond,
		}, Log: slog.New(slog.DiscardHandler),
	}
}

// bundle is a database with a store for the test itself.
type bundle struct {
	*store.Store
	t  testing.TB
	db *dbtest.DB
}

func setup(t testing.TB) *bundle {
	t.Helper()
	db := dbtest.New(t)
	dbtest.AddInvariantTriggers(t, db)
	b := &bundle{t: t, db: db}
	b.Store = b.open()
	return b
}

func (b *bundle) open() *store.Store {
	b.t.Helper()
	opened, err := store.Open(b.t.Context(), postgres.Options{URL: b.db.URL, MaxConns: 4})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(opened.Close)
	return opened
}

// conductor returns a conductor with its own connections, as in another process.
func (b *bundle) conductor(hostname string) *Conductor {
	b.t.Helper()
	return quick(b.open(), hostname)
}

// run starts a conductor and returns after it has registered; stop waits for its end.
func (b *bundle) run(c *Conductor) (stop func()) {
	b.t.Helper()
	if err := c.Register(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			b.t.Errorf("Run of conductor %s: %v", c.Hostname, err)
		}
	}
	b.t.Cleanup(stop)
	return stop
}

// process starts a conductor in its own process and returns after it has registered; kill sends SIGKILL.
func (b *bundle) process(hostname string) (kill func()) {
	b.t.Helper()
	program := exec.Command(os.Args[0])
	program.Env = append(os.Environ(), processVariable+"="+b.db.URL, hostnameVariable+"="+hostname)
	program.Stdout, program.Stderr = os.Stderr, os.Stderr
	if err := program.Start(); err != nil {
		b.t.Fatal(err)
	}
	kill = func() {
		_ = program.Process.Kill() // it may have been killed before
		_ = program.Wait()         // which ends with "killed"
	}
	b.t.Cleanup(kill)
	b.eventually("conductor "+hostname+" registers", func() bool {
		_, err := b.ConductorShow(b.t.Context(), hostname)
		return err == nil
	})
	return kill
}

// eventually waits until happened returns true, and fails after 30 seconds.
func (b *bundle) eventually(what string, happened func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !happened(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within three minutes: %s", what)
		}
	}
}

// node creates a node in a state.
func (b *bundle) node(name, state string) store.Node {
	b.t.Helper()
	wanted := store.Node{
		UUID: uuid.New(), Name: &name, Driver: FakeHardware, ResourceClass: new("baremetal"), ProvisionState: state,
	}
	if state != provision.Enroll {
		wanted.PowerState = new(PowerOff)
	}
	made, err := b.NodeCreate(b.t.Context(), wanted)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// verb requests a transition as a client does through the API.
func (b *bundle) verb(node store.Node, verb string) {
	b.t.Helper()
	now := b.show(node)
	edge, ok := provision.EdgeForVerb(now.ProvisionState, verb)
	if !ok {
		b.t.Fatalf("%s is not allowed in %q", verb, now.ProvisionState)
	}
	_, moved, err := b.NodeTransition(b.t.Context(), node.UUID.String(), store.Transition{
		From: []string{edge.From}, To: edge.To, Target: pointer(edge.Target),
	})
	if err != nil || !moved {
		b.t.Fatalf("%s: moved = %v, error = %v", verb, moved, err)
	}
}

func (b *bundle) show(node store.Node) store.Node {
	b.t.Helper()
	shown, err := b.NodeShow(b.t.Context(), node.UUID.String())
	if err != nil {
		b.t.Fatal(err)
	}
	return shown
}

// rests waits until no conductor holds a node in the state, and returns the node.
func (b *bundle) rests(node store.Node, state string) store.Node {
	b.t.Helper()
	var shown store.Node
	b.eventually(fmtNode(node)+" rests in "+state, func() bool {
		shown = b.show(node)
		return shown.ProvisionState == state && shown.Conductor == nil && shown.TargetPowerState == nil
	})
	return shown
}

func fmtNode(node store.Node) string { return "node " + value(node.Name) }

// allocate creates a node allocation in the name of a conductor.
func (b *bundle) allocate(name, conductor string) store.NodeAllocation {
	b.t.Helper()
	made, err := b.NodeAllocationCreate(b.t.Context(),
		store.NodeAllocationRequest{Name: &name, ResourceClass: "baremetal"}, conductor)
	if err != nil {
		b.t.Fatal(err)
	}
	return made
}

// count returns the result of a query for one number.
func (b *bundle) count(question string, args ...any) (n int) {
	b.t.Helper()
	if err := b.db.Pool.QueryRow(b.t.Context(), question, args...).Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// texts returns the result of a query for a list of texts.
func (b *bundle) texts(question string, args ...any) []string {
	b.t.Helper()
	rows, err := b.db.Pool.Query(b.t.Context(), question, args...)
	if err != nil {
		b.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bundle) exec(statement string, args ...any) {
	b.t.Helper()
	if _, err := b.db.Pool.Exec(b.t.Context(), statement, args...); err != nil {
		b.t.Fatal(err)
	}
}

// scripted is a driver whose steps ("verify", "clean" and so on) call a function of the test first. Otherwise it is the
// fake driver.
type scripted struct {
	fake
	happens func(ctx context.Context, step string, node store.Node) error
}

func (s scripted) step(ctx context.Context, step string, node store.Node, then func(context.Context, store.Node) (string, error)) (string, error) {
	if err := s.happens(ctx, step, node); err != nil {
		return "", err
	}
	return then(ctx, node)
}

func (s scripted) Verify(ctx context.Context, node store.Node) (string, error) {
	return s.step(ctx, "verify", node, s.fake.Verify)
}

func (s scripted) Inspect(ctx context.Context, node store.Node) (string, error) {
	return s.step(ctx, "inspect", node, s.fake.Inspect)
}

func (s scripted) Clean(ctx context.Context, node store.Node) (string, error) {
	return s.step(ctx, "clean", node, s.fake.Clean)
}

func (s scripted) Deploy(ctx context.Context, node store.Node) (string, error) {
	return s.step(ctx, "deploy", node, s.fake.Deploy)
}

func (s scripted) TearDown(ctx context.Context, node store.Node) (string, error) {
	return s.step(ctx, "tear down", node, s.fake.TearDown)
}

func (s scripted) Adopt(ctx context.Context, node store.Node) (string, error) {
	return s.step(ctx, "adopt", node, s.fake.Adopt)
}

func (s scripted) Power(ctx context.Context, node store.Node, target string) (string, error) {
	return s.step(ctx, target, node, func(ctx context.Context, node store.Node) (string, error) {
		return s.fake.Power(ctx, node, target)
	})
}

// script replaces the driver of a conductor with a scripted one.
func (c *Conductor) script(happens func(ctx context.Context, step string, node store.Node) error) *Conductor {
	c.Drivers = map[string]Driver{FakeHardware: scripted{happens: happens}}
	return c
}
