package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/client"
)

// Options are what a Tracker's user may choose; the zero value is what `berth
// agent` uses.
type Options struct {
	// Attempts is how often a pass is tried when somebody else wrote first;
	// 0 means 4.
	Attempts int
	// Pause is how long to wait after an attempt, counted from 1, that met a
	// conflict; nil means a random time up to 0.1, 0.2, 0.4 s and so on.
	Pause func(attempt int) time.Duration
	// Log gets what goes wrong and what is done about it; nil means nowhere.
	Log *slog.Logger
	// Observe, if not nil, is told of each pass when it has ended.
	Observe func(Pass)
}

// Pass is what one call of Update did.
type Pass struct {
	// Startup is whether the pass was allowed to reshape.
	Startup bool
	Began   time.Time
	Took    time.Duration
	// Attempts is at least 1, Conflicts how many of them met one.
	Attempts, Conflicts int
	// Reshaped is whether the driver moved inventory, and the pass got through.
	Reshaped bool
	// Providers is how many the tree of the host had when it was written.
	Providers int
	// Err is what Update returned.
	Err error

	// moved is Reshaped before the pass has got through: an attempt may end with
	// a conflict after its reshape was accepted.
	moved bool
}

// Tracker keeps one node in step.
type Tracker struct {
	client  *client.Client
	driver  Driver
	node    Node
	options Options

	// pass is held while a pass runs: two would only be in each other's way.
	pass sync.Mutex
	// nudges has room for one: several wishes for a pass are one wish.
	nudges chan struct{}
	stop   chan struct{}
	stopIt func()

	progress sync.Mutex
	lastSign time.Time
}

// NewTracker makes a Tracker, which does nothing until Update or Run is called.
// The client's cache should be the tracker's own.
func NewTracker(c *client.Client, driver Driver, node Node, options Options) *Tracker {
	options.Attempts = cmp.Or(options.Attempts, 4)
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	if options.Pause == nil {
		options.Pause = randomPause
	}
	stop := make(chan struct{})
	return &Tracker{
		client: c, driver: driver, node: node, options: options,
		nudges: make(chan struct{}, 1), stop: stop, stopIt: sync.OnceFunc(func() { close(stop) }),
		lastSign: time.Now(),
	}
}

// randomPause grows, so that many hosts that write to one sharing provider find
// an order among themselves. The shift is bounded for those who try very often.
func randomPause(attempt int) time.Duration {
	return rand.N(100 * time.Millisecond << min(attempt-1, 6))
}

// Fatal tells whether an error of a pass at start-up means that the host must
// not begin to work: the shape of its tree had to change and could not, so the
// service's books and the host would go on to disagree. Every other error is to
// be logged and tried again.
func (t *Tracker) Fatal(err error) bool {
	return errors.Is(err, client.ErrReshapeFailed) || errors.Is(err, client.ErrReshapeNeeded) || errors.Is(err, client.ErrReshapeConflict)
}

// Update makes one pass: it loads the tree, asks the driver and writes the
// difference, and does it all again when somebody else wrote in between. Only a
// pass at start-up reshapes; from any other the driver's wish for it is returned,
// wrapping client.ErrReshapeNeeded.
func (t *Tracker) Update(ctx context.Context, startup bool) error {
	t.pass.Lock()
	defer t.pass.Unlock()
	pass := Pass{Startup: startup, Began: time.Now()}
	pass.Err = t.attempts(ctx, &pass)
	pass.Reshaped = pass.moved && pass.Err == nil
	pass.Took = time.Since(pass.Began)
	if t.options.Observe != nil {
		t.options.Observe(pass)
	}
	return pass.Err
}

func (t *Tracker) attempts(ctx context.Context, pass *Pass) error {
	for {
		pass.Attempts++
		err := t.attempt(ctx, pass)
		if !errors.Is(err, client.ErrUpdateConflict) && !errors.Is(err, client.ErrReshapeConflict) {
			return err
		}
		pass.Conflicts++
		if pass.Attempts >= t.options.Attempts {
			return fmt.Errorf("after %d attempts: %w", pass.Attempts, err)
		}
		t.options.Log.Info("somebody else wrote first; loading the provider tree again", "node", t.node.Name, "attempt", pass.Attempts, "cause", err)
		select {
		case <-time.After(t.options.Pause(pass.Attempts)):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// attempt is one load, one answer of the driver and one write.
func (t *Tracker) attempt(ctx context.Context, pass *Pass) error {
	tree, err := t.load(ctx)
	if err != nil {
		return err
	}
	allocations, err := t.ask(ctx, tree, pass.Startup)
	if err != nil {
		return err
	}
	if ids, err := tree.UUIDs(t.node.Name); err == nil {
		pass.Providers = len(ids)
	}
	pass.moved = pass.moved || allocations != nil
	t.sign(time.Now())
	if err := t.client.UpdateFromProviderTree(ctx, tree, allocations); err != nil {
		return fmt.Errorf("%s: %w", t.node.Name, err)
	}
	if allocations != nil {
		t.options.Log.Info("reshaped the provider tree", "node", t.node.Name, "providers", pass.Providers, "consumers", len(allocations))
	}
	return nil
}

// load gets the tree and makes sure that the driver will find its node there.
func (t *Tracker) load(ctx context.Context) (*client.ProviderTree, error) {
	t.sign(time.Now())
	tree, err := t.client.GetProviderTreeAndEnsureRoot(ctx, t.node.UUID, t.node.Name, uuid.Nil)
	if err != nil {
		return nil, err // it says which provider was loaded
	}
	found, err := tree.Provider(t.node.UUID.String())
	if err != nil {
		return nil, fmt.Errorf("the tree that was loaded for %s: %w", t.node.Name, err)
	}
	if found.Name != t.node.Name {
		// Drivers find their nodes by name. Which of the two names is the right
		// one is not for a program to guess.
		return nil, fmt.Errorf("the service knows the provider %s as %q, not as %q; rename it there, or start the agent with that name or another uuid",
			t.node.UUID, found.Name, t.node.Name)
	}
	return tree, nil
}

// ask has the driver edit the tree. Allocations are nil unless it has to move
// inventory and may.
func (t *Tracker) ask(ctx context.Context, tree *client.ProviderTree, mayReshape bool) (client.Allocations, error) {
	t.sign(time.Now())
	err := t.driver.UpdateProviderTree(ctx, tree, t.node.Name, nil)
	switch {
	case err == nil:
		return nil, nil
	case !mayReshape || !errors.Is(err, client.ErrReshapeNeeded):
		return nil, t.blame(err)
	}
	t.options.Log.Info("the driver has to move inventory that may be in use", "node", t.node.Name, "cause", err)
	// After the tree, never before: a consumer that came in between has moved a
	// generation of the tree, so that the service refuses what was computed
	// without it.
	allocations, err := t.client.GetAllocationsForProviderTree(ctx, t.node.Name)
	if err != nil {
		return nil, err // it says whose allocations
	}
	if allocations == nil {
		allocations = client.Allocations{}
	}
	t.sign(time.Now())
	err = t.driver.UpdateProviderTree(ctx, tree, t.node.Name, allocations)
	switch {
	case err == nil:
		return allocations, nil
	case errors.Is(err, client.ErrReshapeNeeded):
		return nil, fmt.Errorf("%w: the driver asked for the allocations although it had them, which is a mistake in it: %w", client.ErrReshapeFailed, err)
	}
	return nil, t.blame(err)
}

// blame says whose error it is.
func (t *Tracker) blame(err error) error { return fmt.Errorf("the driver of %s: %w", t.node.Name, err) }
