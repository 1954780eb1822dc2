package conductor

import (
	"testing"

	"github.com/berthd/berth/server/provision"
	"github.com/berthd/berth/server/store"
)

// TestAnAllocationIsHandedOverWithinTheProcess has a conductor that looks for nothing
// any more and is told nothing by the database.
func TestAnAllocationIsHandedOverWithinTheProcess(t *testing.T) {
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
	active("told") // it has looked for what there was, and hears

	quiet, err := b.NodeAllocationCreate(t.Context(),
		store.NodeAllocationRequest{Name: new("quiet"), ResourceClass: "baremetal", Quiet: true}, "me")
	if err != nil {
		t.Fatal(err)
	}
	c.Decide(quiet.UUID)
	active("quiet")
}

func TestAnAllocationMayBeHandedOverBeforeTheConductorRuns(t *testing.T) {
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
