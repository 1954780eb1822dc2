package client

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestHoweverTheWireIsCutNothingIsDoneTwice lets several writers add to one
// consumer over wires that lose every third request or answer, of reads as well.
// Whoever was told that it was done has it, once; only those who were told that it
// is not known may have it or not.
func TestHoweverTheWireIsCutNothingIsDoneTwice(t *testing.T) {
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
	for writer := range writers {
		client := newClientOf(t, served, WithTransport(unreliable(uint64(writer))),
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
	t.Logf("%d done, %d not known, %d refused; %d are there", done, unknown, refused, has)
}

// unreliable is a wire that cuts a third of everything, half of that on the way
// back.
func unreliable(seed uint64) *wire {
	var mutex sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 1))
	fails := func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return dice.IntN(6) == 0
	}
	return &wire{
		Before: func(*http.Request) (*http.Response, error) {
			if fails() {
				return nil, errCut
			}
			return nil, nil
		},
		After: func(_ *http.Request, answered *http.Response) (*http.Response, error) {
			if fails() {
				return nil, errCut
			}
			return answered, nil
		},
	}
}

func TestWhereNobodyListensNothingIsDone(t *testing.T) {
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

func TestAConsumerThatWentAwayAndCameAgainIsAnother(t *testing.T) {
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
		"as it was":                       {change{&from, &to}, after(1, 2), undone},
		"as it was to be":                 {change{&from, &to}, after(2, 3), done},
		"written twice":                   {change{&from, &to}, after(3, 3), changed},
		"something else":                  {change{&from, &to}, after(2, 4), changed},
		"another of the same generation":  {change{&from, &to}, after(1, 5), changed},
		"gone":                            {change{&from, &to}, &gone, changed},
		"gone as it was to be":            {change{&from, &emptied}, &gone, done},
		"not gone":                        {change{&from, &emptied}, after(1, 2), undone},
		"gone and made by somebody else":  {change{&from, &emptied}, after(1, 7), changed},
		"a new one":                       {change{&gone, anInstance(2)}, after(1, 2), done},
		"no new one":                      {change{&gone, anInstance(2)}, &gone, undone},
		"a new one made by somebody else": {change{&gone, anInstance(2)}, after(1, 4), changed},
	} {
		if got := test.change.outcome(test.found); got != test.want {
			t.Errorf("%s: %d, want %d", what, got, test.want)
		}
	}
}
