package baremetal

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/berthd/berth/client"
)

// changing is a service whose node, or allocation, is another one at each look; the
// last one stays. The pauses between looks are noted and not made.
func changing(t *testing.T, looks ...string) (*Client, *[]time.Duration) {
	t.Helper()
	seen := 0
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, looks[min(seen, len(looks)-1)])
		seen++
	}))
	t.Cleanup(listening.Close)
	service, err := client.New(listening.URL)
	if err != nil {
		t.Fatal(err)
	}
	made, pauses := New(service), []time.Duration{}
	made.sleep = func(ctx context.Context, pause time.Duration) error {
		pauses = append(pauses, pause)
		return ctx.Err()
	}
	return made, &pauses
}

func TestClient_BaremetalWait_BackoffGrowsToMaximum(t *testing.T) {
	t.Parallel()
	const busy, done = `{"provision_state": "cleaning", "target_provision_state": "available"}`, `{"provision_state": "available"}`
	looks := slices.Repeat([]string{busy}, 20)
	waiting, pauses := changing(t, append(looks, done)...)
	if node, err := waiting.WaitForNode(t.Context(), "rack-1", "available", nil); err != nil || node.ProvisionState != "available" {
		t.Errorf("%s, %v", node.ProvisionState, err)
	}
	if len(*pauses) != 20 || (*pauses)[0] != minPollInterval || (*pauses)[19] != maxPollInterval || !slices.IsSorted(*pauses) {
		t.Errorf("the pauses are %v", *pauses)
	}
}

func TestClient_WaitForNodeOtherStableState_ReturnsStateError(t *testing.T) {
	t.Parallel()
	for last, want := range map[string]string{
		`{"provision_state": "manageable"}`: `node rack-1 is in the state "manageable" instead of "available"`,
		`{"provision_state": "clean failed", "target_provision_state": "available", "last_error": "no disk"}`: `node rack-1 is in the state "clean failed" instead of "available": no disk`,
		`{"provision_state": "error", "target_provision_state": "available"}`:                                 `node rack-1 is in the state "error" instead of "available"`,
	} {
		waiting, _ := changing(t, `{"provision_state": "cleaning", "target_provision_state": "available"}`, last)
		_, err := waiting.WaitForNode(t.Context(), "rack-1", "available", nil)
		if ended := new(StateError); !errors.As(err, &ended) || err.Error() != want {
			t.Errorf("%s: %v, want %s", last, err, want)
		}
	}
}

func TestClient_BaremetalWaitCanceled_ReturnsContextError(t *testing.T) {
	t.Parallel()
	waiting, pauses := changing(t, `{"state": "allocating"}`)
	ctx, cancel := context.WithCancel(t.Context())
	waiting.sleep = func(ctx context.Context, pause time.Duration) error {
		if *pauses = append(*pauses, pause); len(*pauses) == 3 {
			cancel()
		}
		return ctx.Err()
	}
	if _, err := waiting.WaitForAllocation(ctx, "web", nil); !errors.Is(err, context.Canceled) || len(*pauses) != 3 {
		t.Errorf("%v after %d pauses", err, len(*pauses))
	}
}

func TestClient_WaitForPower_EndsWithoutTarget(t *testing.T) {
	t.Parallel()
	waiting, pauses := changing(t, `{"power_state": "power off", "target_power_state": "power on"}`, `{"power_state": "power on"}`)
	node, err := waiting.WaitForPower(t.Context(), "rack-1", nil)
	if err != nil || *node.PowerState != "power on" || len(*pauses) != 1 {
		t.Errorf("%+v, %v, %d pauses", node, err, len(*pauses))
	}
}
