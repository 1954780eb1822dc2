package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// aConsumer is a new consumer of a claim.
func aConsumer(number int) ClaimConsumer {
	return ClaimConsumer{UUID: id(number), ProjectID: "project", UserID: "user", Type: "INSTANCE"}
}

// aSearch claims an amount of VCPU of any provider.
func aSearch(number, amount int) ClaimSearch {
	return ClaimSearch{Consumers: []ClaimConsumer{aConsumer(number)}, Queries: []CandidateQuery{{Resources: fmt.Sprintf("VCPU:%d", amount)}}}
}

// extendedHost is newHost through a transport that passes all extensions.
func extendedHost(t *testing.T) (*Client, *faultyTransport) {
	t.Helper()
	wire := &faultyTransport{Extended: true}
	client := newHost(t, WithTransport(wire))
	wire.Requests()
	return client, wire
}

func TestClient_ServiceWithoutWriteExtensions_NothingSent(t *testing.T) {
	t.Parallel()
	wire := &faultyTransport{}
	client := newHost(t, WithTransport(wire))
	wire.Requests()
	ctx := t.Context()
	dry, runs := WithDryRun(ctx)
	for what, send := range map[string]func() error{
		"a claim":             func() error { _, err := client.ClaimCreate(ctx, aSearch(10, 1)); return err },
		"an allocation patch": func() error { _, err := client.AllocationPatch(ctx, id(10), AllocationChanges{}); return err },
		"an inventory patch":  func() error { _, _, err := client.InventoryPatch(ctx, id(1), InventoryChanges{}); return err },
		"a tree":              func() error { _, err := client.TreeReplace(ctx, id(1), WantedTree{}); return err },
		"a reshape":           func() error { _, err := client.ReshapePatch(ctx, ReshapeChanges{}); return err },
		"a deletion":          func() error { return client.ProviderDeleteAt(ctx, id(1), 1) },
		"a dry run":           func() error { return client.ProviderDelete(dry, id(1)) },
	} {
		if err := send(); !errors.Is(err, ErrExtensions) || errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("%s: %v, want ErrExtensions", what, err)
		}
	}
	if sent := wire.Requests(); len(sent) > 0 || len(runs.Results()) > 0 {
		t.Errorf("sent %q; results %v", sent, runs.Results())
	}
	if has := must(client.HasExtensions(ctx, "1.3"))(t); has {
		t.Error("HasExtensions returns true")
	}
	// After an hour it asks again.
	wire.Extended = true
	client.now = func() time.Time { return time.Now().Add(time.Hour) }
	if has := must(client.HasExtensions(ctx, "1.3"))(t); !has {
		t.Error("HasExtensions returns false after an upgrade")
	}
	if _, err := client.HasExtensions(ctx, "latest"); err == nil {
		t.Error("HasExtensions accepts latest")
	}
}

func TestClient_ClaimCreate_FindsPlaceOrReportsReasons(t *testing.T) {
	t.Parallel()
	client, wire := extendedHost(t)
	made := must(client.ClaimCreate(t.Context(), aSearch(10, 6)))(t)
	claim := made.Claims[0]
	if *made.Query != 0 || made.Candidate != nil || claim.Consumer != id(10) || claim.Generation != 1 || claim.Allocations[id(1)]["VCPU"] != 6 ||
		claim.Generations[id(1)] != 2 || *claim.Root != id(1) || !slices.Equal(claim.Mappings[""], ids(1)) || made.Effort.Searches != 1 {
		t.Errorf("claimed %+v", made)
	}
	head := wire.Headers()[0]
	if head.Get(versionHeader) != "placement 1.39, berth 1.3" || len(head.Get("Idempotency-Key")) != 36 || head.Get("Idempotency-Lifetime") != "900" {
		t.Errorf("headers: %v", head)
	}
	_, err := client.ClaimCreate(t.Context(), aSearch(11, 6))
	var failed *Error
	if !errors.Is(err, ErrNothingFits) || !errors.Is(err, ErrCapacityExceeded) || !errors.As(err, &failed) || failed.Explanation == nil {
		t.Errorf("%v, want ErrNothingFits with an explanation", err)
	}
	tooMuch := ClaimSearch{Consumers: []ClaimConsumer{aConsumer(11)}, Candidates: []ClaimCandidate{{Allocations: aClaim(3).Allocations}}}
	if _, err = client.ClaimCreate(t.Context(), tooMuch); !errors.As(err, &failed) || len(failed.Refused) != 1 || !strings.Contains(failed.Refused[0].Detail, "exceed") {
		t.Errorf("%v, want a refused candidate", err)
	}
	_, err = client.ClaimCreate(t.Context(), aSearch(10, 1))
	wantErrors(t, err, ErrConcurrentUpdate, ErrConsumerGeneration)

	replacing := aSearch(10, 2)
	replacing.Existing, replacing.Consumers[0].Generation, replacing.Key = ExistingReplace, new(int64(1)), "my-key"
	wire.Requests()
	if made = must(client.ClaimCreate(t.Context(), replacing))(t); made.Claims[0].Generation != 2 {
		t.Errorf("replaced: %+v", made)
	}
	if head := wire.Headers()[0]; head.Get("Idempotency-Key") != "my-key" || head.Get("Idempotency-Lifetime") != "" {
		t.Errorf("headers with a key of the caller: %v", head)
	}
	if _, err := client.ClaimCreate(t.Context(), ClaimSearch{Queries: []CandidateQuery{{Resources: "VCPU"}}}); err == nil || !strings.HasPrefix(err.Error(), "queries[0]: ") {
		t.Errorf("invalid resources: %v", err)
	}
}

// TestClient_KeyedResponseLost_RepeatedWithSameKey: nothing has to be read back.
func TestClient_KeyedResponseLost_RepeatedWithSameKey(t *testing.T) {
	t.Parallel()
	for path, send := range map[string]func(*Client) error{
		"POST /claims": func(c *Client) error { _, err := c.ClaimCreate(t.Context(), aSearch(11, 1)); return err },
		"POST /allocations": func(c *Client) error {
			return c.AllocationReplaceMany(t.Context(), Allocations{id(11): anInstance(1)})
		},
		"POST /reshaper": func(c *Client) error {
			return c.Reshape(t.Context(), map[uuid.UUID]ProviderInventories{id(1): {1, Inventories{"VCPU": {Total: 9}}}}, nil)
		},
		"PATCH /reshaper": func(c *Client) error {
			_, err := c.ReshapePatch(t.Context(), ReshapeChanges{Inventories: map[uuid.UUID]InventoryChanges{
				id(1): {new(int64(1)), map[string]*InventoryChange{"VCPU": {Total: new(int32(9))}}},
			}})
			return err
		},
	} {
		t.Run(strings.ReplaceAll(path, "/", ""), func(t *testing.T) {
			t.Parallel()
			method, below, _ := strings.Cut(path, " ")
			wire := losing(method, below, 2)
			wire.Extended = true
			client := newHost(t, WithTransport(wire))
			wire.Requests()
			if err := send(client); err != nil {
				t.Fatal(err)
			}
			heads := wire.Headers()
			if sent := wire.Requests(); !slices.Equal(sent, []string{path, path, path}) {
				t.Errorf("sent %q", sent)
			}
			for _, head := range heads {
				if key := head.Get("Idempotency-Key"); key == "" || key != heads[0].Get("Idempotency-Key") || head.Get("Idempotency-Lifetime") != "900" {
					t.Errorf("headers: %v", head)
				}
			}
		})
	}
}

func TestClient_NoRoomForKeys_SentWithoutKey(t *testing.T) {
	t.Parallel()
	var full sync.Once
	client, wire := extendedHost(t)
	wire.Before = func(request *http.Request) (response *http.Response, err error) {
		if request.URL.Path == "/claims" {
			full.Do(func() {
				response = answer(request, 503, `{"errors": [{"status": 503, "title": "Service Unavailable", "detail": "No.", "code": "berth.idempotency.full"}]}`,
					"Retry-After: 60", "OpenStack-API-Version: placement 1.39", "OpenStack-API-Version: berth 1.3")
			})
		}
		return response, nil
	}
	must(client.ClaimCreate(t.Context(), aSearch(10, 1)))(t)
	if heads := wire.Headers(); len(heads) != 2 || heads[0].Get("Idempotency-Key") == "" || heads[1].Get("Idempotency-Key") != "" {
		t.Errorf("headers: %v", heads)
	}
}

func TestClient_ClaimOfNewConsumer_SendsOneRequest(t *testing.T) {
	t.Parallel()
	client, wire := extendedHost(t)
	if !must(client.Claim(t.Context(), id(10), aClaim(2)))(t) {
		t.Error("the claim does not fit")
	}
	if sent := wire.Requests(); !slices.Equal(sent, []string{"POST /claims"}) {
		t.Errorf("a claim sends %q", sent)
	}
	replacing := aClaim(3)
	replacing.Generation = new(int64(1))
	if !must(client.ClaimReplacing(t.Context(), id(10), replacing))(t) {
		t.Error("the claim does not fit")
	}
	if sent := wire.Requests(); !slices.Equal(sent, []string{"POST /claims"}) {
		t.Errorf("a claim that replaces sends %q", sent)
	}
	wantConsumer(t, client, id(10), instance(2, 3))
	// A consumer that exists keeps what it has.
	if !must(client.Claim(t.Context(), id(10), aClaim(5)))(t) {
		t.Error("the claim does not fit")
	}
	wantConsumer(t, client, id(10), instance(3, 3))
	_, err := client.ClaimReplacing(t.Context(), id(10), replacing)
	wantErrors(t, err, ErrConcurrentUpdate, ErrConsumerGeneration)
}

func TestClient_Patches_ChangeOnlyWhatIsNamed(t *testing.T) {
	t.Parallel()
	client, _ := extendedHost(t)
	ctx := t.Context()
	must(client.ClaimCreate(ctx, aSearch(10, 2)))(t)
	inventories, generation, err := client.InventoryPatch(ctx, id(1), InventoryChanges{Inventories: map[string]*InventoryChange{
		"VCPU": {AllocationRatio: new(2.0)}, "MEMORY_MB": {Total: new(int32(64))},
	}})
	want := plain(8)
	want.AllocationRatio = new(2.0)
	if err != nil || generation != 3 || recordDiffers(want, inventories["VCPU"]) || recordDiffers(plain(64), inventories["MEMORY_MB"]) {
		t.Errorf("inventories %v at %d, %v", inventories, generation, err)
	}
	changed := must(client.AllocationPatch(ctx, id(10), AllocationChanges{
		Allocations: map[uuid.UUID]map[string]*int64{id(1): {"VCPU": new(int64(3)), "MEMORY_MB": new(int64(8))}}, Generation: new(int64(1)),
	}))(t)
	if *changed.Generation != 2 || changed.Type != "INSTANCE" || changed.Allocations[id(1)]["VCPU"] != 3 || changed.Allocations[id(1)]["MEMORY_MB"] != 8 {
		t.Errorf("the consumer is %+v", changed)
	}
	_, err = client.AllocationPatch(ctx, id(10), AllocationChanges{Type: "OTHER", Generation: new(int64(1))})
	wantErrors(t, err, ErrConcurrentUpdate, ErrConsumerGeneration)
	done := must(client.ReshapePatch(ctx, ReshapeChanges{
		Inventories: map[uuid.UUID]InventoryChanges{id(1): {Inventories: map[string]*InventoryChange{"MEMORY_MB": nil}}},
		Allocations: map[uuid.UUID]*AllocationChanges{
			id(10): {Allocations: map[uuid.UUID]map[string]*int64{id(1): {"MEMORY_MB": nil}}},
			id(11): {Allocations: map[uuid.UUID]map[string]*int64{id(1): {"VCPU": new(int64(1))}}, ProjectID: "project", UserID: "user", Type: "INSTANCE", New: true},
		},
	}))(t)
	if done.Providers[id(1)] != 5 || *done.Consumers[id(10)] != 3 || *done.Consumers[id(11)] != 1 {
		t.Errorf("the generations are %+v", done)
	}
	if changed = must(client.AllocationPatch(ctx, id(10), AllocationChanges{Allocations: map[uuid.UUID]map[string]*int64{id(1): nil}}))(t); changed.Generation != nil {
		t.Errorf("an emptied consumer is %+v", changed)
	}
}

func TestClient_DeleteAtGeneration_RefusesOthers(t *testing.T) {
	t.Parallel()
	client, wire := extendedHost(t)
	ctx := t.Context()
	must(client.ClaimCreate(ctx, aSearch(10, 2)))(t)
	wantErrors(t, client.AllocationDeleteAt(ctx, id(10), 2), ErrConcurrentUpdate, ErrConsumerGeneration)
	if err := client.AllocationDeleteAt(ctx, id(10), 1); err != nil {
		t.Error(err)
	}
	for _, remove := range []func(int64) error{
		func(at int64) error { return client.InventoryDeleteAt(ctx, id(1), "VCPU", at) },
		func(at int64) error { return client.InventoryClearAt(ctx, id(1), at) },
		func(at int64) error { return client.ProviderTraitClearAt(ctx, id(1), at) },
		func(at int64) error { return client.ProviderDeleteAt(ctx, id(1), at) },
	} {
		present := must(client.ProviderShow(ctx, id(1)))(t)
		wantErrors(t, remove(present.Generation+1), ErrConcurrentUpdate)
		if err := remove(present.Generation); err != nil {
			t.Error(err)
		}
	}
	// A repetition of a request that increments its own generation could not be told from a conflict.
	must(client.ProviderCreate(ctx, "other", id(2), uuid.Nil))(t)
	wire.After = losing("DELETE", "/resource_providers", 1).After
	wantErrors(t, client.InventoryClearAt(ctx, id(2), 0), ErrUnavailable, ErrOutcomeUnknown)
}

// refusal is an answer of a server that does not have the version that it had before.
func refusal(request *http.Request) *http.Response {
	return answer(request, 406, `{"errors": [{"status": 406, "title": "Not Acceptable", "detail": "No.", "code": "berth.version.unsupported"}]}`,
		"OpenStack-API-Version: placement 1.39")
}

func TestClient_ServersOfTwoVersions_RepeatedOrFallenBack(t *testing.T) {
	t.Parallel()
	client, wire := extendedHost(t)
	if !must(client.HasExtensions(t.Context(), "1.3"))(t) {
		t.Fatal("the service has no extensions")
	}
	refused, refuse := 0, 2
	wire.Before = func(request *http.Request) (*http.Response, error) {
		if refused < refuse && strings.Contains(request.Header.Get(versionHeader), "berth 1.3") {
			refused++
			return refusal(request), nil
		}
		return nil, nil
	}
	must(client.ClaimCreate(t.Context(), aSearch(10, 1)))(t)
	if refused != 2 {
		t.Errorf("%d refusals, want 2", refused)
	}
	// After 30 s the client gives up: the time passes with each pause.
	refuse = 1 << 30
	var passed time.Duration
	client.now = func() time.Time { passed += time.Second; return time.Unix(0, 0).Add(passed) }
	client.announced.set(3, client.now())
	_, err := client.ClaimCreate(t.Context(), aSearch(11, 1))
	if !errors.Is(err, ErrExtensions) || errors.Is(err, ErrOutcomeUnknown) || refused < 20 {
		t.Errorf("%v after %d refusals, want ErrExtensions", err, refused)
	}
	for what, send := range map[string]func() error{
		"a claim of known allocations": func() error { _, err := client.Claim(t.Context(), id(12), aClaim(1)); return err },
		"several consumers":            func() error { return client.AllocationReplaceMany(t.Context(), Allocations{id(13): anInstance(1)}) },
	} {
		client.announced.set(3, client.now())
		if err := send(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	client.announced.set(3, client.now())
	dry, _ := WithDryRun(t.Context())
	if err := client.AllocationReplaceMany(dry, Allocations{id(14): anInstance(1)}); !errors.Is(err, ErrExtensions) {
		t.Errorf("a dry run: %v, want ErrExtensions", err)
	}
	wantConsumer(t, client, id(14), gone)
}
