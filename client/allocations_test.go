package client

import (
	"bytes"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// claimWithoutType makes a consumer as clients below microversion 1.38 do.
func claimWithoutType(t testing.TB, client *Client, consumer uuid.UUID, amount string) {
	t.Helper()
	body := `{"allocations": {"` + id(1).String() + `": {"resources": {"VCPU": ` + amount + `}}}, "consumer_generation": null, "project_id": "project", "user_id": "user"}`
	request := must(http.NewRequestWithContext(t.Context(), http.MethodPut,
		must(client.endpoint(t.Context()))(t)+"/allocations/"+consumer.String(), bytes.NewReader([]byte(body))))(t)
	request.Header.Set(tokenHeader, "admin")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("OpenStack-API-Version", "placement 1.37")
	answered := must(http.DefaultClient.Do(request))(t)
	defer answered.Body.Close()
	if answered.StatusCode != http.StatusNoContent {
		t.Fatalf("an old client's claim: %s", answered.Status)
	}
}

// wantConsumer compares all that the server tells of a consumer.
func wantConsumer(t testing.TB, client *Client, consumer uuid.UUID, want Consumer) {
	t.Helper()
	if got := must(client.AllocationList(t.Context(), consumer))(t); !reflect.DeepEqual(*got, want) {
		t.Errorf("consumer %s: %+v at %v, want %+v at %v", consumer, *got, value64(got.Generation), want, value64(want.Generation))
	}
}

func value64(number *int64) any {
	if number == nil {
		return "no generation"
	}
	return *number
}

// instance is anInstance as it is read at a generation.
func instance(generation, amount int64) Consumer {
	record := anInstance(amount)
	record.Generation = &generation
	return *record
}

// gone is what is read of a consumer that is not there.
var gone = Consumer{Allocations: map[uuid.UUID]Resources{}}

func TestClient_Consumer_WriteReadRelease(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newHost(t)
	wantConsumer(t, client, id(10), gone)
	record := anInstance(2)
	record.Allocations[id(9)] = Resources{} // left out, or it would be refused
	if err := client.AllocationReplace(ctx, id(10), record, map[string][]uuid.UUID{"": {id(1)}}); err != nil {
		t.Fatal(err)
	}
	wantConsumer(t, client, id(10), instance(1, 2))
	used, generation, err := client.ProviderUsageList(ctx, id(1))
	if err != nil || generation != 2 || !reflect.DeepEqual(used, Resources{"VCPU": 2}) {
		t.Errorf("usages: %v at %d, %v", used, generation, err)
	}
	by, generation, err := client.ProviderAllocationList(ctx, id(1))
	if err != nil || generation != 2 || !reflect.DeepEqual(by, map[uuid.UUID]Resources{id(10): {"VCPU": 2}}) {
		t.Errorf("allocations: %v at %d, %v", by, generation, err)
	}
	sums := must(client.UsageList(ctx, "project", "user", ""))(t)
	if want := (map[string]Resources{"INSTANCE": {"VCPU": 2, "consumer_count": 1}}); !reflect.DeepEqual(sums, want) {
		t.Errorf("usages of the project: %v, want %v", sums, want)
	}
	if err := client.AllocationDelete(ctx, id(10)); err != nil {
		t.Error(err)
	}
	wantConsumer(t, client, id(10), gone)
}

func TestClient_ConsumerType_SurvivesEveryWrite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		what  string
		write func(client *Client, all Allocations) error
	}{
		{"one by one", func(client *Client, all Allocations) error {
			for _, consumer := range all.Consumers() {
				if err := client.AllocationReplace(t.Context(), consumer, all[consumer], nil); err != nil {
					return err
				}
			}
			return nil
		}},
		{"together", func(client *Client, all Allocations) error { return client.AllocationReplaceMany(t.Context(), all) }},
		{"in a reshape", func(client *Client, all Allocations) error {
			return client.Reshape(t.Context(), map[uuid.UUID]ProviderInventories{id(1): {3, Inventories{"VCPU": {Total: 9}}}}, all)
		}},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			client := newHost(t)
			claimWithoutType(t, client, id(10), "1")
			if err := client.AllocationReplace(t.Context(), id(11), anInstance(1), nil); err != nil {
				t.Fatal(err)
			}
			all := Allocations{}
			for _, consumer := range []uuid.UUID{id(10), id(11)} {
				all[consumer] = must(client.AllocationList(t.Context(), consumer))(t)
				all[consumer].Allocations[id(1)]["VCPU"] = 3
			}
			if all[id(10)].Type != NoType {
				t.Fatalf("an old client's consumer has the type %q", all[id(10)].Type)
			}
			if err := test.write(client, all); err != nil {
				t.Fatal(err)
			}
			want := instance(2, 3)
			wantConsumer(t, client, id(11), want)
			want.Type = NoType
			wantConsumer(t, client, id(10), want)
		})
	}
}

func TestClient_EmptiedConsumerWithoutType_WrittenWithNewConsumer(t *testing.T) {
	t.Parallel()
	client := newHost(t)
	claimWithoutType(t, client, id(10), "1")
	old := must(client.AllocationList(t.Context(), id(10)))(t)
	old.Allocations = nil
	if err := client.AllocationReplaceMany(t.Context(), Allocations{id(10): old, id(11): anInstance(8)}); err != nil {
		t.Fatal(err)
	}
	wantConsumer(t, client, id(10), gone)
	wantConsumer(t, client, id(11), instance(1, 8))
}

func TestClient_IncompleteRecord_RejectedBeforeRequest(t *testing.T) {
	t.Parallel()
	through := &faultyTransport{}
	client := newClient(t, WithTransport(through))
	untyped := anInstance(1)
	untyped.Type, untyped.Generation = NoType, new(int64(1))
	unnamed := anInstance(1)
	unnamed.Type = ""
	homeless := anInstance(1)
	homeless.UserID = ""
	for says, records := range map[string]Allocations{
		"must be given a type, such as INSTANCE": {id(10): unnamed},
		"the project and the user are missing":   {id(10): homeless},
		"they cannot be written in one request":  {id(10): untyped, id(11): anInstance(1)},
	} {
		if err := client.AllocationReplaceMany(t.Context(), records); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want one that says %q", err, says)
		}
	}
	if sent := through.Requests(); len(sent) != 0 {
		t.Errorf("sent: %q", sent)
	}
}

func TestClient_Reshape_MovesInventoryAndAllocations(t *testing.T) {
	t.Parallel()
	ctx, client := t.Context(), newHost(t)
	must(client.ProviderCreate(ctx, "numa0", id(2), id(1)))(t)
	if err := client.AllocationReplace(ctx, id(10), anInstance(2), nil); err != nil {
		t.Fatal(err)
	}
	record := must(client.AllocationList(ctx, id(10)))(t)
	record.Allocations = map[uuid.UUID]Resources{id(1): {}, id(2): {"VCPU": 2}}
	err := client.Reshape(ctx, map[uuid.UUID]ProviderInventories{
		id(1): {Generation: 2}, id(2): {Generation: 0, Inventories: Inventories{"VCPU": {Total: 8}}},
	}, Allocations{id(10): record})
	if err != nil {
		t.Fatal(err)
	}
	want := instance(2, 0)
	want.Allocations = map[uuid.UUID]Resources{id(2): {"VCPU": 2}}
	wantConsumer(t, client, id(10), want)
	if left, _, err := client.InventoryList(ctx, id(1)); err != nil || len(left) != 0 {
		t.Errorf("the root still has %v, %v", left, err)
	}
}
