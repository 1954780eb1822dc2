package client

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestClient_UnreliableConnectionConcurrentAdds_AppliedOnce lets several writers add to one consumer over connections
// that lose every third request or response, of reads as well. Each acknowledged write is applied exactly once; a write
// with unknown outcome at most once.
func TestClient_UnreliableConnectionConcurrentAdds_AppliedOnce(t *testing.T) {
	t.Parallel()
	const writers, additions = 4, 8
	served := serve(t)
	steady := newClientOf(t, served)
	must(steady.ProviderCreate(t.Context(), "host", id(1), uuid.Nil))(t)
	if _, _, err := steady.InventoryReplace(t.Context(), id(1), 0, Inventories{"VCPU": {Total: 1000}}); err != nil {
		t.Fatal(err)
	}
	if !must(steady.Claim(t.Context(), id(10), aClaim(1)))(t) {
		t.Fatal("the claim does not fit")
	}
	var mutex sync.Mutex
	var done, unknown, refused int64
	var all sync.WaitGroup
	var cut cuts
	for writer := range writers {
		client := newClientOf(t, served, WithTransport(unreliable(uint64(writer), &cut)),
			WithRetries(Retries{Attempts: 10, Pause: time.Millisecond, ClaimPause: time.Millisecond}))
		all.Go(func() {
			for range additions {
				err := client.AddResources(t.Context(), id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 1}})
				mutex.Lock()
				switch {
				case err == nil:
					done++
				case errors.Is(err, ErrOutcomeUnknown):
					unknown++
				case errors.Is(err, ErrConcurrentUpdate), errors.Is(err, ErrUnavailable):
					refused++
				default:
					t.Error(err)
				}
				mutex.Unlock()
			}
		})
	}
	all.Wait()
	has := must(steady.AllocationList(t.Context(), id(10)))(t).Allocations[id(1)]["VCPU"] - 1
	if has < done || has > done+unknown {
		t.Errorf("%d additions are there; %d are said to be done, %d may be", has, done, unknown)
	}
	if done == 0 {
		t.Error("no addition succeeded")
	}
	if cut.requests.Load() == 0 || cut.responses.Load() == 0 {
		t.Errorf("%d requests and %d responses were cut, want some of both", cut.requests.Load(), cut.responses.Load())
	}
	t.Logf("%d done, %d not known, %d refused; %d are there", done, unknown, refused, has)
}

// cuts counts what the transports of a test did not deliver.
type cuts struct{ requests, responses atomic.Int64 }

// unreliable returns a transport that drops one request in six and one response in six, and counts both.
func unreliable(seed uint64, cut *cuts) *faultyTransport {
	var mutex sync.Mutex
	generator := rand.New(rand.NewPCG(seed, 1))
	fails := func(counter *atomic.Int64) bool {
		mutex.Lock()
		defer mutex.Unlock()
		if generator.IntN(6) != 0 {
			return false
		}
		counter.Add(1)
		return true
	}
	return &faultyTransport{
		Before: func(*http.Request) (*http.Response, error) {
			if fails(&cut.requests) {
				return nil, errCut
			}
			return nil, nil
		},
		After: func(_ *http.Request, answered *http.Response) (*http.Response, error) {
			if fails(&cut.responses) {
				return nil, errCut
			}
			return answered, nil
		},
	}
}

func TestClient_NoListener_WriteOutcomeIsKnown(t *testing.T) {
	t.Parallel()
	listening := must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := "http://" + listening.Addr().String()
	if err := listening.Close(); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{address, "http://no-such-host.invalid"} {
		client := must(New(address, WithRetries(Retries{Attempts: 2, Pause: time.Millisecond})))(t)
		_, _, err := client.InventoryReplace(t.Context(), id(1), 0, nil)
		wantErrors(t, err, ErrUnavailable)
	}
}

func TestClient_ReadBackOfWrite_ClassifiesOutcome(t *testing.T) {
	t.Parallel()
	from, to := instance(1, 2), instance(1, 3)
	emptied := instance(1, 0)
	emptied.Allocations = nil
	after := func(generation, amount int64) *Consumer { return new(instance(generation, amount)) }
	for what, test := range map[string]struct {
		change change
		found  *Consumer
		want   outcome
	}{
		"as it was":                              {change{&from, &to}, after(1, 2), notApplied},
		"as it was to be":                        {change{&from, &to}, after(2, 3), applied},
		"written twice":                          {change{&from, &to}, after(3, 3), changed},
		"something else":                         {change{&from, &to}, after(2, 4), changed},
		"another of the same generation":         {change{&from, &to}, after(1, 5), changed},
		"gone":                                   {change{&from, &to}, &gone, changed},
		"gone as it was to be":                   {change{&from, &emptied}, &gone, applied},
		"not gone":                               {change{&from, &emptied}, after(1, 2), notApplied},
		"deleted, and created by another client": {change{&from, &emptied}, after(1, 7), changed},
		"a new one":                              {change{&gone, anInstance(2)}, after(1, 2), applied},
		"no new one":                             {change{&gone, anInstance(2)}, &gone, notApplied},
		"a new one created by another client":    {change{&gone, anInstance(2)}, after(1, 4), changed},
	} {
		if got := test.change.outcome(test.found); got != test.want {
			t.Errorf("%s: %d, want %d", what, got, test.want)
		}
	}
}
