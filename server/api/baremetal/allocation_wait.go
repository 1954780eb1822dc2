package baremetal

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/data/store"
)

// decisionHub notifies waiting requests when a node allocation is decided, in any process. While a request waits, the
// hub has one connection that executes LISTEN.
type decisionHub struct {
	store *store.Store
	// listenURL is the address of the database without a pooler; empty: the address that the store uses.
	listenURL string
	// stopping is closed when the process stops and all waits must end.
	stopping <-chan struct{}

	mu sync.Mutex
	// waiting maps node allocations to the channels of the requests that wait for them.
	waiting map[uuid.UUID]map[chan struct{}]bool
	// stop closes the LISTEN connection; nil: there is none.
	stop      context.CancelFunc
	listening bool
}

func newDecisions(options Options) *decisionHub {
	return &decisionHub{
		store: options.Store, listenURL: options.ListenURL, stopping: options.Stopping,
		waiting: map[uuid.UUID]map[chan struct{}]bool{},
	}
}

const (
	// decisionPollInterval is the interval at which a waiting request reads its node allocation without a notification.
	decisionPollInterval = 5 * time.Second
	// reconnect is the delay before a lost LISTEN connection is reopened.
	reconnect = 100 * time.Millisecond
)

// await waits until a node allocation is decided or deleted, the process stops, or the context ends. Then it stores the
// current state in made.
func (d *decisionHub) await(ctx context.Context, allocation *store.NodeAllocation) error {
	if allocation.State != "allocating" {
		return nil
	}
	news, leave := d.subscribe(allocation.UUID)
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.stopping:
			return nil
		case <-news:
		case <-time.After(decisionPollInterval):
		}
		found, err := d.store.NodeAllocationShow(ctx, allocation.UUID.String())
		if refused := store.AsRuleViolation(err); refused != nil {
			return nil // the allocation was deleted; return it as it was created
		}
		if err != nil {
			return err
		}
		if *allocation = found; found.State != "allocating" {
			return nil
		}
	}
}

// subscribe returns a channel that receives a signal when the node allocation is decided. It also receives one when
// LISTEN starts, because the decision may precede that.
func (d *decisionHub) subscribe(id uuid.UUID) (news chan struct{}, leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	news = make(chan struct{}, 1)
	if d.waiting[id] == nil {
		d.waiting[id] = map[chan struct{}]bool{}
	}
	d.waiting[id][news] = true
	if d.stop == nil {
		var ctx context.Context
		ctx, d.stop = context.WithCancel(context.Background())
		go d.listen(ctx)
	}
	if d.listening {
		signal(news)
	}
	return news, func() { d.unsubscribe(id, news) }
}

func (d *decisionHub) unsubscribe(id uuid.UUID, news chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if delete(d.waiting[id], news); len(d.waiting[id]) == 0 {
		delete(d.waiting, id)
	}
	if len(d.waiting) == 0 {
		d.stop()
		d.stop, d.listening = nil, false
	}
}

// listen executes LISTEN until no request waits.
func (d *decisionHub) listen(ctx context.Context) {
	for ctx.Err() == nil {
		// Ignore why the connection was lost: waiting requests also poll.
		_ = d.store.Pool().Listen(ctx, d.listenURL, []string{store.NodeAllocationDecidedChannel},
			func() { d.begin(ctx) },
			func(_, payload string) {
				if id, err := uuid.Parse(payload); err == nil {
					d.publish(id)
				}
			})
		select {
		case <-ctx.Done():
		case <-time.After(reconnect):
		}
	}
}

func (d *decisionHub) begin(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return // a new request waits and has its own connection
	}
	d.listening = true
	for _, all := range d.waiting {
		for news := range all {
			signal(news)
		}
	}
}

func (d *decisionHub) publish(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for news := range d.waiting[id] {
		signal(news)
	}
}

// signal sends a signal unless one is pending.
func signal(news chan struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}
