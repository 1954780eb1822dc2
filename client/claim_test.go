package client

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
)

// aClaim is for an amount of VCPU of provider 1.
func aClaim(amount int64) ClaimRequest {
	return ClaimRequest{
		Allocations: map[uuid.UUID]Resources{id(1): {"VCPU": amount}}, ProjectID: "project", UserID: "user", Type: "INSTANCE",
	}
}

// raced is what the service answers to those who were too late.
func raced(detail string) func(*http.Request) (*http.Response, error) {
	return func(request *http.Request) (*http.Response, error) {
		return answer(request, http.StatusConflict, fmt.Sprintf(`{"errors": [{"status": 409, "title": "Conflict", `+
			`"code": "placement.concurrent_update", "detail": "There was a conflict.\n\n %s  "}]}`, detail), "Content-Type: "+jsonType), nil
	}
}

const (
	lostProvider = "Inventory and/or allocations changed while attempting to allocate: x"
	lostConsumer = "consumer generation conflict - expected 2 but got 1"
)

// writes are the requests that were no GET.
func writes(sent []string) (all []string) {
	for _, line := range sent {
		if !strings.HasPrefix(line, "GET ") {
			all = append(all, line)
		}
	}
	return all
}

func wantWrites(t testing.TB, through *faultyTransport, want int) {
	t.Helper()
	if sent := writes(through.Requests()); len(sent) != want {
		t.Errorf("%d writes, want %d: %q", len(sent), want, sent)
	}
}

// throughBothTransports runs a test with a service without berth 1.3 and with Berth.
func throughBothTransports(t *testing.T, test func(*testing.T, *faultyTransport)) {
	t.Helper()
	for name, extended := range services {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &faultyTransport{Extended: extended})
		})
	}
}

func TestClient_Claim_SucceedsOrReportsNoCapacity(t *testing.T) {
	t.Parallel()
	throughBothTransports(t, func(t *testing.T, wire *faultyTransport) {
		ctx, client := t.Context(), newHost(t, WithTransport(wire))
		if got := must(client.Claim(ctx, id(10), aClaim(6)))(t); !got {
			t.Error("a claim that fits fails")
		}
		wantConsumer(t, client, id(10), instance(1, 6))
		if got := must(client.Claim(ctx, id(11), aClaim(6)))(t); got {
			t.Error("a claim that does not fit succeeds")
		}
		wantConsumer(t, client, id(11), gone)
		if _, err := client.Claim(ctx, id(11), ClaimRequest{}); err == nil || !strings.Contains(err.Error(), "has no resources") {
			t.Errorf("claim without resources: error = %v", err)
		}
		untyped := aClaim(1)
		untyped.Type = ""
		if _, err := client.Claim(ctx, id(11), untyped); err == nil || !strings.Contains(err.Error(), "must be given a type") {
			t.Errorf("a claim without a type: %v", err)
		}
	})
}

func TestClient_ConcurrentClaims_SucceedUpToCapacity(t *testing.T) {
	t.Parallel()
	throughBothTransports(t, func(t *testing.T, wire *faultyTransport) {
		client := newHost(t, WithTransport(wire))
		var succeeded, failed atomic.Int64
		var all sync.WaitGroup
		for number := range 12 {
			all.Go(func() {
				switch done, err := client.Claim(t.Context(), id(10+number), aClaim(2)); {
				case err != nil:
					t.Error(err)
				case done:
					succeeded.Add(1)
				default:
					failed.Add(1)
				}
			})
		}
		all.Wait()
		if succeeded.Load() != 4 || failed.Load() != 8 {
			t.Errorf("%d claims succeeded and %d did not fit, want 4 and 8", succeeded.Load(), failed.Load())
		}
	})
}

func TestClient_ClaimByExistingConsumer_AddsWithoutDoublingShared(t *testing.T) {
	t.Parallel()
	throughBothTransports(t, func(t *testing.T, wire *faultyTransport) {
		ctx, client := t.Context(), newHost(t, WithTransport(wire))
		for number, class := range map[int]string{2: "VCPU", 3: "DISK_GB"} {
			must(client.ProviderCreate(ctx, class, id(number), uuid.Nil))(t)
			if _, _, err := client.InventoryReplace(ctx, id(number), 0, Inventories{class: {Total: 100}}); err != nil {
				t.Fatal(err)
			}
		}
		here := aClaim(2)
		here.Allocations[id(3)] = Resources{"DISK_GB": 10}
		there := ClaimRequest{Allocations: map[uuid.UUID]Resources{id(2): {"VCPU": 4}, id(3): {"DISK_GB": 20}}}
		if !must(client.Claim(ctx, id(10), here))(t) || !must(client.Claim(ctx, id(10), there))(t) {
			t.Fatal("a claim does not fit")
		}
		want := instance(2, 2)
		want.Allocations[id(2)], want.Allocations[id(3)] = Resources{"VCPU": 4}, Resources{"DISK_GB": 10}
		wantConsumer(t, client, id(10), want)
		// Put replaces.
		if !must(client.ClaimReplacing(ctx, id(10), there))(t) {
			t.Fatal("a claim does not fit")
		}
		want = instance(3, 0)
		want.Allocations = there.Allocations
		wantConsumer(t, client, id(10), want)
	})
}

func TestClient_ClaimProviderConflict_Retried(t *testing.T) {
	t.Parallel()
	through := failing("PUT", "/allocations", 3, raced(lostProvider))
	client := newHost(t, WithTransport(through))
	through.Requests()
	if !must(client.Claim(t.Context(), id(10), aClaim(2)))(t) {
		t.Error("the claim does not fit")
	}
	wantWrites(t, through, 4)

	through = failing("PUT", "/allocations", 9, raced(lostProvider))
	client = newHost(t, WithTransport(through))
	through.Requests()
	_, err := client.Claim(t.Context(), id(10), aClaim(2))
	wantErrors(t, err, ErrConcurrentUpdate)
	wantWrites(t, through, 4)
}

func TestClient_ClaimConsumerConflict_ReturnsError(t *testing.T) {
	t.Parallel()
	through := failing("PUT", "/allocations", 1, raced(lostConsumer))
	client := newHost(t, WithTransport(through))
	through.Requests()
	_, err := client.Claim(t.Context(), id(10), aClaim(2))
	wantErrors(t, err, ErrConcurrentUpdate, ErrConsumerGeneration)
	wantWrites(t, through, 1)
	stale := aClaim(1)
	stale.Generation = new(int64(7))
	_, err = client.Claim(t.Context(), id(10), stale)
	wantErrors(t, err, ErrConcurrentUpdate, ErrConsumerGeneration)
}

func TestClient_ClaimResponseLost_AppliedOnce(t *testing.T) {
	t.Parallel()
	for what, through := range map[string]*faultyTransport{
		"the answer":                   losing("PUT", "/allocations", 1),
		"the request":                  failing("PUT", "/allocations", 1, cut),
		"the request behind a gateway": failing("PUT", "/allocations", 1, status(504)),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			client := newHost(t, WithTransport(through))
			if !must(client.Claim(t.Context(), id(10), aClaim(2)))(t) {
				t.Error("the claim does not fit")
			}
			wantConsumer(t, client, id(10), instance(1, 2))
		})
	}
}

func TestClient_ClaimNeverReceived_ReturnsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	through := failing("PUT", "/allocations", 9, cut)
	client := newHost(t, WithTransport(through))
	through.Requests()
	claimed, err := client.Claim(t.Context(), id(10), aClaim(2))
	wantErrors(t, err, ErrUnavailable, ErrOutcomeUnknown)
	if claimed {
		t.Error("it is said to be done")
	}
	wantWrites(t, through, 4)
	// And if the service cannot be asked what became of it, the error says both.
	through.Before = func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodPut {
			through.After = func(*http.Request, *http.Response) (*http.Response, error) { return nil, errCut }
		}
		return nil, nil
	}
	_, err = client.Claim(t.Context(), id(10), aClaim(2))
	wantErrors(t, err, ErrUnavailable, ErrOutcomeUnknown)
	if !strings.Contains(err.Error(), "PUT /allocations/") || !strings.Contains(err.Error(), "GET /allocations/") {
		t.Errorf("it reads %q", err)
	}
}

func TestClient_ResponseLostAndConcurrentWrite_NotAppliedTwice(t *testing.T) {
	t.Parallel()
	for what, write := range map[string]func(*Client) error{
		"a claim": func(c *Client) error { _, err := c.Claim(t.Context(), id(10), aClaim(1)); return err },
		"an addition": func(c *Client) error {
			return c.AddResources(t.Context(), id(10), map[uuid.UUID]Resources{id(1): {"VCPU": 1}})
		},
		"a release": func(c *Client) error { _, err := c.Release(t.Context(), id(10), false); return err },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			through := &faultyTransport{}
			other := newHost(t)
			if !must(other.Claim(t.Context(), id(10), aClaim(2)))(t) {
				t.Fatal("the claim does not fit")
			}
			after := instance(0, 0)
			through.After = func(request *http.Request, answered *http.Response) (*http.Response, error) {
				if request.Method == http.MethodGet {
					return answered, nil
				}
				// The server executes it, and another client writes before this one reads.
				after = *must(other.AllocationList(t.Context(), id(10)))(t)
				mine := aClaim(5)
				mine.Generation = after.Generation
				if !must(other.ClaimReplacing(t.Context(), id(10), mine))(t) {
					t.Error("the other's claim does not fit")
				}
				after = *must(other.AllocationList(t.Context(), id(10)))(t)
				return nil, errCut
			}
			client := must(New(must(other.endpoint(t.Context()))(t), WithTransport(through), WithRetries(Retries{Pause: 1})))(t)
			wantErrors(t, write(client), ErrConcurrentUpdate, ErrConsumerGeneration, ErrOutcomeUnknown)
			wantConsumer(t, client, id(10), after)
			wantWrites(t, through, 1)
		})
	}
}

func TestClient_Move_TransfersAllAllocations(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newHost(t)
	const from, to = 10, 11
	if !must(client.Claim(ctx, id(from), aClaim(8)))(t) {
		t.Fatal("the claim does not fit")
	}
	// All is used: the move needs the room that it gives up.
	if !must(client.Move(ctx, id(from), id(to)))(t) {
		t.Error("the move does not fit")
	}
	wantConsumer(t, client, id(from), gone)
	wantConsumer(t, client, id(to), instance(1, 8))
	if !must(client.Move(ctx, id(from), id(to)))(t) {
		t.Error("a move that was done does not count as done")
	}
	wantConsumer(t, client, id(to), instance(1, 8))
	if !must(client.Move(ctx, id(to), id(from)))(t) {
		t.Error("the move back does not fit")
	}
	wantConsumer(t, client, id(from), instance(1, 8))
	_, err := client.Move(ctx, id(20), id(21))
	wantErrors(t, err, ErrNotFound)
	if _, err := client.Move(ctx, id(from), id(from)); err == nil {
		t.Error("a move to itself is accepted")
	}
}

func TestClient_MoveConsumerWithoutType_KeepsNoType(t *testing.T) {
	t.Parallel()
	client := newHost(t)
	claimWithoutType(t, client, id(10), "3")
	if !must(client.Move(t.Context(), id(10), id(11)))(t) {
		t.Error("the move does not fit")
	}
	want := instance(1, 3)
	want.Type = NoType
	wantConsumer(t, client, id(11), want)
	wantConsumer(t, client, id(10), gone)
}

func TestClient_MoveResponseLost_DetectedAsApplied(t *testing.T) {
	t.Parallel()
	through := losing("POST", "/allocations", 1)
	client := newHost(t, WithTransport(through))
	if !must(client.Claim(t.Context(), id(10), aClaim(8)))(t) {
		t.Error("the claim does not fit")
	}
	through.Requests()
	if !must(client.Move(t.Context(), id(10), id(11)))(t) {
		t.Error("the move does not fit")
	}
	wantWrites(t, through, 1)
	wantConsumer(t, client, id(11), instance(1, 8))
}
