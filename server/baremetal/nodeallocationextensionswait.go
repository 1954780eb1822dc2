package baremetal

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/berthd/berth/server/store"
)

// decisions tells those who wait that an allocation was decided, in whichever
// process. While anybody waits here there is one connection that listens.
type decisions struct {
	store *store.Store
	// listenURL is how to reach the database past any pooler; empty: as the store.
	listenURL string
	// stopping is closed when nobody is to wait any more.
	stopping <-chan struct{}

	mu sync.Mutex
	// waiting are woken by the uuid of their allocation.
	waiting map[uuid.UUID]map[chan struct{}]bool
	// stop ends the listening; nil: nobody listens.
	stop      context.CancelFunc
	listening bool
}

func newDecisions(options Options) *decisions {
	return &decisions{
		store: options.Store, listenURL: options.ListenURL, stopping: options.Stopping,
		waiting: map[uuid.UUID]map[chan struct{}]bool{},
	}
}

const (
	// lookAnyway is how often one who waits looks without having been told.
	lookAnyway = 5 * time.Second
	// reconnect is the pause before a lost connection is opened again.
	reconnect = 100 * time.Millisecond
)

// await waits until an allocation is decided or deleted, the process is to end, or the
// context is over, and then has it as it is.
func (d *decisions) await(ctx context.Context, made *store.NodeAllocation) error {
	if made.State != "allocating" {
		return nil
	}
	news, leave := d.follow(made.UUID)
	defer leave()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-d.stopping:
			return nil
		case <-news:
		case <-time.After(lookAnyway):
		}
		found, err := d.store.NodeAllocationShow(ctx, made.UUID.String())
		if refused := store.As(err); refused != nil {
			return nil // it was deleted, and stays as it was made
		}
		if err != nil {
			return err
		}
		if *made = found; found.State != "allocating" {
			return nil
		}
	}
}

// follow has the channel told to look: when the allocation is decided, and when
// listening begins, since it may have been decided before.
func (d *decisions) follow(id uuid.UUID) (news chan struct{}, leave func()) {
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
		wake(news)
	}
	return news, func() { d.leave(id, news) }
}

func (d *decisions) leave(id uuid.UUID, news chan struct{}) {
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

// listen is told of decisions until nobody waits any more.
func (d *decisions) listen(ctx context.Context) {
	for ctx.Err() == nil {
		// Why the connection was lost does not matter: who waits also looks anyway.
		_ = d.store.Listen(ctx, d.listenURL, []string{store.NodeAllocationDecisions},
			func() { d.begin(ctx) },
			func(_, payload string) {
				if id, err := uuid.Parse(payload); err == nil {
					d.tell(id)
				}
			})
		select {
		case <-ctx.Done():
		case <-time.After(reconnect):
		}
	}
}

func (d *decisions) begin(ctx context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if ctx.Err() != nil {
		return // others wait by now, with a connection of their own
	}
	d.listening = true
	for _, all := range d.waiting {
		for news := range all {
			wake(news)
		}
	}
}

func (d *decisions) tell(id uuid.UUID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for news := range d.waiting[id] {
		wake(news)
	}
}

// wake leaves word, unless there is some already.
func wake(news chan struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}
