package client

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/berthd/berth/internal/test/dbtest"
)

// rebuild is a driver that needs every kind of write: it splits the GPUs and marks
// them, renames a NUMA node, moves a device to the host and gives another one up.
func rebuild(tree *ProviderTree, allocations Allocations) error {
	if tree.Exists("numa2") {
		if err := tree.Rename("numa2", "socket2"); err != nil {
			return err
		}
	}
	if tree.Exists("old") {
		if err := tree.Remove("old"); err != nil {
			return err
		}
	}
	if err := tree.Move("spare", "cn"); err != nil {
		return err
	}
	if _, err := tree.UpdateInventory("numa1", Inventories{
		"VCPU": {Total: 8}, "MEMORY_MB": {Total: 4096}, "CUSTOM_LANE": {Total: 4},
	}, nil); err != nil {
		return err
	}
	err := splitGPUs(tree, allocations)
	if err != nil && !errors.Is(err, ErrReshapeNeeded) {
		return err
	}
	return errors.Join(err,
		tree.AddTraits("gpu0", "CUSTOM_FAST"), tree.AddTraits("gpu1", "CUSTOM_FAST", "CUSTOM_BIG"),
		tree.AddTraits("numa1", "HW_NUMA_ROOT"), tree.AddAggregates("gpu1", aggregate))
}

func newCrowdedCloud(t testing.TB, options ...Option) *cloud {
	t.Helper()
	c := newCloud(t, options...)
	must(c.operator.ProviderCreate(t.Context(), "old", id(31), numa1))(t)
	must(c.operator.ProviderCreate(t.Context(), "spare", id(32), numa1))(t)
	c.have(t, id(31), Inventories{"PGPU": {Total: 1}})
	c.have(t, id(32), Inventories{"PGPU": {Total: 1}})
	return c
}

// once makes a client fail where others would repeat, so that every cut is felt.
var once = WithRetries(Retries{Attempts: 1})

// requestCutter cut one request, before the server sees it or after it has answered,
// and everything after that if the agent is to be dead from then on.
type requestCutter struct {
	at           int
	after, death bool
	// seen are the requests so far.
	seen int
}

func (s *requestCutter) hold(c *cloud) {
	cut := func() bool { return s.seen == s.at || s.death && s.seen > s.at }
	c.wire.Before = func(*http.Request) (*http.Response, error) {
		s.seen++
		if cut() && !(s.after && s.seen == s.at) {
			return nil, errCut
		}
		return nil, nil
	}
	c.wire.After = func(_ *http.Request, answer *http.Response) (*http.Response, error) {
		if cut() {
			return nil, errCut
		}
		return answer, nil
	}
}

// TestClient_FlushInterruptedAtAnyRequest_NextFlushCompletes, and one that lives heals itself. For
// each request of a whole pass the wire is cut there; passes after that must come
// to the state that an undisturbed pass comes to.
func TestClient_FlushInterruptedAtAnyRequest_NextFlushCompletes(t *testing.T) {
	t.Parallel()
	undisturbed := newCrowdedCloud(t, once)
	if err := pass(t.Context(), undisturbed.client, rebuild); err != nil {
		t.Fatal(err)
	}
	want := dbtest.Snapshot(t, undisturbed.db)
	requests := undisturbed.requests()
	for i, line := range requests {
		for _, cut := range []requestCutter{{at: i + 1, death: true}, {at: i + 1, death: true, after: true}, {at: i + 1}, {at: i + 1, after: true}} {
			if strings.HasPrefix(line, "GET") && (cut.death || cut.after) {
				continue // nothing is written there; with the others it is as if the one before were cut
			}
			t.Run(fmt.Sprintf("%d %s, after %t, death %t", cut.at, strings.ReplaceAll(line, "/", " "), cut.after, cut.death), func(t *testing.T) {
				t.Parallel()
				c := newCrowdedCloud(t, once)
				cut.hold(c)
				failed := pass(t.Context(), c.client, rebuild)
				if cut.seen < cut.at {
					t.Fatalf("the pass sent %d requests only: %v", cut.seen, failed)
				}
				wantHonest(t, failed, cut)
				next := c.client
				if cut.death {
					next = newClientOf(t, c.server, WithTransport(&faultyTransport{}))
				}
				if err := pass(t.Context(), next, rebuild); err != nil {
					t.Fatalf("the next pass: %v", err)
				}
				for _, change := range want.Diff(dbtest.Snapshot(t, c.db)) {
					if !strings.Contains(change, "generation: ") || !strings.HasPrefix(change, "~ ") {
						t.Errorf("in the end: %s", change)
					}
				}
			})
		}
	}
	if len(requests) < 40 {
		t.Errorf("the pass has %d requests only: %q", len(requests), requests)
	}
}

// wantHonest wants a failure to be told, unless the server could be asked what
// became of the request.
func wantHonest(t *testing.T, failed error, cut requestCutter) {
	t.Helper()
	switch {
	case cut.death && !errors.Is(failed, errCut):
		t.Errorf("an agent without a connection says %v", failed)
	case errors.Is(failed, ErrReshapeFailed):
		t.Errorf("a cut wire is told as a refusal: %v", failed)
	}
}
