//go:build client

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// berth runs the program to its end and returns what it printed. An exit code
// other than 0 fails the test.
func berth(t *testing.T, args ...string) string {
	t.Helper()
	command := berthCommand(t, args...)
	printed, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("berth %s: %v\n%s", strings.Join(args, " "), err, printed)
	}
	return string(printed)
}

func berthCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = withoutSettings(command.Environ())
	return command
}

func connect(t *testing.T, url string) *client.Client {
	t.Helper()
	c, err := client.New(url)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// agentOnce are the arguments of one pass of the agent over this machine, which need not have an id of its own.
func agentOnce(url, name, layout string) []string {
	return []string{"agent", "--once", "--url", url, "--name", name, "--uuid", hostUUID(name), "--layout", layout, "--consumers", "fit"}
}

// hostUUID is the same for the same name.
func hostUUID(name string) string { return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(name)).String() }

// shape is a tree in short: each provider's name with its classes, and what is
// used of them.
func shape(t *testing.T, c *client.Client, name string) map[string]client.Resources {
	t.Helper()
	members, err := c.ProviderList(t.Context(), client.ProviderFilter{InTree: providerUUID(t, c, name)})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]client.Resources{}
	for _, member := range members {
		used, _, err := c.ProviderUsageList(t.Context(), member.UUID)
		if err != nil {
			t.Fatal(err)
		}
		found[member.Name] = used
	}
	return found
}

func providerUUID(t *testing.T, c *client.Client, name string) string {
	t.Helper()
	found, err := c.ProviderList(t.Context(), client.ProviderFilter{Name: name})
	if err != nil || len(found) != 1 {
		t.Fatalf("there are %d providers %s: %v", len(found), name, err)
	}
	return found[0].UUID.String()
}

// claim takes resources where the first candidate is, in a tree or ("") anywhere.
func claim(ctx context.Context, c *client.Client, tree string, wanted client.Resources) (consumer uuid.UUID, err error) {
	var asked []string
	for class, amount := range wanted {
		asked = append(asked, fmt.Sprintf("%s:%d", class, amount))
	}
	found, err := c.CandidateList(ctx, client.CandidateQuery{Resources: strings.Join(asked, ","), InTree: tree, Limit: 1})
	if err != nil {
		return uuid.Nil, err
	}
	if len(found.AllocationRequests) == 0 {
		return uuid.Nil, client.ErrCapacityExceeded
	}
	record := &client.Consumer{Allocations: map[uuid.UUID]client.Resources{}, ProjectID: "lab", UserID: "ada", Type: "INSTANCE"}
	for provider, use := range found.AllocationRequests[0].Allocations {
		record.Allocations[uuid.MustParse(provider)] = use.Resources
	}
	consumer = uuid.New()
	return consumer, c.AllocationReplace(ctx, consumer, record, nil)
}

// has sums up what a consumer has, wherever it is.
func has(t *testing.T, c *client.Client, consumer uuid.UUID) client.Resources {
	t.Helper()
	record, err := c.AllocationList(t.Context(), consumer)
	if err != nil {
		t.Fatal(err)
	}
	sum := client.Resources{}
	for _, resources := range record.Allocations {
		for class, amount := range resources {
			sum[class] += amount
		}
	}
	return sum
}

// claimLoop claims again and again, as others do while a host changes its shape.
type claimLoop struct {
	stop  context.CancelFunc
	done  sync.WaitGroup
	mu    sync.Mutex
	holds []uuid.UUID
	wrong []error
}

var small = client.Resources{"VCPU": 1, "MEMORY_MB": 16}

func newTenant(t *testing.T, c *client.Client) *claimLoop {
	ctx, stop := context.WithCancel(t.Context())
	busy := &claimLoop{stop: stop}
	busy.done.Go(func() {
		for ctx.Err() == nil {
			busy.turn(ctx, c)
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	t.Cleanup(busy.end)
	return busy
}

// turn claims, and gives back the oldest claim where there is no room. A candidate
// that is gone by the time it is claimed is what the API promises, and no mistake.
func (b *claimLoop) turn(ctx context.Context, c *client.Client) {
	ctx = context.WithoutCancel(ctx) // a claim that is broken off may have happened
	consumer, err := claim(ctx, c, "", small)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err == nil:
		b.holds = append(b.holds, consumer)
	case errors.Is(err, client.ErrCapacityExceeded), errors.Is(err, client.ErrConcurrentUpdate):
		if len(b.holds) > 1 {
			if err := c.AllocationDelete(ctx, b.holds[0]); err != nil {
				b.wrong = append(b.wrong, err)
			}
			b.holds = b.holds[1:]
		}
	default:
		b.wrong = append(b.wrong, err)
	}
}

func (b *claimLoop) end() {
	b.stop()
	b.done.Wait()
}

// TestAgent_ReshapeDuringClaims_KeepsAllocations registers the machine that the test
// runs on as one provider, claims a part of it, and moves it to NUMA nodes while a
// tenant keeps claiming. One claim comes at the worst moment: after the agent has
// read who has what.
func TestAgent_ReshapeDuringClaims_KeepsAllocations(t *testing.T) {
	t.Parallel()
	url := serve(t)
	gate, cloud := newGateway(t, url), connect(t, url)
	berth(t, agentOnce(gate.URL, "metal", "flat")...)
	before := shape(t, cloud, "metal")
	if before["metal"]["VCPU"] != 0 || !slices.Contains(slices.Collect(maps.Keys(before["metal"])), "MEMORY_MB") {
		t.Fatalf("the flat machine has %v", before)
	}
	standing, err := claim(t.Context(), cloud, "", client.Resources{"VCPU": 1, "MEMORY_MB": 32})
	if err != nil {
		t.Fatal(err)
	}
	busy := newTenant(t, cloud)

	var late uuid.UUID
	var lateErr error
	var attempts atomic.Int64 // the agent writes the tree with the allocations in one request
	once := sync.OnceFunc(func() { late, lateErr = claim(t.Context(), cloud, "", small) })
	gate.watch(func(_ int, request string) {
		if strings.HasPrefix(request, "PUT /resource_providers/") && strings.HasSuffix(request, "/tree") {
			attempts.Add(1)
			once()
		}
	}, nil)
	// A slow machine may need a few attempts more to get in between two claims.
	berth(t, append(agentOnce(gate.URL, "metal", "numa"), "--attempts", "30")...)
	busy.end()

	if lateErr != nil || late == uuid.Nil {
		t.Fatalf("the late claim failed: %v", lateErr)
	}
	if attempts.Load() < 2 {
		t.Errorf("the machine was reshaped in %d attempts; the late claim must cost one", attempts.Load())
	}
	for _, err := range busy.wrong {
		t.Errorf("the tenant met %v", err)
	}
	want := client.Resources{"VCPU": 1, "MEMORY_MB": 32}
	if got := has(t, cloud, standing); !maps.Equal(got, want) {
		t.Errorf("the standing claim has %v instead of %v", got, want)
	}
	all := client.Resources{"VCPU": 1, "MEMORY_MB": 32}
	for _, consumer := range append(busy.holds, late) {
		if got := has(t, cloud, consumer); !maps.Equal(got, small) {
			t.Errorf("a claim has %v instead of %v", got, small)
		}
		for class, amount := range small {
			all[class] += amount
		}
	}
	used := client.Resources{}
	for name, resources := range shape(t, cloud, "metal") {
		if _, stayed := resources["VCPU"]; stayed && name == "metal" {
			t.Error("the root still has VCPU")
		}
		used["VCPU"] += resources["VCPU"]
		used["MEMORY_MB"] += resources["MEMORY_MB"]
	}
	if !maps.Equal(used, all) {
		t.Errorf("%v are used on the NUMA nodes, and the consumers have %v", used, all)
	}
}

// TestAgent_NothingChanged_SendsNoRequests lets the agent run on and counts: after
// its first pass, nothing comes in the time of four more.
func TestAgent_NothingChanged_SendsNoRequests(t *testing.T) {
	t.Parallel()
	gate := newGateway(t, serve(t))
	agent := berthCommand(t, "agent", "--url", gate.URL, "--name", "metal", "--uuid", hostUUID("metal"), "--layout", "numa", "--interval", "1s", "--log-level", "debug")
	var log bytes.Buffer
	agent.Stderr = &log
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	first, quiet := 0, 0
	for began := time.Now(); quiet < 45; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			break
		}
		if now := len(gate.requests()); now == first && now > 0 {
			quiet++
		} else {
			first, quiet = now, 0
		}
	}
	agent.Process.Signal(syscall.SIGTERM)
	if err := agent.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if passes := strings.Count(log.String(), "reconciliation finished"); quiet < 45 || passes < 3 {
		t.Errorf("in %d passes the agent never came to rest: %q\n%s", passes, gate.requests(), &log)
	}
}

// TestAgent_KilledAtAnyRequest_NextRunCompletes kills the agent of a host with
// claims before and after each of its requests in turn, with SIGKILL, and starts
// another one.
func TestAgent_KilledAtAnyRequest_NextRunCompletes(t *testing.T) {
	t.Parallel()
	url := serve(t)
	for _, when := range []string{"before", "after"} {
		steps := 0
		for killAgent(t, url, fmt.Sprintf("metal-%s-%d", when, steps+1), when, steps+1) {
			steps++
		}
		if steps < 4 {
			t.Errorf("the agent was killed %s only %d requests", when, steps)
		}
	}
}

// killAgent registers a host, claims a part of it, kills the agent that reshapes it
// at one of its requests, and lets another one heal it. It returns false where the
// agent came to its end because it makes fewer requests.
func killAgent(t *testing.T, url, name, when string, number int) bool {
	gate, cloud := newGateway(t, url), connect(t, url)
	berth(t, agentOnce(gate.URL, name, "flat")...)
	consumer, err := claim(t.Context(), cloud, providerUUID(t, cloud, name), small)
	if err != nil {
		t.Fatal(err)
	}
	victim := berthCommand(t, agentOnce(gate.URL, name, "numa")...)
	strike := func(passed int, _ string) {
		if passed == number {
			victim.Process.Kill()
			panic(http.ErrAbortHandler) // nothing is passed on, neither way
		}
	}
	if when == "before" {
		gate.watch(strike, nil)
	} else {
		gate.watch(nil, strike)
	}
	err = victim.Run()
	gate.watch(nil, nil)
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && !exit.Exited()
	if err != nil && !killed {
		t.Fatalf("the agent was not killed %s request %d, it failed: %v", when, number, err)
	}
	berth(t, agentOnce(gate.URL, name, "numa")...)
	if got := has(t, cloud, consumer); !maps.Equal(got, small) {
		t.Errorf("killed %s request %d: the consumer has %v instead of %v", when, number, got, small)
	}
	tree := shape(t, cloud, name)
	if _, stayed := tree[name]["VCPU"]; stayed || len(tree) < 2 {
		t.Errorf("killed %s request %d: the tree is %v", when, number, tree)
	}
	return killed
}
