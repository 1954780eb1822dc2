package history_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/internal/test/dbtest"
	"github.com/berthd/berth/internal/test/servertest"
	"github.com/berthd/berth/internal/test/storetest"
	"github.com/berthd/berth/server/data/postgres"
	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/history"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// TestHistory_Stepper_FollowsTheSettings waits for states, not for time.
func TestHistory_Stepper_FollowsTheSettings(t *testing.T) {
	t.Parallel()
	db := dbtest.New(t)
	opened, err := store.Open(t.Context(), postgres.Options{URL: db.URL, MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	stepper := history.New(history.Options{Store: opened, Log: servertest.Log(t)})
	stepper.Start()
	t.Cleanup(stepper.Close)
	await := func(what string, is func(store.HistorySettings) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			shown, err := opened.HistorySettingsShow(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if is(shown) {
				return
			}
		}
		t.Fatalf("the state is not %s", what)
	}
	if _, err := opened.HistorySettingsUpdate(t.Context(), store.HistoryOn, 7, 0); err != nil {
		t.Fatal(err)
	}
	await("on", func(shown store.HistorySettings) bool { return shown.State == store.HistoryOn && shown.Since != nil })
	if _, err := opened.ProviderCreate(t.Context(), uuid.New(), "host", nil); err != nil {
		t.Fatal(err)
	}
	await("in order", func(shown store.HistorySettings) bool { return shown.Newest == 2 && shown.Waiting == 0 })
}
