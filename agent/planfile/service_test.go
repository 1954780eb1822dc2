package planfile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/agent"
	"github.com/berthd/berth/client"
	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/inprocess"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// errCut is the error of a broken connection.
var errCut = errors.New("wire cut by the test")

// service is a server on a socket or in this process, with a transport that can fail.
type service struct {
	t     *testing.T
	db    *dbtest.DB
	url   string
	under http.RoundTripper
	// before and after are called around each request; the client receives their
	// errors.
	before, after func(*http.Request) error
	writes        atomic.Int64
	// isPlain hides the extensions of the server.
	isPlain bool
}

// places has the two kinds of servers.
var places = map[string]func(*testing.T) *service{"socket": onSocket, "direct": inProcess, "direct, without extensions": plainInProcess}

// plainInProcess is a server without extensions.
func plainInProcess(t *testing.T) *service {
	made := inProcess(t)
	made.isPlain = true
	return made
}

func onSocket(t *testing.T) *service {
	made := servertest.New(t, servertest.Options{Store: postgres.Options{MaxConns: 2}})
	return &service{t: t, db: made.DB, url: made.Listen(t).URL, under: http.DefaultTransport}
}

func inProcess(t *testing.T) *service {
	db := dbtest.NewWithInvariantTriggers(t)
	transport, err := inprocess.Open(t.Context(), inprocess.Options{URL: db.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = transport.Close() })
	return &service{t: t, db: db, url: inprocess.URL, under: transport}
}

// RoundTrip implements http.RoundTripper.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		s.writes.Add(1)
	}
	if s.isPlain {
		r = r.Clone(r.Context())
		plain, _, _ := strings.Cut(r.Header.Get("OpenStack-API-Version"), ",")
		r.Header.Set("OpenStack-API-Version", plain)
	}
	if s.before != nil {
		if err := s.before(r); err != nil {
			return nil, err
		}
	}
	answer, err := s.under.RoundTrip(r)
	if err == nil && s.after != nil {
		if err = s.after(r); err != nil {
			_ = answer.Body.Close()
			return nil, err
		}
	}
	return answer, err
}

// client returns a new client with an empty cache and without retries.
func (s *service) client() *client.Client {
	s.t.Helper()
	made, err := client.New(s.url, client.WithTransport(s), client.WithRetries(client.Retries{Attempts: 1, Pause: time.Millisecond}))
	if err != nil {
		s.t.Fatal(err)
	}
	return made
}

var node = agent.Node{Name: "compute-1", UUID: uuid.MustParse("11111111-0000-4000-8000-000000000001")}

// pass runs the reconciliation of the startup of an agent.
func (s *service) pass(ctx context.Context, driver agent.Driver) error {
	return agent.NewTracker(s.client(), driver, node, agent.Options{}).Update(ctx, true)
}

// seed creates the host of vgpuHost, with its disk on a sharing provider.
func (s *service) seed() {
	s.t.Helper()
	ctx, c := s.t.Context(), s.client()
	must := func(err error) {
		s.t.Helper()
		if err != nil {
			s.t.Fatal(err)
		}
	}
	shared := uuid.MustParse("22222222-0000-4000-8000-000000000002")
	for id, name := range map[uuid.UUID]string{node.UUID: node.Name, shared: "shared"} {
		_, err := c.ProviderCreate(ctx, name, id, uuid.Nil)
		must(err)
	}
	inventory := func(id uuid.UUID, wanted client.Inventories, traits ...string) {
		_, generation, err := c.InventoryReplace(ctx, id, 0, wanted)
		must(err)
		_, generation, err = c.ProviderAggregateReplace(ctx, id, generation, []uuid.UUID{uuid.MustParse("33333333-0000-4000-8000-000000000003")})
		must(err)
		_, _, err = c.ProviderTraitReplace(ctx, id, generation, traits)
		must(err)
	}
	inventory(node.UUID, client.Inventories{"VCPU": {Total: 8, AllocationRatio: new(4.0)}, "VGPU": {Total: 4, MaxUnit: new(int32(2))}}, "COMPUTE_NODE")
	inventory(shared, client.Inventories{"DISK_GB": {Total: 100}}, "MISC_SHARES_VIA_AGGREGATE")
	for consumer, has := range map[string]map[uuid.UUID]client.Resources{
		instanceA: {node.UUID: {"VCPU": 2, "VGPU": 1}, shared: {"DISK_GB": 7}},
		instanceB: {node.UUID: {"VGPU": 2}},
		instanceC: {shared: {"DISK_GB": 5}},
	} {
		must(c.AllocationReplace(ctx, uuid.MustParse(consumer), &client.Consumer{Allocations: has, ProjectID: "p", UserID: "u", Type: "INSTANCE"}, nil))
	}
}

// text returns the state that a new client reads.
func (s *service) text() string {
	s.t.Helper()
	before, after := s.before, s.after
	s.before, s.after = nil, nil
	defer func() { s.before, s.after = before, after }()
	c := s.client()
	tree, err := c.GetProviderTreeAndEnsureRoot(s.t.Context(), node.UUID, node.Name, uuid.Nil)
	if err != nil {
		s.t.Fatal(err)
	}
	allocations, err := c.GetAllocationsForProviderTree(s.t.Context(), node.Name)
	if err != nil {
		s.t.Fatal(err)
	}
	return (&host{t: s.t, tree: tree, allocations: allocations}).text()
}

// withShares adds the consumer that has nothing but a share, which a client finds with the extensions only.
func (s *service) withShares(text string) string {
	if s.isPlain {
		return text
	}
	return text + "cccc has map[DISK_GB:5] of shared\n"
}

const (
	flat = `compute-1 below "" [COMPUTE_NODE] [33333333-0000-4000-8000-000000000003]
compute-1 has 8 VCPU, 0 reserved
compute-1 has 4 VGPU, 0 reserved
shared below "" [MISC_SHARES_VIA_AGGREGATE] [33333333-0000-4000-8000-000000000003]
shared has 100 DISK_GB, 0 reserved
aaaa has map[VCPU:2 VGPU:1] of compute-1
aaaa has map[DISK_GB:7] of shared
bbbb has map[VGPU:2] of compute-1
`
	shaped = `compute-1 below "" [COMPUTE_NODE] [33333333-0000-4000-8000-000000000003]
compute-1 has 8 VCPU, 0 reserved
compute-1_gpu0 below "compute-1" [CUSTOM_A100] [99999999-0000-4000-8000-000000000009]
compute-1_gpu0 has 2 VGPU, 0 reserved
compute-1_gpu1 below "compute-1" [] []
compute-1_gpu1 has 2 VGPU, 0 reserved
shared below "" [MISC_SHARES_VIA_AGGREGATE] [33333333-0000-4000-8000-000000000003]
shared has 100 DISK_GB, 0 reserved
aaaa has map[VCPU:2] of compute-1
aaaa has map[VGPU:1] of compute-1_gpu0
aaaa has map[DISK_GB:7] of shared
bbbb has map[VGPU:1] of compute-1_gpu0
bbbb has map[VGPU:1] of compute-1_gpu1
`
)

// simulated is the driver of a host that knows all consumers and has no plan.
type simulated map[string]map[string]int64

func (d simulated) UpdateProviderTree(_ context.Context, tree *client.ProviderTree, name string, allocations client.Allocations) error {
	for gpu, traits := range map[string][]string{"gpu0": {"CUSTOM_A100"}, "gpu1": nil} {
		child := name + "_" + gpu
		if !tree.Exists(child) {
			if _, err := tree.NewChild(child, name, uuid.Nil); err != nil {
				return err
			}
		}
		_, err := tree.UpdateInventory(child, client.Inventories{"VGPU": {Total: 2}}, nil)
		if err = errors.Join(err, tree.AddTraits(child, traits...)); err != nil {
			return err
		}
	}
	if err := tree.AddAggregates(name+"_gpu0", uuid.MustParse("99999999-0000-4000-8000-000000000009")); err != nil {
		return err
	}
	root, err := tree.Provider(name)
	if _, old := root.Inventories["VGPU"]; err != nil || !old {
		return err
	}
	if allocations == nil {
		return client.ErrReshapeNeeded
	}
	for _, consumer := range allocations.Consumers() {
		for gpu, amount := range d[consumer.String()] {
			child, err := tree.Provider(name + "_" + gpu)
			if err != nil {
				return err
			}
			allocations[consumer].Allocations[child.UUID] = client.Resources{"VGPU": amount}
			delete(allocations[consumer].Allocations[root.UUID], "VGPU")
		}
	}
	delete(root.Inventories, "VGPU")
	_, err = tree.UpdateInventory(name, root.Inventories, nil)
	return err
}

// writesOf returns the number of write requests: one with the extensions, and otherwise two providers, an aggregate, the
// name of a trait, a trait, and the reshape.
func writesOf(isPlain bool) int {
	if isPlain {
		return 6
	}
	return 1
}

func TestPlanfile_PlanOrDriver_SameResultInProcessAndHTTP(t *testing.T) {
	t.Parallel()
	drivers := map[string]agent.Driver{
		"plan":      parse(t, vgpuPlan),
		"simulated": simulated{instanceA: {"gpu0": 1}, instanceB: {"gpu0": 1, "gpu1": 1}},
	}
	for _, where := range slices.Sorted(maps.Keys(places)) {
		for _, who := range slices.Sorted(maps.Keys(drivers)) {
			t.Run(who+" through "+where, func(t *testing.T) {
				t.Parallel()
				s := places[where](t)
				s.seed()
				if got := s.text(); got != s.withShares(flat) {
					t.Fatalf("before\n%s", got)
				}
				s.writes.Store(0)
				if err := s.pass(t.Context(), drivers[who]); err != nil || s.writes.Load() != int64(writesOf(s.isPlain)) {
					t.Fatalf("reshape: %v, %d writes", err, s.writes.Load())
				}
				if got := s.text(); got != s.withShares(shaped) {
					t.Errorf("got\n%s\nwant\n%s", got, s.withShares(shaped))
				}
				s.writes.Store(0)
				if err := s.pass(t.Context(), drivers[who]); err != nil || s.writes.Load() != 0 {
					t.Errorf("second reconciliation: %v, %d writes", err, s.writes.Load())
				}
			})
		}
	}
}

// TestPlanfile_InterruptedAtAnyWrite_NextRunCompletes breaks the connection before or after each write request.
func TestPlanfile_InterruptedAtAnyWrite_NextRunCompletes(t *testing.T) {
	t.Parallel()
	for place := range writesOf(true) + writesOf(false) {
		isPlain, cut, writes := true, place, writesOf(true)
		if place == writes {
			isPlain, cut, writes = false, 0, writesOf(false)
		}
		for _, lost := range []string{"request", "answer", "agent"} {
			t.Run(fmt.Sprintf("the %s of write %d of %d is lost", lost, cut+1, writes), func(t *testing.T) {
				t.Parallel()
				s := inProcess(t)
				s.isPlain = isPlain
				s.seed()
				s.writes.Store(0)
				ctx, kill := context.WithCancel(t.Context())
				defer kill()
				failing := func(r *http.Request) error {
					if r.Method == http.MethodGet || s.writes.Load() != int64(cut+1) {
						return nil
					}
					kill() // the process that could read the outcome is gone
					return errCut
				}
				switch lost {
				case "request":
					s.before = failing
				case "answer":
					s.after = failing
				default:
					s.before = func(r *http.Request) error { _ = failing(r); return nil }
				}
				plan := parse(t, vgpuPlan)
				err := s.pass(ctx, plan)
				if s.writes.Load() != int64(cut+1) || err == nil && (cut < writes-1 || lost != "agent") {
					t.Errorf("%v after %d writes", err, s.writes.Load())
				}
				got := s.text()
				if done := strings.Contains(got, "compute-1 has 4 VGPU"); done == strings.Contains(got, "VGPU:1] of compute-1_gpu0") {
					t.Errorf("the reshape was applied in part:\n%s", got)
				}
				s.before, s.after = nil, nil
				if err := s.pass(t.Context(), plan); err != nil {
					t.Fatal(err)
				}
				if got := s.text(); got != s.withShares(shaped) {
					t.Errorf("after the next reconciliation\n%s", got)
				}
			})
		}
	}
}

// Allocations get new ids when they are replaced, generations only grow, and a row that was written twice has the time
// of its second write.
var volatile = regexp.MustCompile(`, id: \d+|generation: \d+|updated_at: \w+`)

// rows returns all rows of a database without volatile columns.
func rows(state *dbtest.State) map[string][]string {
	all := map[string][]string{}
	for _, table := range state.Tables() {
		for _, row := range state.Rows(table) {
			all[table] = append(all[table], volatile.ReplaceAllString(row, ""))
		}
		slices.Sort(all[table])
	}
	return all
}

func TestPlanfile_UndoPlan_RestoresDatabase(t *testing.T) {
	t.Parallel()
	for name, where := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, plan := where(t), parse(t, vgpuPlan)
			s.seed()
			before := rows(dbtest.Snapshot(t, s.db))
			c := s.client()
			tree, err := c.GetProviderTreeAndEnsureRoot(t.Context(), node.UUID, node.Name, uuid.Nil)
			if err != nil {
				t.Fatal(err)
			}
			allocations, err := c.GetAllocationsForProviderTree(t.Context(), node.Name)
			if err != nil {
				t.Fatal(err)
			}
			inverse, err := plan.Inverse(node.Name, tree, allocations)
			if err != nil {
				t.Fatal(err)
			}
			var file strings.Builder
			if err := inverse.Encode(&file, "the undo plan"); err != nil {
				t.Fatal(err)
			}
			for _, one := range []agent.Driver{plan, parse(t, file.String())} {
				if err := s.pass(t.Context(), one); err != nil {
					t.Fatalf("%v, with\n%s", err, &file)
				}
			}
			after := rows(dbtest.Snapshot(t, s.db))
			// The undo plan does not delete the names of new traits and classes.
			for _, table := range []string{"traits", "aggregates"} {
				delete(before, table)
				delete(after, table)
			}
			for table := range after {
				if !slices.Equal(before[table], after[table]) {
					t.Errorf("rows of %s:\n  %s\nwant\n  %s", table, strings.Join(before[table], "\n  "), strings.Join(after[table], "\n  "))
				}
			}
		})
	}
}

// TestPlanfile_ConsumerAddedBeforeReshape_RejectedOrSpread lets another client claim just before the reshape is sent.
func TestPlanfile_ConsumerAddedBeforeReshape_RejectedOrSpread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ plan, want string }{
		"not in the table":         {vgpuPlan, "consumer " + instanceC + " has 1 VGPU of compute-1, but the plan has no destination for them"},
		"spread finds room for it": {regexp.MustCompile(`consumers:\n.*\n.*\n`).ReplaceAllString(vgpuPlan, "consumers: spread\n"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := inProcess(t)
			s.seed()
			other, claimed := s.client(), false
			s.before = func(r *http.Request) error {
				if claimed || r.URL.Path != "/reshaper" && !strings.HasSuffix(r.URL.Path, "/tree") {
					return nil
				}
				claimed = true
				return other.AddResources(t.Context(), uuid.MustParse(instanceC), map[uuid.UUID]client.Resources{node.UUID: {"VGPU": 1}})
			}
			err := s.pass(t.Context(), parse(t, test.plan))
			if test.want == "" && err != nil || test.want != "" && (!errors.Is(err, client.ErrReshapeFailed) || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v", err)
			}
			if got := s.text(); !claimed || strings.Contains(got, "cccc has map[VGPU:1] of compute-1\n") == (test.want == "") {
				t.Errorf("claimed %t\n%s", claimed, got)
			}
		})
	}
}
