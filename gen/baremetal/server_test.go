package baremetal_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/berthd/berth/gen/baremetal"
	"github.com/berthd/berth/server"
	"github.com/berthd/berth/server/dbtest"
	"github.com/berthd/berth/server/store"
)

const v = baremetal.MicroversionN182

// newClient is an administrator's, of a server of the test's own. No conductor works
// there, so that allocations stay undecided.
func newClient(t *testing.T) *baremetal.ClientWithResponses {
	t.Helper()
	opened, err := store.Open(t.Context(), store.Options{URL: dbtest.Guarded(t).URL, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	if err := opened.ConductorRegister(t.Context(), "conductor-1", []string{"fake-hardware"}); err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server.New(server.Options{
		Store: opened, Log: slog.New(slog.DiscardHandler), MaxBodyBytes: 1 << 20,
		Baremetal: &server.Baremetal{Conductor: "conductor-1", Silence: time.Minute},
	}))
	t.Cleanup(listening.Close)
	made, err := baremetal.NewClientWithResponses(listening.URL, baremetal.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-Auth-Token", "admin")
		r.Header.Set("X-Roles", "admin")
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestANodeComesBackAsItWasMade(t *testing.T) {
	t.Parallel()
	service := newClient(t)
	made, err := service.NodeCreateWithResponse(t.Context(), &baremetal.NodeCreateParams{XOpenStackIronicAPIVersion: v}, baremetal.NodeCreate{
		Driver: "fake-hardware", Name: nullable.NewNullableWithValue("rack-1"), ResourceClass: nullable.NewNullableWithValue("gold"),
	})
	if err != nil || made.JSON201 == nil {
		t.Fatalf("not made: %v, %s", err, made.Body)
	}
	node := made.JSON201
	if node.Name.MustGet() != "rack-1" || node.ProvisionState.MustGet() != "enroll" {
		t.Errorf("made as %s", made.Body)
	}
}

func TestAnAllocationIsWaitingAndCanBeRenamed(t *testing.T) {
	t.Parallel()
	service, ctx := newClient(t), t.Context()
	made, err := service.NodeAllocationCreateWithResponse(ctx, &baremetal.NodeAllocationCreateParams{XOpenStackIronicAPIVersion: v}, baremetal.AllocationRequest{
		ResourceClass: nullable.NewNullableWithValue("gold"),
	})
	if err != nil || made.JSON201 == nil {
		t.Fatalf("not made: %v, %s", err, made.Body)
	}
	if *made.JSON201.State != baremetal.AllocationStateAllocating || !made.JSON201.NodeUUID.IsNull() || made.JSON201.CreatedAt.IsZero() {
		t.Errorf("made as %s", made.Body)
	}
	renamed, err := service.NodeAllocationUpdateWithResponse(ctx, made.JSON201.UUID.String(), &baremetal.NodeAllocationUpdateParams{XOpenStackIronicAPIVersion: v},
		[]baremetal.PatchStep{{Op: "add", Path: "/name", Value: "web"}})
	if err != nil || renamed.JSON200 == nil || renamed.JSON200.Name.MustGet() != "web" {
		t.Errorf("renamed: %v, %s", err, renamed.Body)
	}
	listed, err := service.NodeAllocationListWithResponse(ctx, &baremetal.NodeAllocationListParams{XOpenStackIronicAPIVersion: v, Fields: new("uuid")})
	if err != nil || listed.JSON200 == nil || len(listed.JSON200.Allocations) != 1 || listed.JSON200.Allocations[0].State != nil {
		t.Errorf("listed: %v, %s", err, listed.Body)
	}
	deleted, err := service.NodeAllocationDeleteWithResponse(ctx, "web", &baremetal.NodeAllocationDeleteParams{XOpenStackIronicAPIVersion: v})
	if err != nil || deleted.StatusCode() != http.StatusNoContent {
		t.Errorf("deleted: %v, %s", err, deleted.Body)
	}
}

func TestARefusalIsReadTwice(t *testing.T) {
	t.Parallel()
	refused, err := newClient(t).NodeShowWithResponse(t.Context(), "rack-7", &baremetal.NodeShowParams{XOpenStackIronicAPIVersion: v})
	if err != nil || refused.JSON404 == nil {
		t.Fatalf("%v, %s", err, refused.Body)
	}
	var inner struct {
		FaultString string `json:"faultstring"`
	}
	if err := json.Unmarshal([]byte(refused.JSON404.ErrorMessage), &inner); err != nil || inner.FaultString != "Node rack-7 could not be found." {
		t.Errorf("%v, %q", err, inner.FaultString)
	}
}
