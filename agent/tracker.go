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

// Options are the options of a Tracker; `berth agent` uses the zero value.
type Options struct {
	// Attempts is the maximum number of attempts of a pass after conflicts with other clients; 0 means 4.
	Attempts int
	// Pause returns the delay after an attempt, counted from 1, that ended with a conflict; nil means a random delay up
	// to 0.1, 0.2, 0.4 s and so on.
	Pause func(attempt int) time.Duration
	// Log is the log for errors and retries; nil disables it.
	Log *slog.Logger
	// Observe, if not nil, is called after each pass.
	Observe func(Reconciliation)
}

// Reconciliation is the result of one call of Update.
type Reconciliation struct {
	// Startup is true for a pass that is allowed to reshape.
	Startup bool
	Began   time.Time
	Took    time.Duration
	// Attempts is the number of attempts, at least 1; Conflicts is the number of those that ended with a conflict.
	Attempts, Conflicts int
	// Reshaped is true if the driver moved inventory and the pass succeeded.
	Reshaped bool
	// Providers is the number of providers in the written tree of the host.
	Providers int
	// Err is what Update returned.
	Err error

	// moved is true if the driver moved inventory in any attempt: an attempt may end with a conflict after its reshape
	// succeeded.
	moved bool
}

// Tracker is the synchronizer of the provider tree of one node. It is safe for concurrent use.
type Tracker struct {
	client  *client.Client
	driver  Driver
	node    Node
	options Options

	// pass is locked during a pass, so that passes do not conflict with each other.
	pass sync.Mutex
	// nudges has a capacity of one: several requests for a pass are one request.
	nudges chan struct{}
	stop   chan struct{}
	stopIt func()

	progress sync.Mutex
	lastSign time.Time
}

// NewTracker returns a Tracker, which does nothing until Update or Run is called. Other code should not use the cache
// of the client.
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

// randomPause returns a random delay below a bound that doubles with each attempt up to 6.4 s, so that many hosts that
// write to one sharing provider spread their retries.
func randomPause(attempt int) time.Duration {
	return rand.N(100 * time.Millisecond << min(attempt-1, 6))
}

// Fatal reports whether an error of a pass at start-up means that the host must not start: its tree had to be reshaped
// and could not, so the service and the host would disagree. Log and retry every other error.
func (t *Tracker) Fatal(err error) bool {
	return errors.Is(err, client.ErrReshapeFailed) || errors.Is(err, client.ErrReshapeNeeded) || errors.Is(err, client.ErrReshapeConflict)
}

// Update executes one pass: it loads the tree, calls the driver and writes the difference. It retries the pass after a
// conflict with another client. Only a pass at start-up reshapes; any other returns the error of the driver, which
// wraps client.ErrReshapeNeeded. Concurrent passes wait for each other.
func (t *Tracker) Update(ctx context.Context, startup bool) error {
	t.pass.Lock()
	defer t.pass.Unlock()
	pass := Reconciliation{Startup: startup, Began: time.Now()}
	pass.Err = t.reconcile(ctx, &pass)
	pass.Reshaped = pass.moved && pass.Err == nil
	pass.Took = time.Since(pass.Began)
	if t.options.Observe != nil {
		t.options.Observe(pass)
	}
	return pass.Err
}

func (t *Tracker) reconcile(ctx context.Context, pass *Reconciliation) error {
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
		t.options.Log.Info("another client changed the provider tree; loading it again", "node", t.node.Name, "attempt", pass.Attempts, "cause", err)
		select {
		case <-time.After(t.options.Pause(pass.Attempts)):
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		}
	}
}

// attempt loads the tree, calls the driver, and writes the tree.
func (t *Tracker) attempt(ctx context.Context, pass *Reconciliation) error {
	tree, err := t.load(ctx)
	if err != nil {
		return err
	}
	allocations, err := t.runDriver(ctx, tree, pass.Startup)
	if err != nil {
		return err
	}
	if ids, err := tree.UUIDs(t.node.Name); err == nil {
		pass.Providers = len(ids)
	}
	pass.moved = pass.moved || allocations != nil
	t.markProgress(time.Now())
	if err := t.client.UpdateFromProviderTree(ctx, tree, allocations); err != nil {
		return fmt.Errorf("%s: %w", t.node.Name, err)
	}
	if allocations != nil {
		t.options.Log.Info("reshaped the provider tree", "node", t.node.Name, "providers", pass.Providers, "consumers", len(allocations))
	}
	return nil
}

// load loads the tree, and returns an error unless the node has its name there.
func (t *Tracker) load(ctx context.Context) (*client.ProviderTree, error) {
	t.markProgress(time.Now())
	tree, err := t.client.GetProviderTreeAndEnsureRoot(ctx, t.node.UUID, t.node.Name, uuid.Nil)
	if err != nil {
		return nil, err // it contains the provider
	}
	found, err := tree.Provider(t.node.UUID.String())
	if err != nil {
		return nil, fmt.Errorf("the tree that was loaded for %s: %w", t.node.Name, err)
	}
	if found.Name != t.node.Name {
		// Drivers find their nodes by name. The operator has to decide which of the two names is right.
		return nil, fmt.Errorf("the service knows the provider %s as %q, not as %q; rename it there, or start the agent with that name or another uuid",
			t.node.UUID, found.Name, t.node.Name)
	}
	return tree, nil
}

// runDriver calls the driver to edit the tree. The allocations are nil unless the driver has to move inventory and the
// pass may reshape.
func (t *Tracker) runDriver(ctx context.Context, tree *client.ProviderTree, mayReshape bool) (client.Allocations, error) {
	t.markProgress(time.Now())
	err := t.driver.UpdateProviderTree(ctx, tree, t.node.Name, nil)
	switch {
	case err == nil:
		return nil, nil
	case !mayReshape || !errors.Is(err, client.ErrReshapeNeeded):
		return nil, t.wrapError(err)
	}
	t.options.Log.Info("reshape needed: the driver has to move inventory that may be in use", "node", t.node.Name, "cause", err)
	// Read the allocations after the tree, never before: a consumer that appears in between changes a generation of the
	// tree, so that the service rejects a reshape without it.
	allocations, err := t.client.GetAllocationsForProviderTree(ctx, t.node.Name)
	if err != nil {
		return nil, err // it contains the provider
	}
	if allocations == nil {
		allocations = client.Allocations{}
	}
	t.markProgress(time.Now())
	err = t.driver.UpdateProviderTree(ctx, tree, t.node.Name, allocations)
	switch {
	case err == nil:
		return allocations, nil
	case errors.Is(err, client.ErrReshapeNeeded):
		return nil, fmt.Errorf("%w: bug in the driver: it requested a reshape although it had the allocations: %w", client.ErrReshapeFailed, err)
	}
	return nil, t.wrapError(err)
}

// wrapError adds the name of the node to an error of the driver.
func (t *Tracker) wrapError(err error) error {
	return fmt.Errorf("the driver of %s: %w", t.node.Name, err)
}
