package conductor

import (
	"testing"

	"github.com/berthd/berth/server/data/store"
	"github.com/berthd/berth/server/work/provision"
)

// TestConductor_DecideInProcess_NoNotificationNeeded uses a conductor without periodic checks, and node allocations
// without a notification.
func TestConductor_DecideInProcess_NoNotificationNeeded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("first", provision.Available)
	b.node("second", provision.Available)
	c := b.conductor("me")
	c.CheckInterval = 0
	b.run(c)
	active := func(name string) {
		t.Helper()
		b.eventually(name+" is decided", func() bool {
			shown, err := b.NodeAllocationShow(t.Context(), name)
			return err == nil && shown.State == "active"
		})
	}
	b.allocate("told", "me")
	active("told") // the initial scan is over, and the conductor listens

	quiet, err := b.NodeAllocationCreate(t.Context(),
		store.NodeAllocationRequest{Name: new("quiet"), ResourceClass: "baremetal", Quiet: true}, "me")
	if err != nil {
		t.Fatal(err)
	}
	c.Decide(quiet.UUID)
	active("quiet")
}

func TestConductor_DecideBeforeRun_Processed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.node("first", provision.Available)
	c := b.conductor("me")
	if err := c.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Decide(b.allocate("early", "me").UUID)
	b.run(c)
	b.eventually("it is decided", func() bool {
		shown, err := b.NodeAllocationShow(t.Context(), "early")
		return err == nil && shown.State == "active"
	})
}
